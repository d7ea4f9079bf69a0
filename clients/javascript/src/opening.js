// Everything that a person checks before they answer, in its order. Nothing is sent meanwhile.
import { isAsked, readAsked } from "./asked.js";
import { allowed, checkPin, checkPinned, openTask } from "./checking.js";
import { ParameterError } from "./errors.js";
import { checkPair } from "./guarantee.js";
import { invitationOf } from "./invitation.js";
import { checkLimited, chosenJournal } from "./journal_choice.js";
import { SECONDS, checkAdmission, checkTimeout, fetchTask } from "./sending.js";
import { Task } from "./task.js";

/**
 * @typedef {object} Options
 * @property {string} [pin] the id that the task or series must have, as 64 hexadecimal digits; required with an address
 * @property {readonly [number, number]} [atMost] the epsilon and delta that this person allows, for a series those of
 *   all rounds together
 * @property {import("./journal.js").Journal | string} [journal] where reports are kept; in Node also a folder's name
 * @property {string | null} [admission] what the task asks of people whom it admits; null if `client.admit` gives it later
 * @property {number} [timeout] seconds that a server may take to answer
 * @property {readonly [number, number]} [budget] the epsilon and delta that all answers in the journal together may
 *   have; the limit that is stored in the journal unless given, as it is when an answer is made
 * @property {boolean} [byResults] whether the budget also holds if noise is chosen after earlier results
 */

const OPTIONS = ["pin", "atMost", "journal", "admission", "timeout", "budget", "byResults"];

/**
 * A task that was checked, and with what it is answered. Of a series, it is the round that is open.
 * @param {Task | Series | string | Uint8Array | URL} task
 * @param {Options} options
 * @param {(journal: unknown) => import("./journal.js").Journal} journalOf chooses the journal
 */
export async function opened(task, options, journalOf = chosenJournal) {
  checkNames(options);
  if (globalThis.crypto?.subtle === undefined) {
    throw new ParameterError("this page cannot encrypt: browsers allow it only on pages that come over https");
  }
  const pin = checkPin(options.pin);
  const atMost = checkPair("atMost", options.atMost);
  const budget = checkPair("budget", options.budget);
  const timeout = checkTimeout(options.timeout ?? SECONDS);
  const invitation = task instanceof URL ? invitationOf(task) : null;
  const asked = await askedOf(invitation?.file ?? task, pin ?? invitation?.id, timeout);
  checkPinned(asked, pin);
  checkPinned(asked, invitation?.id);
  const promise = allowed(asked, atMost);
  const open = await openTask(asked);
  const shown = admissionIn(options.admission, invitation?.admission ?? null);
  const admission = shown === null ? null : checkAdmission(open, shown);
  const journal = journalOf(options.journal);
  const limited = limitOf(budget, options.byResults);
  const limit = limited((await journal.limit?.()) ?? null);
  if (limit !== null) checkLimited(journal);
  const series = asked instanceof Task ? null : asked;
  return { task: open, series, promise, journal, admission, timeout, limit, limited };
}

/**
 * What admits a person: the option, or what the link has.
 * @param {unknown} option
 * @param {string | null} inLink
 */
function admissionIn(option, inLink) {
  if (inLink === null) return option;
  if (option === undefined || option === null) return inLink;
  throw new ParameterError("admission must be in the link or in the options, not in both");
}

/** @typedef {import("./budget.js").Limit} Limit */
/** @typedef {import("./series.js").Series} Series */

/**
 * Return how the limit that applies follows from the stored one: the given one, else the stored one, else null. A stored
 * `byResults` holds for a given limit as well.
 * @param {[number, number] | undefined} budget
 * @param {unknown} byResults
 * @returns {(stored: Limit | null) => Limit | null}
 */
function limitOf(budget, byResults = false) {
  if (typeof byResults !== "boolean") throw new ParameterError("byResults must be true or false");
  return (stored) => {
    const chosen = budget === undefined ? stored : { epsilon: budget[0], delta: budget[1] };
    if (chosen === null && byResults) throw new ParameterError("byResults needs a budget, given or stored");
    return chosen && { ...chosen, byResults: (stored?.byResults ?? false) || byResults };
  };
}

/**
 * Refuses names that are none: a pin that is misspelt would not be looked at.
 * @param {unknown} options
 */
function checkNames(options) {
  const unknown = Object.keys(Object(options)).filter((name) => !OPTIONS.includes(name));
  if (unknown.length || typeof options !== "object" || options === null) {
    const got = unknown.length ? unknown.join(", ") : typeof options;
    throw new ParameterError(`the options of a client are ${OPTIONS.join(", ")}; got ${got}`);
  }
}

/**
 * @param {unknown} task
 * @param {string | undefined} pin
 * @param {number} timeout
 * @returns {Promise<Task | Series>}
 */
async function askedOf(task, pin, timeout) {
  if (isAsked(task)) return task;
  if (task instanceof URL) {
    if (pin === undefined) {
      throw new ParameterError(
        "a task at an address needs a pin, its id: the server at the address could show each person another task",
      );
    }
    return readAsked(await fetchTask(task, timeout));
  }
  if (typeof task !== "string" && !(task instanceof Uint8Array)) {
    throw new ParameterError("task must be a Task or a Series, the text or bytes of its file, or a URL to fetch it from");
  }
  return readAsked(task);
}
