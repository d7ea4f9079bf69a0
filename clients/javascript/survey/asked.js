// In place of ../src/asked.js: a page asks one task, which may be a round of a series, and loads what the task needs.
import { Task, parsed, taskOfJson } from "../src/task.js";
import { loadFor } from "./parts.js";

/**
 * Whether something is a task that was read.
 * @param {unknown} given
 * @returns {given is Task}
 */
export function isAsked(given) {
  return given instanceof Task;
}

/**
 * Returns the task that a text or its bytes hold.
 * @param {string | Uint8Array | ArrayBuffer} source
 */
export async function readAsked(source) {
  const plain = parsed(source);
  await loadFor(plain);
  return taskOfJson(plain);
}
