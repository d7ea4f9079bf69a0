// Exact decimal numbers: the syntax of `read_number` in shuffledp.histogram.edges of the Python package.

/**
 * The number units * 10^power.
 * @typedef {{units: bigint, power: number}} Decimal
 */

/** The most characters of a number, including spaces. */
const LONGEST = 400;

/** The most characters of a number in plain notation. */
const LONGEST_PLAIN = 21;

/** Python writes a number with more zeros than this after its point in scientific notation. */
const MOST_ZEROS = 5;

const NUMBER = /^ *([+-]?)(?:([0-9]+)\.?([0-9]*)|\.([0-9]+))(?:[eE]([+-]?[0-9]{1,4}))? *$/;

/**
 * Returns the exact number of a text; null if the text is not a number. The digits are 0 to 9, with at most one point,
 * an optional sign and an optional exponent; spaces around are ignored.
 * @param {string} text
 * @returns {Decimal | null}
 */
export function parseDecimal(text) {
  const found = text.length <= LONGEST ? NUMBER.exec(text) : null;
  if (found === null) return null;
  const [, sign, before = "", afterThem, alone, exponent = "0"] = found;
  const after = alone ?? afterThem;
  const units = BigInt(before + after);
  return { units: sign === "-" ? -units : units, power: Number(exponent) - after.length };
}

/**
 * Returns the same number without trailing zeros, and with a power of at most 0.
 * @param {Decimal} number with a small power
 * @returns {Decimal}
 */
export function normalized({ units, power }) {
  if (units === 0n) return { units, power: 0 };
  if (power >= 0) return { units: units * 10n ** BigInt(power), power: 0 };
  while (power < 0 && units % 10n === 0n) [units, power] = [units / 10n, power + 1];
  return { units, power };
}

/**
 * Returns the digits of a number before its point; 0 or less if it begins with zeros after the point.
 * @param {Decimal} number that is not 0
 */
export function digitsBefore({ units, power }) {
  return digitsOf(units).length + power;
}

/**
 * Writes a number as Python writes an edge.
 * @param {Decimal} number
 */
export function written(number) {
  const { units, power } = normalized(number);
  if (power === 0) return String(units);
  const [sign, digits, before] = [units < 0n ? "-" : "", digitsOf(units), digitsBefore({ units, power })];
  const plain =
    before > 0 ? `${digits.slice(0, before)}.${digits.slice(before)}` : `0.${"0".repeat(-before)}${digits}`;
  if (sign.length + plain.length <= LONGEST_PLAIN || -before <= MOST_ZEROS) return sign + plain;
  const rest = digits.length > 1 ? `.${digits.slice(1)}` : "";
  return `${sign}${digits[0]}${rest}E${before - 1}`;
}

/**
 * Returns the largest whole number of units of 10^-places that is not above a number, or an infinity if the number has
 * more than `most` digits in these units.
 * @param {Decimal} number
 * @param {number} places
 * @param {number} most
 * @returns {bigint | number}
 */
export function flooredTo({ units, power }, places, most) {
  if (units === 0n) return 0n;
  const [shift, digits] = [power + places, digitsOf(units).length];
  if (digits + shift > most) return units < 0n ? -Infinity : Infinity;
  if (shift >= 0) return units * 10n ** BigInt(shift);
  if (digits + shift <= 0) return units < 0n ? -1n : 0n;
  const divisor = 10n ** BigInt(-shift);
  return units / divisor - (units < 0n && units % divisor !== 0n ? 1n : 0n);
}

/** @param {bigint} units */
function digitsOf(units) {
  return String(units < 0n ? -units : units);
}
