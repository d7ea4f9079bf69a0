// Answers that are numbers: an interval between public edges, and a node on each level of a tree over the intervals.
import { MOST_LISTED, NONE, OTHER } from "./answers.js";
import { parseDecimal } from "./decimal.js";
import { Edges } from "./edges.js";
import { TaskError } from "./errors.js";
import { readDecimal } from "./exact.js";
import { Tree } from "./tree.js";

/**
 * The answers of a task that counts numbers; a release shows the quantiles.
 * @typedef {{kind: "numbers", edges: string, quantiles: string[]}} AnswerNumbers
 */

const MOST_QUANTILES = 100;

/**
 * Refuses shares that are none or out of order.
 * @param {string[]} quantiles
 */
function checkQuantiles(quantiles) {
  if (quantiles.length > MOST_QUANTILES) {
    throw new TaskError(`quantiles must be at most ${MOST_QUANTILES}, got ${quantiles.length}`);
  }
  const shares = quantiles.map((text) => readDecimal(text, "quantiles"));
  if (!shares.every((share, at) => share > (at > 0 ? shares[at - 1] : 0) && share < 1)) {
    throw new TaskError("quantiles must be above 0 and below 1, and increase from each to the next");
  }
}

/** The places of numbers are the intervals from the lowest to the highest, then (other), then (none). */
export class NumberPlaces {
  /**
   * @param {AnswerNumbers} answers
   * @param {number} branching of the tree
   */
  constructor(answers, branching) {
    this.edges = new Edges(answers.edges);
    const { intervals } = this.edges;
    if (intervals > MOST_LISTED) {
      const [most, got] = [MOST_LISTED, intervals].map((number) => number.toLocaleString("en"));
      throw new TaskError(`a task has at most ${most} intervals of numbers, got ${got}`);
    }
    checkQuantiles(answers.quantiles);
    const leaves = intervals + 2;
    if (branching < 2 || branching > leaves) {
      throw new TaskError(`branching must be a whole number from 2 to the ${leaves} intervals, got ${branching}`);
    }
    this.tree = new Tree(leaves, branching);
  }

  /**
   * The place of an answer: a number or its text. It never fails: not to report because of an answer would reveal
   * something.
   * @param {unknown} answer null, undefined or an empty text is no answer
   */
  placeOf(answer) {
    const other = this.edges.intervals;
    if (answer === null || answer === undefined || answer === "") return other + 1;
    try {
      const number = Array.isArray(answer) ? null : parseDecimal(String(answer));
      return number === null ? other : this.edges.intervalOf(number);
    } catch {
      return other; // an object may fail to give its text
    }
  }

  /**
   * The name of one place, or of the places from `first` to before `stop` together.
   * @param {number} first
   * @param {number} stop
   */
  labelOf(first, stop = first + 1) {
    const { intervals } = this.edges;
    const names = first < intervals ? [this.edges.labelOf(first, Math.min(stop, intervals))] : [];
    if (first <= intervals && stop > intervals) names.push(OTHER);
    if (stop > intervals + 1) names.push(NONE);
    return names.join(", ");
  }
}
