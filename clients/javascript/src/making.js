// A finished report for an answer.
import { sealReport } from "./envelope.js";
import { messagesOf } from "./randomizer.js";
import { randomBytes } from "./randomness.js";
import { REPORT_ID_BYTES } from "./task.js";

/**
 * A report with new messages: every one is another draw, so that nobody may send two. Its time is in whole steps, so
 * that it does not tell the second.
 * @param {import("./task.js").Task} task
 * @param {unknown} value
 */
export async function newReport(task, value) {
  const messages = messagesOf(task, await task.valuesOf(value));
  const now = Math.floor(Date.now() / 1000);
  const time = now - (now % task.timePrecision);
  const report = await sealReport(task, messages, { reportId: randomBytes(REPORT_ID_BYTES), time });
  return { messages, time, report };
}
