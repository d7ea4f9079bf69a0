// Shows the answers of a task: radio buttons, a search field if there are many, a field for numbers or for any text.
import { OTHER } from "/client/src/answers.js";
import { element } from "./element.js";
import { printable } from "./printable.js";
import { textField } from "./text_field.js";

/** Most radio buttons; other answers are found by typing. */
const MOST_SHOWN = 40;

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
  if (task.answers.kind === "text") {
    fieldset.replaceChildren(legend, ...ownText(task), none);
  } else {
    fieldset.replaceChildren(legend, ...listed(task), choice("Another answer", () => OTHER).label, none);
  }
  return { chosen, missing, forget: () => form.reset() };
}

/** @param {Task} task without texts */
function listed(task) {
  const { answers } = task;
  const size = task.values - 2;
  return answers.kind === "range" && size > MOST_NUMBERS ? numberField(answers) : choices(task, size);
}

/** @param {Task} task with texts */
function ownText(task) {
  const field = textField(task, form);
  const own = choice("The text above", field.written);
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

/** @param {Task} task @param {number} size */
function choices(task, size) {
  const texts = Array.from({ length: size }, (_, place) => String(task.labelOf(place)));
  if (size <= MOST_SHOWN) return texts.map((text) => choice(text, () => text).label);
  const list = element("div", { className: "choices" });
  const found = element("p", { className: "soft", role: "status" });
  const field = element("input", { type: "search", autocomplete: "off", spellcheck: false });
  const wanted = `Find your answer among ${size.toLocaleString("en")}`;
  const label = element("label", { className: "field", textContent: wanted });
  label.append(field);
  const fill = () => {
    const typed = folded(field.value);
    const matching = texts.filter((text) => folded(text).includes(typed));
    const kept = [...list.children].filter((each) => each.querySelector(":checked"));
    const keptTexts = kept.map((each) => each.textContent);
    const fresh = matching.slice(0, MOST_SHOWN).filter((text) => !keptTexts.includes(printable(text)));
    list.replaceChildren(...kept, ...fresh.map((text) => choice(text, () => text).label));
    found.textContent = inWords(matching.length);
  };
  field.addEventListener("input", fill);
  field.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  form.addEventListener("reset", () => setTimeout(fill));
  fill();
  return [label, found, list];
}

/** @param {number} number */
function inWords(number) {
  if (number === 0) return "None of the answers has this in it. Choose “Another answer” if yours is not in the list.";
  const all = number.toLocaleString("en");
  return number > MOST_SHOWN ? `The first ${MOST_SHOWN} of ${all}: type to find others.` : `${all} found.`;
}

/** Text for searching: lower case, without accents. @param {string} text */
function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
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
