// How well a guarantee protects one person, in one word: the rule of shuffledp.accounting.strength in the Python package.

/** @typedef {"strong" | "moderate" | "weak"} Strength */

/** Largest epsilon and delta of each: an outcome becomes at most 2.72 or 20.1 times as likely because of one person. */
const STRONG = [1, 1e-5];
const MODERATE = [3, 1e-3];

/**
 * The strength of a guarantee that was verified; a false one has none. What is not a number is weak.
 * @param {number} epsilon
 * @param {number} delta
 * @returns {Strength}
 */
export function strengthOf(epsilon, delta) {
  if (epsilon <= STRONG[0] && delta <= STRONG[1]) return "strong";
  return epsilon <= MODERATE[0] && delta <= MODERATE[1] ? "moderate" : "weak";
}
