// A field for a whole number of a range that is too long to be listed.
import { element } from "./element.js";
import { t } from "./words.js";

/**
 * Returns the parts of the field and what is typed into it.
 * @param {{start: number, stop: number}} range
 * @param {HTMLFormElement} form
 * @returns {import("./answers.js").Field}
 */
export function numberField({ start, stop }, form) {
  const range = { low: start, high: stop - 1 };
  const what = t("whole_number", range);
  const inputMode = start < 0 ? "text" : "numeric";
  const input = element("input", { type: "text", inputMode, autocomplete: "off", spellcheck: false });
  const note = element("p", { id: "number-note", className: "soft", role: "status" });
  input.setAttribute("aria-describedby", note.id);
  const label = element("label", { className: "field", textContent: t("your_answer", { what }) });
  label.append(input);
  const text = () => input.value.trim();
  const written = () => (/^-?[0-9]+$/.test(text()) ? String(Number(text())) : undefined);
  const refusal = () => (text() && written() === undefined ? t("type_digits", { what }) : "");
  const warning = () => {
    const number = Number(written() ?? start);
    return number < start || number >= stop ? t("not_in_range", range) : "";
  };
  const tell = () => {
    const wrong = warning() || (text() === "-" ? "" : refusal());
    note.textContent = wrong;
    note.className = wrong ? "warning" : "soft";
    input.setAttribute("aria-invalid", String(wrong !== ""));
  };
  input.addEventListener("input", tell);
  form.addEventListener("reset", () => setTimeout(tell));
  return { parts: [label, note], input, written, refusal, warning };
}
