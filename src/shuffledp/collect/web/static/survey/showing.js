// Shows a report to the visitor, once: its messages before encryption, and its bytes after.
import { NONE, OTHER } from "/client/src/answers.js";
import { fingerprint, toHexadecimal } from "/client/src/bytes.js";
import { printable } from "./printable.js";

/** Answers that every task has, as the form names them. */
const CHOICES = new Map([[OTHER, "another answer"], [NONE, "no answer"]]);

/** Most lines of messages. */
const MOST_LINES = 60;

/** Enough to see that they are unreadable; the SHA-256 identifies the report. */
const BYTES_SHOWN = 64;

/** @param {string} id */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * Shows a report; returns the SHA-256 of its bytes.
 * @param {import("/client/src/task.js").Task} task
 * @param {{messages: number[] | null, report: Uint8Array}} prepared
 */
export async function showReport(task, { messages, report }) {
  at("inside").hidden = messages === null;
  at("inside-gone").hidden = messages !== null;
  if (messages !== null) showMessages(task, messages);
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
}

/** If no made-up message was drawn, which is as likely for every answer. */
const ALONE =
  "One message: your answer. This time your device drew no made-up message, which happens to many people, whatever " +
  "they answer. Your answer hides among the made-up messages of the others, with which it is shuffled.";

/** @param {import("/client/src/task.js").Task} task @param {number} number */
function among(task, number) {
  const padding = task.padded ? ", or count for nothing and make all reports equally long" : "";
  return (
    `${number.toLocaleString("en")} messages. One is your answer. The others were drawn at random and do not depend on ` +
    `your answer${padding}. Anyone who saw these messages alone could often guess your answer. Nobody does unless ` +
    "all servers cheat together or this page's server changes this page: the messages are encrypted, and opened only after they are shuffled with those of all " +
    `${task.users.toLocaleString("en")} people.`
  );
}

/** @param {import("/client/src/task.js").Task} task @param {number[]} messages */
function showMessages(task, messages) {
  /** @type {Map<number, number>} */
  const times = new Map();
  for (const message of messages) times.set(message, (times.get(message) ?? 0) + 1);
  const kinds = [...times].sort(([one], [other]) => one - other);
  at("inside-words").textContent = messages.length === 1 ? ALONE : among(task, messages.length);
  const lines = kinds.slice(0, MOST_LINES).map(([message, number]) => line(inWords(task, message), number));
  if (kinds.length > MOST_LINES) lines.push(line(`and ${(kinds.length - MOST_LINES).toLocaleString("en")} others`, 1));
  at("messages").replaceChildren(...lines);
}

/** @param {import("/client/src/task.js").Task} task @param {number} message */
function inWords(task, message) {
  const meaning = task.meaningOf(message);
  if (meaning === null) return "counts for nothing";
  const answer = CHOICES.get(meaning.label) ?? printable(meaning.label);
  return meaning.less ? `one less for ${answer}` : `one for ${answer}`;
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
