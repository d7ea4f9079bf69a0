/**
 * Every error of the client, with the meanings that they have in Python (shuffledp.errors). No message holds a
 * person's value. Names are written out, since a bundle shortens those of classes.
 *
 *     ShuffledpError
 *     |-- ParameterError           a parameter is out of range; the message says what would work
 *     |   `-- BudgetError          an answer is over the person's own limit; nothing was sent
 *     |-- DataError                something that was read cannot be used, such as a journal
 *     |   |-- TaskError            a file that is no task, or one that contradicts itself
 *     |   |-- BrokenPromiseError   a task that gives less privacy than it claims, or than the person allows
 *     |   `-- RefusedError         a report that is not taken, and why; sending it again alone does not help
 *     `-- UnreachableError         a report could not be handed over now; nothing is lost, send it again later
 */
export class ShuffledpError extends Error {
  name = "ShuffledpError";
}

export class ParameterError extends ShuffledpError {
  name = "ParameterError";
}

export class BudgetError extends ParameterError {
  name = "BudgetError";

  /**
   * @param {string} message
   * @param {{before: number, after: number, limit: number, fits: number | null, made?: boolean}} figures the
   *   epsilons without and with the answer, the epsilon of the limit, the largest epsilon of one more task with one value
   *   per person that would fit, and whether the report was made before and is kept
   */
  constructor(message, { before, after, limit, fits, made = false }) {
    super(message);
    this.before = before;
    this.after = after;
    this.limit = limit;
    this.fits = fits;
    this.made = made;
  }
}

export class DataError extends ShuffledpError {
  name = "DataError";
}

export class TaskError extends DataError {
  name = "TaskError";
}

export class BrokenPromiseError extends DataError {
  name = "BrokenPromiseError";
}

export class RefusedError extends DataError {
  name = "RefusedError";

  /**
   * @param {string} message
   * @param {string} reason a word of the servers' refusals, such as "closed"
   */
  constructor(message, reason) {
    super(message);
    this.reason = reason;
  }
}

export class UnreachableError extends ShuffledpError {
  name = "UnreachableError";

  /**
   * @param {string} message
   * @param {string | null} [reason] a word of the servers' refusals, where the server said one
   */
  constructor(message, reason = null) {
    super(message);
    this.reason = reason;
  }
}

/** A server refused a report because of its time, or because the task is not open yet. */
export class RefusedTimeError extends UnreachableError {
  /**
   * @param {string} message
   * @param {string} reason
   * @param {number | null} serverTime the server's time in seconds since 1970, in steps of the task, where it said it
   */
  constructor(message, reason, serverTime) {
    super(message, reason);
    this.serverTime = serverTime;
  }
}

/**
 * An error of ours with one more thing to know; any other as it is.
 * @param {unknown} error
 * @param {string} note
 */
export function noted(error, note) {
  if (error instanceof DataError || error instanceof UnreachableError) error.message += note;
  return error;
}
