// A person's own budget: answers together stay within it, in Node and in browsers, with figures from Python.
import { BudgetError, Client, DataError, ParameterError, readTask } from "../src/index.js";
import { useOf } from "../src/budget.js";
import { claimOf, spentTasks } from "../src/journal.js";
import { spendingOf } from "../src/spending.js";
import { answering, outcomes, same, thrown } from "./client_checks.js";

const ANSWER = "dark";

/** Two of the tasks have epsilon 1.21 at this delta, and three 1.5. */
const LIMIT = [1.25, 1e-5];

/** One of them has epsilon 0.85. */
const FOR_ONE = [1, 1e-5];

/**
 * Of a setting: texts of four `tasks` with the same parameters, texts of `mixed` tasks and the epsilon of all of them at
 * delta 1e-5, `figures` of one to three tasks, and `fits`, the epsilon that fits after the first with `FOR_ONE`.
 */
const CHECKS = {
  async "exactly the answers that fit are made"({ tasks, figures, newJournal }) {
    const requests = answering();
    const journal = newJournal();
    const open = (at) => Client.open(tasks[at], { journal, budget: LIMIT });
    const use = await (await open(0)).spending();
    close(use.before, 0);
    close(use.after, figures[0]);
    same([use.limit, use.delta, use.within, use.unfinished], [1.25, 1e-5, true, 0], "the use");
    same((await (await open(0)).send(ANSWER)).state, "sent", "the first");
    same((await (await open(1)).send(ANSWER)).state, "sent", "the second");
    close((await (await open(1)).spending()).before, figures[1]);
    const third = await open(2);
    const words = /over your limit of epsilon 1\.25 at delta 1e-5: 1\.21 is used/;
    const error = await thrown(BudgetError, words, () => third.send(ANSWER));
    close(error.before, figures[1]);
    close(error.after, figures[2]);
    same(requests.length, 2, "requests");
    same((await journal.spendings()).map(({ state }) => state), ["sent", "sent"], "the journal");
    same((await (await Client.open(tasks[2], { journal })).send(ANSWER)).state, "sent", "without a limit");
  },

  async "the epsilon that fits is that of Python"({ tasks, fits, newJournal }) {
    const journal = newJournal();
    await (await Client.open(tasks[0], { journal, budget: FOR_ONE })).report(ANSWER);
    const second = await Client.open(tasks[1], { journal, budget: FOR_ONE });
    const error = await thrown(BudgetError, /one more task with epsilon up to .* would fit/, () => second.report(ANSWER));
    if (!(Math.abs(error.fits / fits - 1) < 0.01)) throw new Error(`${error.fits} fits, and in Python ${fits}`);
  },

  async "mixed answers have the total of Python"({ mixed, total, newJournal }) {
    const journal = newJournal();
    for (const text of mixed) await (await Client.open(text, { journal })).report("a");
    const last = await readTask(mixed[0]);
    const use = useOf(await journal.spendings(), last, { epsilon: 1, delta: 1e-5, byResults: false });
    if (!(Math.abs(use.after / total - 1) < 1e-3)) throw new Error(`the total is ${use.after}, in Python ${total}`);
    same(use.before, use.after, "an answered task");
  },

  async "an answered task spends nothing more"({ tasks, newJournal }) {
    const journal = newJournal();
    const first = await (await Client.open(tasks[0], { journal, budget: LIMIT })).report(ANSWER);
    const again = await Client.open(tasks[0], { journal, budget: LIMIT });
    same([...(await again.report("light"))], [...first], "the report");
    const use = await again.spending();
    same(use.before, use.after, "the use");
  },

  async "a report made before is not sent over the limit"({ tasks, newJournal }) {
    const requests = answering();
    const journal = newJournal();
    const report = await (await Client.open(tasks[0], { journal })).report(ANSWER);
    const strict = await Client.open(tasks[0], { journal, budget: [0.5, 1e-5] });
    same((await strict.spending()).within, false, "within");
    const words = /made before and not sent, .* epsilon 0\.5 at delta 1e-5: 0\.851 is used.* a higher limit allows it/;
    for (const attempt of [() => strict.report(ANSWER), () => strict.send(ANSWER), () => strict.sendKept()]) {
      same((await thrown(BudgetError, words, attempt)).made, true, "made");
    }
    same(requests.length, 0, "requests");
    same((await journal.spendings()).map(({ state }) => state), ["ready"], "the journal");
    const wide = await Client.open(tasks[0], { journal, budget: LIMIT });
    same([...(await wide.report("light"))], [...report], "the report");
    same((await wide.sendKept()).state, "sent", "the state");
    same((await strict.send(ANSWER)).state, "already sent", "what was sent is past");
  },

  async "a limit that is stored meanwhile holds"({ tasks, newJournal }) {
    const journal = newJournal();
    const first = await Client.open(tasks[0], { journal });
    await journal.storeLimit({ epsilon: 0.5, delta: 1e-5, byResults: false });
    await thrown(BudgetError, /your limit of epsilon 0\.5/, () => first.report(ANSWER));
    same((await first.spending()).limit, 0.5, "the limit");
    const { limit } = journal; // stored after the client has read the limit, and before it reserves
    journal.limit = async () => {
      const read = await limit.call(journal);
      journal.limit = limit;
      await journal.storeLimit({ epsilon: 0.6, delta: 1e-5, byResults: false });
      return read;
    };
    await thrown(BudgetError, /your limit of epsilon 0\.6/, () => first.report(ANSWER));
    await journal.storeLimit({ epsilon: 1, delta: 1e-5, byResults: false });
    await first.report(ANSWER);
  },

  async "a stored limit needs a journal that keeps it"({ tasks, newJournal }) {
    const whole = newJournal();
    const [read, keep, settle] = ["read", "keep", "settle"].map((name) => whole[name].bind(whole));
    const limit = async () => ({ epsilon: 3, delta: 1e-5, byResults: false });
    const journal = { read, keep, settle, limit };
    await thrown(ParameterError, /spendings and reserve/, () => Client.open(tasks[0], { journal }));
    journal.limit = async () => null;
    const client = await Client.open(tasks[0], { journal });
    journal.limit = limit;
    await thrown(ParameterError, /spendings and reserve/, () => client.report(ANSWER));
    same(await client.state(), "new", "the state");
  },

  async "a given limit keeps the stored rule for noise chosen by results"({ tasks, newJournal }) {
    const journal = newJournal();
    await journal.storeLimit({ epsilon: 3, delta: 1e-5, byResults: true });
    await (await Client.open(tasks[0], { journal, budget: [1.6, 1e-5] })).report(ANSWER);
    const second = await Client.open(tasks[1], { journal, budget: [1.6, 1e-5] });
    same(second.limit, { epsilon: 1.6, delta: 1e-5, byResults: true }, "the limit");
    await thrown(BudgetError, /whatever noise is chosen by results/, () => second.report(ANSWER));
    await journal.storeLimit({ epsilon: 3, delta: 1e-5, byResults: false });
    await second.report(ANSWER);
  },

  async "two answers at once do not overspend"({ tasks, newJournal }) {
    const journal = newJournal();
    const clients = [];
    for (const text of tasks) clients.push(await Client.open(text, { journal, budget: FOR_ONE }));
    const made = await Promise.allSettled(clients.map((client) => client.report(ANSWER)));
    const answered = made.filter(({ status }) => status === "fulfilled").length;
    if (answered > 1) throw new Error(`${answered} answers were made`);
    same((await journal.spendings()).length, answered, "spendings");
    for (const { reason } of made) if (reason && !(reason instanceof BudgetError)) throw reason;
  },

  async "an answer that was begun and not finished counts"({ tasks, newJournal }) {
    const journal = newJournal();
    const begun = await readTask(tasks[0]);
    const withdraw = await journal.reserve(begun.name, spendingOf(begun), () => ({ within: true, unfinished: 0 }));
    same((await journal.spendings()).map(({ state }) => state), ["claimed"], "states");
    const other = await Client.open(tasks[1], { journal, budget: FOR_ONE });
    same((await other.spending()).unfinished, 1, "unfinished");
    await thrown(BudgetError, /with 1 answer that a client began and did not finish/, () => other.report(ANSWER));
    await withdraw();
    await other.report(ANSWER);
    await journal.reserve(other.task.name, spendingOf(other.task), () => ({ within: true, unfinished: 0 }));
    same((await journal.spendings()).map(({ state }) => state), ["ready"], "an answered task counts once");
  },

  async "the same task can be answered after it was begun"({ tasks, newJournal }) {
    const journal = newJournal();
    const task = await readTask(tasks[0]);
    await journal.reserve(task.name, spendingOf(task), () => ({ within: true, unfinished: 0 }));
    await (await Client.open(task, { journal, budget: FOR_ONE })).report(ANSWER);
    same((await journal.spendings()).map(({ state }) => state), ["ready"], "states");
  },

  async "reports count in every state"({ tasks, newJournal }) {
    for (const state of ["ready", "sent", "refused"]) {
      const journal = newJournal();
      const client = await Client.open(tasks[0], { journal, budget: FOR_ONE });
      await client.report(ANSWER);
      if (state !== "ready") await journal.settle(client.task.name, state);
      const other = await Client.open(tasks[1], { journal, budget: FOR_ONE });
      await thrown(BudgetError, /over your limit/, () => other.report(ANSWER));
    }
  },

  async "a report that fails leaves no claim"({ tasks, newJournal }) {
    const journal = newJournal();
    const client = await Client.open(tasks[0], { journal, budget: FOR_ONE });
    journal.keep = async () => {
      throw new DataError("no room");
    };
    await thrown(DataError, /no room/, () => client.report(ANSWER));
    same(await journal.spendings(), [], "spendings");
  },

  async "a stored limit holds and can be overridden"({ tasks, newJournal }) {
    const journal = newJournal();
    same(await journal.limit(), null, "no limit");
    await journal.storeLimit({ epsilon: 1, delta: 1e-5, byResults: false });
    await (await Client.open(tasks[0], { journal })).report(ANSWER);
    const second = await Client.open(tasks[1], { journal });
    same(second.limit, { epsilon: 1, delta: 1e-5, byResults: false }, "the limit");
    await thrown(BudgetError, /over your limit of epsilon 1 at/, () => second.report(ANSWER));
    await (await Client.open(tasks[1], { journal, budget: LIMIT })).report(ANSWER);
    await journal.storeLimit(null);
    same((await Client.open(tasks[2], { journal })).limit, null, "no limit");
    const none = { epsilon: 1, delta: 0, byResults: false };
    await thrown(ParameterError, /the limit must have/, () => journal.storeLimit(none));
  },

  async "a limit for noise chosen by results allows less"({ tasks, newJournal }) {
    const journal = newJournal();
    const limit = { journal, budget: [1.6, 1e-5] };
    await (await Client.open(tasks[0], { ...limit, byResults: true })).report(ANSWER);
    const second = await Client.open(tasks[1], { ...limit, byResults: true });
    await thrown(BudgetError, /whatever noise is chosen by results/, () => second.report(ANSWER));
    await (await Client.open(tasks[1], limit)).report(ANSWER);
  },

  async "entries of the first version cannot be counted"({ tasks, newJournal }) {
    const journal = newJournal();
    const first = await readTask(tasks[0]);
    await journal.keep(first.name, new Uint8Array([1, 2, 3]));
    same((await journal.read(first.name)).kind, "shuffledp journal 1", "the kind");
    await journal.settle(first.name, "sent");
    same((await journal.read(first.name)).spending, null, "the spending");
    const second = await Client.open(tasks[1], { journal, budget: LIMIT });
    await thrown(DataError, /1 answer of an earlier version/, () => second.report(ANSWER));
    await thrown(DataError, new RegExp(first.name), () => second.spending());
    same((await journal.spendings()).length, 1, "no claim is left");
  },

  async "a broken claim is an error, and is not removed"({ tasks, newJournal, addBrokenClaim }) {
    const journal = newJournal();
    await (await Client.open(tasks[0], { journal })).report(ANSWER);
    await addBrokenClaim(journal, `${"0".repeat(64)}.1f.claim`);
    const second = await Client.open(tasks[1], { journal, budget: LIMIT });
    for (const attempt of [() => second.report(ANSWER), () => second.spending(), () => second.report(ANSWER)]) {
      await thrown(DataError, /is broken, so it is unknown how much privacy was spent/, attempt);
    }
    same(await second.state(), "new", "the state");
    await (await Client.open(tasks[1], { journal })).report(ANSWER); // without a limit, nothing is counted
  },

  async "options of a budget are checked"({ tasks, newJournal }) {
    const journal = newJournal();
    for (const budget of [3, [3], [3, 1e-5, 1], ["3", "1"], [NaN, 1e-5], [0, 1e-5], [3, 0], [3, 1], [Infinity, 1e-5]]) {
      await thrown(ParameterError, /budget must/, () => Client.open(tasks[0], { journal, budget }));
    }
    await thrown(ParameterError, /byResults must/, () => Client.open(tasks[0], { journal, byResults: 1 }));
    await thrown(ParameterError, /byResults needs/, () => Client.open(tasks[0], { journal, byResults: true }));
    const { read, keep, settle } = journal;
    const simple = { read, keep, settle };
    await Client.open(tasks[0], { journal: simple });
    await thrown(ParameterError, /spendings and reserve/, () => Client.open(tasks[0], { journal: simple, budget: LIMIT }));
  },

  async "answers are in the order of days, series and rounds"({ tasks }) {
    const spending = spendingOf(await readTask(tasks[0]));
    const claims = [];
    for (const day of ["2026-01-01", "2026-01-02"]) {
      for (const id of ["a", "b"]) {
        for (const round of [1, 2, 10]) {
          claims.push(claimOf(String((claims.length * 7) % 12), { ...spending, day, series: { id, round } }));
        }
      }
    }
    const found = spentTasks([], [...claims].reverse()).map(({ task }) => task);
    same(found, claims.map(({ task }) => task), "the order");
  },

  async "a journal without a limit says nothing about budgets"({ tasks, newJournal }) {
    same(await (await Client.open(tasks[0], { journal: newJournal() })).spending(), null, "the use");
  },
};

/** @param {number} found @param {number} expected */
function close(found, expected) {
  if (!(Math.abs(found - expected) < 1e-3)) throw new Error(`${found} is not ${expected}`);
}

/** The results of all checks. */
export function checkBudgets(setting) {
  return outcomes(CHECKS, setting);
}

/**
 * Answers one task in each of several databases, at the same times as another page; returns what became of each.
 * @param {string} text @param {{name: string, rounds: number, starts: number, pause: number}} race
 */
export async function race(text, { name, rounds, starts, pause }) {
  const { IndexedDBJournal } = await import("../src/index.js");
  const said = [];
  for (let at = 0; at < rounds; at += 1) {
    const client = await Client.open(text, { journal: new IndexedDBJournal(`${name} ${at}`), budget: FOR_ONE });
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, starts + at * pause - Date.now())));
    said.push(await client.report(ANSWER).then(() => "answered", (error) => error.name));
  }
  return said;
}

/** The number of spendings in each of these databases. */
export async function spentIn(name, rounds) {
  const { IndexedDBJournal } = await import("../src/index.js");
  const numbers = [];
  for (let at = 0; at < rounds; at += 1) numbers.push((await new IndexedDBJournal(`${name} ${at}`).spendings()).length);
  return numbers;
}
