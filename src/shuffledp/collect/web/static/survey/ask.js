// The survey page: the client in this browser checks the task, makes the report, shows it, and sends it.
// The answer stays in the memory of this page until the report is made, and is nowhere afterwards.
import { Client, IndexedDBJournal } from "/client/src/index.js";
import { agreed, forgetAgreement, noteAgreement } from "./agreement.js";
import { showAnswers } from "./answers.js";
import { CountedJournal, figure, onNewLimit, showBudget, whyRefused, wouldFit } from "./budget.js";
import { checkClaims, checkedInWords } from "./claims.js";
import { Retrying } from "./retrying.js";
import { checkRounds } from "./rounds.js";
import { forgetReport, showReport } from "./showing.js";
import { follow } from "./standing.js";
import { show } from "./states.js";
import { isInsecure, whatIsMissing } from "./support.js";

/** Admission of a client that never sends: the right secret or token is asked for on sending. */
const NOTHING_TO_SHOW = "-";

/** Longest timer in milliseconds: a longer pause would fire at once. */
const LONGEST_PAUSE = 2 ** 31 - 1;

const main = /** @type {HTMLElement} */ (document.querySelector("main"));
const name = String(main.dataset.task);
const address = `/v1/tasks/${name}`;
const admission = /** @type {HTMLInputElement | null} */ (document.getElementById("admission"));

/**
 * The client and the choices in the form, once the task is checked and its answers are loaded.
 * @type {{client: Client, answers: ReturnType<typeof showAnswers>} | null}
 */
let checked = null;
let making = false;
let sending = false;
/** The SHA-256 of the report that the visitor has seen. */
let looked = "";

const retrying = new Retrying(again, (when) => {
  if (checked !== null) show("kept", { when }, { quietly: true });
});

/** Continues where it stopped. */
function again() {
  return checked === null ? start() : send();
}

/** Starts from the beginning, also after a failure. */
async function start() {
  show("starting");
  if (isInsecure()) return show("insecure");
  const why = await whatIsMissing();
  if (why) return show("unsupported", { why });
  try {
    const journal = new CountedJournal();
    await journal.read(name); // without a journal nothing is asked
    const options = { pin: name, admission: NOTHING_TO_SHOW, journal };
    const found = await Client.open(new URL(address, location.href), /** @type {object} */ (options));
    if (originOf(found.task) !== location.origin) return show("elsewhere");
    checkClaims(main, found.task, found.promise);
    checkedInWords(found.promise, await checkRounds(main, found.task));
    await found.loadAnswers();
    checked = { client: found, answers: showAnswers(found.task) };
    retrying.stop();
    await showStanding();
  } catch (error) {
    failed(error);
  }
}

/** Shows the state of this task in the journal of this browser. @returns {Promise<void>} */
async function showStanding() {
  if (checked === null) return;
  const entry = await checked.client.journal.read(name);
  forgetReport(); // another page may have sent it
  if (entry === null) return await showNew(checked.client);
  if (entry.state === "sent") return show("already");
  if (entry.state === "refused" || agreed(name) === entry.sha256) return await send();
  await showMade(checked.client.task, { messages: null, report: entry.report });
}

/** Asks, if the answer fits the budget of the visitor. @param {Client} client @returns {Promise<void>} */
async function showNew(client) {
  const use = await client.spending();
  if (use === null) return show("new");
  const filled = showBudget(client, use);
  if (use.within) return show("new");
  show("over-budget", { ...filled, fits: "" });
  const error = await whyRefused(client, use); // takes longer
  if (main.dataset.shows === "over-budget") overBudget(error, { quietly: true });
}

/**
 * @param {import("/client/src/index.js").Task} task
 * @param {import("./showing.js").Shown} prepared without messages if it was made earlier
 * @param {{moves?: boolean}} [how]
 */
async function showMade(task, prepared, how = {}) {
  looked = await showReport(task, prepared);
  show("made", {}, how);
}

/** Makes the report of the chosen answer, keeps it, and shows it once. */
async function make() {
  if (checked === null) return;
  const { client, answers } = checked;
  const missing = /** @type {HTMLElement} */ (document.getElementById("missing"));
  const chosen = answers.chosen();
  missing.hidden = chosen !== null;
  missing.textContent = chosen === null ? answers.missing() : "";
  if (chosen === null || making) return;
  making = true;
  try {
    if ((await client.state()) !== "new") {
      answers.forget();
      return await showStanding();
    }
    forgetAgreement(name); // the agreement was for another report
    navigator.storage?.persist?.().catch(() => {}); // a browser that clears its storage would allow a second answer
    const prepared = await client.prepare(chosen.value);
    answers.forget();
    await showMade(client.task, { ...prepared, answer: chosen.value }, { moves: true });
  } catch (error) {
    answers.forget();
    failed(error);
  } finally {
    making = false;
  }
}

/** Sends the report in the journal: always the same bytes. @returns {Promise<void>} */
async function send() {
  if (sending || checked === null) return;
  const { client } = checked;
  sending = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    const shown = admission === null ? undefined : admission.value.trim() || NOTHING_TO_SHOW;
    const sender = admission === null ? client : await Client.open(client.task, { pin: name, admission: shown });
    const entry = await client.journal.read(name);
    if (entry?.state === "ready" && ![looked, agreed(name)].includes(entry.sha256)) return await showStanding();
    if (entry !== null) noteAgreement(name, entry.sha256);
    forgetReport(); // it may be a while until it can be sent
    const receipt = await sender.sendKept();
    retrying.stop();
    forgetAgreement(name);
    if (admission !== null) admission.value = "";
    const { bytes, milliseconds } = receipt;
    show(
      receipt.state === "sent" ? "sent" : "already",
      { bytes: bytes.toLocaleString("en"), milliseconds: Math.ceil(milliseconds).toLocaleString("en") },
      { moves: true },
    );
  } catch (error) {
    failed(error);
  } finally {
    sending = false;
    document.body.removeAttribute("aria-busy");
  }
}

/**
 * Shows what went wrong. A report that can no longer be sent is removed from the page.
 * @param {unknown} error
 */
function failed(error) {
  const { kind, reason, why } = meaningOf(error);
  const moves = { moves: true };
  if (reason === "not-yet-open" && checked === null) return waitForOpening();
  if (reason === "closed") return over();
  if (kind === "UnreachableError") {
    const when = retrying.later();
    // the client's advice is for people who send by hand; this page retries by itself
    const cause = why.replace(/:? nothing is lost, send it again later$/i, "").replace(/^http/, "the server http");
    const filled = { why: `${sentence(cause)}.`, when };
    return checked === null ? show("unavailable", filled) : show("kept", filled, moves);
  }
  retrying.stop();
  if (kind === "BudgetError") return overBudget(error);
  if (reason === "not-admitted" || (kind === "ParameterError" && admission !== null)) {
    return show("not-admitted", { why: `${sentence(why)}.` }, moves);
  }
  forgetAgreement(name);
  forgetReport();
  if (kind === "RefusedError") return show("refused", { why: `${sentence(why)}.` }, moves);
  if (kind === "BrokenPromiseError" || kind === "TaskError") return show("broken", { why }, moves);
  if (kind === "DataError") return show("no-journal", { why }, moves);
  show("failed", { why }, moves);
}

/**
 * Shows that the answer does not fit, and which question would.
 * @param {unknown} error
 * @param {{moves?: boolean, quietly?: boolean}} [how]
 */
function overBudget(error, how = { moves: true }) {
  const { before, after, limit, fits, made } = /** @type {import("/client/src/errors.js").BudgetError} */ (error);
  if (made) return void keptOverBudget(how).catch(failed);
  show("over-budget", { used: figure(before), total: figure(after), limit: figure(limit), fits: wouldFit(fits) }, how);
}

/**
 * Shows that a report that was made before cannot be sent with this limit.
 * @param {{moves?: boolean, quietly?: boolean}} how
 */
async function keptOverBudget(how) {
  const use = await checked?.client.spending();
  if (checked && use) show("kept-over-budget", showBudget(checked.client, use), how);
}

/**
 * Reads what was thrown; errors of the client have a reason if the server gave one.
 * @param {unknown} error
 */
function meaningOf(error) {
  const { name: kind, reason, message } = /** @type {Record<string, unknown>} */ (Object(error));
  return { kind, reason, why: String(message ?? error).replace(/\.$/, "") };
}

/** The origin of the survey page that a task names. @param {import("/client/src/index.js").Task} task */
function originOf(task) {
  return new URL(task.shufflers[0].address).origin;
}

/** @param {string} text that begins with a small letter */
function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The task is closed: shows what becomes of the report. Only a receipt proves that it was in time. */
async function over() {
  retrying.stop();
  forgetReport();
  const filled = { closes: String(main.dataset.closesWords) };
  try {
    show(afterClosing(await new IndexedDBJournal().read(name)), filled, { moves: true });
  } catch (error) {
    failed(error);
  }
}

/**
 * The state after closing. A report refused for another reason was refused before.
 * @param {import("/client/src/journal.js").Entry | null} entry
 */
function afterClosing(entry) {
  if (entry === null) return "closed";
  if (entry.state === "sent") return "closed-sent";
  if (entry.state === "refused" && entry.reason !== "closed") return "closed-refused";
  return entry.state === "ready" && agreed(name) !== entry.sha256 ? "closed-unsent" : "closed-kept";
}

function waitForOpening() {
  show("not-open", { opens: String(main.dataset.opensWords) });
  const pause = Date.parse(String(main.dataset.opens)) - Date.now();
  setTimeout(start, Math.min(Math.max(1000, pause + 1000), LONGEST_PAUSE));
}

/** What another page of this browser may have done meanwhile. */
async function lookAgain() {
  if (document.hidden || sending || checked === null) return;
  if (!["new", "over-budget", "made", "kept", "kept-over-budget"].includes(String(main.dataset.shows))) return;
  const before = ["new", "over-budget"].includes(String(main.dataset.shows)) ? "new" : "ready";
  if ((await checked.client.state().catch(() => before)) !== before) await showStanding().catch(failed);
}

/** @param {string} id @param {() => void} act */
function onSubmit(id, act) {
  document.getElementById(id)?.addEventListener("submit", (event) => {
    event.preventDefault();
    act();
  });
}

onSubmit("answer", make);
onSubmit("send", send);
onNewLimit(start);
for (const button of document.querySelectorAll("[data-does=again]")) button.addEventListener("click", again);
document.addEventListener("visibilitychange", lookAgain);
window.addEventListener("pagehide", forgetReport); // also where the browser keeps the page for going back to it
window.addEventListener("pageshow", (event) => event.persisted && showStanding().catch(failed));
window.addEventListener("online", () => retrying.now());
follow(address, () => ["new", "made"].includes(String(main.dataset.shows)) && !sending && over());
start();
