// A person's own privacy budget: all their answers together against the limit that they set, computed as in Python
// (shuffledp.collect.client.budget).
import { MomentBound } from "./curve/moments.js";
import { PROMISED_DELTA } from "./curve/rounding.js";
import { totalOf } from "./curve/total.js";
import { general, shareAtMost } from "./curve/words.js";
import { BudgetError, DataError } from "./errors.js";
import { SIZE_GRID } from "./parameters.js";
import { askedOf, spendingOf } from "./spending.js";

/** @typedef {import("./curve/total.js").Answered} Answered */
/** @typedef {import("./spending.js").Spending} Spending */
/** @typedef {import("./spending.js").AnsweredTask} AnsweredTask */

/**
 * All answers together are (epsilon, delta)-private; with `byResults` also if noise is chosen after earlier results.
 * @typedef {{epsilon: number, delta: number, byResults: boolean}} Limit
 */

/**
 * What an answer uses of a limit: the epsilons of all answers before and after it, at the delta of the limit. `before`
 * equals `after` for a task that has a report already. A report that was sent or refused is always `within`; one that was
 * not sent is so only if all answers together are. `unfinished` is the number of other tasks that a client began to
 * answer and did not finish, which count as spent.
 * @typedef {{before: number, after: number, limit: number, left: number, delta: number, byResults: boolean,
 *   within: boolean, unfinished: number}} BudgetUse
 */

/** Digits of an epsilon in a message. */
const DIGITS = 3;

/** The smallest epsilon that is searched for a task that fits, as a share of the limit: less is useless. */
const LEAST_SHARE = 0.01;

/**
 * The range of the noise that is searched, its growth, and the halvings after that: the epsilon that is found is at most
 * 0.6 % below the largest one.
 */
const [LEAST_RATE, MOST_RATE, GROWTH, HALVINGS] = [1, 1e5, 2, 6];

/** Many people; the noise of this number hardly depends on it any more. */
const MANY = 1e6;

/**
 * Return what an answer to a task would use of a limit, after everything else in the journal.
 * @param {AnsweredTask[]} spent
 * @param {import("./task.js").Task} task
 * @param {Limit} limit
 * @returns {BudgetUse}
 */
export function useOf(spent, task, limit) {
  const own = spent.find((one) => one.task === task.name);
  const others = countedAnswers(spent.filter((one) => one !== own));
  const spending = own?.spending ?? spendingOf(task);
  const one = countedAnswers([{ task: task.name, state: "claimed", spending }]);
  const made = own !== undefined && own.state !== "claimed";
  const past = made && own.state !== "ready";
  const after = totalOf(others, one).epsilon(limit.delta);
  return {
    before: made ? after : totalOf(others).epsilon(limit.delta),
    after,
    limit: limit.epsilon,
    left: Math.max(0, limit.epsilon - after),
    delta: limit.delta,
    byResults: limit.byResults,
    within: past || isWithin(others, one, limit),
    unfinished: spent.filter((one) => one !== own && one.state === "claimed").length,
  };
}

/**
 * Return the error for an answer that does not fit, with the epsilon of a task that would.
 * @param {BudgetUse} use
 * @param {AnsweredTask[]} spent
 * @param {import("./task.js").Task} task
 * @param {Limit} limit
 */
export function refusal(use, spent, task, limit) {
  if (spent.some((one) => one.task === task.name && one.state !== "claimed")) return refusalOfReady(use, limit);
  const { delta } = task.guarantee;
  const fits = fitting(countedAnswers(spent.filter((one) => one.task !== task.name)), limit, delta);
  const figures = { before: use.before, after: use.after, limit: limit.epsilon, fits };
  return new BudgetError(overLimit(use, limit, fits, delta), figures);
}

/**
 * @param {BudgetUse} use
 * @param {Limit} limit
 * @param {number | null} fits the epsilon of one more task that would fit
 * @param {number} delta of that task
 */
function overLimit(use, limit, fits, delta) {
  const at = `at delta ${short(delta)} and one value per person`;
  const would =
    fits === null
      ? `no task with epsilon ${general(LEAST_SHARE * limit.epsilon)} or more fits ${at}`
      : `one more task with epsilon up to ${general(fits)} ${at} would fit`;
  const unfinished = use.unfinished ? ` (${begun(use)})` : "";
  const chosen = limit.byResults ? ", which holds whatever noise is chosen by results" : "";
  return (
    `this answer is over your limit of epsilon ${general(limit.epsilon)} at delta ${short(limit.delta)}${chosen}: ` +
    `${shareAtMost(use.before, DIGITS)} is used${unfinished}, and with it the total would be ` +
    `${shareAtMost(use.after, DIGITS)}. Nothing was sent; ${would}`
  );
}

/**
 * Return the error for a report that was made before and must not be sent.
 * @param {BudgetUse} use
 * @param {Limit} limit
 */
function refusalOfReady(use, limit) {
  return new BudgetError(
    "a report for this task was made before and not sent, and all your answers together are over your limit of epsilon " +
      `${general(limit.epsilon)} at delta ${short(limit.delta)}: ${shareAtMost(use.after, DIGITS)} is used` +
      `${use.unfinished ? `, ${begun(use)}` : ""}. Nothing was sent; the report is kept, and a higher limit allows it`,
    { before: use.before, after: use.after, limit: limit.epsilon, fits: null, made: true },
  );
}

/** @param {BudgetUse} use */
function begun({ unfinished }) {
  return `with ${unfinished === 1 ? "1 answer" : `${unfinished} answers`} that a client began and did not finish`;
}

/** @param {number} delta */
function short(delta) {
  return general(delta).replace("e-0", "e-");
}

/**
 * Return the answers with the number of those that have equal parameters.
 * @param {AnsweredTask[]} spent
 * @returns {Answered[]}
 */
function countedAnswers(spent) {
  checkKnown(spent);
  /** @type {Map<string, Answered>} */
  const counts = new Map();
  for (const { task, spending } of spent) {
    const record = /** @type {Spending} */ (spending);
    const key = JSON.stringify({ ...record, question: "", day: "", series: null }); // a key in another order is another
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { asked: understood(task, record), times: 1 });
    else known.times += 1;
  }
  return [...counts.values()];
}

/**
 * @param {string} task
 * @param {Spending} spending
 */
function understood(task, spending) {
  try {
    return askedOf(spending);
  } catch (error) {
    throw new DataError(`the journal's entry of task ${task} cannot be counted: ${/** @type {Error} */ (error).message}`);
  }
}

/**
 * Refuse answers whose privacy is unknown.
 * @param {AnsweredTask[]} spent
 */
function checkKnown(spent) {
  const missing = spent.filter(({ spending }) => spending === null).map(({ task }) => task);
  if (!missing.length) return;
  throw new DataError(
    `the journal has ${missing.length === 1 ? "1 answer" : `${missing.length} answers`} of an earlier version of ` +
      "shuffledp, without the parameters that their privacy follows from, so the budget is unknown: add them from the " +
      `task files of ${missing.slice(0, 3).join(", ")}${missing.length > 3 ? " ..." : ""}`,
  );
}

/**
 * Whether these answers and one more are within a limit.
 * @param {Answered[]} others
 * @param {Answered[]} one
 * @param {Limit} limit
 */
function isWithin(others, one, limit) {
  const most = limit.delta * (1 + PROMISED_DELTA);
  if (!limit.byResults) return totalOf(others, one).delta(limit.epsilon) <= most;
  return new MomentBound(limit).reached([...others, ...one]) <= most;
}

/**
 * Return the largest epsilon of one more task that fits, with one value per person and many people, rounded down to
 * three digits; null if none does.
 * @param {Answered[]} others
 * @param {Limit} limit
 * @param {number} delta of that task
 */
export function fitting(others, limit, delta) {
  if (!isWithin(others, [], limit)) return null;
  const fits = (/** @type {number} */ rate) => isWithin(others, [{ asked: withRate(rate, delta), times: 1 }], limit);
  const epsilonOf = (/** @type {number} */ rate) =>
    totalOf([{ asked: withRate(rate, delta), times: 1 }]).epsilon(delta);
  let high = LEAST_RATE;
  while (epsilonOf(high) > limit.epsilon && high < MOST_RATE) high *= GROWTH; // fast: one task alone
  if (fits(high / GROWTH)) return limit.epsilon; // its epsilon is larger than the limit
  while (!fits(high)) {
    high *= GROWTH;
    if (high > MOST_RATE) return null;
  }
  let low = high / GROWTH;
  for (let step = 0; step < HALVINGS; step += 1) {
    const middle = Math.sqrt(low * high);
    if (fits(middle)) high = middle;
    else low = middle;
  }
  const epsilon = epsilonOf(high);
  if (epsilon < LEAST_SHARE * limit.epsilon) return null;
  return epsilon < limit.epsilon ? roundedDown(epsilon) : limit.epsilon;
}

/**
 * A task with Poisson dummies at this rate.
 * @param {number} rate
 * @param {number} delta
 * @returns {import("./curve/curve.js").Asked}
 */
function withRate(rate, delta) {
  const dummies = { rate: { numerator: 0n, power: 0, value: rate }, sizeWeights: [SIZE_GRID] };
  const law = { kind: /** @type {const} */ ("clusters"), laws: { dummies } };
  const numbers = { users: MANY, honestUsers: MANY, values: 2, levels: 1, mostMessages: MANY };
  return { ...numbers, guarantee: { epsilon: 1, delta }, law };
}

/** @param {number} epsilon */
function roundedDown(epsilon) {
  const step = 10 ** (Math.floor(Math.log10(epsilon)) - DIGITS + 1);
  return Number((Math.floor(epsilon / step) * step).toPrecision(DIGITS));
}
