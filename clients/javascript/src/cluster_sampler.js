import { below } from "./randomness.js";
import { SIZE_GRID } from "./parameters.js";
import { Weighted } from "./weighted.js";

/** The largest mean of a Poisson number that is drawn from one table, which then stays short. */
const LARGEST_POISSON = 100n;

/** Of the integers in which probabilities are tabulated: what they round away is far below every margin. */
const WEIGHT_BITS = 256n;

/** How one person makes their part of a law of clusters, over all values together. */
export class ClusterSampler {
  /**
   * @param {import("./parameters.js").ClusterLaw} law the noise of every value, summed over all people
   * @param {number} values
   * @param {number} users
   */
  constructor(law, values, users) {
    this.values = values;
    const [numerator, denominator] = [law.rate.numerator * BigInt(values), BigInt(users) << BigInt(law.rate.power)];
    const hundreds = denominator * LARGEST_POISSON;
    /** A large Poisson number is the sum of so many small ones. */
    this.parts = Number((numerator + hundreds - 1n) / hundreds);
    this.number = new Weighted(poissonWeights(numerator, denominator * BigInt(this.parts)));
    this.sizes = law.sizeWeights[0] === SIZE_GRID ? null : new Weighted(law.sizeWeights.map(BigInt));
  }

  /**
   * The value of every noise message; no more than `most` of them and one cluster are made, since a client with more
   * draws everything again.
   * @param {number} most
   * @param {import("./randomness.js").RandomBytes} random
   * @returns {number[]}
   */
  draw(most, random) {
    const number = this.drawNumber(most, random);
    const drawn = /** @type {number[]} */ ([]);
    for (let cluster = 0; cluster < number && drawn.length <= most; cluster++) {
      const value = below(this.values, random);
      for (let left = this.sizes === null ? 0 : this.sizes.draw(random); left >= 0; left--) drawn.push(value);
    }
    return drawn;
  }

  /**
   * How many clusters there are; where they are more than `most`, some number above it.
   * @param {number} most
   * @param {import("./randomness.js").RandomBytes} random
   */
  drawNumber(most, random) {
    let number = 0;
    for (let part = 0; part < this.parts && number <= most; part++) number += this.number.draw(random);
    return number;
  }
}

/**
 * Probabilities of a Poisson number in units that are 2^-256 of the one of 0: w_i = floor(w_(i-1) mean / i).
 * @param {bigint} numerator of the mean
 * @param {bigint} denominator
 * @returns {bigint[]}
 */
function poissonWeights(numerator, denominator) {
  const weights = [];
  let weight = 1n << WEIGHT_BITS;
  while (weight > 0n) {
    weights.push(weight);
    weight = (weight * numerator) / (denominator * BigInt(weights.length));
  }
  return weights;
}
