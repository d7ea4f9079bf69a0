// A person's journal: what became of their report for each task, so that they answer each task once. It holds the
// finished report as it is sent, sealed, and its state; never the answer. What cannot be understood is left as it is:
// making another report would be a second draw of one answer.
import { fingerprint } from "./bytes.js";
import { DataError } from "./errors.js";

/** In every entry, as the wire format says: whoever meets another kind leaves it as it is. */
const KIND = "shuffledp journal 1";

/**
 * What a journal holds of one task; the bytes are there only until it is known what became of them.
 * @typedef {object} Entry
 * @property {string} kind
 * @property {string} task
 * @property {"ready" | "sent" | "refused"} state
 * @property {Uint8Array} report
 * @property {string} sha256
 * @property {string | null} reason
 */

/**
 * @typedef {object} Journal
 * @property {(task: string) => Promise<Entry | null>} read What is known of a task; null if no report was made.
 * @property {(task: string, report: Uint8Array) => Promise<Entry>} keep Enters a finished report durably, unless one is
 *   there already; gives the one that is there then. Of several at once exactly one enters its report, and all get it.
 * @property {(task: string, state: "sent" | "refused", reason?: string | null) => Promise<void>} settle Enters what
 *   became of a report, and drops its bytes; what was entered before stays.
 */

/**
 * The entry of a finished report.
 * @param {string} task
 * @param {Uint8Array} report
 * @returns {Promise<Entry>}
 */
export async function readyEntry(task, report) {
  return { kind: KIND, task, state: "ready", report, sha256: await fingerprint(report), reason: null };
}

/**
 * The entry of a report that was taken or refused for good.
 * @param {string} task
 * @param {"sent" | "refused"} state
 * @param {string | null} reason
 * @returns {Entry}
 */
export function settledEntry(task, state, reason) {
  return { kind: KIND, task, state, report: new Uint8Array(0), sha256: "", reason };
}

/**
 * What was read, if it is an entry of this task with its report whole where there should be one; otherwise an error.
 * @param {unknown} read
 * @param {string} task
 * @param {string} place
 * @returns {Promise<Entry>}
 */
export async function checkedEntry(read, task, place) {
  const entry = /** @type {Entry} */ (typeof read === "object" && read !== null ? read : {});
  const known = entry.kind === KIND && entry.task === task && ["ready", "sent", "refused"].includes(entry.state);
  if (known && entry.report instanceof Uint8Array && (entry.reason === null || typeof entry.reason === "string")) {
    const whole = entry.report.length > 0 && (await fingerprint(entry.report)) === entry.sha256;
    if (entry.state === "ready" ? whole : entry.report.length === 0) return entry;
  }
  throw new DataError(
    `the journal ${place} is broken, so that nobody knows whether this task was answered: bring it back from a copy. ` +
      "It is not written over, since a second report would be a second draw of one answer",
  );
}
