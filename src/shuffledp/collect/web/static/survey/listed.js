// Listed answers: all of them if there are few, otherwise those that match what a visitor types.
import { element } from "./element.js";
import { printable } from "./printable.js";

/** Most answers that are shown; others are found by typing. */
const MOST_SHOWN = 40;

/**
 * Returns the parts that show the answers. A chosen answer stays visible, whatever is typed.
 * @param {string[]} texts
 * @param {(text: string) => HTMLElement} make makes the choice of an answer
 * @param {HTMLFormElement} form
 */
export function listed(texts, make, form) {
  if (texts.length <= MOST_SHOWN) return texts.map(make);
  const list = element("div", { className: "choices" });
  const found = element("p", { className: "soft", role: "status" });
  const field = element("input", { type: "search", autocomplete: "off", spellcheck: false });
  const wanted = `Find your answer among ${texts.length.toLocaleString("en")}`;
  const label = element("label", { className: "field", textContent: wanted });
  label.append(field);
  const fill = () => {
    const typed = folded(field.value);
    const matching = texts.filter((text) => folded(text).includes(typed));
    const kept = [...list.children].filter((each) => each.querySelector(":checked"));
    const keptTexts = kept.map((each) => each.textContent);
    const fresh = matching.slice(0, MOST_SHOWN).filter((text) => !keptTexts.includes(printable(text)));
    list.replaceChildren(...kept, ...fresh.map(make));
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
