// A field for any text: while people type, it shows the text that will be counted, or why the text itself will not be.
import { element } from "./element.js";
import { printable } from "./printable.js";

/** @typedef {import("/client/src/index.js").Task} Task */

/** Milliseconds without a key press after which the note changes, so that a screen reader does not read every letter. */
const PAUSE = 250;

/** Most signs that a note lists. */
const MOST_SIGNS = 5;

/**
 * Returns the parts of the field, and a function that gives the typed text; undefined if nothing that counts is typed.
 * @param {Task} task
 * @param {HTMLFormElement} form
 */
export function textField(task, form) {
  const { longest } = textsOf(task);
  const input = element("input", { type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: false });
  const limit = element("p", { id: "text-limit", className: "soft" });
  const note = element("p", { id: "text-note", className: "soft", role: "status" });
  input.setAttribute("aria-describedby", `${limit.id} ${note.id}`);
  const label = element("label", { className: "field", textContent: `Your answer, up to ${longest} characters` });
  label.append(input);
  const written = () => (isEmpty(task, input.value) ? undefined : input.value);
  const used = () => {
    limit.textContent = `${bytesOf(task.normalised(input.value) ?? "")} of ${longest} characters used${wider(task)}.`;
  };
  let timer = 0;
  const tell = () => {
    const text = written();
    const why = text === undefined ? "" : whyOther(task, text);
    note.className = why ? "warning" : text === undefined ? "soft" : "good";
    note.replaceChildren(...(text === undefined ? [] : why ? [why] : counted(String(task.normalised(text)))));
  };
  input.addEventListener("input", () => {
    used();
    clearTimeout(timer);
    timer = window.setTimeout(tell, PAUSE);
  });
  form.addEventListener("reset", () =>
    setTimeout(() => {
      clearTimeout(timer);
      used();
      tell();
    }),
  );
  used();
  return { parts: [label, limit, note], input, written };
}

/** @param {Task} task */
function textsOf(task) {
  return /** @type {Extract<Task["answers"], {kind: "text"}>} */ (task.answers);
}

/** @param {Task} task @param {string} text */
function isEmpty(task, text) {
  return task.normalised(text) === "";
}

/** The length in UTF-8, in which the limit is meant. @param {string} text */
function bytesOf(text) {
  return new TextEncoder().encode(text).length;
}

/** A hint where letters that can be counted take several bytes. @param {Task} task */
function wider(task) {
  const signs = signsOf(task);
  return [...signs].some((sign) => bytesOf(sign) > 1) ? " (letters such as é count as two or more)" : "";
}

/** The signs that can be counted. @param {Task} task @returns {Set<string>} */
function signsOf(task) {
  const { pieces } = textsOf(task);
  return new Set(pieces.kind === "alphabet" ? pieces.characters : pieces.values.join(""));
}

/** @param {string} text */
function counted(text) {
  const words = element("strong", { textContent: printable(text), dir: "auto" });
  return ["This is what will be counted: ", words];
}

/**
 * Why a text counts as another answer; empty if it does not.
 * @param {Task} task
 * @param {string} answer
 */
export function whyOther(task, answer) {
  const reason = task.whyOther(answer);
  return reason && `Your text itself will not be counted: ${inWords(task, answer, reason)}. It counts as “another answer”.`;
}

/**
 * @param {Task} task
 * @param {string} answer
 * @param {import("/client/src/task.js").WhyOther} reason
 */
function inWords(task, answer, reason) {
  if (reason === "too-long") return `it is longer than ${textsOf(task).longest} characters`;
  if (reason === "not-unicode") return "it is not valid text";
  const signs = signsOf(task);
  const strange = [...new Set(task.normalised(answer))].filter((sign) => !signs.has(sign)).slice(0, MOST_SIGNS);
  if (!strange.length) return "it has too many parts for this question";
  return `this question cannot count ${strange.map((sign) => `“${seen(sign)}”`).join(", ")}`;
}

/** @param {string} sign */
function seen(sign) {
  return sign === " " ? "space" : printable(sign);
}
