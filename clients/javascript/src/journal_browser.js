// The journal of a browser, in its database (IndexedDB), which all pages of one origin share.
import {
  brokenEntry,
  checkedClaim,
  checkedEntry,
  checkedLimit,
  claimOf,
  entryOf,
  readyEntry,
  settledEntry,
  spentTasks,
  storedLimit,
} from "./journal.js";
import { DataError, ParameterError } from "./errors.js";

/** @typedef {import("./journal.js").Entry} Entry */
/** @typedef {import("./journal.js").Journal} Journal */
/** @typedef {import("./budget.js").Limit} Limit */

/** Of the database; an entry for each task, claims, and the limit. */
const STORE = "reports";

/** The key of the limit. Keys of entries are ids of tasks, and keys of claims begin with them. */
const LIMIT = "budget";
const ENTRY = /^[0-9a-f]{64}$/;
const CLAIM = /^([0-9a-f]{64})\..+\.claim$/;

/**
 * The journal of one person in a browser.
 * @implements {Journal}
 */
export class IndexedDBJournal {
  /** @param {string} [name] of the database */
  constructor(name = "shuffledp") {
    if (typeof name !== "string" || name === "") throw new ParameterError("name must be the name of a database");
    this.name = name;
  }

  /**
   * @param {string} task
   * @returns {Promise<Entry | null>}
   */
  async read(task) {
    const found = await this.#done("readonly", (store) => store.get(task));
    return found === undefined ? null : checkedEntry(found, task, `${this.name} of this browser`);
  }

  /**
   * @param {string} task
   * @param {Uint8Array} report
   * @param {import("./spending.js").Spending} [spending]
   * @param {Uint8Array} [fallback]
   */
  async keep(task, report, spending, fallback) {
    const entry = await readyEntry(task, report, spending, fallback);
    await this.#done("readwrite", (store) => {
      const adding = store.add(entry, task); // of several tabs one adds; unlike put, this never replaces an entry
      adding.onerror = (event) => {
        if (adding.error?.name !== "ConstraintError") return;
        event.preventDefault(); // another tab was faster, and may have sent it by now
        event.stopPropagation();
      };
      const claims = store.getAllKeys(IDBKeyRange.bound(`${task}.`, `${task}/`));
      claims.onsuccess = () => {
        for (const key of claims.result) store.delete(key); // the entry counts from now on
      };
      return adding;
    });
    const kept = await this.read(task);
    if (kept === null) throw new DataError(`the journal ${this.name} of this browser was removed while it was written`);
    return kept;
  }

  /**
   * @param {string} task
   * @param {"sent" | "refused"} state
   * @param {string | null} [reason]
   */
  async settle(task, state, reason = null) {
    await this.read(task); // what is broken is left as it is
    await this.#done("readwrite", (store) => {
      const reading = store.get(task);
      reading.onsuccess = () => {
        const { result } = reading;
        if (result?.state === "ready") store.put(settledEntry(result, state, reason), task);
      };
      return reading;
    });
  }

  /** All answered and claimed tasks, each once. */
  async spendings() {
    return this.#everything("readonly", (spent) => spent);
  }

  /**
   * Reads everything, decides and writes the claim in one transaction, so that two tabs cannot overspend.
   * @type {import("./journal.js").Reserve}
   */
  async reserve(task, spending, judge) {
    const key = `${task}.${crypto.randomUUID()}.claim`;
    const within = await this.#everything("readwrite", (spent, store, stored) => {
      const judged = judge(spent, stored);
      if (judged.within) store.put(claimOf(task, spending), key);
      return judged.within;
    });
    return within ? () => this.#done("readwrite", (store) => store.delete(key)) : null;
  }

  /** @returns {Promise<Limit | null>} */
  async limit() {
    return this.#limitIn(await this.#done("readonly", (store) => store.get(LIMIT)));
  }

  /** @param {unknown} found */
  #limitIn(found) {
    return found === undefined ? null : checkedLimit(found, `${this.name} of this browser`);
  }

  /** @param {import("./budget.js").Limit | null} limit */
  async storeLimit(limit) {
    const stored = limit && storedLimit(limit);
    await this.#done("readwrite", (store) => (stored === null ? store.delete(LIMIT) : store.put(stored, LIMIT)));
  }

  /**
   * Reads all entries and claims in one transaction, and does something with them before it ends.
   * @template Result
   * @param {"readonly" | "readwrite"} mode
   * @param {(spent: import("./spending.js").AnsweredTask[], store: IDBObjectStore, limit: Limit | null) => Result} work
   * @returns {Promise<Result>}
   */
  async #everything(mode, work) {
    /** @type {{result: Result} | {error: unknown} | null} */
    let done = null;
    await this.#done(mode, (store) => {
      const keys = store.getAllKeys();
      const values = store.getAll();
      values.onsuccess = () => {
        try {
          const limit = this.#limitIn(values.result[keys.result.indexOf(LIMIT)]);
          done = { result: work(this.#spent(keys.result, values.result), store, limit) };
        } catch (error) {
          done = { error };
        }
      };
      return values;
    });
    const ended = /** @type {{result: Result} | {error: unknown}} */ (/** @type {unknown} */ (done));
    if ("error" in ended) throw ended.error;
    return ended.result;
  }

  /** @param {IDBValidKey[]} keys @param {unknown[]} values */
  #spent(keys, values) {
    const place = `${this.name} of this browser`;
    /** @type {Entry[]} */
    const entries = [];
    /** @type {import("./journal.js").Claim[]} */
    const claims = [];
    keys.forEach((key, at) => {
      const claimed = CLAIM.exec(String(key));
      if (claimed) claims.push(checkedClaim(values[at], claimed[1], place));
      if (!ENTRY.test(String(key))) return;
      const entry = entryOf(values[at], String(key));
      if (entry === null) throw brokenEntry(place);
      entries.push(entry);
    });
    return spentTasks(entries, claims);
  }

  /**
   * One transaction, which is on the disk when this returns.
   * @param {"readonly" | "readwrite"} mode
   * @param {(store: IDBObjectStore) => IDBRequest} work
   * @returns {Promise<any>}
   */
  async #done(mode, work) {
    const database = await this.#opened();
    try {
      return await new Promise((resolve, reject) => {
        const transaction = database.transaction(STORE, mode, { durability: "strict" });
        const request = work(transaction.objectStore(STORE));
        transaction.oncomplete = () => resolve(request.error === null ? request.result : undefined);
        transaction.onabort = () => reject(transaction.error ?? request.error);
      });
    } catch (error) {
      throw new DataError(`the journal ${this.name} of this browser cannot be used: ${nameOf(error)}`);
    } finally {
      database.close();
    }
  }

  /** @returns {Promise<IDBDatabase>} */
  async #opened() {
    try {
      return await new Promise((resolve, reject) => {
        const opening = indexedDB.open(this.name, 1);
        opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
        opening.onsuccess = () => resolve(opening.result);
        opening.onerror = () => reject(opening.error);
      });
    } catch (error) {
      throw new DataError(
        `this browser keeps nothing for this page (${nameOf(error)}), and without a journal a task could be answered ` +
          "twice: allow the page to keep data, or use a window that is not private",
      );
    }
  }
}

/** @param {unknown} error */
function nameOf(error) {
  return error instanceof Error || error instanceof DOMException ? error.name : "an unknown error";
}
