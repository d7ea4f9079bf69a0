// Makes elements of the page.
import { printable } from "./printable.js";
import { t } from "./words.js";

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} kind
 * @param {Record<string, unknown>} properties
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(kind, { role, ...properties }) {
  const made = Object.assign(document.createElement(kind), properties);
  if (role) made.setAttribute("role", String(role));
  return made;
}

/** The language of the task, if the page has another one. */
const LANGUAGE = document.getElementById("question")?.lang;

/**
 * The words of an answer; those of the task are in its language.
 * @param {string} text
 * @param {boolean} [own] whether the words are the page's own
 */
export function words(text, own) {
  return element("span", { textContent: printable(text), dir: "auto", ...(own || !LANGUAGE ? {} : { lang: LANGUAGE }) });
}

/**
 * A text whose placeholder is emphasized.
 * @param {string} key
 * @param {string} name of the placeholder
 * @param {string} value
 */
export function filled(key, name, value) {
  const [before, after] = t(key, { [name]: "\0" }).split("\0");
  return [before, element("strong", { textContent: value, dir: "auto" }), after];
}
