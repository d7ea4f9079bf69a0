// The journal of Node: the same files as those of the client in Python, so that a person who has both answers once.
// Parts of Node are asked for when they are needed, so that a bundle for browsers does not name them at its beginning.
import { checkedEntry, readyEntry, settledEntry } from "./journal.js";
import { DataError, ParameterError } from "./errors.js";

/** @typedef {import("./journal.js").Entry} Entry */
/** @typedef {import("./journal.js").Journal} Journal */

/** What everybody but the owner may do with a folder: read, write and look into it. */
const OTHERS = 0o077;

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
  static async default() {
    const [{ homedir }, { join }] = await Promise.all([import("node:os"), import("node:path")]);
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
    const { readFile } = await import("node:fs/promises");
    const path = await this.#path(task);
    let content;
    try {
      content = await readFile(path);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return null;
      throw new DataError(`the journal ${path} cannot be read: ${codeOf(error)}`);
    }
    return checkedEntry(decoded(content), task, path);
  }

  /**
   * @param {string} task
   * @param {Uint8Array} report
   */
  async keep(task, report) {
    const { link } = await import("node:fs/promises");
    const path = await this.#path(task);
    const entry = await readyEntry(task, report);
    await this.#clearErrors(() => this.#makeFolder());
    await this.#checkFolder();
    await this.#written(entry, async (whole) => {
      try {
        await link(whole, path); // unlike a renaming, this never replaces a file
      } catch (error) {
        // somebody was faster, and may have sent it by now and tidied up
        if (!["EEXIST", "ENOENT"].includes(codeOf(error))) throw error;
      }
      await syncFolder(this.folder); // whoever entered it: what is handed out here is durable
    });
    const kept = await this.read(task);
    if (kept === null) throw new DataError(`the journal ${path} was removed while it was written`);
    return kept;
  }

  /**
   * @param {string} task
   * @param {"sent" | "refused"} state
   * @param {string | null} [reason]
   */
  async settle(task, state, reason = null) {
    const { readdir, rename, rm } = await import("node:fs/promises");
    const { join } = await import("node:path");
    const path = await this.#path(task);
    if ((await this.read(task))?.state !== "ready") return;
    await this.#written(settledEntry(task, state, reason), async (whole) => {
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

  /** @param {string} task */
  async #path(task) {
    const { join } = await import("node:path");
    return join(this.folder, `${task}.json`);
  }

  /**
   * A file with an entry, durable and only its owner's, which has still to get its name.
   * @param {Entry} entry
   * @param {(path: string) => Promise<void>} named
   */
  async #written(entry, named) {
    const [{ open, rm }, { join }] = await Promise.all([import("node:fs/promises"), import("node:path")]);
    const path = join(this.folder, `.${entry.task}.${crypto.randomUUID()}`);
    await this.#clearErrors(async () => {
      const file = await open(path, "wx", 0o600);
      try {
        try {
          await file.writeFile(encoded(entry));
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
    const [{ mkdir }, { dirname, resolve }] = await Promise.all([import("node:fs/promises"), import("node:path")]);
    const highest = await mkdir(this.folder, { recursive: true, mode: 0o700 });
    if (highest === undefined) return;
    for (let folder = resolve(this.folder); folder.length >= resolve(highest).length; folder = dirname(folder)) {
      await syncFolder(dirname(folder));
    }
  }

  async #checkFolder() {
    const { stat } = await import("node:fs/promises");
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
  const { open } = await import("node:fs/promises");
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** @param {Entry} entry */
function encoded(entry) {
  const { kind, task, state, report, sha256, reason } = entry;
  return `${JSON.stringify({ kind, task, state, report: Buffer.from(report).toString("base64"), sha256, reason })}\n`;
}

/**
 * An entry, or null for what is none.
 * @param {Uint8Array} content
 */
function decoded(content) {
  try {
    const read = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
    const report = Buffer.from(read.report, "base64");
    return report.toString("base64") === read.report ? { ...read, report: new Uint8Array(report) } : null;
  } catch {
    return null;
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return String(/** @type {{code?: unknown} | null} */ (error)?.code ?? "an unknown error");
}
