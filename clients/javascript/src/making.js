// A finished report for an answer.
import { sealVersions } from "./envelope.js";
import { messagesOf } from "./randomizer.js";
import { randomBytes } from "./randomness.js";
import { REPORT_ID_BYTES } from "./task.js";

/**
 * A report with new messages: every one is another draw, so that nobody may send two. Its time is in whole steps, so
 * that it does not tell the second.
 *
 * The fallback is the same report, with the same id and onions, and the earliest time that the task allows: for a server
 * that refuses the time of a device whose clock is ahead. It is sealed here and now, so that a device keeps nothing that
 * is not sealed to the first shuffler. It is empty where the times are the same.
 * @param {import("./task.js").Task} task
 * @param {unknown} value
 */
export async function newReport(task, value) {
  const messages = messagesOf(task, await task.valuesOf(value));
  const [time, first] = [timeStep(task, Date.now()), timeStep(task, task.opens.getTime())];
  const times = time === first ? [time] : [time, first];
  const [report, fallback] = await sealVersions(task, messages, { reportId: randomBytes(REPORT_ID_BYTES), times });
  return { messages, time, report, fallback: fallback ?? new Uint8Array(0) };
}

/**
 * A time in seconds since 1970, rounded down to the steps of a task.
 * @param {import("./task.js").Task} task
 * @param {number} milliseconds since 1970, as Date.now gives them
 */
export function timeStep(task, milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  return seconds - (seconds % task.timePrecision);
}
