// Shows a report to the visitor, once: its messages before encryption, and its bytes after.
import { NONE, OTHER } from "/client/src/answers.js";
import { fingerprint, toHexadecimal } from "/client/src/bytes.js";
import { printable } from "./printable.js";

/** Answers that every task has, as the form names them. */
const CHOICES = new Map([[OTHER, "another answer"], [NONE, "no answer"]]);

/** Most lines of messages, and of scrambled ones, which mean nothing to a reader. */
const MOST_LINES = 60;
const MOST_SCRAMBLED = 12;

/** Enough to see that they are unreadable; the SHA-256 identifies the report. */
const BYTES_SHOWN = 64;

/** @param {string} id */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @typedef {import("/client/src/index.js").Task} Task */
/** @typedef {import("/client/src/task.js").Message} Message */

/**
 * A report, with its messages and the answer if it was made just now.
 * @typedef {{messages: Message[] | null, report: Uint8Array, answer?: string | string[] | null}} Shown
 */

/**
 * Shows a report; returns the SHA-256 of its bytes.
 * @param {Task} task
 * @param {Shown} prepared
 */
export async function showReport(task, { messages, report, answer }) {
  at("inside").hidden = messages === null;
  at("inside-gone").hidden = messages !== null;
  if (messages !== null) showMessages(task, messages);
  at("inside-text").textContent = answer ? countedAs(task, answer) : "";
  const layers = task.shufflers.length;
  at("sealed-words").textContent =
    `${report.length.toLocaleString("en")} bytes. Each message is encrypted for the analyzer` +
    `${layers > 1 ? ", then for the later shufflers," : ""} and the whole report for the first shuffler. Nobody can ` +
    "read it on its way, and even this device can no longer open it.";
  at("sealed-start").textContent = `${toHexadecimal(report.slice(0, BYTES_SHOWN))} …`;
  const hash = await fingerprint(report);
  at("sealed-hash").textContent = hash;
  return hash;
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
  if (Array.isArray(answer)) return `Your choices: ${answer.map(named).join("; ")}`;
  if (task.code === null && task.edges === null) return "";
  return `Your answer, as it is counted: ${textOf(task, answer)}`;
}

/** @param {Task} task @param {string} answer */
function textOf(task, answer) {
  if (task.countsAsOther(answer)) return "another answer";
  return task.edges === null ? printable(String(task.normalised(answer))) : task.labelOf(task.placeOf(answer));
}

/** An answer as the form names it. @param {string} label */
function named(label) {
  return CHOICES.get(label) ?? printable(label);
}

/** If no made-up message was drawn, which is as likely for every answer. @param {Task} task */
function alone(task) {
  const what = task.levels === 1 ? "One message: your answer" : `${task.levels} messages. ${own(task)}`;
  return (
    `${what}. This time your device drew no made-up message, which happens to many people, whatever they answer. Your ` +
    "answer hides among the made-up messages of the others, with which it is shuffled."
  );
}

/** What of a report is the answer: the rest is noise. @param {Task} task */
function own(task) {
  if (task.code !== null) return `${task.levels} are the beginnings of your text, scrambled so that each fits many texts`;
  if (task.answers.kind === "choices") {
    return `${task.levels} are your choices, with “an empty choice” for each one that you left free`;
  }
  if (task.levels === 2) return "2 are your answer: its range, and a wider range around it";
  if (task.levels > 2) return `${task.levels} are your answer: its range, and wider ranges around it`;
  return task.family === null ? "One is your answer" : "One is your answer, scrambled so that it fits many answers";
}

/** @param {Task} task @param {number} number */
function among(task, number) {
  const padding = task.padded ? ", or count for nothing and make all reports equally long" : "";
  return (
    `${number.toLocaleString("en")} messages. ${own(task)}. The others were drawn at random and do not depend on ` +
    `your answer${padding}. Anyone who saw these messages alone could often guess your answer. Nobody does unless ` +
    "all servers cheat together or this page's server changes this page: the messages are encrypted, and opened only after they are shuffled with those of all " +
    `${task.users.toLocaleString("en")} people.`
  );
}

/** @param {Task} task @param {Message[]} messages */
function showMessages(task, messages) {
  /** @type {Map<Message, number>} */
  const times = new Map();
  for (const message of messages) times.set(message, (times.get(message) ?? 0) + 1);
  const kinds = [...times].sort(([one], [other]) => (one < other ? -1 : 1));
  at("inside-words").textContent = messages.length === task.levels ? alone(task) : among(task, messages.length);
  const most = task.family === null ? MOST_LINES : MOST_SCRAMBLED;
  const lines = kinds.slice(0, most).map(([message, number]) => line(inWords(task, message), number));
  if (kinds.length > most) lines.push(line(`and ${(kinds.length - most).toLocaleString("en")} others`, 1));
  at("messages").replaceChildren(...lines);
}

/** @param {Task} task @param {Message} message */
function inWords(task, message) {
  const hash = task.hashOf(message);
  if (hash !== null) {
    const beginning = task.code === null ? "" : `beginning ${hash.level + 1}: `;
    return `${beginning}key ${hash.seed}, number ${hash.bucket}`;
  }
  const meaning = task.meaningOf(message);
  if (meaning === null) return "counts for nothing";
  const answer = meaning.label === null ? "an empty choice" : task.tree ? together(meaning.label) : named(meaning.label);
  return meaning.less ? `one less for ${answer}` : `one for ${answer}`;
}

/** A range of numbers, with the answers that are none. @param {string} label */
function together(label) {
  const parts = label.split(", ").map(named);
  return parts.length < 3 ? parts.join(" or ") : `${parts[0]}, ${parts.slice(1).join(" or ")}`;
}

/** @param {string} text @param {number} number */
function line(text, number) {
  const item = document.createElement("li");
  const words = document.createElement("span");
  words.textContent = text;
  words.dir = "auto";
  item.append(words);
  if (number > 1) {
    const many = document.createElement("span");
    many.textContent = `× ${number.toLocaleString("en")}`;
    many.className = "soft number";
    item.append(many);
  }
  return item;
}
