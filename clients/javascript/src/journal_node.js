// The journal of Node: the same files as those of the client in Python, so that a person who has both answers once.
import { link, mkdir, open, readFile, readdir, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import {
  checkedClaim,
  checkedEntry,
  checkedLimit,
  claimOf,
  readyEntry,
  settledEntry,
  spentTasks,
  storedLimit,
} from "./journal.js";
import { DataError, ParameterError } from "./errors.js";

/** @typedef {import("./journal.js").Entry} Entry */
/** @typedef {import("./journal.js").Journal} Journal */

/** What everybody but the owner may do with a folder: read, write and look into it. */
const OTHERS = 0o077;

/** The names of entries, claims and the limit; other files in the folder are left alone. */
const ENTRY = /^([0-9a-f]{64})\.json$/;
const CLAIM = /^([0-9a-f]{64})\.[0-9a-zA-Z-]+\.claim$/;
const LIMIT = "budget.json";

/** Attempts of a client that is over the limit only because of clients that have not finished. */
const TRIES = 6;

/** Milliseconds, the least range of the random pause before another attempt. */
const PAUSE = 50;

/**
 * One small file for each task in a folder of one person's, named by its id, that only its owner may read. Files are
 * put in place whole and durably.
 * @implements {Journal}
 */
export class FolderJournal {
  /** @param {string} folder */
  constructor(folder) {
    if (typeof folder !== "string" || folder === "") throw new ParameterError("journal must be the name of a folder");
    this.folder = folder;
  }

  /** Where the platform keeps data of a person's programs. */
  static default() {
    const { env, platform } = process;
    let base = env.XDG_DATA_HOME || join(homedir(), ".local", "share");
    if (platform === "win32") base = env.LOCALAPPDATA || join(homedir(), "AppData", "Local");
    if (platform === "darwin") base = join(homedir(), "Library", "Application Support");
    return new FolderJournal(join(base, "shuffledp", "reports"));
  }

  /**
   * @param {string} task
   * @returns {Promise<Entry | null>}
   */
  async read(task) {
    const path = this.#path(`${task}.json`);
    const content = await contentOf(path);
    return content === null ? null : checkedEntry(decoded(content), task, path);
  }

  /**
   * @param {string} task
   * @param {Uint8Array} report
   * @param {import("./spending.js").Spending} [spending]
   * @param {Uint8Array} [fallback]
   */
  async keep(task, report, spending, fallback) {
    const path = this.#path(`${task}.json`);
    const entry = await readyEntry(task, report, spending, fallback);
    await this.#readyFolder();
    await this.#written(task, encoded(entry), async (whole) => {
      try {
        await link(whole, path); // unlike a renaming, this never replaces a file
      } catch (error) {
        // another process was faster, and may have sent it and cleaned up by now
        if (!["EEXIST", "ENOENT"].includes(codeOf(error))) throw error;
      }
      await syncFolder(this.folder); // the entry that is returned is durable, whichever process added it
    });
    const kept = await this.read(task);
    if (kept === null) throw new DataError(`the journal ${path} was removed while it was written`);
    if (kept.spending !== null) await this.#removeClaims(task);
    return kept;
  }

  /**
   * @param {string} task
   * @param {"sent" | "refused"} state
   * @param {string | null} [reason]
   */
  async settle(task, state, reason = null) {
    const path = this.#path(`${task}.json`);
    const before = await this.read(task);
    if (before?.state !== "ready") return;
    await this.#written(task, encoded(settledEntry(before, state, reason)), async (whole) => {
      try {
        await rename(whole, path);
      } catch (error) {
        if (codeOf(error) !== "ENOENT") throw error; // another process has entered it and tidied up
      }
      for (const name of await readdir(this.folder)) {
        // of a process that was killed while it wrote
        if (name.startsWith(`.${task}.`)) await rm(join(this.folder, name), { force: true });
      }
      await syncFolder(this.folder);
    });
  }

  /**
   * All answered and claimed tasks, each once. The names are listed twice: a claim that turns into an entry meanwhile is
   * either in the first list as a claim, or in the second as an entry.
   */
  async spendings() {
    const names = new Set([...(await this.#names()), ...(await this.#names())]);
    const tasks = new Set([...names].map((name) => name.slice(0, 64)));
    const claims = [];
    for (const name of names) {
      const claimed = CLAIM.exec(name);
      const content = claimed && (await contentOf(this.#path(name))); // null: withdrawn, or an entry by now
      if (content) claims.push(checkedClaim(parsed(content), claimed[1], this.#path(name)));
    }
    const entries = [];
    for (const task of tasks) {
      const entry = await this.read(task);
      if (entry !== null) entries.push(entry);
    }
    return spentTasks(entries, claims);
  }

  /** The names of entries and claims. */
  async #names() {
    let names;
    try {
      names = await readdir(this.folder);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return [];
      throw new DataError(`the journal ${this.folder} cannot be read: ${codeOf(error)}`);
    }
    const isKnown = (/** @type {string} */ name) => ENTRY.test(name) || CLAIM.test(name);
    const wrong = names.find((name) => !isKnown(name) && isKnown(name.toLowerCase()));
    if (wrong !== undefined) {
      const path = this.#path(wrong);
      throw new DataError(`the journal ${path} must have a name in lower case, so that it is counted: rename it`);
    }
    return names.filter(isKnown);
  }

  /**
   * Writes a claim durably before the spendings are read: of two clients that begin at once at least one sees both.
   * @type {import("./journal.js").Reserve}
   */
  async reserve(task, spending, judge) {
    for (let tried = 1; ; tried += 1) {
      const started = performance.now();
      const claim = await this.#claim(task, spending);
      let judged;
      try {
        judged = judge(await this.spendings(), await this.limit());
      } catch (error) {
        await this.#withdraw(claim);
        throw error;
      }
      if (judged.within) return () => this.#withdraw(claim);
      await this.#withdraw(claim);
      if (!judged.unfinished || tried === TRIES) return null;
      const longest = PAUSE + 2 * (performance.now() - started); // another client may withdraw its claim, as this one does
      await new Promise((resolve) => setTimeout(resolve, longest * Math.random()));
    }
  }

  /**
   * @param {string} task
   * @param {import("./spending.js").Spending} spending
   */
  async #claim(task, spending) {
    const path = this.#path(`${task}.${crypto.randomUUID()}.claim`);
    await this.#readyFolder();
    await this.#written(task, `${JSON.stringify(claimOf(task, spending))}\n`, async (whole) => {
      await link(whole, path);
      await syncFolder(this.folder);
    });
    return path;
  }

  /** @param {string} claim */
  async #withdraw(claim) {
    await this.#clearErrors(async () => {
      await rm(claim, { force: true });
      await syncFolder(this.folder);
    });
  }

  /**
   * Removes the claims of a task whose entry is durable.
   * @param {string} task
   */
  async #removeClaims(task) {
    await this.#clearErrors(async () => {
      for (const name of await this.#names()) {
        if (name.startsWith(`${task}.`) && CLAIM.test(name)) await rm(this.#path(name), { force: true });
      }
    });
  }

  /** @returns {Promise<import("./budget.js").Limit | null>} */
  async limit() {
    const path = this.#path(LIMIT);
    const content = await contentOf(path);
    return content === null ? null : checkedLimit(parsed(content), path);
  }

  /** @param {import("./budget.js").Limit | null} limit */
  async storeLimit(limit) {
    const path = this.#path(LIMIT);
    if (limit === null) return this.#clearErrors(() => rm(path, { force: true }));
    const content = `${JSON.stringify(storedLimit(limit))}\n`;
    await this.#readyFolder();
    await this.#written("budget", content, async (whole) => {
      await rename(whole, path);
      await syncFolder(this.folder);
    });
  }

  /** @param {string} name */
  #path(name) {
    return join(this.folder, name);
  }

  async #readyFolder() {
    await this.#clearErrors(() => this.#makeFolder());
    await this.#checkFolder();
  }

  /**
   * A durable file that only its owner may read, which has still to get its name.
   * @param {string} name
   * @param {string} content
   * @param {(path: string) => Promise<void>} named
   */
  async #written(name, content, named) {
    const path = join(this.folder, `.${name}.${crypto.randomUUID()}`);
    await this.#clearErrors(async () => {
      const file = await open(path, "wx", 0o600);
      try {
        try {
          await file.writeFile(content);
          await file.sync();
        } finally {
          await file.close();
        }
        await named(path);
      } finally {
        await rm(path, { force: true });
      }
    });
  }

  /** A folder that is new, with those above it, is its owner's alone: names of files tell who took part in what. */
  async #makeFolder() {
    const highest = await mkdir(this.folder, { recursive: true, mode: 0o700 });
    if (highest === undefined) return;
    for (let folder = resolve(this.folder); folder.length >= resolve(highest).length; folder = dirname(folder)) {
      await syncFolder(dirname(folder));
    }
  }

  async #checkFolder() {
    await this.#clearErrors(async () => {
      if (process.platform !== "win32" && (await stat(this.folder)).mode & OTHERS) {
        throw new DataError(
          `others may look into ${this.folder}, and a journal is its owner's alone: forbid it with  ` +
            `chmod 700 ${this.folder}  or give another folder`,
        );
      }
    });
  }

  /** @param {() => Promise<void>} work */
  async #clearErrors(work) {
    try {
      await work();
    } catch (error) {
      if (error instanceof DataError) throw error;
      throw new DataError(`the journal in ${this.folder} cannot be written: ${codeOf(error)}`);
    }
  }
}

/**
 * Makes names that were given or taken away in a folder durable, where the platform can.
 * @param {string} folder
 */
async function syncFolder(folder) {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** @param {Entry} entry */
function encoded(entry) {
  const { kind, task, state, report, fallback, sha256, fallback_sha256, reason, spending } = entry;
  const base64 = (/** @type {Uint8Array} */ bytes) => Buffer.from(bytes).toString("base64");
  const later = fallback === undefined ? {} : { fallback: base64(fallback), fallback_sha256 }; // older ones have none
  const written = { kind, task, state, report: base64(report), ...later, sha256, reason };
  return `${JSON.stringify(spending === null ? written : { ...written, spending })}\n`;
}

/**
 * The content of a file; null if there is none.
 * @param {string} path
 */
async function contentOf(path) {
  try {
    return await readFile(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw new DataError(`the journal ${path} cannot be read: ${codeOf(error)}`);
  }
}

/**
 * JSON, or null for anything else.
 * @param {Uint8Array} content
 */
function parsed(content) {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
  } catch {
    return null;
  }
}

/**
 * An entry, or null for what is none.
 * @param {Uint8Array} content
 */
function decoded(content) {
  try {
    const read = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
    const fallback = read.fallback === undefined ? {} : { fallback: fromBase64(read.fallback) };
    return { ...read, report: fromBase64(read.report), ...fallback };
  } catch {
    return null;
  }
}

/**
 * Bytes in their one spelling; anything else is refused.
 * @param {string} text
 */
function fromBase64(text) {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text) throw new DataError("it is not base64");
  return new Uint8Array(bytes);
}

/** @param {unknown} error */
function codeOf(error) {
  return String(/** @type {{code?: unknown} | null} */ (error)?.code ?? "an unknown error");
}
