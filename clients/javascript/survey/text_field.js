// A field for any text: while people type, it shows the text that will be counted, or why the text itself will not be.
import { element, filled } from "./element.js";
import { afterPause } from "./pausing.js";
import { printable } from "./printable.js";
import { t } from "./words.js";

export { TextCode } from "../src/text_code.js";

/** @typedef {import("../src/index.js").Task} Task */

/** Most signs that a note lists. */
const MOST_SIGNS = 5;

/**
 * Returns the parts of the field and what is typed into it: undefined if nothing that counts is.
 * @param {Task} task
 * @param {HTMLFormElement} form
 */
export function textField(task, form) {
  const { longest } = textsOf(task);
  const input = element("input", { type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: false });
  const limit = element("p", { id: "text-limit", className: "soft" });
  const note = element("p", { id: "text-note", className: "soft", role: "status" });
  input.setAttribute("aria-describedby", `${limit.id} ${note.id}`);
  const label = element("label", { className: "field", textContent: t("your_answer", { what: t("up_to", { longest }) }) });
  label.append(input);
  const written = () => (isEmpty(task, input.value) ? undefined : input.value);
  const used = () => {
    const bytes = bytesOf(task.normalised(input.value) ?? "");
    limit.textContent = t("used_of", { used: bytes, longest }) + wider(task);
  };
  const tell = () => {
    const text = written();
    const why = (text !== undefined && whyOther(task, text)) || "";
    used();
    note.className = why ? "warning" : text === undefined ? "soft" : "good";
    note.replaceChildren(...(text === undefined ? [] : why ? [why] : filled("will_count", "text", printable(String(task.normalised(text))))));
    return why;
  };
  input.addEventListener("input", used);
  used();
  return { parts: [label, limit, note], input, written, refusal: () => "", warning: afterPause(input, form, tell) };
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
  return [...signs].some((sign) => bytesOf(sign) > 1) ? ` ${t("wide_letters")}` : "";
}

/** The signs that can be counted. @param {Task} task @returns {Set<string>} */
function signsOf(task) {
  const { pieces } = textsOf(task);
  return new Set(pieces.kind === "alphabet" ? pieces.characters : pieces.values.join(""));
}

/**
 * Why a text counts as another answer; empty if it does not.
 * @param {Task} task
 * @param {string} answer
 */
function whyOther(task, answer) {
  const reason = task.whyOther(answer);
  return reason && t("will_not_count", { why: inWords(task, answer, reason) });
}

/**
 * @param {Task} task
 * @param {string} answer
 * @param {import("../src/task.js").WhyOther} reason
 */
function inWords(task, answer, reason) {
  if (reason === "too-long") return t("too_long", { longest: textsOf(task).longest });
  if (reason === "not-unicode") return t("not_text");
  const signs = signsOf(task);
  const strange = [...new Set(task.normalised(answer))].filter((sign) => !signs.has(sign)).slice(0, MOST_SIGNS);
  if (!strange.length) return t("too_many_parts");
  return t("cannot_count", { signs: strange.map((sign) => t("quoted", { text: seen(sign) })).join(", ") });
}

/** @param {string} sign */
function seen(sign) {
  return sign === " " ? t("space") : printable(sign);
}
