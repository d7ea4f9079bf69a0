// The survey page: the client in this browser checks the task, makes the report of an answer and sends it.
// The answer stays in the memory of this page until the report is made, and is nowhere afterwards.
import { Client, IndexedDBJournal } from "../src/index.js";
import { agreed, forgetAgreement, noteAgreement } from "./agreement.js";
import { showAnswers } from "./answers.js";
import { CountedJournal, exceeds, onNewLimit, showBudget, whyRefused, wouldFit } from "./budget.js";
import { checkClaims, checkedInWords, checkingInWords } from "./claims.js";
import { loadRounds } from "./parts.js";
import { Retrying } from "./retrying.js";
import { forgetReport, showReport } from "./showing.js";
import { follow, serverTime } from "./standing.js";
import { show } from "./states.js";
import { isInsecure, whatIsMissing } from "./support.js";
import { Token } from "./token.js";
import { has, localTimes, moment, t } from "./words.js";

/** Longest timer in milliseconds: a longer pause would fire at once. */
const LONGEST_PAUSE = 2 ** 31 - 1;

/** Milliseconds: a survey that was closed this long before its time was not closed early. */
const MINUTE = 60_000;

/** States that are over when people can no longer answer; of a report that is being sent the server decides. */
const OPEN = "starting new made needs-token not-admitted over-budget kept-over-budget not-open wrong-clock already refused".split(" ");

const main = /** @type {HTMLElement} */ (document.querySelector("main"));
const name = String(main.dataset.task);
const address = `/v1/tasks/${name}`;
const missing = document.getElementById("missing");
const token = new Token(name);

/**
 * The client and the choices in the form, once the task is checked and its answers are loaded.
 * @type {{client: Client, answers: ReturnType<typeof showAnswers>} | null}
 */
let checked = null;
let making = false;
let sending = false;
/** Whether the server has said that people can no longer answer; and in words, which its time makes exact. */
let closed = false;
let until = t("is_closed");
/** The SHA-256 of the report that the visitor has made or seen on this page. */
let looked = "";

const retrying = new Retrying(again, (when) => {
  if (checked !== null) show("kept", { when }, { quietly: true });
});

/** Continues where it stopped. */
function again() {
  return checked === null ? start() : send();
}

/**
 * Shows a state of an open survey; if the survey is closed, it shows that instead.
 * @param {string} state
 * @param {Record<string, string>} [filled]
 * @param {{moves?: boolean, quietly?: boolean}} [how]
 */
function showOpen(state, filled, how) {
  if (closed) return void over();
  show(state, filled, how);
}

/** Notes that the survey is closed. Whatever is shown later goes through `showOpen`. */
function close() {
  closed = true;
  if (OPEN.includes(String(main.dataset.shows)) && !sending) over();
}

/** Starts from the beginning, also after a failure. */
async function start() {
  checkingInWords();
  showOpen("starting", {}, { quietly: true });
  if (isInsecure()) return show("insecure");
  const why = await whatIsMissing();
  if (why) return show("unsupported", { why });
  try {
    const journal = new CountedJournal();
    await journal.read(name); // without a journal nothing is asked
    const options = { pin: name, admission: null, journal };
    const found = await Client.open(new URL(address, location.href), /** @type {object} */ (options));
    if (originOf(found.task) !== location.origin) return elsewhere();
    checkClaims(main, found.task, found.promise);
    const rounds = main.dataset.series === undefined ? null : await (await loadRounds()).checkRounds(main, found.task);
    checkedInWords(found.promise, rounds);
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
  if (closed) return await over();
  const entry = await checked.client.journal.read(name);
  forgetReport(); // another page may have sent it
  if (entry === null) return await showNew(checked.client);
  if (entry.state === "sent") {
    token.forget();
    return showOpen("already");
  }
  if (entry.state === "refused" || agreed(name) === entry.sha256) return await send({ moves: false });
  await showMade(checked.client.task, { messages: null, report: entry.report });
}

/** Asks, if the answer fits the budget of the visitor. @param {Client} client @returns {Promise<void>} */
async function showNew(client) {
  const use = await client.spending();
  if (use === null) return showOpen("new");
  showBudget(client, use);
  if (use.within) return showOpen("new");
  showOpen("over-budget", { why: exceeds(use, client), fits: "" });
  const error = await whyRefused(client, use); // takes longer
  if (main.dataset.shows === "over-budget") overBudget(error, { quietly: true });
}

/**
 * @param {import("../src/index.js").Task} task
 * @param {import("./showing.js").Shown} prepared without messages if it was made earlier
 * @param {{moves?: boolean}} [how]
 */
async function showMade(task, prepared, how = {}) {
  await showReport(task, prepared);
  looked = await keptHash();
  showOpen("made", {}, how);
}

/** Says what is missing before a report can be made or sent; an empty text says nothing. @param {string} text */
function tellMissing(text) {
  if (missing === null) return;
  missing.textContent = text;
  missing.hidden = text === "";
}

/** Makes the report of the chosen answer and sends it; or shows it first, if the visitor wants that. @param {boolean} inspects */
async function answer(inspects) {
  if (checked === null || making || sending || closed) return;
  if (main.dataset.shows !== "new") return await send();
  const { client, answers } = checked;
  const chosen = answers.chosen();
  const why = chosen === null ? answers.missing() : answers.warning();
  tellMissing(why);
  if (why || chosen === null) return;
  if (lacksToken()) return;
  making = true;
  token.keep();
  try {
    if ((await client.state()) !== "new") {
      answers.forget();
      return await showStanding();
    }
    forgetAgreement(name); // the agreement was for another report
    navigator.storage?.persist?.().catch(() => {}); // a browser that clears its storage would allow a second answer
    const prepared = await client.prepare(chosen.value);
    answers.forget();
    const shown = { ...prepared, answer: chosen.value };
    if (inspects || prepared.madeBefore) return await showMade(client.task, shown, { moves: true });
    looked = await keptHash();
  } catch (error) {
    answers.forget();
    const state = await client.state().catch(() => null);
    return state === "sent" ? showStanding() : failed(error); // another page was faster
  } finally {
    making = false;
  }
  await send();
}

/** The SHA-256 by which the journal knows the report that it keeps. */
async function keptHash() {
  return String((await checked?.client.journal.read(name))?.sha256);
}

/** Whether the visitor must fill in a token first; tells them. */
function lacksToken() {
  if (!token.needed || token.text !== null) return false;
  tellMissing(t(token.typed ? "no_token" : "token_first"));
  token.ask();
  return true;
}

/** Sends the report in the journal: always the same bytes. @param {{moves?: boolean}} [how] @returns {Promise<void>} */
async function send({ moves = true } = {}) {
  if (sending || checked === null) return;
  const { client } = checked;
  sending = true;
  document.body.setAttribute("aria-busy", "true");
  tellMissing("");
  try {
    const entry = await client.journal.read(name);
    if (entry?.state === "ready" && ![looked, agreed(name)].includes(entry.sha256)) return await showStanding();
    const ended = entry?.state === "sent" || entry?.state === "refused";
    if (!ended && token.needed && token.text === null) return needsToken(moves);
    if (token.text !== null) client.admit(token.text);
    if (entry !== null) noteAgreement(name, entry.sha256);
    token.keep();
    forgetReport(); // it may be a while until it can be sent
    const receipt = await client.sendKept();
    retrying.stop();
    forgetAgreement(name);
    token.forget();
    const clock = receipt.clockAhead ? t("clock_ahead") : "";
    show(receipt.state === "sent" ? "sent" : "already", { clock }, { moves: true });
    look(); // the number on the page is from before this report
  } catch (error) {
    failed(error, true);
  } finally {
    sending = false;
    document.body.removeAttribute("aria-busy");
  }
}

/** Asks for what is missing before the kept report can be sent. @param {boolean} moves whether the visitor pressed send */
function needsToken(moves) {
  retrying.stop();
  const asked = main.dataset.shows === "needs-token" || main.dataset.shows === "made";
  if (main.dataset.shows !== "made" || closed) showOpen("needs-token");
  if (moves || asked) lacksToken();
}

/** Leads to the page at the address that the task names, with the token of an invitation link. */
function elsewhere() {
  const link = /** @type {HTMLAnchorElement} */ (document.getElementById("own-address"));
  link.hash = token.fragment;
  show("elsewhere");
}

/**
 * Shows what went wrong. A report that can no longer be sent is removed from the page.
 * @param {unknown} error
 * @param {boolean} [sent] whether the report was handed over: what was thrown before is by the clock of this device
 */
function failed(error, sent = false) {
  const { kind, reason, why } = meaningOf(error);
  const moves = { moves: true };
  if (!sent && (reason === "closed" || reason === "not-yet-open")) return void byThisClock(error);
  if (reason === "closed") return void over();
  if (kind === "UnreachableError" || reason === "unknown-task") { // which ends no report
    const filled = { why: whyLater(reason), when: retrying.later() };
    return checked === null ? show("unavailable", filled) : show("kept", filled, moves);
  }
  retrying.stop();
  if (kind === "BudgetError") return overBudget(error);
  if (reason === "not-admitted" || (kind === "ParameterError" && token.needed)) {
    token.forget();
    showOpen("not-admitted", {}, moves);
    return token.ask();
  }
  forgetAgreement(name);
  forgetReport();
  if (kind === "RefusedError") {
    token.forget();
    return showOpen("refused", {}, moves);
  }
  if (kind === "BrokenPromiseError") return show("broken", { why }, moves);
  if (kind === "TaskError") return show("broken", { why: t("not_a_task") }, moves);
  if (kind === "DataError") return show("no-journal", {}, moves);
  show("failed", { why }, moves);
}

/** Why a report is sent again later. @param {unknown} reason */
function whyLater(reason) {
  return t(has(`reason_${reason}`) ? `reason_${reason}` : "unreachable");
}

/**
 * Shows that the answer does not fit, and which question would.
 * @param {unknown} error
 * @param {{moves?: boolean, quietly?: boolean}} [how]
 */
function overBudget(error, how = { moves: true }) {
  if (checked === null) return;
  const refused = /** @type {import("../src/errors.js").BudgetError} */ (error);
  if (refused.made) return void keptOverBudget(how).catch(failed);
  showOpen("over-budget", { why: exceeds(refused, checked.client), fits: wouldFit(refused.fits) }, how);
}

/**
 * Shows that a report that was made before cannot be sent with this limit.
 * @param {{moves?: boolean, quietly?: boolean}} how
 */
async function keptOverBudget(how) {
  const use = await checked?.client.spending();
  if (!checked || !use) return;
  showBudget(checked.client, use);
  showOpen("kept-over-budget", { why: exceeds(use, checked.client) }, how);
}

/**
 * Reads what was thrown; errors of the client have a reason if the server gave one.
 * @param {unknown} error
 */
function meaningOf(error) {
  const { name: kind, reason, message } = /** @type {Record<string, unknown>} */ (Object(error));
  return { kind, reason, why: String(message ?? error).replace(/\.$/, "") };
}

/** The origin of the survey page that a task names. @param {import("../src/index.js").Task} task */
function originOf(task) {
  return new URL(task.shufflers[0].address).origin;
}

/**
 * The task is not open by the clock of this device: asks the server, and blames the clock if it says otherwise.
 * @param {unknown} error
 */
async function byThisClock(error) {
  const [open, now] = await Promise.all([look(), serverTime()]);
  if (closed) return; // and is shown so
  checked = null;
  const early = /** @type {{reason: string}} */ (error).reason === "not-yet-open";
  if (early && (now === null || now < Date.parse(String(main.dataset.opens)))) return waitForOpening(now ?? Date.now());
  if (!open || now === null) return show("unavailable", { why: whyLater(""), when: retrying.later() });
  showOpen("wrong-clock", { here: moment(Date.now(), "medium"), there: moment(now, "medium") }, { moves: true });
}

/** A server said that the task is closed: shows what becomes of the report. Only a receipt proves that it was in time. */
async function over() {
  closed = true;
  retrying.stop();
  forgetReport();
  token.forget();
  try {
    const state = afterClosing(await new IndexedDBJournal().read(name));
    show(state, { until }, { moves: main.dataset.shows !== state });
    const now = await serverTime(); // takes longer
    if (now === null) return;
    const { closes } = main.dataset;
    until = now + MINUTE < Date.parse(String(closes)) ? t("closed_early") : t("until", { closes: moment(closes) });
    if (main.dataset.shows === state) show(state, { until }, { quietly: true });
  } catch (error) {
    failed(error);
  }
}

/**
 * The state after closing. A report refused for another reason was refused before.
 * @param {import("../src/journal.js").Entry | null} entry
 */
function afterClosing(entry) {
  if (entry === null) return "closed";
  if (entry.state === "sent") return "closed-sent";
  if (entry.state === "refused" && entry.reason !== "closed") return "closed-refused";
  return entry.state === "ready" && agreed(name) !== entry.sha256 ? "closed-unsent" : "closed-kept";
}

/** @param {number} now by the server, or by this device if the server does not say */
function waitForOpening(now) {
  showOpen("not-open");
  const pause = Date.parse(String(main.dataset.opens)) - now;
  setTimeout(start, Math.min(Math.max(1000, pause + 1000), LONGEST_PAUSE));
}

/** What another page of this browser may have done meanwhile. */
async function lookAgain() {
  if (document.hidden || sending || checked === null) return;
  if (!["new", "over-budget", "made", "needs-token", "kept", "kept-over-budget"].includes(String(main.dataset.shows))) return;
  const before = ["new", "over-budget"].includes(String(main.dataset.shows)) ? "new" : "ready";
  if ((await checked.client.state().catch(() => before)) !== before) await showStanding().catch(failed);
}

/** An invitation link was opened in the tab that shows the page. */
function onLink() {
  if (!token.take()) return;
  tellMissing("");
  const { shows } = main.dataset;
  if (closed) over();
  else if (checked === null && shows !== "starting") start();
  else if (shows !== "new" && shows !== "made") showStanding().catch(failed);
}

/** @param {SubmitEvent} event */
function onSubmit(event) {
  event.preventDefault();
  answer(/** @type {HTMLButtonElement | null} */ (event.submitter)?.value === "inspect");
}

localTimes();
/** @type {HTMLFormElement | null} */ (document.getElementById("answer"))?.addEventListener("submit", onSubmit);
onNewLimit(start);
for (const button of document.querySelectorAll("[data-does=again]")) button.addEventListener("click", again);
document.addEventListener("visibilitychange", lookAgain);
window.addEventListener("pagehide", forgetReport); // also where the browser keeps the page for going back to it
window.addEventListener("pageshow", (event) => event.persisted && showStanding().catch(failed));
window.addEventListener("hashchange", onLink);
window.addEventListener("online", () => retrying.now());
const look = follow(address, close);
start();
