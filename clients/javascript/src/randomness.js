import { fromHexadecimal } from "./bytes.js";

/**
 * Where all randomness comes from: the browser's or Node's cryptographic generator, in blocks.
 *
 * A source fills arrays with random bytes; only tests give another one.
 * @typedef {{fill: (bytes: Uint8Array<ArrayBuffer>) => void}} Source
 */

/** Bytes asked for at once: calls are dear, and so many are made of AES in a few microseconds. */
const BLOCK_BYTES = 4096;

/** Random bytes one after another, each handed out once. */
export class RandomBytes {
  /** @param {Source} [source] */
  constructor(source = { fill: (bytes) => void crypto.getRandomValues(bytes) }) {
    this.source = source;
    this.block = new Uint8Array(BLOCK_BYTES);
    this.at = BLOCK_BYTES;
  }

  /** One byte. */
  next() {
    if (this.at === BLOCK_BYTES) {
      this.source.fill(this.block);
      this.at = 0;
    }
    const byte = this.block[this.at];
    this.block[this.at] = 0; // an attacker who reads the memory later learns nothing about noise that was sent
    this.at += 1;
    return byte;
  }

  /**
   * A uniform whole number of so many bytes, at most 6.
   * @param {number} bytes
   */
  number(bytes) {
    let number = 0;
    for (let at = 0; at < bytes; at++) number = number * 256 + this.next();
    return number;
  }
}

/** What everybody's messages are drawn with. */
export const SYSTEM = new RandomBytes();

/**
 * So many random bytes.
 * @param {number} number
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function randomBytes(number, random = SYSTEM) {
  return Uint8Array.from({ length: number }, () => random.next());
}

/**
 * A uniform whole number below a limit of at most 2^48. Numbers of as many binary digits as the largest one has are
 * drawn until one is small enough: a remainder would favour small numbers.
 * @param {number} limit
 */
export function below(limit, random = SYSTEM) {
  let bytes = 0;
  let range = 1; // the smallest power of two that is not below the limit
  while (range < limit) range *= 2;
  for (let reach = 1; reach < range; reach *= 256) bytes += 1;
  for (;;) {
    const drawn = random.number(bytes) % range; // exact: the range divides the number of values that are drawn
    if (drawn < limit) return drawn;
  }
}

/**
 * A uniform whole number below a limit of any size, in the same way.
 * @param {bigint} limit
 */
export function belowLarge(limit, random = SYSTEM) {
  const digits = (limit - 1n).toString(2).length;
  for (;;) {
    let drawn = 0n;
    for (let bits = 0; bits < digits; bits += 8) drawn = drawn * 256n + BigInt(random.next());
    drawn = BigInt.asUintN(digits, drawn);
    if (drawn < limit) return drawn;
  }
}

/**
 * The same things in a uniformly random order (Fisher and Yates).
 * @template T
 * @param {T[]} things are put in that order themselves
 * @returns {T[]}
 */
export function shuffled(things, random = SYSTEM) {
  for (let left = things.length; left > 1; left--) {
    const chosen = below(left, random);
    [things[left - 1], things[chosen]] = [things[chosen], things[left - 1]];
  }
  return things;
}

/**
 * Whether a coin of probability numerator / 2^power shows heads. A whole number below 2^56 is drawn byte by byte and
 * compared with the numerator in as many digits: most coins are decided by the first byte.
 * @param {Uint8Array} digits of `coinDigits`
 */
export function heads(digits, random = SYSTEM) {
  for (const digit of digits) {
    const byte = random.next();
    if (byte !== digit) return byte < digit;
  }
  return false; // the number drawn is the numerator, and so not below it
}

/** A coin has a probability of at most 53 binary digits. */
const COIN_BYTES = 7;

/**
 * The bytes that a coin is compared with: its probability in units of 2^-56.
 * @param {import("./exact.js").Dyadic} probability
 * @returns {Uint8Array}
 */
export function coinDigits({ numerator, power }) {
  const scaled = numerator << BigInt(8 * COIN_BYTES - power);
  return fromHexadecimal(scaled.toString(16).padStart(2 * COIN_BYTES, "0"));
}
