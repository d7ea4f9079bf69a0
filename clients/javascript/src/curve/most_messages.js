/**
 * The probability that a person samples more messages than a report may hold, and so samples again, and its cost in
 * delta: (delta + e^epsilon q) / (1 - q), without the term e^epsilon q for Poisson dummies that come one at a time. The
 * proof is in protocols/message_limit.py of the Python package.
 */

import { Clusters } from "./clusters.js";
import { SEVERAL_OPERATIONS } from "./rounding.js";
import { geometric } from "./sums.js";

/** The chance that anybody draws again is at most this share of delta, and at most 2^-44, below all margins. */
const SHARE_OF_DELTA = 1e-3;
const SELDOM = 2 ** -44;

/** The smaller epsilons to try, up to 512. */
const SMALLER_EPSILONS = Array.from({ length: 27 }, (_, at) => 2 ** ((at - 8) / 2));

/** Tilts of Chernoff's bound that are tried: each gives a bound that holds. */
const TILTS = geometric(1e-9, 50, 400);

/**
 * The chance that anybody draws again which a delta allows.
 *
 * @param {number} delta
 */
export function seldomEnough(delta) {
  return Math.min(SHARE_OF_DELTA * delta, SELDOM);
}

/**
 * At most how likely anybody of all people draws more messages than a report may hold.
 *
 * @param {import("./curve.js").Asked} task
 */
export function chanceOfMore(task) {
  // a message for each value of the person, and with coins at most one for each value of the task
  if (task.law.kind === "coin" && task.mostMessages >= task.levels + task.values) return 0;
  const cumulant = messagesCumulant(task);
  let least = 0;
  for (const tilt of TILTS) {
    const exponent = cumulant(tilt) * (1 + SEVERAL_OPERATIONS) - tilt * (task.mostMessages + 1);
    least = Math.min(least, Number.isNaN(exponent) ? 0 : exponent);
  }
  return Math.min(1, task.users * Math.exp(least));
}

/**
 * The cost of the limits of one or several answers. `kept` is at most the probability that no person samples again.
 * `hidden` is at least the probability that a person samples again in a task whose tally does not tell it.
 *
 * @typedef {{kept: number, hidden: number}} LimitCost
 */

/**
 * Return the cost of the limits of all answers together.
 *
 * @param {import("./total.js").Answered[]} answered
 * @returns {LimitCost}
 */
export function limitCost(answered) {
  let [kept, hidden] = [1, 0];
  for (const { asked, times } of answered) {
    const again = chanceOfMore(asked);
    kept *= (1 - again) ** times;
    if (!tallyImpliesLengths(asked)) hidden += times * again;
  }
  return { kept, hidden };
}

/**
 * Return the term that is added to a delta at this epsilon before the division by `kept`.
 *
 * @param {LimitCost} cost @param {number} epsilon
 */
export function addedByLimits({ hidden }, epsilon) {
  return Math.exp(epsilon) * hidden;
}

/**
 * Return the delta with the limits, from the curve without them; never below the truth. The term grows with epsilon, and
 * privacy at a smaller epsilon implies privacy at a larger one, so these are tried where the term is large.
 *
 * @param {LimitCost} cost @param {(epsilon: number) => number} curve @param {number} epsilon
 */
export function deltaWithLimits(cost, curve, epsilon) {
  if (!(cost.kept > 0)) return 1; // nothing is known of people who always sample again
  const [free, added] = [curve(epsilon), addedByLimits(cost, epsilon)];
  let least = free + added;
  if (added > free) {
    for (const at of SMALLER_EPSILONS) {
      if (at < epsilon) least = Math.min(least, curve(at) + addedByLimits(cost, at));
    }
  }
  return Math.min(1, least / cost.kept);
}

/**
 * Whether, given the tally, the numbers of messages of all people do not depend on their values: Poisson dummies that
 * come one at a time.
 *
 * @param {import("./curve.js").Asked} task
 */
function tallyImpliesLengths({ law }) {
  return law.kind === "hashed" || (law.kind === "clusters" && "dummies" in law.laws);
}

/**
 * Ln E e^(t N) of the number N of messages of one person.
 *
 * @param {import("./curve.js").Asked} task
 * @returns {(tilt: number) => number}
 */
function messagesCumulant({ users, values, levels, law }) {
  if (law.kind === "coin") {
    const { value: probability } = law.probability;
    if (!law.leavesOut) return (tilt) => levels * tilt + values * Math.log1p(probability * Math.expm1(tilt));
    // every value but those that are missing
    return (tilt) => levels * tilt + values * (tilt + Math.log1p(probability * Math.expm1(-tilt)));
  }
  if (law.kind === "hashed") {
    const dummies = (law.dummies.rate.value * law.buckets * levels) / users;
    return (tilt) => levels * tilt + dummies * Math.expm1(tilt);
  }
  const share = values / users;
  if ("dummies" in law.laws) {
    const { value: rate } = law.laws.dummies.rate;
    return (tilt) => levels * tilt + share * rate * Math.expm1(tilt);
  }
  const [pairs, lone] = [law.laws.pairs, law.laws.lone].map((one) => new Clusters(one.rate.value, one.sizeWeights));
  return (tilt) => levels * tilt + share * (pairs.cumulant(2 * tilt) + lone.cumulant(tilt));
}
