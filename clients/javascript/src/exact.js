import { TaskError } from "./errors.js";

/**
 * The fraction numerator / 2^power, in lowest terms, and the double that it is.
 * @typedef {{numerator: bigint, power: number, value: number}} Dyadic
 */

/** Numbers in their one spelling: sixteen digits hold every whole number below 2^53, four the power of any double. */
const WRITTEN = /^(0|[1-9][0-9]{0,15})(?:\/2\^([1-9][0-9]{0,3}))?$/;

/** As people write figures, with more digits than anybody needs. */
const DECIMAL = /^(0|[1-9][0-9]{0,8})(\.[0-9]{1,30})?(e-[1-9][0-9]{0,2})?$/;

/** The place of the last binary digit that a double can have. */
const LAST_DIGIT = 1074;

/**
 * A number of a task file, exactly: text such as 5161/2^13, refused in any spelling but its one.
 * @param {unknown} text
 * @param {string} name what it is, for the error
 * @returns {Dyadic}
 */
export function readNumber(text, name) {
  const found = typeof text === "string" ? WRITTEN.exec(text) : null;
  if (found === null) {
    throw new TaskError(
      `${name} must be a whole number or a fraction such as 5161/2^13, as text; got ${shown(text)}`,
    );
  }
  const numerator = BigInt(found[1]);
  const power = Number(found[2] ?? 0);
  const lowest = power === 0 || (numerator % 2n === 1n && power <= LAST_DIGIT);
  if (!lowest || BigInt(Number(numerator)) !== numerator) {
    throw new TaskError(`${name}=${shown(text)} must be in lowest terms and have at most 53 binary digits`);
  }
  let value = Number(numerator);
  for (let halvings = 0; halvings < power; halvings++) value /= 2; // exact, since the result is a double
  return { numerator, power, value };
}

/**
 * A figure that people state, such as 0.5 or 1e-6: the nearest double.
 * @param {unknown} text
 * @param {string} name
 * @returns {number}
 */
export function readDecimal(text, name) {
  if (typeof text !== "string" || !DECIMAL.test(text)) {
    throw new TaskError(`${name} must be a decimal number as text, such as 0.5 or 1e-6; got ${shown(text)}`);
  }
  return Number(text);
}

/**
 * A part of a task as an error shows it: short.
 * @param {unknown} part
 */
export function shown(part) {
  return String(JSON.stringify(part) ?? part).slice(0, 60);
}
