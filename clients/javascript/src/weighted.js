/** Bits that decide most draws, so few that a Number holds them. */
const LEADING_BYTES = 6;
const LEADING_BITS = 8 * LEADING_BYTES;

/**
 * Draws i with probability weights[i] / (sum of all weights), exactly.
 *
 * A uniform number U between 0 and 1 is compared with the sums of the first weights over the whole sum. Its first 48
 * binary digits decide, unless they are those of such a threshold; then more are drawn until they differ from its.
 */
export class Weighted {
  /** @param {bigint[]} weights not negative, and not all zero */
  constructor(weights) {
    this.total = weights.reduce((sum, weight) => sum + weight, 0n);
    let sum = 0n;
    /** Sums of the first 1, 2, ... weights, without the whole. @type {bigint[]} */
    this.sums = weights.map((weight) => (sum += weight)).filter((reached) => reached < this.total);
    /** Their first digits. */
    this.leading = Float64Array.from(this.sums, (reached) => Number((reached << BigInt(LEADING_BITS)) / this.total));
  }

  /** @param {import("./randomness.js").RandomBytes} random */
  draw(random) {
    const drawn = random.number(LEADING_BYTES);
    const { leading } = this;
    let [first, last] = [0, leading.length];
    while (first < last) {
      const middle = (first + last) >> 1;
      if (leading[middle] <= drawn) first = middle + 1;
      else last = middle;
    }
    // thresholds from `first` on are above U; those before are not, but for some whose digits are the same
    return first > 0 && leading[first - 1] === drawn ? this.#extended(first, BigInt(drawn), random) : first;
  }

  /**
   * How many thresholds are at most U, of which the first digits are known.
   * @param {number} most
   * @param {bigint} digits
   * @param {import("./randomness.js").RandomBytes} random
   */
  #extended(most, digits, random) {
    let known = BigInt(LEADING_BITS);
    for (let found = most; ; ) {
      const scaled = this.sums[found - 1] << known;
      const threshold = scaled / this.total;
      if (threshold > digits) {
        found -= 1; // U is below it
        if (found === 0) return 0;
      } else if (threshold < digits || threshold * this.total === scaled) {
        return found;
      } else {
        digits = digits * 256n + BigInt(random.next());
        known += 8n;
      }
    }
  }
}
