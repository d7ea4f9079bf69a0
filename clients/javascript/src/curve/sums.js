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
 * The laws of sums: entry k is the sum over i of one[i] other[k - i]. Four entries are summed at once, since they share
 * most of their factors; each in blocks, off by (67 + size / 256) roundings at most, as `dot` is.
 *
 * @param {Float64Array} one @param {Float64Array} other
 */
export function convolved(one, other) {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  const reversed = short.slice().reverse();
  const before = short.length - 1;
  const sums = new Float64Array(long.length + before + 3); // up to three more than there are
  const padded = new Float64Array(sums.length + short.length); // zeros stand around the longer one
  padded.set(long, before);
  for (let k = 0; k < long.length + before; k += 4) {
    const stop = Math.min(short.length, before + long.length - k);
    for (let start = Math.max(0, before - k - 3); start < stop; start += BLOCK) {
      addBlock(sums, k, reversed, start, Math.min(start + BLOCK, stop), padded);
    }
  }
  return sums.slice(0, long.length + before);
}

/**
 * Adds to sums[k + j], for j from 0 to 3, the products of factors[i] and others[k + j + i], for i from start to stop.
 *
 * @param {Float64Array} sums @param {number} k
 * @param {Float64Array} factors @param {number} start @param {number} stop
 * @param {Float64Array} others
 */
function addBlock(sums, k, factors, start, stop, others) {
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  let i = start;
  let at = k + start;
  let a = others[at];
  let b = others[at + 1];
  let c = others[at + 2];
  for (; i + 3 < stop; i += 4, at += 4) {
    // one by one: destructuring makes it nine times slower
    const p = factors[i];
    const q = factors[i + 1];
    const r = factors[i + 2];
    const s = factors[i + 3];
    const d = others[at + 3];
    const e = others[at + 4];
    const f = others[at + 5];
    const g = others[at + 6];
    first += p * a + q * b + (r * c + s * d);
    second += p * b + q * c + (r * d + s * e);
    third += p * c + q * d + (r * e + s * f);
    fourth += p * d + q * e + (r * f + s * g);
    a = e;
    b = f;
    c = g;
  }
  for (; i < stop; i += 1, at += 1) {
    first += factors[i] * others[at];
    second += factors[i] * others[at + 1];
    third += factors[i] * others[at + 2];
    fourth += factors[i] * others[at + 3];
  }
  sums[k] += first;
  sums[k + 1] += second;
  sums[k + 2] += third;
  sums[k + 3] += fourth;
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
