// A program that uses the package, and that what is declared is what there is; only its types are checked.
import type * as declared from "../types/index.js";
import * as actual from "../src/index.js";
import * as inNode from "../src/node.js";
import { AT_MOST, BrokenPromiseError, Client, RefusedError, UnreachableError, readTask } from "../types/index.js";
import type { Journal, Law, Options, Receipt, Series, Task } from "../types/index.js";

/** Whether two types are the same, each assignable to the other. */
type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;
type Made = "Client" | "Series" | "Task";
type Read = typeof declared.readTask;
type ReadSeries = typeof declared.readSeries;

/** Whatever is declared is there, with types that fit. Clients and tasks are made by functions, not by `new`. */
export const parts: Omit<typeof declared, Made | "readSeries" | "readTask"> = actual;
export const client = (given: actual.Client): Client => given;
export const task = (given: actual.Task): Task => given;
export const series = (given: actual.Series): Series => given;
export const opened: (
  task: actual.Task | actual.Series | string | Uint8Array | URL,
  options?: Options,
) => Promise<Client> = actual.Client.open;
export const readRounds: (
  source: actual.Series | Exclude<Parameters<ReadSeries>[0], Series>,
) => ReturnType<ReadSeries> = actual.readSeries;
export const read: (source: actual.Task | Exclude<Parameters<Read>[0], Task>) => ReturnType<Read> = actual.readTask;

/** And the other way round: nothing is there that is not declared, and nothing is taken that is not. */
export const names: Same<keyof typeof actual, keyof typeof declared> = true;
export const namesInNode: Same<keyof typeof inNode, keyof typeof declared> = true;
export const ofNodeClients: Same<keyof inNode.Client, keyof Client> = true;
export const opensInNode: typeof actual.Client.open = inNode.Client.open;
export const ofClients: Same<keyof actual.Client, keyof Client> = true;
export const ofTasks: Same<keyof actual.Task, keyof Task> = true;
export const ofSeries: Same<keyof actual.Series, keyof Series> = true;
export const opens: Same<
  Exclude<Parameters<typeof actual.Client.open>[0], actual.Task | actual.Series>,
  Exclude<Parameters<typeof Client.open>[0], Task | Series>
> = true;
export const reads: Same<
  Exclude<Parameters<typeof actual.readTask>[0], actual.Task>,
  Exclude<Parameters<Read>[0], Task>
> = true;
export const options: Same<keyof NonNullable<Parameters<typeof actual.Client.open>[1]>, keyof Options> = true;
export const promise: Same<actual.Client["promise"], Client["promise"]> = true;
export const law: Same<keyof actual.Task["law"], keyof Law> = true;
export const meanings: Same<ReturnType<actual.Task["meaningOf"]>, ReturnType<Task["meaningOf"]>> = true;

/** As in README.md. */
export async function answer(text: string, pin: string, value: string | null, journal?: Journal): Promise<string> {
  const options: Options = { pin, atMost: [1, 1e-6], journal, timeout: 10 };
  try {
    const client = await Client.open(await readTask(text), options);
    if ((await client.state()) === "sent") return "already";
    const { messages, report } = await client.prepare(value);
    const shown: number = messages === null ? report.length : messages.length;
    const receipt: Receipt = await client.send(value);
    return `${receipt.state} ${shown} ${client.promise.reached} ${AT_MOST[0]} ${client.task.labelOf(0)}`;
  } catch (error) {
    if (error instanceof RefusedError) return error.reason;
    if (error instanceof UnreachableError) return error.reason ?? "later";
    if (error instanceof BrokenPromiseError) return error.message;
    throw error;
  }
}

// @ts-expect-error a value that is given to nobody
export const without = (client: Client): Promise<Receipt> => client.send();
// @ts-expect-error the limit is two numbers
export const limit: Options = { atMost: [1] };
// @ts-expect-error a misspelt pin would not be looked at
export const misspelt: Options = { Pin: "" };
// @ts-expect-error clients are opened, so that they are checked
export const unchecked = (): Client => new Client();
