// The parts of the program that only some tasks need; the page names those of its task, so that they come with it (PARTS
// in survey.py). `kinds` is in place of ../src/kinds.js.
import { UnreachableError } from "../src/errors.js";

/** For kinds of answers: the client's part and the page's own. */
const ANSWERS = {
  choices: () => import("./check_boxes.js"),
  numbers: () => import("./decimal_field.js"),
  range: () => import("./number_field.js"),
  text: () => import("./text_field.js"),
};

/** For protocols. */
const MESSAGES = { hashed: () => import("./hashed.js") };

/**
 * @typedef {typeof import("./check_boxes.js") & typeof import("./decimal_field.js") & typeof import("./number_field.js")
 *   & typeof import("./text_field.js") & typeof import("./hashed.js")} Kinds
 */

/** What was loaded. */
export const kinds = /** @type {Kinds} */ ({});

/** Loads what a task needs. @param {any} plain what its file holds, not yet checked */
export async function loadFor(plain) {
  await Promise.all([loadKind(ANSWERS, plain?.answers?.kind), loadKind(MESSAGES, plain?.protocol?.name)]);
}

/** @param {Record<string, () => Promise<object>>} parts @param {string} kind */
async function loadKind(parts, kind) {
  if (Object.hasOwn(parts, kind)) Object.assign(kinds, await loaded(parts[kind]));
}

/** Loads the check of a series. */
export function loadRounds() {
  return loaded(() => import("./rounds.js"));
}

/**
 * Loads a part; if that fails, the page tries again later.
 * @template Part
 * @param {() => Promise<Part>} load
 */
async function loaded(load) {
  try {
    return await load();
  } catch (error) {
    throw new UnreachableError(String(error));
  }
}
