// The texts of the page in its language: the server puts the part of the catalogue that the program needs into the page.

/** @typedef {Record<string, string | number>} Values */

const LANGUAGE = document.documentElement.lang;

/** @type {Record<string, string | Record<string, string>>} */
const TEXTS = JSON.parse(
  String(/** @type {HTMLTemplateElement} */ (document.getElementById("words")).content.textContent),
);

const PLURAL = new Intl.PluralRules(LANGUAGE);

/**
 * Returns a text with its placeholders filled in; one with plural forms is chosen by `values.number`, a count. Languages
 * with more forms than the catalogues have, such as Polish, get the form `other`.
 * @param {string} key
 * @param {Values} [values]
 */
export function t(key, values = {}) {
  const found = TEXTS[key];
  const text = typeof found === "string" ? found : found[PLURAL.select(Number(values.number))] ?? found.other;
  return text.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    return typeof value === "number" ? number(value) : value;
  });
}

/** Whether there is a text. @param {string} key */
export function has(key) {
  return Object.hasOwn(TEXTS, key);
}

/** @param {number} count */
export function number(count) {
  return count.toLocaleString(LANGUAGE);
}

/** Whether the page's language writes 1,5. */
export const COMMA = number(1.5).includes(",");

/** Figures with the decimal mark of the page's language. @param {string} text */
export function marked(text) {
  return text.replace(/\b\.\b/g, COMMA ? "," : ".");
}

/** A number as people type it, without separators of thousands. @param {number} figure */
export function typed(figure) {
  return figure.toLocaleString(LANGUAGE, { useGrouping: false, maximumSignificantDigits: 17 });
}

/**
 * Writes a time in the visitor's language and time zone.
 * @param {string | number | undefined} time in UTC, as tasks write it, or in milliseconds
 * @param {"short" | "medium"} [timeStyle] without or with seconds
 */
export function moment(time = "", timeStyle = "short") {
  return new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "long", timeStyle }).format(new Date(time));
}

/** Writes all times of the page in the visitor's time zone; the time in UTC stays as a hint. */
export function localTimes() {
  for (const each of document.querySelectorAll("time")) {
    each.title = String(each.textContent);
    each.textContent = moment(each.dateTime);
  }
}
