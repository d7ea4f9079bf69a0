// What a person checks before they answer: the promise, whether it is the task they were told of, its time.
import { isHexadecimal } from "./bytes.js";
import { BrokenPromiseError, ParameterError, RefusedError, TaskError, UnreachableError } from "./errors.js";
import { momentInText } from "./figures.js";
import { checkPromise } from "./promise.js";
import { Task } from "./task.js";

/** @typedef {import("./series.js").Series} Series */
/** @typedef {import("./promise.js").CheckedPromise} CheckedPromise */

/**
 * The epsilon and delta that a person allows who says nothing else: beyond it a promise says next to nothing, since
 * what is published may be 22,000 times as likely because of one answer, or tell it outright to one of a hundred.
 * @type {readonly [number, number]}
 */
export const AT_MOST = Object.freeze(/** @type {[number, number]} */ ([10, 0.01]));

/** Far more tasks than a page answers, and little memory. */
const MOST_REMEMBERED = 1000;

/**
 * Promises by the task's id, which stands for all that they are computed from: each is computed once.
 * @type {Map<string, CheckedPromise>}
 */
const checked = new Map();

/**
 * The promise of a task, or of all rounds of a series together, if it is within what a person allows; the default limit
 * is `AT_MOST`.
 * @param {Task | Series} task
 * @param {readonly [number, number] | undefined} atMost
 * @returns {CheckedPromise}
 */
export function allowed(task, atMost) {
  if (atMost !== undefined) return computed(task, atMost);
  try {
    return computed(task, AT_MOST);
  } catch (error) {
    if (!(error instanceof BrokenPromiseError)) throw error;
  }
  const { epsilon, delta } = computed(task, undefined); // where not even that is kept, it says so
  throw new BrokenPromiseError(
    `the task promises only epsilon ${epsilon} and delta ${delta}, and without your word nothing weaker than epsilon ` +
      `${AT_MOST[0]} and delta ${AT_MOST[1]} is answered: if you want to, allow it with  atMost: ` +
      `[${epsilon}, ${delta}]`,
  );
}

/**
 * @param {Task | Series} task
 * @param {readonly [number, number] | undefined} atMost
 * @returns {CheckedPromise}
 */
function computed(task, atMost) {
  const key = `${task.name} ${atMost}`;
  let known = checked.get(key);
  if (known === undefined) {
    if (checked.size >= MOST_REMEMBERED) checked.clear();
    try {
      known = task instanceof Task ? checkPromise(task, atMost) : task.check(atMost).total;
    } catch (error) {
      throw error instanceof BrokenPromiseError ? new BrokenPromiseError(`${error.message}: do not answer`) : error;
    }
    checked.set(key, known);
  }
  return known;
}

/**
 * A pin in its one spelling.
 * @param {unknown} pin
 * @returns {string | undefined}
 */
export function checkPin(pin) {
  if (pin === undefined) return undefined;
  const text = typeof pin === "string" ? pin.toLowerCase() : "";
  if (!isHexadecimal(text)) {
    throw new ParameterError("pin must be the id of a task: 64 hexadecimal digits, all of them");
  }
  return text;
}

/**
 * Refuse a task or series other than the pinned one.
 * @param {Task | Series} task
 * @param {string | undefined} pin
 */
export function checkPinned(task, pin) {
  if (pin !== undefined && pin !== task.name) {
    throw new TaskError(`this is the task ${task.name}, and not ${pin}, the one that is pinned: do not answer`);
  }
}

/**
 * Refuses a task, or a series, that is not open by the clock of this device.
 * @param {Task | Series} task
 */
export function checkOpen(task) {
  const now = Date.now();
  if (now < task.opens.getTime()) {
    throw new UnreachableError(`the task opens at ${momentInText(task.opens)}${byThisClock(now)}`, "not-yet-open");
  }
  if (now >= task.closes.getTime()) {
    throw new RefusedError(`the task was closed at ${momentInText(task.closes)}${byThisClock(now)}`, "closed");
  }
}

/** @param {number} now */
function byThisClock(now) {
  return `; by this device's clock it is ${momentInText(new Date(now - (now % 1000)))}`;
}

/**
 * Return the task that is open now: the task itself, or the round of a series.
 * @param {Task | Series} asked
 * @returns {Promise<Task>}
 */
export async function openTask(asked) {
  checkOpen(asked);
  if (asked instanceof Task) return asked;
  const number = asked.roundAt(Date.now());
  if (number === null) throw new RefusedError("no round of the series is open any more", "closed");
  return asked.task(number);
}
