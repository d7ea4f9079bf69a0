// The checks of the client in a browser: everybody's journal is a new database.
import { IndexedDBJournal } from "../src/index.js";
import { check } from "./client.js";
import { checkBudgets } from "./client_budget.js";

/** What became of every check. */
export async function run(setting) {
  return check({ ...setting, newJournal: () => new IndexedDBJournal(crypto.randomUUID()), broken, inBrowser: true });
}

/** The results of the checks of budgets. */
export async function runBudgets(setting) {
  return checkBudgets({ ...setting, newJournal: () => new IndexedDBJournal(crypto.randomUUID()), addBrokenClaim });
}

async function addBrokenClaim(journal, name) {
  const database = await done(indexedDB.open(journal.name));
  await done(database.transaction("reports", "readwrite").objectStore("reports").put({}, name));
  database.close();
}

async function broken(journal, name, kind) {
  const database = await done(indexedDB.open(journal.name));
  const store = database.transaction("reports", "readwrite").objectStore("reports");
  const entry = await done(store.get(name));
  const report = new TextEncoder().encode("other bytes");
  const changed = [{ ...entry, report }, { ...entry, task: "0".repeat(64) }, {}, { ...entry, state: "sent" }][kind];
  await done(store.put(changed, name));
  database.close();
}

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
