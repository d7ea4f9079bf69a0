// The client for Node: the same as for browsers, with a folder as its journal.
import { Client as AnyClient } from "./client.js";
import { chosenJournal } from "./journal_choice.js";
import { FolderJournal } from "./journal_node.js";
import { opened } from "./opening.js";
import { inNode } from "./requests.js";

export * from "./index.js";

/** Answers a task for one person, once. Its journal is a folder, unless another one is given. */
export class Client extends AnyClient {
  /**
   * Checks everything that a person checks before they answer. Nothing is sent.
   * @param {Parameters<typeof AnyClient.open>[0]} task
   * @param {import("./opening.js").Options} [options]
   */
  static async open(task, options = {}) {
    return new Client(await opened(task, options, folderJournal));
  }
}

/**
 * @param {unknown} journal a journal, the name of a folder, or undefined for the usual folder
 * @returns {import("./journal.js").Journal}
 */
function folderJournal(journal) {
  if (inNode() && journal === undefined) return FolderJournal.default();
  if (inNode() && typeof journal === "string") return new FolderJournal(journal);
  return chosenJournal(journal);
}
