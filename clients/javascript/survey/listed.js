// Listed answers: all of them if there are few, otherwise those that match what a visitor types.
import { element } from "./element.js";
import { printable } from "./printable.js";
import { t } from "./words.js";

/** From this number of answers on visitors search; survey.py has the same. */
const SEARCHED_FROM = 13;

/** Most answers that are shown at once; others are found by typing. */
const MOST_SHOWN = 40;

/** Most characters of answers that stand side by side; survey.py has the same. */
const SHORT = 16;

/**
 * Whether answers are short enough to stand side by side.
 * @param {string[]} texts
 */
export function areShort(texts) {
  return texts.every((text) => text.length <= SHORT);
}

/** Puts the answers that every task has under the listed ones, side by side. @param {HTMLElement[]} answers */
export function special(...answers) {
  const row = element("div", { className: "special" });
  row.append(...answers);
  return row;
}

/**
 * Returns the parts that show the answers. A chosen answer stays visible, whatever is typed.
 * @param {string[]} texts
 * @param {(text: string) => HTMLElement} make makes the choice of an answer
 * @param {HTMLFormElement} form
 */
export function listed(texts, make, form) {
  if (texts.length < SEARCHED_FROM) return texts.map(make);
  const list = element("div", { className: areShort(texts) ? "choices many short" : "choices many" });
  const found = element("p", { className: "soft", role: "status" });
  const field = element("input", { type: "search", autocomplete: "off", spellcheck: false });
  const label = element("label", { className: "field" });
  field.placeholder = t("find", { number: texts.length });
  label.append(element("span", { className: "visually-hidden", textContent: field.placeholder }), field);
  const fill = () => {
    const typed = folded(field.value);
    const matching = texts.filter((text) => folded(text).includes(typed));
    const kept = [...list.children].filter((each) => each.querySelector(":checked"));
    const keptTexts = kept.map((each) => each.textContent);
    const fresh = matching.slice(0, MOST_SHOWN).filter((text) => !keptTexts.includes(printable(text)));
    list.replaceChildren(...kept, ...fresh.map(make));
    list.scrollTop = 0;
    const first = keptTexts.some((text) => !matching.some((one) => printable(one) === text));
    found.textContent = inWords(matching.length, typed !== "") + (first ? ` ${t("choice_first")}` : "");
  };
  field.addEventListener("input", fill);
  field.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  form.addEventListener("reset", () => setTimeout(fill));
  fill();
  return [label, found, list];
}

/** @param {number} number @param {boolean} typed */
function inWords(number, typed) {
  if (number === 0) return t("found_none");
  if (number > MOST_SHOWN) return t("found_first", { most: MOST_SHOWN, number });
  return typed ? t("found", { number }) : "";
}

/** Text for searching: lower case, without accents. @param {string} text */
function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
}
