// Linear hash functions modulo a prime: the rules of shuffledp.histogram.hash_family in the Python package.
import { TaskError } from "./errors.js";

/** The most messages on all levels together: each is one machine integer for the analyzer. */
const MOST_MESSAGES = 1n << 62n;

/** Seeds that are expanded to coefficients, where those with all coefficients as seeds would be too many. */
const EXPANDED_SEEDS = 1n << 36n;

/** Coefficient i of such a seed is made of 64 seed + i; no value has 64 digits. */
const STRIDE = 64n;

/**
 * Hash functions of `values` values, one for each of `seeds` seeds, into `modulus` buckets.
 *
 * The digits of a value are its place among the `pieces` of its parent, then the digits of the parent to the base of
 * the modulus. A seed stands for one coefficient for each digit, and the bucket of a value is the sum of the products,
 * modulo the prime. On each of `levels` levels messages are numbers of their own.
 */
export class HashFamily {
  /**
   * The family of a task: all coefficients are seeds if its messages on all levels are few enough.
   * @param {{modulus: number, values: bigint, pieces?: number, levels?: number}} sizes
   */
  constructor({ modulus, values, pieces = modulus, levels = 1 }) {
    if (pieces > modulus) {
      throw new TaskError(
        `the parameters cannot be used: pieces must be 1 to the number of buckets ${modulus}, got ${pieces}`,
      );
    }
    this.modulus = modulus;
    this.values = values;
    this.pieces = pieces;
    this.levels = levels;
    const base = BigInt(modulus);
    const parents = (values + BigInt(pieces) - 1n) / BigInt(pieces);
    /** Of a value, and coefficients of a seed. */
    this.digits = 1 + lengthOf(parents - 1n, base);
    const every = base ** BigInt(this.digits);
    /** Whether coefficients are expanded from a shorter seed. */
    this.expanded = BigInt(levels) * every * base > MOST_MESSAGES;
    this.seeds = this.expanded ? EXPANDED_SEEDS : every;
    if (this.messages > MOST_MESSAGES) {
      throw new TaskError("the parameters cannot be used: there must be at most 2^62 messages on all levels");
    }
  }

  /** How many different messages there are, on all levels. */
  get messages() {
    return BigInt(this.levels) * this.seeds * BigInt(this.modulus);
  }

  /**
   * The bucket of a value under a seed.
   * @param {bigint} seed
   * @param {bigint} value
   */
  bucket(seed, value) {
    const coefficients = this.#coefficients(seed);
    const parent = value / BigInt(this.pieces);
    const digits = [Number(value % BigInt(this.pieces)), ...digitsOf(parent, this.modulus, this.digits - 1)];
    return digits.reduce((sum, digit, at) => (sum + coefficients[at] * digit) % this.modulus, 0);
  }

  /**
   * The number of the message with a seed and a bucket on a level.
   * @param {{level: number, seed: bigint, bucket: number}} parts
   */
  message({ level, seed, bucket }) {
    return (BigInt(level) * this.seeds + seed) * BigInt(this.modulus) + BigInt(bucket);
  }

  /**
   * The level, the seed and the bucket of a message.
   * @param {bigint} message
   */
  parts(message) {
    const base = BigInt(this.modulus);
    const place = message / base;
    return { level: Number(place / this.seeds), seed: place % this.seeds, bucket: Number(message % base) };
  }

  /** @param {bigint} seed */
  #coefficients(seed) {
    if (!this.expanded) return digitsOf(seed, this.modulus, this.digits);
    const base = BigInt(this.modulus);
    return Array.from({ length: this.digits }, (_, at) => Number(mixed(STRIDE * seed + BigInt(at)) % base));
  }
}

/**
 * A scrambled word of 64 bits: the output function of the generator SplitMix64.
 * @param {bigint} word
 */
function mixed(word) {
  let z = BigInt.asUintN(64, word + 0x9e3779b97f4a7c15n);
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

/**
 * How many digits a number has to a base; 0 for 0.
 * @param {bigint} number
 * @param {bigint} base
 */
function lengthOf(number, base) {
  let length = 0;
  for (let rest = number; rest > 0n; rest /= base) length += 1;
  return length;
}

/**
 * The first `length` digits of a number, the lowest first.
 * @param {bigint} number
 * @param {number} base
 * @param {number} length
 */
function digitsOf(number, base, length) {
  let rest = number;
  return Array.from({ length }, () => {
    const digit = Number(rest % BigInt(base));
    rest /= BigInt(base);
    return digit;
  });
}
