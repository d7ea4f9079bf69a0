/**
 * How likely it is that anybody draws more messages than a report may hold, and so draws again.
 *
 * Let A be the event that nobody of n people does, and eta >= n P(more) bound the chance that it fails. The number of
 * messages has the same distribution for every answer, so P(A) is the same for neighbours, and for every set S of
 * outcomes P_x(S | A) <= (e^epsilon P_x'(S and A) + delta) / P(A) = e^epsilon P_x'(S | A) + delta / P(A): drawing again
 * costs a factor 1 / (1 - eta) in delta.
 */

import { Clusters } from "./clusters.js";
import { SEVERAL_OPERATIONS } from "./rounding.js";
import { geometric } from "./sums.js";

/** The chance that anybody draws again is at most this share of delta, and at most 2^-44, below all margins. */
const SHARE_OF_DELTA = 1e-3;
const SELDOM = 2 ** -44;

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
