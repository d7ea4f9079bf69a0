// Shows the answers of a task: radio buttons, check boxes, a search field if there are many, a field for numbers or text.
import { OTHER } from "../src/answers.js";
import { element, words } from "./element.js";
import { kinds } from "./parts.js";
import { areShort, listed, special } from "./listed.js";
import { printable } from "./printable.js";
import { t } from "./words.js";

/** Most numbers that are shown as choices. */
const MOST_NUMBERS = 12;

/** Milliseconds within which a second press of the button is a double click, and not an answer to a warning. */
const DOUBLE_CLICK = 500;

const form = /** @type {HTMLFormElement} */ (document.getElementById("answer"));
const fieldset = /** @type {HTMLFieldSetElement} */ (document.getElementById("answers"));

/** @typedef {import("../src/index.js").Task} Task */

/**
 * Returns the answer of a choice: null for no answer, undefined if it is incomplete.
 * @typedef {() => string | null | undefined} Meaning
 */

/** The answer of each radio button; it is not in the page. @type {WeakMap<Element, Meaning>} */
const meanings = new WeakMap();

/** Says what to do about a field and focuses it; undefined if nothing is wrong. The note at the field says why. */
let unfinished = /** @type {() => string | undefined} */ (() => undefined);

/** Says what to do about a typed answer that counts as another one, and focuses its field; empty if they know. */
let warning = () => "";

/** When the visitor was warned of what is typed; 0 if they were not. */
let warned = 0;
form?.addEventListener("reset", () => (warned = 0));

/**
 * A field: what is typed as the client takes it, undefined if there is nothing; why it cannot be taken; and why it counts
 * as another answer. Both reasons are empty if there is none.
 * @typedef {{parts: HTMLElement[], input: HTMLInputElement, written: () => string | undefined, refusal: () => string,
 *   warning: () => string}} Field
 */

/**
 * Puts the choices into the form.
 * @param {Task} task with its answers loaded
 */
export function showAnswers(task) {
  const legend = /** @type {HTMLElement} */ (fieldset.querySelector("legend"));
  legend.textContent = printable(task.question);
  const none = choice(t("none"), () => null, true).label;
  if (task.answers.kind === "choices") return severalChoices(task, legend);
  if (task.answers.kind === "text") {
    fieldset.replaceChildren(legend, ...typed(t("text_above"), kinds.textField(task, form)), none);
  } else if (task.answers.kind === "numbers") {
    fieldset.replaceChildren(legend, ...typed(t("number_above"), kinds.decimalField(task, form)), none);
  } else {
    fieldset.replaceChildren(legend, ...single(task), special(choice(t("other"), () => OTHER, true).label, none));
  }
  return { chosen, missing, warning: () => warning(), forget: () => form.reset() };
}

/** @param {Task} task with choices @param {HTMLElement} legend */
function severalChoices(task, legend) {
  const boxes = kinds.checkBoxes(task, form);
  fieldset.classList.toggle("short", boxes.short);
  fieldset.replaceChildren(legend, ...boxes.parts);
  fieldset.setAttribute("aria-describedby", boxes.described);
  return {
    chosen: () => {
      const value = boxes.chosen();
      return value === undefined ? null : { value };
    },
    missing: () => t("choose_box"),
    warning: () => "",
    forget: () => form.reset(),
  };
}

/** @param {Task} task with one listed answer of each person */
function single(task) {
  const { answers } = task;
  const size = task.values - 2;
  if (answers.kind === "range" && size > MOST_NUMBERS) return typed(t("number_above"), kinds.numberField(answers, form));
  const texts = Array.from({ length: size }, (_, place) => task.labelOf(place));
  fieldset.classList.toggle("short", texts.length > 0 && areShort(texts));
  return listed(texts, (text) => choice(text, () => text).label, form);
}

/**
 * A field with a radio button that is checked when something is typed.
 * @param {string} text of the button
 * @param {Field} field
 */
function typed(text, field) {
  const { input } = field;
  const own = choice(text, field.written, true);
  input.addEventListener("input", () => {
    own.radio.checked = field.written() !== undefined || field.refusal() !== "";
    warned = 0;
  });
  unfinished = () => {
    if (!own.radio.checked) return undefined;
    input.focus();
    return t(field.refusal() ? "change_typed" : "type_first");
  };
  warning = () => {
    const why = own.radio.checked ? field.warning() : "";
    const now = performance.now();
    if (!why || (warned && now > warned + DOUBLE_CLICK)) return "";
    warned ||= now;
    input.focus();
    return t("send_again");
  };
  return [...field.parts, own.label];
}

/** The message if nothing is chosen. */
function missing() {
  return unfinished() ?? t("choose");
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
 * @param {boolean} [own] whether the words are the page's own
 */
function choice(text, meaning, own) {
  const label = element("label", { className: "choice" });
  const radio = element("input", { type: "radio", name: "choice" });
  meanings.set(radio, meaning);
  label.append(radio, words(text, own));
  return { label, radio };
}
