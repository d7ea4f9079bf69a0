// The journal of a browser, in its database (IndexedDB), which all pages of one origin share.
import { checkedEntry, readyEntry, settledEntry } from "./journal.js";
import { DataError, ParameterError } from "./errors.js";

/** @typedef {import("./journal.js").Entry} Entry */
/** @typedef {import("./journal.js").Journal} Journal */

/** Of the database; an entry for each task. */
const STORE = "reports";

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
   */
  async keep(task, report) {
    const entry = await readyEntry(task, report);
    await this.#done("readwrite", (store) => {
      const adding = store.add(entry, task); // of several tabs one adds; unlike put, this never replaces an entry
      adding.onerror = (event) => {
        if (adding.error?.name !== "ConstraintError") return;
        event.preventDefault(); // another tab was faster, and may have sent it by now
        event.stopPropagation();
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
        if (reading.result?.state === "ready") store.put(settledEntry(task, state, reason), task);
      };
      return reading;
    });
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
