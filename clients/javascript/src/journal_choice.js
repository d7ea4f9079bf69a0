// Which journal a client uses. It is always durable: without one, a person would answer twice.
import { ParameterError } from "./errors.js";
import { IndexedDBJournal } from "./journal_browser.js";
import { inNode } from "./requests.js";

/** @typedef {import("./journal.js").Journal} Journal */

/**
 * @param {unknown} journal a journal, or undefined for that of the browser
 * @returns {Journal}
 */
export function chosenJournal(journal) {
  if (isJournal(journal)) return journal;
  if (journal === undefined && !inNode()) return new IndexedDBJournal();
  throw new ParameterError(
    "journal must have read, keep and settle, as IndexedDBJournal has them; the package's entry for Node " +
      "also takes the name of a folder",
  );
}

/**
 * Refuse a journal that cannot keep a budget.
 * @param {Journal} journal
 * @returns {asserts journal is Journal & Required<Pick<Journal, "spendings" | "reserve">>}
 */
export function checkLimited(journal) {
  if (typeof journal.spendings !== "function" || typeof journal.reserve !== "function") {
    throw new ParameterError("a journal with a budget or a stored limit must have spendings and reserve, as IndexedDBJournal has them");
  }
}

/**
 * @param {unknown} journal
 * @returns {journal is Journal}
 */
function isJournal(journal) {
  const has = /** @type {Record<string, unknown>} */ (Object(journal));
  return ["read", "keep", "settle"].every((name) => typeof has[name] === "function");
}
