// A person's journal: the state of their report for each task, so that they answer each task once, and the privacy that
// each answer spends. It holds the sealed report, its state and its spending, never the answer. An entry that cannot be
// read is left as it is: another report would be a second sample for one answer.
import { fingerprint } from "./bytes.js";
import { DataError, ParameterError } from "./errors.js";
import { checkPair } from "./guarantee.js";
import { readDecimal } from "./exact.js";
import { isSpending } from "./spending.js";

/** @typedef {import("./spending.js").Spending} Spending */
/** @typedef {import("./spending.js").AnsweredTask} AnsweredTask */
/** @typedef {import("./budget.js").Limit} Limit */

/** Entries of the first version have no spending, and only those of the third a fallback (docs/reference/wire-format.md). */
const [FIRST, SECOND, THIRD] = ["shuffledp journal 1", "shuffledp journal 2", "shuffledp journal 3"];
const CLAIM = "shuffledp claim 1";
const LIMIT = "shuffledp budget 1";
const STATES = ["ready", "sent", "refused"];
const NOTHING = new Uint8Array(0);

/**
 * What a journal holds of one task; the bytes are there only until the outcome is known.
 * @typedef {object} Entry
 * @property {string} kind
 * @property {string} task
 * @property {"ready" | "sent" | "refused"} state
 * @property {Uint8Array} report
 * @property {Uint8Array} [fallback] the same report with the earliest time of the task; empty or missing if there is none
 * @property {string} sha256 of the report
 * @property {string} [fallback_sha256] of the fallback, empty if there is none
 * @property {string | null} reason
 * @property {Spending | null} spending null in entries of the first version
 */

/**
 * An answer that a client is about to make, or was when it ended.
 * @typedef {{kind: string, task: string, spending: Spending}} Claim
 */

/**
 * @typedef {object} Journal
 * @property {(task: string) => Promise<Entry | null>} read What is known of a task; null if no report was made.
 * @property {(task: string, report: Uint8Array, spending?: Spending, fallback?: Uint8Array) => Promise<Entry>} keep
 *   Enters a finished report durably, unless one is there already; gives the one that is there then. Of several at once
 *   exactly one enters its report, and all get it. Claims of this task are removed.
 * @property {(task: string, state: "sent" | "refused", reason?: string | null) => Promise<void>} settle Enters the
 *   outcome of a report, and drops its bytes; an earlier outcome stays.
 * @property {() => Promise<AnsweredTask[]>} [spendings] All answered and claimed tasks, each once.
 * @property {Reserve} [reserve] Needed for a budget.
 * @property {() => Promise<Limit | null>} [limit] The stored limit.
 * @property {(limit: Limit | null) => Promise<void>} [storeLimit] Stores a limit, or removes it.
 */

/**
 * Reserves the privacy of an answer. The claim is durable before `judge` sees all spendings, itself included, or both
 * are one transaction: so two clients at once cannot both miss the other. Returns a function that withdraws the claim,
 * or null if the answer is over the limit. `judge` gets the limit that is stored by then as well; null if there is none.
 * @typedef {(spent: AnsweredTask[], stored?: Limit | null) => {within: boolean, unfinished: number}} Judge
 * @typedef {(task: string, spending: Spending, judge: Judge) => Promise<(() => Promise<void>) | null>} Reserve
 */

/**
 * The entry of a finished report.
 * @param {string} task
 * @param {Uint8Array} report
 * @param {Spending | undefined} spending
 * @param {Uint8Array} [fallback]
 * @returns {Promise<Entry>}
 */
export async function readyEntry(task, report, spending, fallback = NOTHING) {
  if (spending === undefined) {
    const sha256 = await fingerprint(report);
    return { kind: FIRST, task, state: "ready", report, sha256, reason: null, spending: null };
  }
  const sha256 = await fingerprint(report);
  const fallback_sha256 = await fingerprintOf(fallback);
  return { kind: THIRD, task, state: "ready", report, fallback, sha256, fallback_sha256, reason: null, spending };
}

/**
 * The entry of a report that was accepted or refused for good.
 * @param {Entry} before
 * @param {"sent" | "refused"} state
 * @param {string | null} reason
 * @returns {Entry}
 */
export function settledEntry({ kind, task, spending }, state, reason) {
  const entry = { kind, task, state, report: NOTHING, sha256: "", reason, spending: spending ?? null };
  return kind === THIRD ? { ...entry, fallback: NOTHING, fallback_sha256: "" } : entry;
}

/** The fingerprint of a fallback; empty if there is none. @param {Uint8Array} fallback */
async function fingerprintOf(fallback) {
  return fallback.length ? fingerprint(fallback) : "";
}

/**
 * Return what was read, if it is an entry of this task with its report whole where there should be one.
 * @param {unknown} read
 * @param {string} task
 * @param {string} place
 * @returns {Promise<Entry>}
 */
export async function checkedEntry(read, task, place) {
  const entry = entryOf(read, task);
  if (entry !== null) {
    const { report, fallback = NOTHING, fallback_sha256: known = "" } = entry;
    const whole = report.length > 0 && (await fingerprint(report)) === entry.sha256;
    if (entry.state === "ready" ? whole && (await fingerprintOf(fallback)) === known : !report.length && !fallback.length) {
      return entry;
    }
  }
  throw brokenEntry(place);
}

/** @param {string} place */
export function brokenEntry(place) {
  return new DataError(
    `the journal ${place} is broken, so that nobody knows whether this task was answered: bring it back from a copy. ` +
      "It is not written over, since a second report would be a second draw of one answer",
  );
}

/**
 * Return an entry of this task; null for anything else. The report is not compared with its fingerprint.
 * @param {unknown} read
 * @param {string} task
 * @returns {Entry | null}
 */
export function entryOf(read, task) {
  const entry = /** @type {Entry} */ (typeof read === "object" && read !== null ? read : {});
  const known = [FIRST, SECOND, THIRD].includes(entry.kind) && entry.task === task && STATES.includes(entry.state);
  if (!known || !(entry.report instanceof Uint8Array)) return null;
  if (entry.kind === THIRD ? !(entry.fallback instanceof Uint8Array) : entry.fallback !== undefined) return null;
  if (entry.reason !== null && typeof entry.reason !== "string") return null;
  const spending = entry.spending ?? null;
  return (entry.kind === FIRST ? spending === null : isSpending(spending)) ? { ...entry, spending } : null;
}

/**
 * @param {string} task
 * @param {Spending} spending
 * @returns {Claim}
 */
export function claimOf(task, spending) {
  return { kind: CLAIM, task, spending };
}

/**
 * Return what was read, if it is a claim of this task.
 * @param {any} read
 * @param {string} task
 * @param {string} place
 * @returns {Claim}
 */
export function checkedClaim(read, task, place) {
  if (read?.kind === CLAIM && read.task === task && isSpending(read.spending)) return read;
  throw new DataError(
    `the journal ${place} is broken, so it is unknown how much privacy was spent: restore it from a copy, or add it ` +
      "again from the task file. It is not removed, since a report may have been sent",
  );
}

/**
 * Return every task once, from its entry or from a claim, in the order of days, series and rounds.
 * @param {Entry[]} entries
 * @param {Claim[]} claims
 * @returns {AnsweredTask[]}
 */
export function spentTasks(entries, claims) {
  /** @type {Map<string, AnsweredTask>} */
  const found = new Map();
  for (const { task, spending } of claims) found.set(task, { task, state: "claimed", spending });
  for (const { task, state, spending } of entries) {
    found.set(task, { task, state, spending: spending ?? found.get(task)?.spending ?? null });
  }
  const key = (/** @type {AnsweredTask} */ { task, spending }) => {
    const { id = "", round = 0 } = spending?.series ?? {};
    return `${spending?.day ?? ""} ${id} ${String(round).padStart(4, "0")} ${task}`; // a series has at most 4096 rounds
  };
  return [...found.values()].sort((one, other) => (key(one) < key(other) ? -1 : 1));
}

/**
 * Return a limit as journals store it: decimal numbers as text.
 * @param {Limit} limit
 */
export function storedLimit({ epsilon, delta, byResults }) {
  checkPair("the limit", [epsilon, delta]);
  if (typeof byResults !== "boolean") throw new ParameterError("byResults must be true or false");
  return { kind: LIMIT, epsilon: String(epsilon), delta: String(delta), by_results: byResults };
}

/**
 * Return the limit that was stored.
 * @param {any} read
 * @param {string} place
 * @returns {Limit}
 */
export function checkedLimit(read, place) {
  try {
    if (read.kind === LIMIT && typeof read.by_results === "boolean" && Object.keys(read).length === 4) {
      const pair = [readDecimal(read.epsilon, "epsilon"), readDecimal(read.delta, "delta")];
      const [epsilon, delta] = /** @type {[number, number]} */ (checkPair("the limit", pair));
      return { epsilon, delta, byResults: read.by_results };
    }
  } catch {
    // the message below says what to do
  }
  throw new DataError(`the limit in ${place} cannot be read: store it again`);
}
