/** Losses of more than two independent shifts, composed on a grid that errs on the safe side. */

import { PrivacyLoss } from "./loss.js";
import { PRIVACY_LOSS } from "./rounding.js";
import { convolved } from "./sums.js";

/** Of the grid: finer ones move delta by less than one part in a thousand. */
const STEPS_PER_DEVIATION = 60;

/** Of one shift's losses on the grid, so that a composition takes milliseconds. */
const MOST_STEPS = 2 ** 13;

/** Losses whose sizes differ by less, relative to them, are one on the grid; what differs is split. */
const SAME_SIZE = 1e-9;

/** Masses of the losses first * step, (first + 1) * step, ..., and the mass at infinity. */
export class GridLoss {
  /** @param {number} step @param {number} first @param {Float64Array} masses @param {number} infinity */
  constructor(step, first, masses, infinity) {
    this.step = step;
    this.first = first;
    this.masses = masses;
    this.infinity = infinity;
  }

  /**
   * The loss of two independent releases, shortened; only positive terms are added, so small masses keep their digits.
   *
   * @param {GridLoss} other @param {number} cut
   */
  plus(other, cut) {
    const infinity = this.infinity + other.infinity - this.infinity * other.infinity;
    const masses = convolved(this.masses, other.masses);
    const kept = new GridLoss(this.step, this.first + other.first, masses, infinity).#finite().shortened(cut);
    if (!kept.losses.length) return new GridLoss(this.step, 0, new Float64Array(1), kept.infinity);
    return new GridLoss(this.step, Math.round(kept.losses[0] / this.step), kept.masses, kept.infinity);
  }

  /**
   * The loss of `count` independent releases, by doubling along the binary digits of their number.
   *
   * @param {number} count @param {number} cut
   */
  times(count, cut) {
    /** @type {GridLoss} */
    let sum = this;
    for (const digit of count.toString(2).slice(1)) {
      sum = sum.plus(sum, cut);
      if (digit === "1") sum = sum.plus(this, cut);
    }
    return sum;
  }

  /**
   * The same distribution on a grid with twice the step, without ever weakening the adversary. A point at an odd
   * multiple of the step is split into its two neighbours, so that its mass under P and under Q is kept: the upper part
   * is (1 - e^-step) / (1 - e^(-2 step)) of the mass.
   */
  get coarsened() {
    const first = Math.floor(this.first / 2);
    const before = this.first - 2 * first;
    const share = Math.min(1, (1 + PRIVACY_LOSS) / (1 + Math.exp(-this.step)));
    const masses = new Float64Array(((before + this.masses.length) >> 1) + 1);
    this.masses.forEach((mass, at) => {
      const place = (at + before) >> 1;
      const up = (at + before) % 2 ? mass * share : 0;
      masses[place] += mass - up;
      if (up) masses[place + 1] += up;
    });
    return new GridLoss(2 * this.step, first, masses, this.infinity);
  }

  /** As losses and masses, with the rounding of the convolutions paid for. */
  get loss() {
    return this.lossOf(1);
  }

  /**
   * The same with the margin of this number of losses that were added: their relative errors add up.
   *
   * @param {number} number
   */
  lossOf(number) {
    const margin = 1 + number * PRIVACY_LOSS;
    const masses = this.masses.map((mass) => mass * margin);
    return new GridLoss(this.step, this.first, masses, this.infinity * margin).#finite();
  }

  #finite() {
    const losses = this.masses.map((_, at) => this.step * (this.first + at));
    return new PrivacyLoss(losses, this.masses, this.infinity);
  }
}

/**
 * Moves losses to multiples of a step without ever weakening the adversary: an outcome between two of them is split
 * into two outcomes that lie on them and together keep its mass under P and under Q. Forgetting which of the two
 * occurred gives the old pair back, so the new one reveals at least as much.
 *
 * @param {PrivacyLoss} loss @param {number} step @param {number} cut
 */
export function onGrid(loss, step, cut) {
  const kept = loss.shortened(cut);
  const size = kept.losses.length;
  if (!size) return new GridLoss(step, 0, new Float64Array(1), kept.infinity);
  const first = Math.floor(kept.losses[0] / step);
  const masses = new Float64Array(Math.floor(kept.losses[size - 1] / step) - first + 2);
  for (let at = 0; at < size; at += 1) {
    const lower = Math.floor(kept.losses[at] / step);
    // with a loss at a + u, u in [0, step): the upper part is (1 - e^-u) / (1 - e^-step) of the mass
    const share = Math.expm1(lower * step - kept.losses[at]) / Math.expm1(-step);
    const up = kept.masses[at] * Math.min(Math.max(share * (1 + PRIVACY_LOSS), 0), 1);
    masses[lower - first] += kept.masses[at] - up;
    masses[lower - first + 1] += up;
  }
  return new GridLoss(step, first, masses, kept.infinity);
}

/**
 * The loss of independent shifts together, each as often as it is counted. Their order matters a little, since every
 * step shortens; the Python package uses the same order (docs/reference/wire-format.md).
 *
 * @param {{loss: PrivacyLoss, count: number}[]} shifts @param {number} cut
 */
export function composed(shifts, cut) {
  const step = stepFor(shifts, cut);
  const parts = shifts.map(({ loss, count }) => onGrid(loss, step, cut).times(count, cut));
  return parts.reduce((sum, part) => sum.plus(part, cut)).loss;
}

/** @param {{loss: PrivacyLoss, count: number}[]} shifts @param {number} cut */
function stepFor(shifts, cut) {
  let [variance, number, span] = [0, 0, 0];
  for (const { loss, count } of shifts) {
    variance += count * loss.variance;
    number += count;
    span = Math.max(span, loss.shortened(cut).span);
  }
  const fine = Math.sqrt(variance / number) / STEPS_PER_DEVIATION;
  return onlySize(shifts.map(({ loss }) => loss)) || Math.max(fine, span / MOST_STEPS) || 1;
}

/**
 * Return the size of all losses, which is then the step of the grid; null if there are several sizes.
 *
 * @param {PrivacyLoss[]} losses
 */
export function onlySize(losses) {
  let largest = 0;
  for (const loss of losses) largest = loss.losses.reduce((most, one) => Math.max(most, Math.abs(one)), largest);
  const same = losses.every((loss) => loss.losses.every((one) => Math.abs(one) >= (1 - SAME_SIZE) * largest));
  return same ? largest : null;
}
