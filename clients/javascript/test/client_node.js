// The checks of the client in Node: everybody's journal is a new folder.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FolderJournal } from "../src/journal_node.js";
import { check } from "./client.js";
import { checkBudgets } from "./client_budget.js";

/** What became of every check; the setting has a `folder` for the journals. */
export async function run({ folder, ...setting }) {
  const awake = setInterval(() => {}, 1000); // a server that is only a function keeps no process alive
  let people = 0;
  const newJournal = () => new FolderJournal(join(folder, String((people += 1)), "reports"));
  try {
    return await check({ ...setting, newJournal, broken, inBrowser: false });
  } finally {
    clearInterval(awake);
  }
}

/** The results of the checks of budgets. */
export async function runBudgets({ folder, ...setting }) {
  const awake = setInterval(() => {}, 1000);
  let people = 0;
  try {
    return await checkBudgets({
      ...setting,
      newJournal: () => new FolderJournal(join(folder, String((people += 1)), "reports")),
      addBrokenClaim: (journal, name) => writeFile(join(journal.folder, name), "{"),
    });
  } finally {
    clearInterval(awake);
  }
}

async function broken(journal, name, kind) {
  const path = join(journal.folder, `${name}.json`);
  const entry = JSON.parse(await readFile(path, "utf8"));
  const report = Buffer.from("other bytes").toString("base64");
  const changed = [{ ...entry, report }, { ...entry, task: "0".repeat(64) }, {}, { ...entry, state: "sent" }][kind];
  await writeFile(path, kind === 2 ? "no JSON {" : JSON.stringify(changed));
}
