// Cost of a report in the JavaScript client: reads one task per line from stdin and prints its measurements as JSON.
import { createInterface } from "node:readline";
import { performance } from "node:perf_hooks";
import { SUITE, infoOf, sealReport } from "../clients/javascript/src/envelope.js";
import { checkPromise } from "../clients/javascript/src/promise.js";
import { randomBytes } from "../clients/javascript/src/randomness.js";
import { messagesOf } from "../clients/javascript/src/randomizer.js";
import { readTask } from "../clients/javascript/src/task.js";

const ROUNDS = 6;
const ANSWER = 7; // a number, or a text of one character
const MILLISECONDS = 300; // approximate duration of a round

/** Processor time of `work` on all cores, in milliseconds. */
async function spent(work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The best mean of several rounds, each of which runs `work` `times` times. */
async function each(times, work) {
  const found = [];
  for (let round = 0; round < ROUNDS; round++) {
    found.push((await spent(async () => { for (let at = 0; at < times; at++) await work(); })) / times);
  }
  return Math.min(...found);
}

for await (const line of createInterface({ input: process.stdin })) {
  const started = performance.now();
  const task = await readTask(line);
  checkPromise(task);
  const checked = performance.now() - started;
  const about = () => ({ reportId: randomBytes(16), time: 0 });
  const messages = async () => messagesOf(task, await task.valuesOf(ANSWER));
  const report = async () => sealReport(task, await messages(), about());
  await report();
  const once = await each(1, report);
  const times = Math.max(1, Math.round(MILLISECONDS / once));
  let number = 0;
  for (let at = 0; at < times; at++) number += (await messages()).length / times;
  const key = await SUITE.DeserializePublicKey(Uint8Array.from(Buffer.from(task.analyzer.key, "hex")));
  const info = infoOf(task, 1);
  const message = new Uint8Array(task.symbolBytes);
  const bare = async () => {
    await Promise.all(Array.from({ length: Math.round(number) + 1 }, () => SUITE.Seal(key, message, { info })));
  };
  const result = {
    messages: number,
    checked,
    drawn: await each(times, messages),
    report: await each(times, report),
    bare: await each(times, bare),
  };
  console.log(JSON.stringify(result));
}
