/**
 * Privacy-loss distributions: what one outcome says about which of two neighbouring datasets it came from.
 *
 * For a pair of laws (P, Q) the loss of outcome o is log P(o) / Q(o), and all of privacy is in its law under P:
 *
 *     delta(epsilon) = sum over o of [P(o) - e^epsilon Q(o)]_+ = E_P[(1 - e^(epsilon - loss))_+] + P(loss infinite)
 *
 * Mass that is not resolved counts as an infinite loss, and rounding is paid for in delta.
 */

import { PRIVACY_LOSS } from "./rounding.js";
import { Sum, dot, sumsFrom, total } from "./sums.js";

/** @typedef {import("./window.js").Window} Window */

/** Keeps e^epsilon finite; where it matters the mass is 0. */
const LARGEST_EXPONENT = 700;

/** Finite losses in increasing order, their masses under P, and the mass at infinity. */
export class PrivacyLoss {
  /** @param {Float64Array} losses @param {Float64Array} masses @param {number} infinity */
  constructor(losses, masses, infinity) {
    this.losses = losses;
    this.masses = masses;
    this.infinity = infinity;
    /** @type {Float64Array | undefined} */
    this.massesFrom = undefined;
    /** @type {Float64Array | undefined} */
    this.othersFrom = undefined;
  }

  /**
   * P is the law of the noise M, Q the law of M + by. What Q cannot reach, or not within the window, is revealed.
   *
   * @param {Window} window @param {1 | -1} by
   */
  static ofShift({ pmf, steps, outside }, by) {
    const losses = new Float64Array(pmf.length);
    const masses = new Float64Array(pmf.length);
    const revealed = new Sum();
    revealed.add(outside);
    let number = 0;
    for (let at = 0; at < pmf.length; at += 1) {
      const from = at - by;
      if (!pmf[at]) continue;
      if (from >= 0 && from < pmf.length && pmf[from]) {
        losses[number] = by > 0 ? steps[at] : -steps[from];
        masses[number] = pmf[at];
        number += 1;
      } else {
        revealed.add(pmf[at]);
      }
    }
    const infinity = revealed.value * (1 + PRIVACY_LOSS);
    return new PrivacyLoss(...inOrder(losses.subarray(0, number), masses.subarray(0, number)), infinity);
  }

  /** P-mass of the i-th loss and above, for i up to their number. */
  get massFrom() {
    return (this.massesFrom ??= sumsFrom(this.masses));
  }

  /** Q-mass of the i-th loss and above, for i up to their number. */
  get otherFrom() {
    return (this.othersFrom ??= sumsFrom(this.masses.map((mass, at) => mass * Math.exp(-this.losses[at]))));
  }

  /**
   * Delta(epsilon) of this pair, plus the allowance for rounding; any real epsilon.
   *
   * @param {number} epsilon
   */
  delta(epsilon) {
    return this.#deltaFrom(firstWhere(this.losses.length, (at) => this.losses[at] > epsilon), epsilon);
  }

  /**
   * The same where it is known how many losses are not above epsilon.
   *
   * @param {number} above @param {number} epsilon
   */
  #deltaFrom(above, epsilon) {
    const mass = this.massFrom[above];
    const gain = mass - Math.exp(Math.min(epsilon, LARGEST_EXPONENT)) * this.otherFrom[above];
    return Math.max(gain, 0) + PRIVACY_LOSS * mass + this.infinity;
  }

  /**
   * Delta(epsilon) of two independent pairs together: the average over this loss of the other's delta(epsilon - loss).
   *
   * @param {PrivacyLoss} other @param {number} epsilon
   */
  deltaWith(other, epsilon) {
    const sum = new Sum();
    let above = other.losses.length;
    for (let at = 0; at < this.losses.length; at += 1) {
      const rest = epsilon - this.losses[at];
      // losses grow, so what is left of epsilon falls
      while (above > 0 && other.losses[above - 1] > rest) above -= 1;
      sum.add(this.masses[at] * other.#deltaFrom(above, rest));
    }
    return sum.value * (1 + PRIVACY_LOSS) + this.infinity;
  }

  /** Variance of the finite losses. */
  get variance() {
    const mean = dot(this.masses, 0, this.losses, 0, this.losses.length);
    const squares = this.losses.map((loss) => (loss - mean) ** 2);
    return dot(this.masses, 0, squares, 0, squares.length);
  }

  /** How far apart the smallest and the largest finite loss are. */
  get span() {
    return this.losses.length ? this.losses[this.losses.length - 1] - this.losses[0] : 0;
  }

  /**
   * Without the far ends: the largest losses become infinite, which raises delta(epsilon) by at most e^epsilon times
   * their mass under Q; the smallest move up to the first one kept, which raises it by at most their mass under P.
   * Neither mass is more than `cut`.
   *
   * @param {number} cut
   */
  shortened(cut) {
    const size = this.losses.length;
    const sum = new Sum();
    let low = 0;
    for (; low < size; low += 1) {
      sum.add(this.masses[low]);
      if (sum.value >= cut) break;
    }
    const high = firstWhere(size, (at) => this.otherFrom[at] <= cut);
    if (low >= high) {
      return new PrivacyLoss(new Float64Array(0), new Float64Array(0), this.infinity + total(this.masses));
    }
    const masses = this.masses.slice(low, high);
    masses[0] += total(this.masses, 0, low);
    return new PrivacyLoss(this.losses.slice(low, high), masses, this.infinity + total(this.masses, high));
  }
}

/**
 * The first number below `size` from which on something holds, or `size`.
 *
 * @param {number} size @param {(at: number) => boolean} holds
 */
function firstWhere(size, holds) {
  let [low, high] = [0, size];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Losses in increasing order with their masses. Those of binomial and Poisson laws are in order, or in the opposite
 * one, which spares sorting millions of them.
 *
 * @param {Float64Array} losses @param {Float64Array} masses
 * @returns {[Float64Array, Float64Array]}
 */
function inOrder(losses, masses) {
  if (losses.length && losses[0] > losses[losses.length - 1]) {
    losses.reverse();
    masses.reverse();
  }
  if (losses.every((loss, at) => at === 0 || losses[at - 1] <= loss)) return [losses, masses];
  const order = Uint32Array.from(losses, (_, at) => at).sort((one, other) => losses[one] - losses[other]);
  return [Float64Array.from(order, (at) => losses[at]), Float64Array.from(order, (at) => masses[at])];
}
