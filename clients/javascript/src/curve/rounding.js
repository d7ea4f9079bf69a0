/**
 * Every margin by which a number is moved to the safe side because a computer rounds: those of the Python package
 * (accounting/rounding.py), which says how each was measured.
 *
 * An operation is off by a relative 2^-53 at most. Math.exp, Math.log and their like are off by about as much in every
 * engine that is known, though no standard says so: margins are thousands of times larger. Sums are made so that their
 * own rounding does not grow with the number of terms (sums.js).
 */

/** What a window of probabilities may leave out on either side; it is counted as revealed. */
export const TAIL = 2 ** -100;

/**
 * Of a delta that is summed over losses, relative to the probability of the losses that count; of the mass at infinity;
 * of a mass that is moved to a grid or convolved.
 */
export const PRIVACY_LOSS = 2 ** -40;

/** Of a number from up to a dozen operations and one exponential. */
export const SEVERAL_OPERATIONS = 1e-12;

/** Room between a delta that is claimed and the one that is computed: two computations differ by far less. */
export const PROMISED_DELTA = 1e-9;
