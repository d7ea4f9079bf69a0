// A field for a number: while people type, it shows the interval in which the number will be counted.
import { element } from "./element.js";
import { printable } from "./printable.js";

/** @typedef {import("/client/src/index.js").Task} Task */

/** Milliseconds without a key press after which the note changes, so that a screen reader does not read every digit. */
const PAUSE = 250;

/** Most characters of something that is not a number in a note. */
const MOST_SHOWN = 20;

/**
 * Returns the parts of the field, and a function that gives the typed text; undefined if nothing is typed.
 * @param {Task} task with numbers
 * @param {HTMLFormElement} form
 */
export function decimalField(task, form) {
  const edges = /** @type {NonNullable<Task["edges"]>} */ (task.edges);
  const [lowest, highest] = [edges.textOf(0), edges.textOf(edges.number - 1)];
  // the keyboard for decimal numbers has no minus sign on some phones
  const inputMode = lowest.startsWith("-") ? "text" : "decimal";
  const input = element("input", { type: "text", inputMode, autocomplete: "off", spellcheck: false });
  const range = element("p", { id: "decimal-range", className: "soft", textContent: rangeInWords(lowest, highest) });
  const note = element("p", { id: "decimal-note", className: "soft", role: "status" });
  input.setAttribute("aria-describedby", `${range.id} ${note.id}`);
  const label = element("label", { className: "field", textContent: "Your answer, a number" });
  label.append(input);
  const written = () => input.value.trim() || undefined;
  let timer = 0;
  const tell = () => {
    const text = written();
    const other = text !== undefined && task.countsAsOther(text);
    note.className = other ? "warning" : text === undefined ? "soft" : "good";
    note.replaceChildren(...(text === undefined ? [] : other ? [notANumber(text)] : counted(task, text)));
    input.setAttribute("aria-invalid", String(other));
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(tell, PAUSE);
  });
  form.addEventListener("reset", () =>
    setTimeout(() => {
      clearTimeout(timer);
      tell();
    }),
  );
  return { parts: [label, range, note], input, written };
}

/** @param {string} lowest @param {string} highest */
function rangeInWords(lowest, highest) {
  const ends = `All numbers below ${lowest} are counted together, and so are all numbers from ${highest} on.`;
  return `Use the digits 0 to 9, as in 12 or 12.5. ${ends}`;
}

/** @param {Task} task @param {string} text */
function counted(task, text) {
  return ["Counted as ", element("strong", { textContent: task.labelOf(task.placeOf(text)) })];
}

/** @param {string} text */
function notANumber(text) {
  const shown = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
  const hint = text.includes(",") ? " Write 1000 instead of 1,000, and 12.5 instead of 12,5." : "";
  return `“${printable(shown)}” is not a number that can be counted. It counts as “another answer”.${hint}`;
}
