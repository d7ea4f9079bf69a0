// Check boxes of a question with several choices: at the limit the other boxes are disabled.
import { OTHER } from "/client/src/answers.js";
import { element } from "./element.js";
import { listed } from "./listed.js";
import { printable } from "./printable.js";

/** @typedef {import("/client/src/index.js").Task} Task */

const NOTHING = "None of these, or I would rather not say";

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
  const none = box(NOTHING);
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
    const { label, input } = box(shown);
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
  const parts = [limit, ...listed([...values], (text) => choice(text, text), form), choice(OTHER, "Another answer")];
  tell();
  return {
    parts: [...parts, none.label],
    described: limit.id,
    /** The choices in the order of the list, so that nothing tells in which order they were made. */
    chosen: () => {
      if (chosen.size === 0) return none.input.checked ? null : undefined;
      return [...values, OTHER].filter((text) => chosen.has(text));
    },
  };
}

/** @param {string} text */
function box(text) {
  const label = element("label", { className: "choice" });
  const input = element("input", { type: "checkbox" });
  label.append(input, element("span", { textContent: printable(text), dir: "auto" }));
  return { label, input };
}

/** @param {number} number @param {number} most */
function inWords(number, most) {
  if (number === 0) return `Choose up to ${most}.`;
  if (number < most) return `Choose up to ${most}: ${number} chosen, ${most - number} left.`;
  return `Choose up to ${most}: ${number} chosen, none left. Uncheck one to choose another.`;
}
