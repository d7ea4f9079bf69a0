/**
 * The privacy of a task: the smallest delta for every epsilon, or in the protocols with two laws an upper bound.
 *
 * Neighbours are batches in which one person's answer is another one. That moves the count of one value up and of
 * another down, and the noise of h honest people is all that hides it (docs/reference/wire-format.md).
 */

import { Clusters } from "./clusters.js";
import { composed } from "./grid.js";
import { PrivacyLoss } from "./loss.js";
import { binomialWindow, poissonWindow } from "./window.js";

/**
 * What the privacy of a task follows from.
 *
 * @typedef {{users: number, honestUsers: number, values: number, levels: number, mostMessages: number,
 *   guarantee: {epsilon: number, delta: number}, law: import("../parameters.js").Law}} Asked
 */

/** Share of the claimed delta that composition may give up wherever it shortens a distribution. */
const RESOLUTION = 1e-3;

/** The mass that the composition of many levels may give up each time: far below every delta. */
const NEGLIGIBLE = 1e-25;

/**
 * Delta at any epsilon, never below the truth; `exact` where it is the truth but for rounding.
 *
 * @param {Asked} task
 * @returns {{exact: boolean, delta: (epsilon: number) => number}}
 */
export function curveOf({ users, honestUsers, levels, guarantee, law }) {
  if (law.kind === "coin") return ofOneLaw(binomialWindow(honestUsers, law.probability.value));
  if (law.kind === "hashed") return ofLevels(poissonWindow((law.dummies.rate.value * honestUsers) / users), levels);
  if ("dummies" in law.laws) return ofOneLaw(poissonWindow((law.laws.dummies.rate.value * honestUsers) / users));
  const share = honestUsers / users;
  const [pairs, lone] = [law.laws.pairs, law.laws.lone].map(
    ({ rate, sizeWeights }) => new Clusters(rate.value * share, sizeWeights),
  );
  return ofTwoLaws(pairs, lone, RESOLUTION * guarantee.delta * Math.exp(-guarantee.epsilon));
}

/**
 * One shift up and one down, of noise of the same law: summed outcome by outcome. Exchanging the datasets exchanges the
 * two shifts, so both directions are the same.
 *
 * @param {import("./window.js").Window} window
 */
function ofOneLaw(window) {
  const up = PrivacyLoss.ofShift(window, 1);
  const down = PrivacyLoss.ofShift(window, -1);
  return { exact: true, delta: (/** @type {number} */ epsilon) => Math.min(1, down.deltaWith(up, epsilon)) };
}

/**
 * One shift up and one down on every level. Hash functions do not matter: the worst case is that no message fits two
 * values (docs/proofs/hashed-histogram.md), so this is an upper bound.
 *
 * @param {import("./window.js").Window} window @param {number} levels
 */
function ofLevels(window, levels) {
  if (levels === 1) return { ...ofOneLaw(window), exact: false };
  const losses = [PrivacyLoss.ofShift(window, -1), PrivacyLoss.ofShift(window, 1)];
  const loss = composed(losses.map((one) => ({ loss: one, count: levels })), NEGLIGIBLE);
  return { exact: false, delta: (/** @type {number} */ epsilon) => Math.min(1, loss.delta(epsilon)) };
}

/**
 * Four shifts, one up and one down of each law, of the larger noise first, and down before up. Equal laws are counted.
 *
 * @param {Clusters} pairs @param {Clusters} lone @param {number} resolution
 */
function ofTwoLaws(pairs, lone, resolution) {
  const ordered = [pairs, lone].sort((one, other) => other.mean - one.mean || other.variance - one.variance);
  const different = pairs.equals(lone) ? [pairs] : ordered;
  const shifts = different.flatMap((law) => {
    const window = law.window();
    return [
      { loss: PrivacyLoss.ofShift(window, -1), count: 2 / different.length },
      { loss: PrivacyLoss.ofShift(window, 1), count: 2 / different.length },
    ];
  });
  const loss = composed(shifts, resolution);
  return { exact: false, delta: (/** @type {number} */ epsilon) => Math.min(1, loss.delta(epsilon)) };
}
