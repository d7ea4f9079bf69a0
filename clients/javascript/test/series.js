// Every vector of series: ids, tasks of rounds, times, limits on all rounds together, and corrupted files.
import { Client } from "../src/client.js";
import { readAsked } from "../src/asked.js";
import { readSeries } from "../src/series.js";
import { readTask } from "../src/task.js";
import { Checks, failing, same } from "./checking.js";

const text = (bytes) => new TextDecoder().decode(bytes);

/** All of them; `load` gives what a file of the folder of vectors holds. */
export async function check(load) {
  const checks = new Checks();
  const { valid, corrupted } = await load("series.json");
  for (const vector of valid) {
    const file = JSON.stringify(await load(vector.file), null, 2);
    await checks.run(`series.json: ${vector.name}`, () => checkValid(vector, file));
    await checks.run(`series.json: limits of ${vector.name}`, () => checkLimits(vector, file));
  }
  for (const vector of corrupted) {
    await checks.run(`series.json: ${vector.name}`, () => checkCorrupted(vector));
  }
  const weeks = JSON.stringify(await load("series/weeks.json"));
  for (const [name, run] of Object.entries(CLIENTS)) {
    await checks.run(`clients of a series: ${name}`, async () => {
      const [{ now }, { fetch }] = [Date, globalThis];
      try {
        await run(weeks);
      } finally {
        Date.now = now;
        globalThis.fetch = fetch;
      }
    });
  }
  return checks.results;
}

async function checkValid(vector, file) {
  const series = await readSeries(file);
  same(text(series.canonical), vector.canonical, "canonical");
  same(series.name, vector.id, "id");
  same((await readSeries(series.canonical)).name, vector.id, "id of the canonical bytes");
  same((await readAsked(file)).name, vector.id, "id as anything that is asked");
  same(series.rounds, vector.rounds, "rounds");
  same(series.check().total.strength, vector.strength, "strength");
  for (const { time, round } of vector.open_round_at) {
    same(series.roundAt(1000 * time), round, `round at ${time}`);
    same(series.roundAt(new Date(1000 * time + 999)), round, `round within the second ${time}`);
  }
  for (const { round, id, opens, closes, canonical } of vector.tasks) {
    const task = await series.task(round);
    same(task, await series.task(round), "the same task again");
    same([task.name, task.version, task.series], [id, 2, { id: vector.id, round }], `round ${round}`);
    same([task.opens, task.closes], [new Date(opens), new Date(closes)], "times");
    await series.checkRound(task);
    await checkNoRounds(series, JSON.parse(text(task.canonical)), round);
    same([series.opensAt(round), series.opensAt(round + 1)], [task.opens, task.closes], "times of the series");
    if (canonical === null) continue;
    same(text(task.canonical), canonical, "canonical task");
    same((await readTask(canonical)).name, id, "id of the task alone");
  }
  for (const round of [0, -1, 1.5, vector.rounds + 1, NaN]) {
    same((await failing(() => series.task(round))).name, "ParameterError", `round ${round}`);
  }
}

/** Tasks that are not the round of the series that they say; most of them name its id. */
async function checkNoRounds(series, plain, round) {
  const { series: _, ...alone } = plain;
  const others = [
    { ...alone, version: series.version },
    { ...plain, users: plain.users + 1 },
    { ...plain, series: { id: series.name, round: round === 1 ? 2 : 1 } },
    { ...plain, series: { id: series.name, round: series.rounds + 1 } },
    { ...plain, series: { id: "0".repeat(64), round } },
  ];
  for (const other of others) {
    const task = await readTask(JSON.stringify(other));
    same((await failing(() => series.checkRound(task))).name, "BrokenPromiseError", "a task that is no round");
  }
}

async function checkLimits(vector, file) {
  const series = await readSeries(file);
  for (const { epsilon, delta, allowed } of vector.limits) {
    if (allowed) series.check([epsilon, delta]);
    else says(await failing(() => series.check([epsilon, delta])), "BrokenPromiseError", "rounds together give");
  }
}

async function checkCorrupted({ content, reason, says: words }) {
  if (reason === "broken-promise") {
    const series = await readSeries(content);
    return says(await failing(() => series.check()), "BrokenPromiseError", words);
  }
  says(await failing(() => (reason === "no-task" ? readTask : readSeries)(content)), "TaskError", words);
  return says(await failing(() => readAsked(content)), "TaskError", "");
}

function says(error, name, words) {
  same(error.name, name, "error");
  if (!error.message.includes(words)) throw new Error(`it does not say ${words}: ${error.message}`);
}

/** A journal in memory. */
function memory() {
  const entries = new Map();
  return {
    entries,
    read: async (task) => entries.get(task) ?? null,
    keep: async (task, report) => {
      if (!entries.has(task)) entries.set(task, { task, state: "ready", report, reason: null });
      return entries.get(task);
    },
    settle: async (task, state, reason = null) => {
      entries.set(task, { task, state, report: new Uint8Array(0), reason });
    },
  };
}

/** Sets the clock to some time within a round. */
async function within(series, round) {
  const at = series.opensAt(round).getTime() + 1000;
  Date.now = () => at;
}

const CLIENTS = {
  "each round is answered once, and joining late is fine": async (file) => {
    const series = await readSeries(file);
    const journal = memory();
    const sent = [];
    globalThis.fetch = async (address) => {
      sent.push(String(address));
      return new Response(null, { status: 201 });
    };
    for (const round of [2, 3, 4]) {
      await within(series, round);
      const client = await Client.open(file, { pin: series.name, journal });
      same([client.task.name, client.series?.name], [(await series.task(round)).name, series.name], "the open round");
      same([(await client.send("dark")).state, (await client.send("light")).state], ["sent", "already sent"], "twice");
    }
    const names = await Promise.all([2, 3, 4].map(async (round) => (await series.task(round)).name));
    same([...journal.entries.keys()], names, "answered tasks");
    same(sent, names.map((name) => `https://s0.example/v1/tasks/${name}/reports`), "addresses");
  },

  "a client that stays open answers the next round": async (file) => {
    const series = await readSeries(file);
    globalThis.fetch = async () => new Response(null, { status: 201 });
    await within(series, 1);
    const client = await Client.open(series, { journal: memory() });
    same((await client.send("dark")).state, "sent", "first");
    await within(series, 2);
    same([(await client.send("dark")).state, client.task.series?.round], ["sent", 2], "second");
  },

  "nothing is open before and after": async (file) => {
    const series = await readSeries(file);
    for (const [time, name] of [[series.opens.getTime() - 1, "UnreachableError"], [series.closes.getTime(), "RefusedError"]]) {
      Date.now = () => time;
      same((await failing(() => Client.open(file, { journal: memory() }))).name, name, "error");
    }
  },

  "the pin is the id of the series": async (file) => {
    const series = await readSeries(file);
    await within(series, 1);
    const { name } = await series.task(1);
    const open = (pin) => Client.open(file, { pin, journal: memory() });
    same((await open(series.name)).task.name, name, "task");
    says(await failing(() => open(name)), "TaskError", "pinned");
    const other = file.replace('"rounds":4', '"rounds":3');
    says(await failing(() => Client.open(other, { pin: series.name })), "TaskError", "pinned");
  },

  "the limit is on all rounds together": async (file) => {
    const series = await readSeries(file);
    await within(series, 1);
    const open = (atMost) => Client.open(file, { atMost, journal: memory() });
    const { promise } = await open([1, 1e-6]);
    same([promise.epsilon, promise.delta], [1, 1e-6], "promise");
    says(await failing(() => open([0.6, 1e-6])), "BrokenPromiseError", "4 rounds together give");
    const broken = file.replace('"rounds":4', '"rounds":5');
    says(await failing(() => Client.open(broken, { journal: memory() })), "BrokenPromiseError", "do not answer");
  },

  "a series is fetched from an address with a pin": async (file) => {
    const series = await readSeries(file);
    await within(series, 1);
    globalThis.fetch = async () => new Response(file, { status: 200 });
    const address = new URL("https://series.example/weeks.json");
    says(await failing(() => Client.open(address, { journal: memory() })), "ParameterError", "needs a pin");
    same((await Client.open(address, { pin: series.name, journal: memory() })).series?.name, series.name, "series");
  },

  "a round alone is a task": async (file) => {
    const series = await readSeries(file);
    await within(series, 3);
    const round = await series.task(3);
    const client = await Client.open(round.canonical, { pin: round.name, journal: memory() });
    same([client.series, client.task.series], [null, { id: series.name, round: 3 }], "series");
    says(await failing(() => readTask(file)), "TaskError", "it is a series");
  },
};
