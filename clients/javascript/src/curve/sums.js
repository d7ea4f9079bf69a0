/** Sums of many positive numbers whose rounding stays far below the margins, however many there are. */

/** Terms that are added up for themselves: some tens of roundings within a block, and one more for each block. */
const BLOCK = 256;

/** A sum that grows, with what rounding lost carried along (Kahan): off by two roundings, not by one for each term. */
export class Sum {
  constructor() {
    this.value = 0;
    this.lost = 0;
  }

  /** @param {number} term */
  add(term) {
    const more = term - this.lost;
    const next = this.value + more;
    this.lost = next - this.value - more;
    this.value = next;
  }
}

/**
 * The sum of the products of two vectors, `size` numbers of each from where they start. In blocks, and four sums in a
 * block: off by (67 + size / 256) roundings at most, as small as that of a library for vectors.
 *
 * @param {Float64Array} one @param {number} oneStart @param {Float64Array} other @param {number} otherStart
 * @param {number} size
 */
export function dot(one, oneStart, other, otherStart, size) {
  let total = 0;
  for (let start = 0; start < size; start += BLOCK) {
    const stop = Math.min(start + BLOCK, size);
    let first = 0;
    let second = 0;
    let third = 0;
    let fourth = 0;
    let i = oneStart + start;
    let j = otherStart + start;
    const end = oneStart + stop;
    for (; i + 3 < end; i += 4, j += 4) {
      first += one[i] * other[j];
      second += one[i + 1] * other[j + 1];
      third += one[i + 2] * other[j + 2];
      fourth += one[i + 3] * other[j + 3];
    }
    for (; i < end; i += 1, j += 1) first += one[i] * other[j];
    total += first + second + (third + fourth);
  }
  return total;
}

/**
 * The sum of some numbers of a vector.
 *
 * @param {Float64Array} numbers
 */
export function total(numbers, start = 0, stop = numbers.length) {
  const sum = new Sum();
  for (let at = start; at < stop; at += 1) sum.add(numbers[at]);
  return sum.value;
}

/**
 * Entry i is the sum of numbers[i] and all after it, from the far end, so that small tails keep their digits.
 *
 * @param {Float64Array} numbers
 */
export function sumsFrom(numbers) {
  const sums = new Float64Array(numbers.length + 1);
  const sum = new Sum();
  for (let at = numbers.length - 1; at >= 0; at -= 1) {
    sum.add(numbers[at]);
    sums[at] = sum.value;
  }
  return sums;
}

/**
 * The laws of sums: entry k is the sum over i of one[i] other[k - i].
 *
 * @param {Float64Array} one @param {Float64Array} other
 */
export function convolved(one, other) {
  if (one === other) return convolvedWithItself(one);
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  const reversed = short.slice().reverse();
  const sums = new Float64Array(one.length + other.length - 1);
  for (let k = 0; k < sums.length; k += 1) {
    const from = Math.max(0, k - short.length + 1);
    const stop = Math.min(k + 1, long.length);
    sums[k] = dot(long, from, reversed, from + short.length - 1 - k, stop - from);
  }
  return sums;
}

/**
 * The same for two equal laws: one[i] one[k - i] stands for two products, which halves the work.
 *
 * @param {Float64Array} one
 */
function convolvedWithItself(one) {
  const reversed = one.slice().reverse();
  const sums = new Float64Array(2 * one.length - 1);
  for (let k = 0; k < sums.length; k += 1) {
    const from = Math.max(0, k - one.length + 1);
    const pairs = ((k + 1) >> 1) - from; // i below k - i
    const square = k % 2 ? 0 : one[k / 2] ** 2;
    sums[k] = 2 * dot(one, from, reversed, from + one.length - 1 - k, pairs) + square;
  }
  return sums;
}

/**
 * Numbers from one to another, each the same factor larger than the one before.
 *
 * @param {number} low @param {number} high @param {number} count
 */
export function geometric(low, high, count) {
  const growth = Math.log(high / low) / (count - 1);
  return Float64Array.from({ length: count }, (_, at) => low * Math.exp(at * growth));
}
