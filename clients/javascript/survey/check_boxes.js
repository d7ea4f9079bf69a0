// Check boxes of a question with several choices: at the limit the other boxes are disabled.
import { OTHER } from "../src/answers.js";
import { element, words } from "./element.js";
import { areShort, listed, special } from "./listed.js";
import { t } from "./words.js";

export { ChoicePlaces } from "../src/choices.js";

/** @typedef {import("../src/index.js").Task} Task */

/**
 * Returns the parts of the form, and a function that gives the choices: null for none, undefined if no box is checked.
 * @param {Task} task with choices
 * @param {HTMLFormElement} form
 */
export function checkBoxes(task, form) {
  const { values, most } = /** @type {Extract<Task["answers"], {kind: "choices"}>} */ (task.answers);
  const limit = element("p", { id: "choices-limit", className: "soft", role: "status" });
  /** The checked choices; they are not in the page. @type {Set<string>} */
  const chosen = new Set();
  const none = box(t("none_of_these"), true);
  const others = () => {
    const found = /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("input[type=checkbox]"));
    return [...found].filter((input) => input !== none.input);
  };

  const tell = () => {
    for (const input of others()) input.disabled = chosen.size >= most && !input.checked;
    limit.textContent = inWords(chosen.size, most);
  };

  /** @param {string} text @param {string} shown */
  const choice = (text, shown) => {
    const { label, input } = box(shown, text === OTHER);
    input.disabled = chosen.size >= most;
    input.addEventListener("change", () => {
      if (input.checked) chosen.add(text);
      else chosen.delete(text);
      if (input.checked) none.input.checked = false;
      tell();
    });
    return label;
  };

  none.input.addEventListener("change", () => {
    if (!none.input.checked) return;
    chosen.clear();
    for (const input of others()) input.checked = false;
    tell();
  });
  form.addEventListener("reset", () => {
    chosen.clear();
    setTimeout(tell);
  });
  const parts = [limit, ...listed([...values], (text) => choice(text, text), form)];
  tell();
  return {
    parts: [...parts, special(choice(OTHER, t("other")), none.label)],
    described: limit.id,
    short: areShort([...values]),
    /** The choices in the order of the list, so that nothing tells in which order they were made. */
    chosen: () => {
      if (chosen.size === 0) return none.input.checked ? null : undefined;
      return [...values, OTHER].filter((text) => chosen.has(text));
    },
  };
}

/** @param {string} text @param {boolean} own whether the words are the page's own */
function box(text, own) {
  const label = element("label", { className: "choice" });
  const input = element("input", { type: "checkbox" });
  label.append(input, words(text, own));
  return { label, input };
}

/** @param {number} number @param {number} most */
function inWords(number, most) {
  const key = number === 0 ? "choices_none" : number < most ? "choices_some" : "choices_all";
  return t(key, { most, number, left: most - number });
}
