/** Compound Poisson noise: clusters arrive at a rate, each brings a random number of messages. */

import { SIZE_GRID } from "../parameters.js";
import { TAIL } from "./rounding.js";
import { Sum, convolved, dot, geometric } from "./sums.js";
import { MOST_PROBABILITIES, poissonWindow, tooMuch, windowOf } from "./window.js";

/** Up to this rate e^-rate is far from underflow; larger laws are sums of two halves. */
const LARGEST_STEP = 500;

/** Products for one law: some five seconds. An epsilon of 0.01 needs a thirtieth of it, one of 0.002 all. */
const MOST_WORK = 2.5e9;

/** A window is some 24 standard deviations wide, so the product of two halves takes this often the variance. */
const PRODUCTS_PER_VARIANCE = 24 ** 2 / 2;

/** Of e in Chernoff's bound: e^600 times any rate still fits a double. */
const LARGEST_EXPONENT = 600;

/** The law of the noise of some people: clusters at a rate, of size i + 1 with probability sizes[i]. */
export class Clusters {
  /** @param {number} rate @param {ArrayLike<number>} sizeWeights whole numbers that add up to 2^40 */
  constructor(rate, sizeWeights) {
    this.rate = rate;
    this.sizes = Float64Array.from(sizeWeights, (weight) => weight / SIZE_GRID);
  }

  /** @param {number} rate */
  withRate(rate) {
    const other = new Clusters(rate, []);
    other.sizes = this.sizes;
    return other;
  }

  /** @param {Clusters} other */
  equals(other) {
    return (
      this.rate === other.rate &&
      this.sizes.length === other.sizes.length &&
      this.sizes.every((share, at) => share === other.sizes[at])
    );
  }

  get mean() {
    return this.rate * this.#average((size) => size);
  }

  get variance() {
    return this.rate * this.#average((size) => size * size);
  }

  /**
   * Ln E e^(t K) = rate (E[e^(t size)] - 1).
   *
   * @param {number} tilt
   */
  cumulant(tilt) {
    return this.rate * this.#average((size) => Math.expm1(tilt * size));
  }

  /** @param {(size: number) => number} value */
  #average(value) {
    const sum = new Sum();
    this.sizes.forEach((share, at) => {
      // 0 times an infinite value would not be a number
      if (share) sum.add(share * value(at + 1));
    });
    return sum.value;
  }

  /** Its probabilities: in closed form where clusters are single messages. */
  window() {
    return this.sizes.length === 1 ? poissonWindow(this.rate) : windowOf(...this.#probabilities());
  }

  /**
   * Probabilities from some number on, and a bound on what is outside.
   *
   * From 0 on by Panjer's recursion, f(0) = e^-rate and f(k) = (rate / k) sum over j of j w_j f(k - j): only positive
   * terms, so every probability keeps its digits, far into the tails.
   *
   * @returns {[Float64Array, number]}
   */
  #probabilities() {
    if (this.rate > LARGEST_STEP) {
      if (!(PRODUCTS_PER_VARIANCE * this.variance <= MOST_WORK)) throw tooMuch();
      const [half, outside] = withoutEnds(...this.withRate(this.rate / 2).#probabilities());
      return [convolved(half, half), 2 * outside];
    }
    const [last, reach] = [this.#last(), this.sizes.length];
    if (!(last < MOST_PROBABILITIES && last * reach <= MOST_WORK)) throw tooMuch();
    const steps = this.sizes.map((share, at) => this.rate * (at + 1) * share).reverse();
    // zeros before the start, so that every step is one product of vectors
    const padded = new Float64Array(reach + last + 1);
    padded[reach] = Math.exp(-this.rate);
    for (let k = 1; k <= last; k += 1) padded[reach + k] = dot(steps, 0, padded, k, reach) / k;
    return [padded.subarray(reach), TAIL];
  }

  /** Where 2^-100 is left: for some tilt t, rate (E[e^(t size)] - 1) - t (k + 1) <= log 2^-100 (Chernoff). */
  #last() {
    const deviation = Math.max(1, Math.sqrt(this.variance));
    const largest = LARGEST_EXPONENT / this.sizes.length;
    let least = Infinity;
    for (const times of geometric(1e-3, 30, 200)) {
      const tilt = Math.min(times / deviation, largest);
      least = Math.min(least, (this.cumulant(tilt) - Math.log(TAIL)) / tilt);
    }
    return Math.ceil(least);
  }
}

/**
 * Without the first and the last probabilities, at most 2^-100 on either side, which then count as outside.
 *
 * @param {Float64Array} pmf @param {number} outside
 * @returns {[Float64Array, number]}
 */
function withoutEnds(pmf, outside) {
  let [first, stop] = [0, pmf.length];
  // half of it, so that the rounding of these sums does not matter
  for (let sum = pmf[first]; sum <= TAIL / 2; sum += pmf[first]) first += 1;
  for (let sum = pmf[stop - 1]; sum <= TAIL / 2; sum += pmf[stop - 1]) stop -= 1;
  return [pmf.slice(first, stop), outside + 2 * TAIL];
}
