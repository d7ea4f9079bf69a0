// Shows a report to the visitor, once: its messages before encryption, and its bytes after.
import { NONE, OTHER } from "../src/answers.js";
import { fingerprint, toHexadecimal } from "../src/bytes.js";
import { element } from "./element.js";
import { kinds } from "./parts.js";
import { printable } from "./printable.js";
import { number as inDigits, t } from "./words.js";

/** Answers that every task has, as the form names them. */
const CHOICES = new Map([[OTHER, t("answer_other")], [NONE, t("answer_none")]]);

/** Most lines of messages, and of scrambled ones, which mean nothing to a reader. */
const MOST_LINES = 60;
const MOST_SCRAMBLED = 12;

/** Enough to see that they are unreadable; the SHA-256 identifies the report. */
const BYTES_SHOWN = 64;

/** @param {string} id */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @typedef {import("../src/index.js").Task} Task */
/** @typedef {import("../src/task.js").Message} Message */

/**
 * A report, with its messages and the answer if it was made just now.
 * @typedef {{messages: Message[] | null, report: Uint8Array, answer?: string | string[] | null}} Shown
 */

/**
 * Shows a report, with the SHA-256 of its bytes.
 * @param {Task} task
 * @param {Shown} prepared
 */
export async function showReport(task, { messages, report, answer }) {
  at("inside").hidden = messages === null;
  at("inside-gone").hidden = messages !== null;
  if (messages !== null) showMessages(task, messages);
  at("inside-text").textContent = messages && answer ? countedAs(task, answer) : "";
  at("sealed-words").textContent = t(task.shufflers.length > 1 ? "sealed_layers" : "sealed", { bytes: report.length });
  at("sealed-start").textContent = `${toHexadecimal(report.slice(0, BYTES_SHOWN))} …`;
  at("sealed-hash").textContent = await fingerprint(report);
}

/** Removes the report from the page, so that the next user of this device does not see it. */
export function forgetReport() {
  at("messages").replaceChildren();
  at("inside-words").textContent = "";
  at("inside-text").textContent = "";
}

/**
 * An answer that people type, or several choices, as it is counted; empty for other answers, which the messages name.
 * @param {Task} task
 * @param {string | string[]} answer
 */
function countedAs(task, answer) {
  if (Array.isArray(answer)) return t("your_choices", { answers: answer.map(named).join("; ") });
  if (task.code === null && task.edges === null) return "";
  return t("as_counted", { answer: textOf(task, answer) });
}

/** @param {Task} task @param {string} answer */
function textOf(task, answer) {
  if (task.countsAsOther(answer)) return t("answer_other");
  if (task.edges === null) return printable(String(task.normalised(answer)));
  return kinds.interval(task.labelOf(task.placeOf(answer)));
}

/** An answer as the form names it. @param {string} label */
function named(label) {
  return CHOICES.get(label) ?? printable(label);
}

/** What of a report is the answer: the rest is noise. @param {Task} task */
function own(task) {
  const number = task.levels;
  if (task.code !== null) return t("own_text", { number });
  if (task.answers.kind === "choices") return t("own_choices", { number });
  if (number > 1) return t("own_ranges", { number });
  return t(task.family === null ? "own" : "own_scrambled");
}

/** The messages of a report in words. Without a made-up one it says so: that is as likely for every answer. @param {Task} task @param {number} number */
function explained(task, number) {
  const alone = number === task.levels;
  const noise = alone ? ["no_noise"] : ["noise", ...(task.padded ? ["padding"] : []), "alone"];
  return [t("messages", { number }), own(task), ...noise.map((key) => t(key, { users: task.users }))].join(" ");
}

/** @param {Task} task @param {Message[]} messages */
function showMessages(task, messages) {
  /** @type {Map<Message, number>} */
  const times = new Map();
  for (const message of messages) times.set(message, (times.get(message) ?? 0) + 1);
  const kinds = [...times].sort(([one], [other]) => (one < other ? -1 : 1));
  at("inside-words").textContent = explained(task, messages.length);
  const most = task.family === null ? MOST_LINES : MOST_SCRAMBLED;
  const lines = kinds.slice(0, most).map(([message, number]) => line(inWords(task, message), number));
  if (kinds.length > most) lines.push(line(t("and_others", { number: kinds.length - most }), 1));
  at("messages").replaceChildren(...lines);
}

/** @param {Task} task @param {Message} message */
function inWords(task, message) {
  const hash = task.hashOf(message);
  if (hash !== null) {
    const words = t("key_number", { key: String(hash.seed), number: String(hash.bucket) });
    return task.code === null ? words : t("beginning", { number: hash.level + 1, hash: words });
  }
  const meaning = task.meaningOf(message);
  if (meaning === null) return t("counts_nothing");
  const { label } = meaning;
  const answer = label === null ? t("answer_empty") : task.tree ? together(label) : named(label);
  return t(meaning.less ? "one_less" : "one_for", { answer });
}

/** A range of numbers, with the answers that are none. @param {string} label */
function together(label) {
  const parts = label.split(", ").map((each) => kinds.interval(named(each)));
  const last = parts.pop() ?? "";
  return parts.length === 0 ? last : t("or", { first: parts.join(", "), last });
}

/** @param {string} text @param {number} number */
function line(text, number) {
  const item = element("li", {});
  item.append(element("span", { textContent: text, dir: "auto" }));
  if (number > 1) item.append(element("span", { textContent: `× ${inDigits(number)}`, className: "soft number" }));
  return item;
}
