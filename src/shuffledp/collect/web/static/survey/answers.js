// Shows the answers of a task: radio buttons, check boxes, a search field if there are many, a field for numbers or text.
import { OTHER } from "/client/src/answers.js";
import { checkBoxes } from "./check_boxes.js";
import { decimalField } from "./decimal_field.js";
import { element } from "./element.js";
import { listed } from "./listed.js";
import { printable } from "./printable.js";
import { textField } from "./text_field.js";

/** Most numbers that are shown as choices. */
const MOST_NUMBERS = 12;

const form = /** @type {HTMLFormElement} */ (document.getElementById("answer"));
const fieldset = /** @type {HTMLFieldSetElement} */ (document.getElementById("answers"));

/** @typedef {import("/client/src/index.js").Task} Task */

/**
 * Returns the answer of a choice: null for no answer, undefined if it is incomplete.
 * @typedef {() => string | null | undefined} Meaning
 */

/** The answer of each radio button; it is not in the page. @type {WeakMap<Element, Meaning>} */
const meanings = new WeakMap();

/** Returns what is wrong with a field and focuses it; undefined if nothing is. */
let unfinished = /** @type {() => string | undefined} */ (() => undefined);

/**
 * Puts the choices into the form.
 * @param {Task} task with its answers loaded
 */
export function showAnswers(task) {
  const legend = /** @type {HTMLElement} */ (fieldset.querySelector("legend"));
  legend.textContent = printable(task.question);
  const none = choice("I would rather not say", () => null).label;
  if (task.answers.kind === "choices") return severalChoices(task, legend);
  if (task.answers.kind === "text") {
    fieldset.replaceChildren(legend, ...typed("The text above", textField(task, form)), none);
  } else if (task.answers.kind === "numbers") {
    fieldset.replaceChildren(legend, ...typed("The number above", decimalField(task, form)), none);
  } else {
    fieldset.replaceChildren(legend, ...single(task), choice("Another answer", () => OTHER).label, none);
  }
  return { chosen, missing, forget: () => form.reset() };
}

/** @param {Task} task with choices @param {HTMLElement} legend */
function severalChoices(task, legend) {
  const boxes = checkBoxes(task, form);
  fieldset.replaceChildren(legend, ...boxes.parts);
  fieldset.setAttribute("aria-describedby", boxes.described);
  return {
    chosen: () => {
      const value = boxes.chosen();
      return value === undefined ? null : { value };
    },
    missing: () => "Choose at least one answer first, or the last box.",
    forget: () => form.reset(),
  };
}

/** @param {Task} task with one listed answer of each person */
function single(task) {
  const { answers } = task;
  const size = task.values - 2;
  if (answers.kind === "range" && size > MOST_NUMBERS) return numberField(answers);
  const texts = Array.from({ length: size }, (_, place) => task.labelOf(place));
  return listed(texts, (text) => choice(text, () => text).label, form);
}

/**
 * A field with a radio button that is checked when something is typed.
 * @param {string} text of the button
 * @param {{parts: HTMLElement[], input: HTMLInputElement, written: () => string | undefined}} field
 */
function typed(text, field) {
  const own = choice(text, field.written);
  field.input.addEventListener("input", () => {
    own.radio.checked = field.written() !== undefined;
  });
  unfinished = () => {
    if (!own.radio.checked) return undefined;
    field.input.focus();
    return "Type your answer first, or choose “I would rather not say”.";
  };
  return [...field.parts, own.label];
}

/** The message if nothing is chosen. */
function missing() {
  return unfinished() ?? "Choose an answer first, or “I would rather not say”.";
}

/** The chosen answer; null if there is none. */
function chosen() {
  const radio = fieldset.querySelector("input[type=radio]:checked");
  const meaning = radio && meanings.get(radio);
  const value = meaning ? meaning() : undefined;
  return value === undefined ? null : { value };
}

/**
 * A radio button in a label with its words.
 * @param {string} text
 * @param {Meaning} meaning
 */
function choice(text, meaning) {
  const label = element("label", { className: "choice" });
  const radio = element("input", { type: "radio", name: "choice" });
  meanings.set(radio, meaning);
  label.append(radio, element("span", { textContent: printable(text), dir: "auto" }));
  return { label, radio };
}

/** @param {{start: number, stop: number}} range */
function numberField({ start, stop }) {
  const last = stop - 1;
  const between = `a whole number from ${start.toLocaleString("en")} to ${last.toLocaleString("en")}`;
  const inputMode = start < 0 ? "text" : "numeric";
  const field = element("input", { type: "text", inputMode, autocomplete: "off", spellcheck: false });
  const note = element("p", { id: "number-note", className: "soft", role: "status" });
  field.setAttribute("aria-describedby", note.id);
  const written = () => (/^-?[0-9]+$/.test(field.value.trim()) ? String(Number(field.value)) : undefined);
  const own = choice("The number above", written);
  const label = element("label", { className: "field", textContent: `Your answer, ${between}` });
  label.append(field);
  const type = `Type ${between}, in the digits 0 to 9.`;
  /** @param {string} text */
  const tell = (text) => {
    note.textContent = text;
    note.className = text ? "warning" : "soft";
    field.setAttribute("aria-invalid", String(text !== ""));
  };
  field.addEventListener("input", () => {
    own.radio.checked = field.value.trim() !== "";
    const number = written();
    const outside = number !== undefined && (Number(number) < start || Number(number) > last);
    const none = own.radio.checked && number === undefined && field.value.trim() !== "-";
    tell(outside ? `This is not ${between}, and counts as another answer.` : none ? type : "");
  });
  form.addEventListener("reset", () => tell(""));
  unfinished = () => {
    if (!own.radio.checked) return undefined;
    field.focus();
    return type;
  };
  return [label, note, own.label];
}
