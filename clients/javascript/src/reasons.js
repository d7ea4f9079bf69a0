// Why a shuffler refuses a report, in our own words, and whether the same bytes may be taken later: "no" drops them.

/** @typedef {"yes" | "once put right" | "no"} Again */

/** @type {Readonly<Record<string, {again: Again, meaning: string}>>} */
export const REASONS = Object.freeze({
  "unknown-task": { again: "once put right", meaning: "This server does not serve that task." },
  "not-yet-open": { again: "yes", meaning: "The task is not open yet." },
  closed: { again: "no", meaning: "The task is closed." },
  "wrong-time": { again: "yes", meaning: "The report's time is outside the task's opening hours, or in the future." },
  "cannot-be-opened": {
    again: "no",
    meaning: "It is not sealed to this server's key for this task, or was changed in transit.",
  },
  malformed: { again: "no", meaning: "The content does not have the format that the task requires." },
  "too-many-messages": { again: "no", meaning: "The report holds more messages than the task allows." },
  "other-bytes": { again: "no", meaning: "Another report with the same id was accepted before." },
  "not-admitted": {
    again: "once put right",
    meaning: "The task accepts reports only with its secret or an unspent token.",
  },
  "too-large": { again: "no", meaning: "It is longer than this server accepts." },
  "too-many-requests": { again: "yes", meaning: "More reports arrive than this server accepts: try again later." },
  unavailable: { again: "yes", meaning: "The server cannot do this now: try again later." },
});

/**
 * Whether a refusal ends a report: its bytes are dropped, and no other is made.
 * @param {string | null | undefined} reason
 */
export function endsReport(reason) {
  return typeof reason === "string" && Object.hasOwn(REASONS, reason) && REASONS[reason].again === "no";
}
