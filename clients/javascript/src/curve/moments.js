/**
 * The privacy of many answers together if the noise of a task may be chosen after earlier results (accounting/
 * composition.py of the Python package, `MomentBound`).
 *
 * Fix an order a > 1. For an answer with loss l, let r be the mass of infinite loss and M = E_P[e^((a - 1) l)] over the
 * rest. If on every path of results the sum of the r is at most R and the product of the M at most B, then
 *
 *     delta(epsilon) <= R + c e^(-(a - 1) epsilon) B,   c = (1 - 1/a)^(a - 1) / a.
 *
 * The order, R and B depend on the limit alone (docs/proofs/exact-privacy.md, "Noise chosen by results").
 */

import { NEGLIGIBLE, noisesOf, shiftsOf } from "./curve.js";
import { onGrid } from "./grid.js";
import { addedByLimits, limitCost } from "./most_messages.js";
import { PRIVACY_LOSS } from "./rounding.js";
import { Sum, geometric } from "./sums.js";

/** @typedef {import("./curve.js").Asked} Asked */

/** The orders to choose from; the number of answers that a limit allows is flat around the best one. */
const ORDERS = geometric(1e-2, 1e4, 2000).map((above) => 1 + above);

/** The share of a delta for revealed mass, R; the rest is for moments. */
const REVEALED = 0.5;

/** The part of that share for the term of limits on messages. */
const ADDED = 1 / 512;

/** The grid steps of the losses of one answer. */
const STEPS = 2 ** 11;

/** The relative margin of the exponential of a sum of logarithms, each off by a few roundings of losses up to 700. */
const MARGIN = 1e-9;

/** The bound at a limit. */
export class MomentBound {
  /** @param {{epsilon: number, delta: number}} limit */
  constructor({ epsilon, delta }) {
    this.epsilon = epsilon;
    this.delta = delta;
    /** The order with which most answers of Gaussian losses fit: with variance v, M = e^(a (a - 1) v / 2). */
    this.order = bestOrder(epsilon, delta);
  }

  /**
   * Return the delta that all answers use at the limit's epsilon, even if each task was chosen by earlier results.
   *
   * @param {import("./total.js").Answered[]} answered
   */
  reached(answered) {
    const cost = limitCost(answered);
    let [revealed, logMoment, number] = [0, 0, 0];
    for (const { asked, times } of answered) {
      const one = momentOf(asked, this.order);
      revealed += times * one.revealed;
      logMoment += times * one.logMoment;
      number += times;
    }
    if (number === 0) return 0;
    const exponent = logFactor(this.order) - (this.order - 1) * this.epsilon + logMoment;
    const tail = Math.exp(Math.min(exponent, 0)) * (1 + MARGIN * (1 + logMoment));
    const beside = Math.max(revealed / (1 - ADDED), addedByLimits(cost, this.epsilon) / ADDED);
    const together = Math.min(1, Math.max(beside / REVEALED, tail / (1 - REVEALED)));
    return cost.kept > 0 ? Math.min(1, together / cost.kept) : 1;
  }
}

/** @param {number} epsilon @param {number} delta */
function bestOrder(epsilon, delta) {
  let [best, most] = [ORDERS[0], -Infinity];
  for (const a of ORDERS) {
    const variance = (2 * (Math.log((1 - REVEALED) * delta) - logFactor(a) + (a - 1) * epsilon)) / (a * (a - 1));
    if (variance > most) [best, most] = [a, variance];
  }
  return best;
}

/** The logarithm of c. @param {number} a */
function logFactor(a) {
  return (a - 1) * Math.log1p(-1 / a) - Math.log(a);
}

/**
 * Return the mass that one answer reveals, and the logarithm of its moment; both rounded up, and cached.
 *
 * @param {Asked} asked @param {number} order
 */
function momentOf(asked, order) {
  const noises = noisesOf(asked);
  const key = `${order} ${asked.levels} ${noises.map(({ key: noise, count }) => `${count} ${noise}`).join()}`;
  const known = cache.get(key) ?? computedMoment(noises, asked.levels, order);
  if (cache.size >= MOST_KNOWN) cache.clear();
  cache.set(key, known);
  return known;
}

/** @type {Map<string, {revealed: number, logMoment: number}>} */
const cache = new Map();
const MOST_KNOWN = 1024;

/** @param {import("./curve.js").Noise[]} noises @param {number} levels @param {number} order */
function computedMoment(noises, levels, order) {
  const shifts = shiftsOf(noises, levels);
  const span = Math.max(...shifts.map(({ loss }) => loss.shortened(NEGLIGIBLE).span));
  const step = span / STEPS || 1;
  const grids = shifts.map(({ loss, count }) => onGrid(loss, step, NEGLIGIBLE).times(count, NEGLIGIBLE));
  const { losses, masses, infinity } = grids.reduce((sum, grid) => sum.plus(grid, NEGLIGIBLE)).loss;
  const largest = losses[losses.length - 1];
  const moment = new Sum();
  masses.forEach((mass, at) => moment.add(mass * Math.exp((order - 1) * (losses[at] - largest))));
  const logMoment = Math.log(moment.value) + (order - 1) * largest + PRIVACY_LOSS;
  return { revealed: infinity, logMoment: Math.max(0, logMoment) };
}
