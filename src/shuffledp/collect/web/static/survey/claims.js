// Compares the promise that this device computes with the figures on the page.
import { shareAtMost } from "/client/src/curve/words.js";
import { BrokenPromiseError } from "/client/src/errors.js";
import { printable } from "./printable.js";

/** Digits of the computed delta: enough to tell it from the promised one. */
const DIGITS = 3;

/**
 * Refuses a page whose figures differ from the task: visitors would not agree to what they read.
 * @param {HTMLElement} main
 * @param {import("/client/src/task.js").Task} task
 * @param {import("/client/src/promise.js").CheckedPromise} promise
 */
export function checkClaims(main, task, { epsilon, delta, strength }) {
  const { dataset } = main;
  if (Number(dataset.epsilon) !== epsilon || Number(dataset.delta) !== delta || dataset.strength !== strength) {
    throw new BrokenPromiseError("this page says other figures than the task itself");
  }
  const question = /** @type {HTMLElement} */ (document.getElementById("question"));
  question.textContent = printable(task.question);
}

/**
 * Says what this device has checked.
 * @param {import("/client/src/promise.js").CheckedPromise} promise
 * @param {import("./rounds.js").CheckedRounds | null} [total] of all rounds of a series
 */
export function checkedInWords({ epsilon, reached, strength }, total = null) {
  const line = /** @type {HTMLElement} */ (document.getElementById("checked"));
  line.textContent =
    `Checked on this device: the noise of the task keeps this promise. Protection is ${strength}` +
    `${total ? `, and ${total.strength} for all ${total.rounds.toLocaleString("en")} rounds together` : ""}.`;
  line.className = [strength, total?.strength].includes("weak") ? "note" : "good";
  const figures = /** @type {HTMLElement} */ (document.getElementById("checked-figures"));
  figures.textContent =
    `Checked on this device: the noise of the task gives ${bound({ epsilon, reached })}.` +
    `${total ? ` For all rounds together it gives ${bound(total)}.` : ""}`;
}

/** @param {{epsilon: number, reached: number}} promise */
function bound({ epsilon, reached }) {
  return `delta at most ${shareAtMost(reached, DIGITS)} at epsilon ${epsilon}`;
}
