/**
 * The privacy curve of a task: the smallest delta for every epsilon, or an upper bound if more than two counts move.
 *
 * Neighbours are batches in which one person's answer is replaced. For each value of the person this moves one count up
 * and another down. The noise of h honest people hides it (docs/reference/wire-format.md).
 */

import { Clusters } from "./clusters.js";
import { composed } from "./grid.js";
import { PrivacyLoss } from "./loss.js";
import { binomialWindow, poissonWindow } from "./window.js";

/**
 * The facts that the privacy of a task follows from. `levels` is the number of values that one person holds: one on each
 * level of a text or of a tree of intervals, or the most choices of a person.
 *
 * @typedef {{users: number, honestUsers: number, values: number, levels: number, mostMessages: number,
 *   guarantee: {epsilon: number, delta: number}, law: import("../parameters.js").Law}} Asked
 */

/** The share of the claimed delta that composition may give up wherever it shortens a distribution. */
const RESOLUTION = 1e-3;

/** The same where the claim does not matter: far below every delta. */
export const NEGLIGIBLE = 1e-25;

/**
 * Return delta at any epsilon, never below the truth; `exact` says that it is the truth up to rounding.
 *
 * @param {Asked} task
 * @returns {{exact: boolean, delta: (epsilon: number) => number}}
 */
export function curveOf(task) {
  const { guarantee, law } = task;
  const resolved = law.kind === "clusters" && "pairs" in law.laws;
  return curveWithin(task, resolved ? RESOLUTION * guarantee.delta * Math.exp(-guarantee.epsilon) : NEGLIGIBLE);
}

/**
 * Return the same curve, where composition may give up the mass `cut` each time.
 *
 * @param {Asked} task @param {number} cut
 * @returns {{exact: boolean, delta: (epsilon: number) => number}}
 */
export function curveWithin(task, cut) {
  const noises = noisesOf(task);
  const { law, levels } = task;
  if (noises.length === 1 && noises[0].count * levels === 1) {
    // the bound on hashed messages assumes that no message fits two values (docs/proofs/hashed-histogram.md)
    return { ...ofOneValue(noises[0].window()), exact: law.kind !== "hashed" };
  }
  const loss = composed(shiftsOf(noises, levels), cut);
  return { exact: false, delta: (/** @type {number} */ epsilon) => Math.min(1, loss.delta(epsilon)) };
}

/**
 * One distribution of the honest people's noise in a bin. Each value of a person moves `count` of its coordinates up
 * and `count` down. Equal noise has an equal `key`.
 *
 * @typedef {{key: string, count: number, window: () => import("./window.js").Window}} Noise
 */

/**
 * Return the noise distributions of a task, the larger one first; equal ones are counted.
 *
 * @param {Asked} task
 * @returns {Noise[]}
 */
export function noisesOf({ users, honestUsers, law }) {
  const share = honestUsers / users;
  if (law.kind === "coin") {
    const { value } = law.probability;
    return [{ key: `coins ${honestUsers} ${value}`, count: 1, window: () => binomialWindow(honestUsers, value) }];
  }
  if (law.kind === "hashed") return [ofDummies((law.dummies.rate.value * honestUsers) / users)];
  if ("dummies" in law.laws) return [ofDummies((law.laws.dummies.rate.value * honestUsers) / users)];
  const [pairs, lone] = [law.laws.pairs, law.laws.lone].map(
    ({ rate, sizeWeights }) => new Clusters(rate.value * share, sizeWeights),
  );
  if (pairs.equals(lone)) return [ofClusters(pairs, 2)];
  const ordered = [pairs, lone].sort((one, other) => other.mean - one.mean || other.variance - one.variance);
  return ordered.map((noise) => ofClusters(noise, 1));
}

/**
 * @param {number} rate
 * @returns {Noise}
 */
function ofDummies(rate) {
  return { key: `clusters ${rate} 1`, count: 1, window: () => poissonWindow(rate) };
}

/**
 * @param {Clusters} noise @param {number} count
 * @returns {Noise}
 */
function ofClusters(noise, count) {
  return { key: `clusters ${noise.rate} ${noise.sizes.join(" ")}`, count, window: () => noise.window() };
}

/**
 * Return the shifts of people with this number of values, down before up. The order matters a little, since composition
 * shortens after every step: it is the order of the Python package.
 *
 * @param {Noise[]} noises @param {number} levels
 */
export function shiftsOf(noises, levels) {
  return noises.flatMap((noise) => {
    const window = noise.window();
    const count = noise.count * levels;
    return [
      { loss: PrivacyLoss.ofShift(window, -1), count },
      { loss: PrivacyLoss.ofShift(window, 1), count },
    ];
  });
}

/**
 * One shift up and one down, summed by outcome. Exchanging the datasets exchanges the two shifts, so both directions are
 * equal.
 *
 * @param {import("./window.js").Window} window
 */
function ofOneValue(window) {
  const up = PrivacyLoss.ofShift(window, 1);
  const down = PrivacyLoss.ofShift(window, -1);
  return { delta: (/** @type {number} */ epsilon) => Math.min(1, down.deltaWith(up, epsilon)) };
}
