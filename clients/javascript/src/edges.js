// Public edges between intervals of numbers: the rules of `Edges` in shuffledp.histogram.edges of the Python package.
import { digitsBefore, flooredTo, normalized, parseDecimal, written } from "./decimal.js";
import { TaskError } from "./errors.js";

/** @typedef {import("./decimal.js").Decimal} Decimal */

/** The most edges, as in the Python package. */
const MOST_EDGES = 1_000_000;

/** The most digits before and after the point of an edge. */
const MOST_DIGITS = 300;

/** From this number of edges on, edges with a common step are written as from:to:step. */
const FEWEST_STEPS = 4;

const HOW = 'write them as "0,18,30,65", as "0:120:5" (from, to, step) or as a list of numbers';

/**
 * Edges as whole numbers of units of 10^-places, in increasing order; `step` if they were written with one.
 * @typedef {{places: number, number: number, at: (edge: number) => bigint, step?: bigint}} Units
 */

/** n edges make n + 1 intervals, open at both ends; an edge belongs to the interval above it. */
export class Edges {
  #units;

  /** @param {string} text of `answers.edges`, in its one spelling */
  constructor(text) {
    this.#units = unitsOf(text);
    if (spelled(this.#units) !== text) {
      throw new TaskError(`edges must have their one spelling ${short(spelled(this.#units))}, got ${short(text)}`);
    }
  }

  /** The number of edges. */
  get number() {
    return this.#units.number;
  }

  /** The number of intervals. */
  get intervals() {
    return this.number + 1;
  }

  /**
   * The text of an edge, numbered from 0.
   * @param {number} edge
   */
  textOf(edge) {
    return textAt(this.#units, edge);
  }

  /**
   * The interval that contains a number: the number of edges that are at most this number.
   * @param {Decimal} number
   */
  intervalOf(number) {
    const { places, number: edges, at } = this.#units;
    const found = flooredTo(number, places, 2 * MOST_DIGITS + 1);
    let [low, high] = [0, edges];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at(middle) <= found) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * The name of the intervals from `first` to before `stop`, taken together.
   * @param {number} first
   * @param {number} stop
   */
  labelOf(first, stop = first + 1) {
    if (first === 0) return stop > this.number ? "any number" : `below ${this.textOf(stop - 1)}`;
    const low = this.textOf(first - 1);
    return stop > this.number ? `${low} and above` : `${low} to below ${this.textOf(stop - 1)}`;
  }
}

/**
 * @param {string} text
 * @returns {Units}
 */
function unitsOf(text) {
  const steps = text.includes(":");
  const parts = text.split(steps ? ":" : ",");
  if (parts.length > MOST_EDGES) throw tooMany(parts.length);
  const numbers = parts.map(parseDecimal);
  const exact = numbers.flatMap((found) => (found === null ? [] : [checked(found)]));
  if (exact.length < parts.length || (steps && parts.length !== 3)) {
    throw unusable(`edges must be numbers, got ${short(text)}: ${HOW}`);
  }
  const places = exact.reduce((most, { power }) => Math.max(most, -power), 0);
  const units = exact.map((each) => /** @type {bigint} */ (flooredTo(each, places, Infinity)));
  if (steps) return inSteps({ places, number: 3, at: (edge) => units[edge] });
  if (units.some((edge, at) => at > 0 && edge <= units[at - 1])) {
    throw unusable("edges must increase from each to the next: sort them, and leave out repeated ones");
  }
  return { places, number: units.length, at: (edge) => units[edge] };
}

/**
 * The edges from start to stop, both included.
 * @param {Units} written start, stop and step
 * @returns {Units}
 */
function inSteps({ places, at }) {
  const [start, stop, step] = [at(0), at(1), at(2)];
  const [from, to, by] = [start, stop, step].map((units) => written({ units, power: -places }));
  if (step <= 0n || stop <= start) {
    throw unusable(`edges from:to:step go up, by a step above 0, got ${from}:${to}:${by}`);
  }
  const number = (stop - start) / step + 1n;
  if (number > MOST_EDGES) throw tooMany(number);
  const over = (stop - start) % step;
  if (over !== 0n) {
    const ends = [stop - over, stop - over + step].map((units) => written({ units, power: -places }));
    throw unusable(`edges from ${from} in steps of ${by} do not meet ${to}: end at ${ends.join(" or ")}`);
  }
  return { places, number: Number(number), at: (edge) => start + step * BigInt(edge), step };
}

/** @param {Decimal} found */
function checked(found) {
  if (found.units !== 0n && (digitsBefore(found) > MOST_DIGITS || -found.power > MOST_DIGITS)) {
    throw unusable(`an edge must have at most ${MOST_DIGITS} digits before and after its point`);
  }
  return normalized(found);
}

/** @param {Units} units */
function spelled(units) {
  const { places, number, at } = units;
  const step = number >= FEWEST_STEPS ? (units.step ?? commonStep(units)) : null;
  if (step !== null) {
    return [at(0), at(number - 1), step].map((each) => written({ units: each, power: -places })).join(":");
  }
  return Array.from({ length: number }, (_, edge) => textAt(units, edge)).join(",");
}

/** @param {Units} units of at least two edges */
function commonStep({ number, at }) {
  const step = at(1) - at(0);
  for (let edge = 2; edge < number; edge++) if (at(edge) - at(edge - 1) !== step) return null;
  return step;
}

/** @param {Units} units @param {number} edge */
function textAt({ places, at }, edge) {
  return written({ units: at(edge), power: -places });
}

/** @param {string} why */
function unusable(why) {
  return new TaskError(`the edges of the answers cannot be used: ${why}`);
}

/** @param {number | bigint} number */
function tooMany(number) {
  const [most, got] = [MOST_EDGES, number].map((each) => each.toLocaleString("en"));
  return unusable(`edges may be at most ${most}, got ${got}: choose fewer`);
}

/** @param {string} text */
function short(text) {
  return `'${text.length <= 60 ? text : `${text.slice(0, 60)}...`}'`;
}
