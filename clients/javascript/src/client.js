// One person's side of a task: they check what it promises, and answer it once.
import { refusal, useOf } from "./budget.js";
import { equal } from "./bytes.js";
import { checkOpen, openTask } from "./checking.js";
import { DataError, ParameterError, RefusedError, RefusedTimeError, noted } from "./errors.js";
import { newReport, timeStep } from "./making.js";
import { opened } from "./opening.js";
import { checkLimited } from "./journal_choice.js";
import { endsReport } from "./reasons.js";
import { checkAdmission, fetchAnswers, post } from "./sending.js";
import { spendingOf } from "./spending.js";

/** @typedef {import("./journal.js").Entry} Entry */
/** @typedef {import("./task.js").Task} Task */
/** @typedef {import("./task.js").Message} Message */
/**
 * `clockAhead` is the number of seconds by which this device's clock is ahead of the server's, where the server refused
 * the report's time and took its fallback; about 0 if the clock was corrected since, and null otherwise.
 * @typedef {{state: "sent" | "already sent", bytes: number, milliseconds: number, madeBefore: boolean,
 *   clockAhead: number | null}} Receipt
 */

/** A person who sends again may have given another answer, and the sealed report cannot show which one it holds. */
const NOT_USED = "; the report that was made before was used, and the answer that was given now was not";

const UNITS = Object.entries({ year: 365 * 86_400, day: 86_400, hour: 3600, minute: 60, second: 1 });

/** The shuffler has the report, and the journal could not note it. */
const COUNTS_ONCE = "; the report was taken: if it is sent again, then as the same bytes, which count once";

/** Answers a task for one person, once. */
export class Client {
  #admission;
  #timeout;
  #limited;
  /** @type {Promise<unknown>} */
  #last = Promise.resolve();

  /** @param {Awaited<ReturnType<typeof opened>>} checked by `Client.open`, which makes clients */
  constructor({ task, series, promise, journal, admission, timeout, limit, limited }) {
    /** The task that is answered; of a series, the round that is open. */
    this.task = task;
    /** The series whose open round is answered; null for a single task. */
    this.series = series;
    this.promise = promise;
    this.journal = journal;
    /** The limit of all answers in the journal together, as it was read last; null if there is none. */
    this.limit = limit;
    this.#limited = limited;
    this.#admission = admission;
    this.#timeout = timeout;
  }

  /**
   * Checks everything that a person checks before they answer. Nothing is sent.
   * @param {Task | import("./series.js").Series | string | Uint8Array | URL} task
   * @param {import("./opening.js").Options} [options]
   */
  static async open(task, options = {}) {
    return new Client(await opened(task, options));
  }

  /**
   * Gives what admits the person, which `send` and `sendKept` need where the task asks for it.
   * @param {string} admission the secret of the task, or a one-time token
   */
  admit(admission) {
    this.#admission = checkAdmission(this.task, admission);
  }

  /** What became of this person's report: there is none, it is ready, it was taken, or refused for good. */
  async state() {
    return (await this.journal.read(this.task.name))?.state ?? "new";
  }

  /**
   * Returns what this answer uses of the limit, after everything else in the journal; null without a limit.
   * @returns {Promise<import("./budget.js").BudgetUse | null>}
   */
  async spending() {
    await this.#readLimit();
    if (this.limit === null) return null;
    const task = this.series === null ? this.task : await openTask(this.series); // another round may be open by now
    return useOf((await this.journal.spendings?.()) ?? [], task, this.limit);
  }

  /** Fetches the list of answers where the task keeps it elsewhere, and checks it. */
  async loadAnswers() {
    await fetchAnswers(this.task, this.#timeout);
  }

  /**
   * Makes the report, durably in the journal before it is handed out, and shows this one time what is inside. Once
   * there is one, it is always the same, whatever the answer, and nobody can see what is inside: `messages` is null.
   * @param {unknown} value
   * @returns {Promise<{messages: Message[] | null, report: Uint8Array, time: number | null, madeBefore: boolean}>}
   */
  async prepare(value) {
    checkGiven(arguments);
    return this.#inTurn(async () => {
      const { entry, ...made } = await this.#entered(value);
      return { ...made, report: ready(entry) };
    });
  }

  /**
   * The report to send, durably in the journal before it is handed out.
   * @param {unknown} value
   */
  async report(value) {
    checkGiven(arguments); // handed on, a missing value would be undefined, which is an answer
    return (await this.prepare(value)).report;
  }

  /**
   * Hands the report to the shuffler; what failed before is sent again as the same bytes. Throws UnreachableError
   * where it should be sent again later, and RefusedError where that does not help.
   * @param {unknown} value
   */
  async send(value) {
    checkGiven(arguments);
    return this.#inTurn(async () => {
      const started = performance.now();
      const { entry, madeBefore } = await this.#entered(value, { sends: true });
      return this.#handedOver(entry, { madeBefore, started, unused: madeBefore });
    });
  }

  /** Sends what the journal holds, without a value. */
  async sendKept() {
    return this.#inTurn(async () => {
      const started = performance.now();
      const entry = await this.journal.read(this.task.name);
      if (entry === null) throw new DataError("the journal has no report for this task: answer with send(value)");
      await this.#checkReady(entry);
      return this.#handedOver(entry, { madeBefore: true, started, unused: false });
    });
  }

  /**
   * What the journal has of this task, a new report if it had nothing; and whether it was made before.
   * @param {unknown} value
   * @param {{sends?: boolean}} [what] whether the report is sent at once, so that it needs an admission
   */
  async #entered(value, { sends = false } = {}) {
    if (this.series !== null) this.task = await openTask(this.series); // another round may be open by now
    const before = await this.journal.read(this.task.name);
    if (before !== null) {
      await this.#checkReady(before);
      return { entry: before, messages: null, time: null, madeBefore: true };
    }
    checkOpen(this.task);
    if (sends) checkAdmission(this.task, this.#admission);
    await this.loadAnswers();
    const withdraw = await this.#reserved();
    try {
      const { report, fallback, messages, time } = await newReport(this.task, value);
      const entry = await this.journal.keep(this.task.name, report, spendingOf(this.task), fallback);
      if (equal(entry.report, report)) return { entry, messages, time, madeBefore: false };
      return { entry, messages: null, time: null, madeBefore: true }; // another page or program was faster
    } finally {
      await withdraw(); // without a report nothing was spent, and with one its entry counts
    }
  }

  /**
   * Refuses to send a report that was made before, while all answers together are over the limit.
   * @param {Entry} entry
   */
  async #checkReady({ state }) {
    if (state !== "ready") return; // what was sent is past
    const withdraw = await this.#reserved();
    await withdraw(); // the entry counts
  }

  /** Reads the limit that holds now: another page or program may have stored one. */
  async #readLimit() {
    this.limit = this.#limited((await this.journal.limit?.()) ?? null);
    if (this.limit !== null) checkLimited(this.journal);
  }

  /**
   * Reserves the privacy of this answer in the journal; refuses an answer that is over the limit.
   * @returns {Promise<() => Promise<void>>} withdraws the reservation
   */
  async #reserved() {
    await this.#readLimit();
    const { limit: first, task, journal } = this;
    if (first === null) return async () => {};
    checkLimited(journal);
    /** @type {(() => Error) | null} */
    let refused = null;
    const withdraw = await journal.reserve(task.name, spendingOf(task), (spent, stored) => {
      const limit = stored === undefined ? first : this.#limited(stored);
      if (limit === null) return { within: true, unfinished: 0 }; // it was removed
      this.limit = limit;
      const use = useOf(spent, task, limit);
      refused = () => refusal(use, spent, task, limit);
      return use;
    });
    if (withdraw !== null) return withdraw;
    throw /** @type {() => Error} */ (/** @type {unknown} */ (refused))();
  }

  /**
   * @param {Entry} entry
   * @param {{madeBefore: boolean, started: number, unused: boolean}} how `unused` if an answer was given that is not in it
   * @returns {Promise<Receipt>}
   */
  async #handedOver(entry, { madeBefore, started, unused }) {
    const milliseconds = () => performance.now() - started;
    if (entry.state === "sent") {
      return { state: "already sent", bytes: 0, milliseconds: milliseconds(), madeBefore: true, clockAhead: null };
    }
    const report = ready(entry);
    checkAdmission(this.task, this.#admission);
    let clockAhead = null;
    try {
      clockAhead = await this.#posted(report, entry);
    } catch (error) {
      if (error instanceof RefusedError && endsReport(error.reason)) {
        await this.journal.settle(this.task.name, "refused", error.reason);
      }
      throw noted(error, unused ? NOT_USED : "");
    }
    try {
      await this.journal.settle(this.task.name, "sent");
    } catch (error) {
      throw noted(error, COUNTS_ONCE);
    }
    return { state: "sent", bytes: report.length, milliseconds: milliseconds(), madeBefore, clockAhead };
  }

  /**
   * Sends a report, and its fallback where the server refuses the time; gives how far the clock is ahead then. The
   * fallback has the id and the messages of the report: it is no other draw, and a server takes one of both. So it is
   * also sent where the server has other bytes with this id: those of a fallback whose answer was lost. A server that
   * refuses the time of the report and has other bytes than the fallback took the report before its clock was set back:
   * the report is kept.
   * @param {Uint8Array} report
   * @param {Entry} entry
   */
  async #posted(report, { fallback, spending }) {
    const how = { admission: this.#admission, timeout: this.#timeout };
    let clockAhead = null;
    let refusedTime = null;
    try {
      await post(this.task, report, how);
      return null;
    } catch (error) {
      const isTime = error instanceof RefusedTimeError;
      if (isTime) clockAhead = this.#clockAhead(error);
      const wrongTime = isTime && error.reason === "wrong-time";
      const otherBytes = error instanceof RefusedError && error.reason === "other-bytes";
      if (!fallback?.length || !(wrongTime || otherBytes)) {
        if (clockAhead) noted(error, `; this device's clock is ahead by about ${lengthOfTime(clockAhead)}: correct it`);
        if (wrongTime && spending) noted(error, `; the report can be sent from ${spending.day} on`);
        throw error;
      }
      if (wrongTime) refusedTime = error;
    }
    try {
      await post(this.task, fallback, how);
    } catch (error) {
      throw error instanceof RefusedError && error.reason === "other-bytes" ? (refusedTime ?? error) : error;
    }
    return clockAhead;
  }

  /** @param {RefusedTimeError} error */
  #clockAhead({ serverTime }) {
    return serverTime === null ? 0 : Math.max(0, timeStep(this.task, Date.now()) - serverTime);
  }

  /**
   * One after another: of two calls at once the second finds what the first has made.
   * @template Result
   * @param {() => Promise<Result>} work
   * @returns {Promise<Result>}
   */
  #inTurn(work) {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }
}

/**
 * No answer is null, and undefined too: not to report because of it would tell something. A call without any is a
 * mistake, whatever the answer.
 * @param {IArguments} given
 */
function checkGiven(given) {
  if (given.length !== 1) throw new ParameterError("give one answer, or null for none");
}

/**
 * A report that can be sent.
 * @param {Entry} entry
 */
function ready({ state, reason, report }) {
  if (state === "sent") {
    throw new DataError("the report for this task was sent already, and only that is kept of it");
  }
  if (state === "refused") {
    const why = reason ?? "refused";
    throw new RefusedError(`the report for this task was refused before (${why})`, why);
  }
  return report;
}

/**
 * A length of time in its largest unit, rounded: 2 days, 3 hours.
 * @param {number} seconds above 0
 */
function lengthOfTime(seconds) {
  const [unit, length] = UNITS.find(([, each]) => seconds >= each) ?? UNITS[UNITS.length - 1];
  const number = Math.round(seconds / length);
  return `${number} ${unit}${number === 1 ? "" : "s"}`;
}
