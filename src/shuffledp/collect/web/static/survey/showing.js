// A report as a person sees it, once: its messages before encryption, and its bytes after.
import { NONE, OTHER } from "/client/src/answers.js";
import { fingerprint, toHexadecimal } from "/client/src/bytes.js";
import { printable } from "./printable.js";

/** What everybody can choose, as the choices call it. */
const CHOICES = new Map([[OTHER, "another answer"], [NONE, "no answer"]]);

/** More lines than this are not read. */
const MOST_LINES = 60;

/** Enough to see that nothing can be read in them; what a report is known by is its SHA-256. */
const BYTES_SHOWN = 64;

/** @param {string} id */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * Shows it, and gives the SHA-256 of its bytes.
 * @param {import("/client/src/task.js").Task} task
 * @param {{messages: number[] | null, report: Uint8Array}} prepared
 */
export async function showReport(task, { messages, report }) {
  at("inside").hidden = messages === null;
  at("inside-gone").hidden = messages !== null;
  if (messages !== null) showMessages(task, messages);
  const layers = task.shufflers.length;
  at("sealed-words").textContent =
    `${report.length.toLocaleString("en")} bytes. Each message is sealed to the analyzer` +
    `${layers > 1 ? ", then to the later shufflers," : ""} and the whole to the first shuffler: nobody can read it ` +
    "on its way, and this device cannot open it any more either.";
  at("sealed-start").textContent = `${toHexadecimal(report.slice(0, BYTES_SHOWN))} …`;
  const hash = await fingerprint(report);
  at("sealed-hash").textContent = hash;
  return hash;
}

/** Whoever uses this device next sees nothing of it. */
export function forgetReport() {
  at("messages").replaceChildren();
  at("inside-words").textContent = "";
}

/** Where nothing was drawn beside the answer, which is as likely for every answer. */
const ALONE =
  "One message: your answer. No made-up one was drawn for you this time, as happens to many whatever they answer; it " +
  "hides among the made-up messages of the others, with which it is mixed.";

/** @param {import("/client/src/task.js").Task} task @param {number} number */
function among(task, number) {
  const padding = task.padded ? ", or count for nothing and make all reports equally long" : "";
  return (
    `${number.toLocaleString("en")} messages. One is your answer; the others were drawn at random, as likely whatever ` +
    `you answer${padding}. Whoever saw these alone could often tell your answer. Nobody does, as long as the servers do ` +
    "not all work together: they are sealed, and opened only once they are mixed with those of all " +
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
