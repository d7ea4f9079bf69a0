/**
 * The privacy of many answers of one person together, computed as the Python package does (accounting/loss.py).
 *
 * Every loss is on a grid with a step 2^k, and a sum has 80 to 160 steps per standard deviation: a finer one is
 * coarsened. The two losses with the smallest variances are added first. A total of hundreds of answers takes
 * milliseconds, its epsilon is about 1e-4 above the truth, and never below it (docs/proofs/exact-privacy.md).
 */

import { NEGLIGIBLE, curveWithin, noisesOf } from "./curve.js";
import { onGrid, onlySize } from "./grid.js";
import { PrivacyLoss } from "./loss.js";
import { deltaWithLimits, limitCost } from "./most_messages.js";

/** @typedef {import("./curve.js").Asked} Asked */
/** @typedef {import("./grid.js").GridLoss} GridLoss */

/**
 * Answers to tasks with the same parameters, and their number.
 *
 * @typedef {{asked: Asked, times: number}} Answered
 */

/** The fewest steps per standard deviation; a sum with twice as many is coarsened. */
const STEPS_PER_DEVIATION = 80;

/** The most points of a grid: with little noise, a few large losses are far beyond the standard deviation. */
const MOST_POINTS = 2 ** 13;

/** The largest epsilon of a search; an epsilon of 512 guarantees nothing. */
const LARGEST_EPSILON = 512;

/** The precision of an epsilon, which is rounded up. */
const TOLERANCE = 1e-11;

/**
 * Return the privacy of all answers together. `delta` is never below the truth, and `epsilon` is the smallest one for a
 * delta; Infinity if there is none. Samples that are drawn again are accounted for (most_messages.js).
 *
 * `more` are answers that are added last: totals that differ only in them share the work for the others. The order
 * moves epsilon by some millionths of it, always above the truth.
 *
 * @param {Answered[]} answered
 * @param {Answered[]} [more]
 * @returns {{delta: (epsilon: number) => number, epsilon: (delta: number) => number}}
 */
export function totalOf(answered, more = []) {
  const cost = limitCost([...answered, ...more]);
  const curve = together(answered, more);
  /** @param {number} epsilon */
  const delta = (epsilon) => deltaWithLimits(cost, curve, epsilon);
  return { delta, epsilon: (most) => smallestEpsilon(delta, most) };
}

/**
 * Return the curve of all answers without a limit on their messages.
 *
 * @param {Answered[]} answered @param {Answered[]} more
 * @returns {(epsilon: number) => number}
 */
function together(answered, more) {
  const all = [...answered, ...more];
  const number = all.reduce((sum, { times }) => sum + times, 0);
  if (number === 0) return () => 0;
  if (number === 1) return curveWithin(all.filter(({ times }) => times)[0].asked, NEGLIGIBLE).delta;
  const { grid, number: losses } = totalSum(countedTerms(answered), countedTerms(more));
  const loss = grid.lossOf(losses);
  return (epsilon) => loss.delta(epsilon);
}

/**
 * The loss of several releases on a grid, with its variance off the grid and the number of losses added.
 *
 * @typedef {{grid: GridLoss, variance: number, number: number}} Sum
 */

/**
 * One noise distribution that moves down and up, `times` times.
 *
 * @typedef {{noise: import("./curve.js").Noise, times: number}} Term
 */

/**
 * Return the noise distributions of all answers, each with the number of times that it is moved down and up.
 *
 * @param {Answered[]} answered
 * @returns {Term[]}
 */
function countedTerms(answered) {
  return merged(
    answered.flatMap(({ asked, times }) =>
      noisesOf(asked).map((noise) => ({ noise, times: noise.count * asked.levels * times })),
    ),
  );
}

/**
 * Return the terms with equal noise as one; those that move nothing are left out.
 *
 * @param {Term[]} terms
 */
function merged(terms) {
  /** @type {Map<string, Term>} */
  const counts = new Map();
  for (const { noise, times } of terms) {
    if (times) counts.set(noise.key, { noise, times: times + (counts.get(noise.key)?.times ?? 0) });
  }
  return [...counts.values()];
}

/**
 * The sums of a noise distribution that are cached: `unit` moves down and up once, `sums` more often. `size` is the one
 * absolute value of its losses, or null.
 *
 * @typedef {{variance: number, size: number | null, unit: Sum, sums: Map<number, Sum>}} Known
 */

/**
 * The cache, by the keys of noise distributions: a client computes the total before and after an answer, and for others
 * that might fit. A sum has a few thousand numbers.
 *
 * @type {Map<string, Known>}
 */
const cache = new Map();
const [MOST_KNOWN, MOST_SUMS] = [256, 32];

/**
 * @param {Term} term
 * @returns {Known}
 */
function knownOf({ noise }) {
  let known = cache.get(noise.key);
  if (known === undefined) {
    const losses = lossesOf(noise);
    const variance = losses[0].variance + losses[1].variance;
    known = { variance, size: onlySize(losses), unit: onItsGrid(losses, variance, null), sums: new Map() };
    if (cache.size >= MOST_KNOWN) cache.clear();
    cache.set(noise.key, known);
  }
  return known;
}

/** @param {import("./curve.js").Noise} noise */
function lossesOf(noise) {
  const window = noise.window();
  return [PrivacyLoss.ofShift(window, -1), PrivacyLoss.ofShift(window, 1)];
}

/**
 * Return the sum of all terms, those of `more` added last where this saves work.
 *
 * @param {Term[]} terms @param {Term[]} more
 */
function totalSum(terms, more) {
  const all = merged([...terms, ...more]);
  // losses of one single size are composed exactly, on the grid of that size
  const single = all.every((term) => knownOf(term).size !== null);
  const size = single ? onlySize(all.flatMap(({ noise }) => lossesOf(noise))) : null;
  if (size) return added(all.map((term) => ofSize(term, size)));
  if (!terms.length || !more.length || all.length === 1) return cachedSum(all);
  return plus(cachedSum(terms), cachedSum(more));
}

/**
 * The last sums of several terms, by their noise and times.
 *
 * @type {Map<string, Sum>}
 */
const totals = new Map();
const MOST_TOTALS = 16;

/** @param {Term[]} terms */
function cachedSum(terms) {
  if (terms.length === 1) return timesOf(knownOf(terms[0]), terms[0].times);
  const key = terms.map(({ noise, times }) => `${times} ${noise.key}`).join();
  let sum = totals.get(key);
  if (sum === undefined) {
    sum = added(terms.map((term) => timesOf(knownOf(term), term.times)));
    if (totals.size >= MOST_TOTALS) totals.clear();
    totals.set(key, sum);
  }
  return sum;
}

/**
 * Return the sum of all, the two with the smallest variances first.
 *
 * @param {Sum[]} sums
 */
function added(sums) {
  const left = [...sums].sort((one, other) => one.variance - other.variance);
  while (left.length > 1) {
    const [one, other] = left.splice(0, 2);
    const sum = plus(one, other);
    const after = left.findIndex(({ variance }) => variance > sum.variance);
    left.splice(after < 0 ? left.length : after, 0, sum);
  }
  return left[0];
}

/**
 * @param {Term} term @param {number} size
 * @returns {Sum}
 */
function ofSize(term, size) {
  const known = knownOf(term);
  return timesOf({ ...known, unit: onItsGrid(lossesOf(term.noise), known.variance, size), sums: new Map() }, term.times);
}

/**
 * Return the sum of a known noise distribution that moves down and up this number of times, by doubling along the binary
 * digits of the number. The steps are cached: the total after one more answer shares most of them with the one before.
 *
 * @param {Known} known @param {number} number
 * @returns {Sum}
 */
function timesOf(known, number) {
  const { unit, sums } = known;
  if (number === 1) return unit;
  let sum = sums.get(number);
  if (sum === undefined) {
    const half = number % 2 ? null : timesOf(known, number / 2);
    sum = half ? plus(half, half) : plus(timesOf(known, number - 1), unit);
    if (sums.size >= MOST_SUMS) sums.clear();
    sums.set(number, sum);
  }
  return sum;
}

/**
 * @param {PrivacyLoss[]} losses @param {number} variance @param {number | null} size
 * @returns {Sum}
 */
function onItsGrid(losses, variance, size) {
  const span = Math.max(...losses.map((loss) => loss.shortened(NEGLIGIBLE).span));
  const finest = Math.max(Math.sqrt(variance) / STEPS_PER_DEVIATION, (2 * span) / MOST_POINTS);
  const step = size || (finest > 0 ? 2 ** Math.floor(Math.log2(finest)) : 1);
  const [down, up] = losses.map((loss) => onGrid(loss, step, NEGLIGIBLE));
  return coarsened({ grid: down.plus(up, NEGLIGIBLE), variance, number: losses.length });
}

/**
 * Return the sum on a coarser grid, if its grid is finer than necessary.
 *
 * @param {Sum} sum
 * @returns {Sum}
 */
function coarsened({ grid, variance, number }) {
  let coarse = grid;
  while (Math.sqrt(variance) >= 2 * STEPS_PER_DEVIATION * coarse.step || coarse.masses.length > MOST_POINTS) {
    coarse = coarse.coarsened;
  }
  return { grid: coarse, variance, number };
}

/**
 * Return the loss of both together, on the coarser one of the two grids.
 *
 * @param {Sum} one @param {Sum} other
 */
function plus(one, other) {
  let [first, second] = [one.grid, other.grid];
  while (first.step < second.step) first = first.coarsened;
  while (second.step < first.step) second = second.coarsened;
  const grid = first.plus(second, NEGLIGIBLE);
  return coarsened({ grid, variance: one.variance + other.variance, number: one.number + other.number });
}

/**
 * Return the smallest epsilon for a delta, rounded up.
 *
 * @param {(epsilon: number) => number} delta @param {number} most
 */
function smallestEpsilon(delta, most) {
  if (delta(0) <= most) return 0;
  let [low, high] = [0, 1];
  while (!(delta(high) <= most)) {
    if (high >= LARGEST_EPSILON) return Infinity;
    [low, high] = [high, 2 * high];
  }
  while (high - low > TOLERANCE) {
    const middle = (low + high) / 2;
    if (delta(middle) <= most) high = middle;
    else low = middle;
  }
  return high;
}
