/** The probabilities of noise on the whole numbers, all but a tail of 2^-100 on either side. */

import { BrokenPromiseError } from "../errors.js";
import { TAIL } from "./rounding.js";
import { Sum } from "./sums.js";

/** Numbers in a window: some 160 MB, and a second. Twenty thousand million fair coins have fewer. */
export const MOST_PROBABILITIES = 2 ** 21;

/**
 * `pmf[i]` is a probability, `steps[i]` the logarithm of pmf[i] / pmf[i - 1] where both are above 0 (steps[0] is
 * nothing), and `outside` at least what lies outside. Which number the window begins with does not matter for privacy.
 *
 * @typedef {{pmf: Float64Array, steps: Float64Array, outside: number}} Window
 */

/** For a law whose privacy would take too long to compute: nobody should answer what they have not checked. */
export function tooMuch() {
  return new BrokenPromiseError(
    "the privacy of this task cannot be checked here: its noise takes too long to compute with",
  );
}

/**
 * Of a binomial law of so many trials.
 *
 * @param {number} trials @param {number} probability
 */
export function binomialWindow(trials, probability) {
  const odds = probability / (1 - probability);
  const mean = trials * probability;
  return aroundTheMean(mean, mean * (1 - probability), trials, (k) => ((trials - k + 1) / k) * odds);
}

/**
 * Of a Poisson law.
 *
 * @param {number} rate
 */
export function poissonWindow(rate) {
  return aroundTheMean(rate, rate, Infinity, (k) => rate / k);
}

/**
 * Logarithms of f(k) are sums of those of f(k) / f(k - 1), which `ratio` gives, outwards from the middle, and are then
 * scaled to total 1. By Bernstein's inequality P(|M - mean| >= t) <= 2 exp(-t^2 / (2 variance + 2 t / 3)), for binomial
 * and for Poisson laws, each side a half of it.
 *
 * @param {number} mean @param {number} variance @param {number} highest @param {(k: number) => number} ratio
 * @returns {Window}
 */
function aroundTheMean(mean, variance, highest, ratio) {
  const logTail = -Math.log(TAIL);
  const reach = logTail / 3 + Math.sqrt(logTail ** 2 / 9 + 2 * logTail * variance);
  const first = Math.max(0, Math.floor(mean - reach));
  const last = Math.min(highest, Math.ceil(mean + reach));
  const size = last - first + 1;
  if (!(size <= MOST_PROBABILITIES)) throw tooMuch();
  const steps = new Float64Array(size);
  for (let at = 1; at < size; at += 1) steps[at] = Math.log(ratio(first + at));
  const pmf = new Float64Array(size);
  const middle = Math.min(Math.floor(mean), last) - first;
  pmf[middle] = 1;
  const up = new Sum();
  for (let at = middle + 1; at < size; at += 1) {
    up.add(steps[at]);
    pmf[at] = Math.exp(up.value);
  }
  const down = new Sum();
  for (let at = middle; at > 0; at -= 1) {
    down.add(-steps[at]);
    pmf[at - 1] = Math.exp(down.value);
  }
  const all = new Sum();
  for (const weight of pmf) all.add(weight);
  for (let at = 0; at < size; at += 1) pmf[at] /= all.value;
  return { pmf, steps, outside: (first > 0 ? TAIL : 0) + (last < highest ? TAIL : 0) };
}

/**
 * A window with these probabilities, some of which may be 0.
 *
 * @param {Float64Array} pmf @param {number} outside
 * @returns {Window}
 */
export function windowOf(pmf, outside) {
  const logarithms = pmf.map(Math.log);
  const steps = logarithms.map((logarithm, at) => (at ? logarithm - logarithms[at - 1] : 0));
  return { pmf, steps, outside };
}
