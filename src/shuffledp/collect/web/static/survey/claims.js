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

/** @param {import("/client/src/promise.js").CheckedPromise} promise */
export function checkedInWords({ epsilon, reached, strength }) {
  const line = /** @type {HTMLElement} */ (document.getElementById("checked"));
  line.textContent = `Checked on this device: the noise of the task keeps this promise. Protection is ${strength}.`;
  line.className = strength === "weak" ? "note" : "good";
  const figures = /** @type {HTMLElement} */ (document.getElementById("checked-figures"));
  figures.textContent =
    `Checked on this device: the noise of the task gives delta at most ${shareAtMost(reached, DIGITS)} ` +
    `at epsilon ${epsilon}.`;
}
