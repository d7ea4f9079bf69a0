// Checks that run in Node and in browsers alike: each has a name, and an error if it fails.
import { RandomBytes } from "../src/randomness.js";

/** Collects what became of checks. */
export class Checks {
  constructor() {
    this.results = [];
  }

  /** Runs one check. */
  async run(name, work) {
    try {
      await work();
      this.results.push({ name });
    } catch (error) {
      this.results.push({ name, error: `${error.name}: ${error.message}`.slice(0, 500) });
    }
  }
}

/** Refuses what is not the same, part by part. */
export function same(found, expected, what = "value") {
  const [one, other] = [found, expected].map((part) => JSON.stringify(part, written));
  if (one !== other) throw new Error(`${what} is ${one?.slice(0, 200)}, and should be ${other?.slice(0, 200)}`);
}

/** Sorted names, bytes as numbers, and whole numbers beyond those of JSON. */
function written(_, part) {
  if (typeof part === "bigint") return `${part}n`;
  if (part instanceof Uint8Array) return Array.from(part);
  if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
  return Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The error of work that must fail. */
export async function failing(work) {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was refused");
}

/** Randomness that consists of these bytes, and then of zeros. */
export function given(...bytes) {
  const left = [...bytes];
  return new RandomBytes({ fill: (block) => block.forEach((_, at) => (block[at] = left.shift() ?? 0)) });
}
