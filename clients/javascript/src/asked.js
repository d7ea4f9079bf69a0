// Reads what a person is asked: a task, or a series of tasks. The survey page has survey/asked.js in place of this module.
import { Series, seriesOfJson } from "./series.js";
import { Task, isSeries, parsed, taskOfJson } from "./task.js";

/**
 * Whether something is a task or a series that was read.
 * @param {unknown} given
 * @returns {given is Task | Series}
 */
export function isAsked(given) {
  return given instanceof Task || given instanceof Series;
}

/**
 * Return the task or the series that a text or its bytes hold.
 * @param {string | Uint8Array | ArrayBuffer | Task | Series} source
 * @returns {Promise<Task | Series>}
 */
export async function readAsked(source) {
  if (isAsked(source)) return source;
  const plain = parsed(source);
  return isSeries(plain) ? seriesOfJson(plain) : taskOfJson(plain);
}
