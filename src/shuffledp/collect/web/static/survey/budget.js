// The visitor's own privacy budget: what this answer uses of it, and the limit, which they can change.
import { refusal } from "/client/src/budget.js";
import { shareAtMost } from "/client/src/curve/words.js";
import { IndexedDBJournal } from "/client/src/index.js";

/** @typedef {import("/client/src/index.js").Client} Client */
/** @typedef {{epsilon: number, delta: number, byResults: boolean}} Limit */
/** @typedef {import("/client/src/budget.js").BudgetUse} BudgetUse */
/** @typedef {import("/client/src/spending.js").AnsweredTask} AnsweredTask */

/** The limit of a visitor who has not set one: together, all answers have moderate protection. @type {Limit} */
const DEFAULT = { epsilon: 3, delta: 1e-5, byResults: false };

/** @param {string} id */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {string} id */
const field = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));

/** @param {string} text */
const number = (text) => Number(text.trim().replace(",", ".") || NaN);

/** @param {AnsweredTask} spent */
const isKnown = ({ spending }) => spending !== null;

/** The journal of this browser. Entries of earlier versions do not say what they spent; they are left out, visibly. */
export class CountedJournal extends IndexedDBJournal {
  /** The number of entries that are not counted. */
  leftOut = 0;

  async spendings() {
    const spent = await super.spendings();
    this.leftOut = spent.filter((one) => !isKnown(one)).length;
    return spent.filter(isKnown);
  }

  /** @type {import("/client/src/journal.js").Reserve} */
  reserve(task, spending, judge) {
    return super.reserve(task, spending, (spent, stored) => judge(spent.filter(isKnown), stored ?? DEFAULT));
  }

  /** Returns the visitor's limit. */
  async limit() {
    return (await super.limit()) ?? DEFAULT;
  }
}

/**
 * Fills in what this answer uses, and returns the words for an answer that does not fit.
 * @param {Client} client
 * @param {BudgetUse} use
 */
export function showBudget(client, use) {
  const { byResults, delta } = use;
  const { leftOut } = /** @type {CountedJournal} */ (client.journal);
  const limit = figure(use.limit);
  const adds = figure(use.after - use.before);
  at("budget-words").textContent =
    use.before === use.after
      ? `Your answers here have used ${figure(use.after)} of your privacy budget of ${limit}.`
      : `This answer uses ${adds} of your privacy budget of ${limit}. ${figure(use.before)} is used so far.`;
  const counted = leftOut === 0 ? "all your answers here" : "the counted answers";
  for (const each of document.querySelectorAll("[data-counted]")) each.textContent = counted;
  at("budget-factor").textContent =
    use.before > use.limit
      ? "More is used already than your limit allows."
      : `With a limit of ${limit}, ${counted} together can make any result at most ${times(use.limit)} times more likely, ` +
        `with an extra chance of at most 1 in ${Math.floor(1 / delta + 1e-9).toLocaleString("en")} on top.`;
  at("budget-left-out").hidden = leftOut === 0;
  at("budget-left-out").textContent =
    `Not counted: ${leftOut === 1 ? "1 earlier answer" : `${leftOut} earlier answers`} of this browser, ` +
    "from before it kept a budget.";
  at("budget-figures").textContent =
    `Exact composition of ${leftOut === 0 ? "all" : "the counted"} answers: epsilon ${exact(use.before)} before and ${exact(use.after)} ` +
    `after this answer, at delta ${delta}. The limit is epsilon ${use.limit} at this delta.`;
  field("limit-figure").value = String(use.limit);
  field("limit-delta").value = String(delta);
  field("limit-by-results").checked = byResults;
  return { used: figure(use.before), limit, total: figure(use.after) };
}

/**
 * Returns the error of an answer that does not fit, with the question that would.
 * @param {Client} client
 * @param {BudgetUse} use
 */
export async function whyRefused(client, use) {
  const spent = await /** @type {CountedJournal} */ (client.journal).spendings();
  return refusal(use, spent, client.task, /** @type {Limit} */ (client.limit));
}

/**
 * Says which question would fit, by its factor, as the page states it for this one; rounded down.
 * @param {number | null} epsilon
 */
export function wouldFit(epsilon) {
  if (epsilon === null) return "No further question fits.";
  const factor = Math.floor(100 * Math.exp(epsilon)) / 100;
  return `A question with stronger protection and one value per person would still fit, with at most ${factor.toLocaleString("en")} times.`;
}

/**
 * Stores a new limit when the visitor saves it.
 * @param {() => void} changed
 */
export function onNewLimit(changed) {
  // a page whose task does not keep its promise has no form
  document.getElementById("limit")?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [epsilon, delta] = ["limit-figure", "limit-delta"].map((id) => number(field(id).value));
    try {
      await new IndexedDBJournal().storeLimit({ epsilon, delta, byResults: field("limit-by-results").checked });
      at("limit-wrong").hidden = true;
      changed();
    } catch (error) {
      const wrong = /** @type {Error} */ (error).name === "ParameterError";
      at("limit-wrong").textContent = wrong ? "Enter a limit from 0.001 to 50, and a delta below 1." : String(error);
      at("limit-wrong").hidden = false;
    }
  });
}

/** Two decimals, rounded up. @param {number} epsilon */
export function figure(epsilon) {
  if (!Number.isFinite(epsilon)) return "more than any limit";
  return String(Number((Math.ceil(100 * epsilon - 1e-9) / 100).toFixed(2)));
}

/** Four digits, rounded up. @param {number} epsilon */
function exact(epsilon) {
  return Number.isFinite(epsilon) ? shareAtMost(epsilon, 4) : "infinity";
}

/** @param {number} epsilon */
function times(epsilon) {
  const factor = Math.exp(epsilon);
  return factor < 10 ? (Math.ceil(10 * factor) / 10).toLocaleString("en") : Math.ceil(factor).toLocaleString("en");
}
