// The visitor's own privacy budget: what this answer uses of it, and the limit, which they can change.
import { refusal } from "../src/budget.js";
import { shareAtMost } from "../src/curve/words.js";
import { IndexedDBJournal } from "../src/index.js";
import { marked, number as inWords, t, typed } from "./words.js";

/** @typedef {import("../src/index.js").Client} Client */
/** @typedef {{epsilon: number, delta: number, byResults: boolean}} Limit */
/** @typedef {import("../src/budget.js").BudgetUse} BudgetUse */
/** @typedef {import("../src/spending.js").AnsweredTask} AnsweredTask */

/** The limit of a visitor who has not set one: together, all answers have moderate protection. @type {Limit} */
const DEFAULT = { epsilon: 3, delta: 1e-5, byResults: false };

/** From this factor on a figure means nothing to people. */
const MOST_TIMES = 1e6;

/** A delta that is raised to a sum of two is rounded up to this number of digits, for people to type. */
const DIGITS = 2;

/** @param {string} id */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {string} id */
const field = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));

/** @param {string} text */
const number = (text) => Number(text.trim().replace(",", ".") || NaN);

/** Whether the delta of the limit is what an answer does not fit. */
let lacksDelta = false;

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

  /** @type {import("../src/journal.js").Reserve} */
  reserve(task, spending, judge) {
    return super.reserve(task, spending, (spent, stored) => judge(spent.filter(isKnown), stored ?? DEFAULT));
  }

  /** Returns the visitor's limit. */
  async limit() {
    return (await super.limit()) ?? DEFAULT;
  }
}

/**
 * Fills in what this answer uses, and returns the figures of a report that does not fit.
 * @param {Client} client
 * @param {BudgetUse} use
 */
export function showBudget(client, use) {
  const { byResults, delta } = use;
  const leftOut = leftOutOf(client);
  const limit = figure(use.limit);
  const known = Number.isFinite(use.before);
  const adds = figure(use.after - use.before);
  at("budget-words").textContent = !Number.isFinite(use.after)
    ? t(known ? "budget_delta" : "over_limit")
    : use.before === use.after
      ? t("budget_used", { used: figure(use.after), limit })
      : t("budget", { adds, limit, used: figure(use.before) });
  const counted = countedBy(client);
  for (const each of document.querySelectorAll("[data-counted]")) each.textContent = counted;
  at("budget-factor").textContent =
    use.before > use.limit
      ? known ? t("over_limit") : "" // which is said above
      : t(Math.exp(use.limit) > MOST_TIMES ? "limit_too_large" : "limit_means", { limit, counted, factor: times(use.limit), chance: chanceOf(delta) });
  at("budget-left-out").hidden = leftOut === 0;
  at("budget-left-out").textContent = t("left_out", { number: leftOut });
  at("budget-figures").textContent = marked(t("budget_figures", {
    counted,
    before: exact(use.before),
    after: exact(use.after),
    delta: String(delta),
    limit: String(use.limit),
  }));
  field("limit-figure").value = typed(use.limit);
  field("limit-delta").value = marked(String(delta));
  field("limit-by-results").checked = byResults;
}

/** The number of entries that are not counted. @param {Client} client */
const leftOutOf = (client) => /** @type {CountedJournal} */ (client.journal).leftOut;

/** @param {Client} client */
const countedBy = (client) => t(leftOutOf(client) === 0 ? "counted_all" : "counted_some");

/** @param {number} delta */
const chanceOf = (delta) => Math.floor(1 / delta + 1e-9);

/**
 * Says why an answer does not fit: by the delta of earlier ones or by its own, by itself, or after earlier ones; or why a
 * report does not that was made.
 * @param {{before: number, after: number, limit: number}} use
 * @param {Client} client
 */
export function exceeds({ before, after, limit }, client) {
  lacksDelta = !Number.isFinite(after);
  if (!Number.isFinite(before)) return t("over_limit"); // it may be another answer that needs a larger delta
  const { delta } = /** @type {Limit} */ (client.limit);
  const own = client.task.guarantee.delta;
  const needs = before === 0 ? own : Number((1.05 * (own + delta)).toPrecision(DIGITS)); // rounded up
  const figures = { used: figure(before), total: figure(after), limit: figure(limit), counted: countedBy(client) };
  const key = before === 0 ? "over_alone" : before === after ? "over_kept" : "over_together";
  return lacksDelta ? t("over_delta", { chance: chanceOf(delta), needs: typed(needs) }) : t(key, figures);
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
  if (epsilon === null) return t("fits_none");
  const factor = Math.floor(100 * Math.exp(epsilon)) / 100;
  return t(factor > MOST_TIMES ? "fits_any" : "fits", { factor });
}

/**
 * Leads to the limit, and stores a new one when the visitor saves it.
 * @param {() => void} changed
 */
export function onNewLimit(changed) {
  for (const link of document.querySelectorAll("a[href='#budget']")) link.addEventListener("click", openLimit);
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
      at("limit-wrong").textContent = wrong ? t("limit_wrong") : String(error);
      at("limit-wrong").hidden = false;
    }
  });
}

/** Opens the folds with the field of the limit that must change. @param {Event} event */
function openLimit(event) {
  event.preventDefault();
  const wanted = field(lacksDelta ? "limit-delta" : "limit-figure");
  for (const fold of document.querySelectorAll("details")) fold.open ||= fold.contains(wanted);
  wanted.select();
  wanted.focus();
  wanted.scrollIntoView({ block: "center" }); // browsers do not scroll to a field in a fold that was closed
}

/** Two decimals, rounded up. @param {number} epsilon */
export function figure(epsilon) {
  return inWords(Number((Math.ceil(100 * epsilon - 1e-9) / 100).toFixed(2)));
}

/** Four digits, rounded up. @param {number} epsilon */
function exact(epsilon) {
  return Number.isFinite(epsilon) ? shareAtMost(epsilon, 4) : t("infinite");
}

/** @param {number} epsilon */
function times(epsilon) {
  const factor = Math.exp(epsilon);
  return factor < 10 ? Math.ceil(10 * factor) / 10 : Math.ceil(factor);
}
