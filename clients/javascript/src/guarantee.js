// An epsilon and a delta: what a task claims, and what a person allows.
import { ParameterError, TaskError } from "./errors.js";
import { readDecimal } from "./exact.js";

/** Privacy is computed for these; outside of them a guarantee is useless or means nothing. */
const [LEAST_EPSILON, MOST_EPSILON, LEAST_DELTA] = [1e-3, 50, 1e-20];

/**
 * What a task claims, as numbers.
 * @param {{epsilon: string, delta: string}} claim
 * @returns {{epsilon: number, delta: number}}
 */
export function readGuarantee(claim) {
  const epsilon = readDecimal(claim.epsilon, "epsilon");
  const delta = readDecimal(claim.delta, "delta");
  const refused = "the guarantee of the task cannot be one:";
  if (epsilon <= 0) throw new TaskError(`${refused} epsilon must be above 0, got ${epsilon}; 1 is a common choice`);
  if (epsilon < LEAST_EPSILON || epsilon > MOST_EPSILON) {
    throw new TaskError(`${refused} epsilon must lie between ${LEAST_EPSILON} and ${MOST_EPSILON}, got ${epsilon}`);
  }
  if (delta <= 0 || delta >= 1) {
    throw new TaskError(`${refused} delta must lie strictly between 0 and 1, got ${delta}`);
  }
  if (delta < LEAST_DELTA) throw new TaskError(`${refused} delta must be at least ${LEAST_DELTA}, got ${delta}`);
  return { epsilon, delta };
}

/**
 * Return an epsilon and a delta that a person gave, or undefined if they gave none.
 * @param {string} name of the option
 * @param {unknown} given
 * @returns {[number, number] | undefined}
 */
export function checkPair(name, given) {
  if (given === undefined) return undefined;
  const pair = Array.isArray(given) ? given : [];
  if (pair.length !== 2 || !pair.every(Number.isFinite)) {
    throw new ParameterError(`${name} must be an epsilon and a delta, such as [1, 1e-6]`);
  }
  const [epsilon, delta] = pair;
  if (!(epsilon >= LEAST_EPSILON && epsilon <= MOST_EPSILON && delta >= LEAST_DELTA && delta < 1)) {
    throw new ParameterError(
      `${name} must have an epsilon from ${LEAST_EPSILON} to ${MOST_EPSILON} and a delta from ${LEAST_DELTA} to below ` +
        `1, such as [1, 1e-6]; got [${epsilon}, ${delta}]`,
    );
  }
  return [epsilon, delta];
}
