// A field for a number: while people type, it shows the interval in which the number will be counted.
import { element, filled } from "./element.js";
import { afterPause } from "./pausing.js";
import { printable } from "./printable.js";
import { COMMA, t } from "./words.js";

export { NumberPlaces } from "../src/numbers.js";

/** @typedef {import("../src/index.js").Task} Task */

/** Most characters of something that is not a number in a note. */
const MOST_SHOWN = 20;

/** 1.500 is 1500 for people who write 1,5, and 1.5 for the client. */
const AMBIGUOUS = /^[-+]?[1-9]\d{0,2}\.\d{3}$/;

/** Several points are points of thousands. */
const THOUSANDS = /^[-+]?[1-9]\d{0,2}(\.\d{3}){2,}$/;

/** A number of a task as the page's language writes it. @param {string} figure */
const local = (figure) => (COMMA ? figure.replace(".", ",") : figure);

/** A typed number as the client reads it. @param {string} text */
function pointed(text) {
  if (!COMMA) return text;
  if (THOUSANDS.test(text)) return text.replaceAll(".", "");
  return text.split(",").length === 2 ? text.replace(",", ".") : text;
}

/**
 * Returns the parts of the field and what is typed into it.
 * @param {Task} task with numbers
 * @param {HTMLFormElement} form
 */
export function decimalField(task, form) {
  const edges = /** @type {NonNullable<Task["edges"]>} */ (task.edges);
  const [lowest, highest] = [edges.textOf(0), edges.textOf(edges.number - 1)].map(local);
  // the keyboard for decimal numbers has no minus sign on some phones
  const inputMode = lowest.startsWith("-") ? "text" : "decimal";
  const input = element("input", { type: "text", inputMode, autocomplete: "off", spellcheck: false });
  const range = element("p", { id: "decimal-range", className: "soft", textContent: t("number_range", { low: lowest, high: highest }) });
  const note = element("p", { id: "decimal-note", className: "soft", role: "status" });
  input.setAttribute("aria-describedby", `${range.id} ${note.id}`);
  const label = element("label", { className: "field", textContent: t("your_answer", { what: t("a_number") }) });
  label.append(input);
  const typed = () => input.value.trim();
  const refusal = () => (COMMA && AMBIGUOUS.test(typed()) ? ambiguous(typed()) : "");
  const written = () => (refusal() ? undefined : pointed(typed()) || undefined);
  const tell = () => {
    const text = written();
    const other = text !== undefined && task.countsAsOther(text) ? notANumber(typed()) : "";
    const wrong = refusal() || other;
    note.className = wrong ? "warning" : text === undefined ? "soft" : "good";
    note.replaceChildren(...(wrong || text === undefined ? [wrong] : filled("counted_as", "label", interval(task.labelOf(task.placeOf(text))))));
    input.setAttribute("aria-invalid", String(wrong !== ""));
    return other;
  };
  return { parts: [label, range, note], input, written, refusal, warning: afterPause(input, form, tell) };
}

/** An interval of numbers, which the client names in English, in the language of the page. @param {string} label */
export function interval(label) {
  if (label === "any number") return t("any_number");
  const sign = / to below | and above$|^below /.exec(label)?.[0];
  if (sign === undefined) return label;
  const [low, high] = label.split(sign).map(local);
  return t(sign === "below " ? "below" : high === "" ? "above" : "between", { low, high });
}

/** @param {string} text */
function ambiguous(text) {
  return t("ambiguous", { text, whole: text.replace(".", ""), decimal: text.replace(".", ",") });
}

/** @param {string} text */
function notANumber(text) {
  const shown = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
  const hint = /[,.]/.test(text) ? ` ${t("no_commas")}` : "";
  return t("not_a_number", { text: printable(shown) }) + hint;
}
