// Compares the promise that this device computes with the figures on the page.
import { shareAtMost } from "../src/curve/words.js";
import { BrokenPromiseError } from "../src/errors.js";
import { printable } from "./printable.js";
import { marked, t } from "./words.js";

/** Digits of the computed delta: enough to tell it from the promised one. */
const DIGITS = 3;

/**
 * Refuses a page whose figures differ from the task: visitors would not agree to what they read.
 * @param {HTMLElement} main
 * @param {import("../src/task.js").Task} task
 * @param {import("../src/promise.js").CheckedPromise} promise
 */
export function checkClaims(main, task, { epsilon, delta, strength }) {
  const { dataset } = main;
  if (Number(dataset.epsilon) !== epsilon || Number(dataset.delta) !== delta || dataset.strength !== strength) {
    throw new BrokenPromiseError(t("other_figures"));
  }
  const question = /** @type {HTMLElement} */ (document.getElementById("question"));
  question.textContent = printable(task.question);
}

/** Says that this device checks the promise; a page whose program does not run does not say so. */
export function checkingInWords() {
  const line = document.getElementById("checked"); // a page whose task does not keep its promise has none
  if (line) line.textContent ||= t("checking");
}

/**
 * Says what this device has checked.
 * @param {import("../src/promise.js").CheckedPromise} promise
 * @param {import("./rounds.js").CheckedRounds | null} [total] of all rounds of a series
 */
export function checkedInWords(promise, total = null) {
  const line = /** @type {HTMLElement} */ (document.getElementById("checked"));
  line.textContent = t("checked");
  const figures = /** @type {HTMLElement} */ (document.getElementById("checked-figures"));
  const all = total ? ` ${t("checked_rounds", { bound: bound(total) })}` : "";
  figures.textContent = t("checked_figures", { bound: bound(promise) }) + all;
}

/** @param {{epsilon: number, reached: number}} promise */
function bound({ epsilon, reached }) {
  return marked(t("bound", { delta: shareAtMost(reached, DIGITS), epsilon: String(epsilon) }));
}
