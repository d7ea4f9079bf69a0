// Every test vector of the wire format but the figures of privacy, which are the promise's.
import { fromHexadecimal, toHexadecimal } from "../src/bytes.js";
import { sealReport } from "../src/envelope.js";
import { readDecimal, readNumber } from "../src/exact.js";
import { HashFamily } from "../src/hash_family.js";
import { messagesOf } from "../src/randomizer.js";
import { readTask } from "../src/task.js";
import { Checks, failing, same } from "./checking.js";
import { openReport, privateKey, readBatch, throughHops, unseal } from "./opening.js";

/** Whole numbers, which vectors write as text from 2^53 on. */
const large = (numbers) => numbers.map(BigInt);

/** All of them; `load` gives what a file of the folder of vectors holds. */
export async function check(load) {
  const checks = new Checks();
  const tasks = new Map();
  for (const vector of await load("tasks.json")) {
    await checks.run(`tasks.json: ${vector.name}`, async () => {
      const task = await readTask(JSON.stringify(await load(vector.file), null, 2));
      const keys = await Promise.all(vector.private_keys.map(privateKey));
      tasks.set(vector.name, { task, keys });
      await checkTask(vector, task, keys);
    });
  }
  const found = (name) => tasks.get(name) ?? { task: null, keys: [] };
  await checkCorruptedTasks(checks, load);
  await checkNumbers(checks, load);
  await checkAnswers(checks, load, found);
  await checkTexts(checks, load, found);
  await checkSets(checks, load, found);
  await checkHashes(checks, load);
  await checkReports(checks, load, found);
  await checkBatches(checks, load, found);
  for (const [name, { task, keys }] of tasks) {
    await checks.run(`sealed here and opened: ${name}`, () => checkSealing(task, keys));
  }
  return checks.results;
}

async function checkTask(vector, task, keys) {
  const canonical = new TextEncoder().encode(vector.canonical);
  same(new TextDecoder().decode(task.canonical), vector.canonical, "canonical");
  same([task.name, toHexadecimal(task.id)], [vector.id, vector.id], "id");
  same((await readTask(canonical)).name, vector.id, "id of the canonical bytes");
  same(await readTask(task), task, "a task that was read");
  const { values, alphabet, padded, symbol_bytes, onion_bytes, longest_report } = vector;
  same([...large([task.values, task.alphabet]), task.padded], [...large([values, alphabet]), padded], "sizes");
  same([task.symbolBytes, task.longestReport], [symbol_bytes, longest_report], "widths");
  same(onion_bytes.map((_, at) => task.onionLength(at)), onion_bytes, "lengths of onions");
  for (const [position, place] of [...task.shufflers, task.analyzer].entries()) {
    const { x } = await crypto.subtle.exportKey("jwk", keys[position]);
    const bytes = Uint8Array.from(atob(x.replace(/-/g, "+").replace(/_/g, "/")), (each) => each.charCodeAt(0));
    same(toHexadecimal(bytes), place.key, "public key");
  }
}

async function checkCorruptedTasks(checks, load) {
  for (const vector of await load("corrupted-tasks.json")) {
    await checks.run(`corrupted-tasks.json: ${vector.name}`, async () => {
      if (vector.reason === "broken-promise") return void (await readTask(vector.content)); // its form is right
      const error = await failing(() => readTask(vector.content));
      same(error.name, "TaskError", "error");
      if (!error.message.includes(vector.says)) throw new Error(`it does not say ${vector.says}: ${error.message}`);
    });
  }
}

async function checkNumbers(checks, load) {
  const numbers = await load("numbers.json");
  const double = (digits) => new DataView(fromHexadecimal(digits).buffer).getFloat64(0);
  for (const { text, double: digits } of numbers.fractions) {
    await checks.run(`numbers.json: ${text}`, () => {
      const { numerator, power, value } = readNumber(text, "x");
      same(value, double(digits));
      same(power === 0 ? `${numerator}` : `${numerator}/2^${power}`, text);
    });
  }
  for (const { text, double: digits } of numbers.decimals) {
    await checks.run(`numbers.json: ${text} as a decimal`, () => same(readDecimal(text, "x"), double(digits)));
  }
  const refused = [
    ...numbers.refused_fractions.map((text) => [readNumber, text]),
    ...numbers.refused_decimals.map((text) => [readDecimal, text]),
  ];
  for (const [read, text] of refused) {
    await checks.run(`numbers.json: ${JSON.stringify(text)} is refused by ${read.name}`, async () => {
      same((await failing(() => read(text, "x"))).name, "TaskError");
    });
  }
}

async function checkAnswers(checks, load, found) {
  const lists = await load("lists.json");
  for (const { name, task, content, right } of lists) {
    await checks.run(`lists.json: ${name}`, async () => {
      const asked = await readTask(found(task).task.canonical);
      same((await failing(() => asked.placeOf("blue"))).name, "DataError", "before the list is there");
      const taking = () => asked.takeAnswers(new TextEncoder().encode(content));
      if (!right) same((await failing(taking)).message.includes("its SHA-256 is another"), true, "refused");
      else same((await taking(), asked.placeOf("blue")), 2, "place of blue");
      same(asked.hasAnswers, right, "whether the answers are there");
    });
  }
  const list = new TextEncoder().encode(lists.find((one) => one.right).content);
  for (const vector of await load("answers.json")) {
    await checks.run(`answers.json: ${vector.task}`, async () => {
      const { task } = found(vector.task);
      await task.takeAnswers(list);
      for (const { answer, place } of vector.places) {
        same(task.placeOf(answer), place, `place of ${JSON.stringify(answer)}`);
        if (place < task.values - 2 && answer !== "-0") same(task.labelOf(place), answer, "label");
      }
      same([task.labelOf(task.values - 2), task.labelOf(task.values - 1)], ["(other)", "(none)"], "labels");
    });
  }
}

async function checkTexts(checks, load, found) {
  for (const { task: name, symbols, texts } of await load("texts.json")) {
    await checks.run(`texts.json: ${name}`, async () => {
      const { task } = found(name);
      same(task.code.symbols, symbols, "symbols");
      for (const { text, normalised, path, values } of texts) {
        const what = `of ${JSON.stringify(text)}`;
        same(task.normalised(text), normalised, `the normalised form ${what}`);
        same(task.code.path(text), path, `the path ${what}`);
        same(await task.valuesOf(text), large(values), `the values ${what}`);
        same(task.countsAsOther(text), path[0] === 1, `(other) instead ${what}`);
      }
    });
  }
}

/** Answers of which one person has several values. */
async function checkSets(checks, load, found) {
  for (const { task: name, values_per_person: number, tree, answers } of await load("sets.json")) {
    await checks.run(`sets.json: ${name}`, async () => {
      const { task } = found(name);
      same(task.levels, number, "number of values");
      const { leaves, branching, sizes } = task.tree ?? {};
      if (tree) same([leaves, branching, sizes], [tree.leaves, tree.branching, tree.level_sizes], "tree");
      for (const { answer, bins, values } of answers) {
        const what = `of ${JSON.stringify(answer)}`;
        const other = bins.some((place) => task.labelOf(place) === "(other)");
        same([task.countsAsOther(answer), task.whyOther(answer) !== null], [other, other], `(other) instead ${what}`);
        const reported = await task.valuesOf(answer);
        if (values !== null) same(reported, values, `values ${what}`);
        else checkSubset(reported, bins, number);
        if (!tree) continue;
        same([task.placeOf(answer)], bins, `place ${what}`);
        same(task.meaningOf(reported.at(-1)), { label: task.labelOf(bins[0]), less: false }, `meaning ${what}`);
      }
    });
  }
}

/** Check that the reported places are a subset of `places` of this size. */
function checkSubset(reported, places, number) {
  const different = new Set(reported);
  same([reported.length, different.size], [number, number], "size of the subset");
  same(reported.every((place) => places.includes(place)), true, "subset");
}

async function checkHashes(checks, load) {
  for (const { name, buckets, values, pieces, levels, seeds, expanded, hashes } of await load("hashes.json")) {
    await checks.run(`hashes.json: ${name}`, () => {
      const family = new HashFamily({ modulus: buckets, values: BigInt(values), pieces, levels });
      same([family.seeds, family.expanded], [BigInt(seeds), expanded], "seeds");
      for (const { level, seed, value, digits, bucket, message } of hashes) {
        same(family.digits, digits.length, "number of digits");
        same(family.bucket(BigInt(seed), BigInt(value)), bucket, `bucket of ${value} under ${seed}`);
        const parts = { level, seed: BigInt(seed), bucket };
        same(family.message(parts), BigInt(message), "message");
        same(family.parts(BigInt(message)), parts, "parts");
      }
    });
  }
}

async function checkReports(checks, load, found) {
  for (const [at, vector] of (await load("reports.json")).entries()) {
    await checks.run(`reports.json: ${at} of ${vector.task}`, async () => {
      const { task, keys } = found(vector.task);
      const report = await openReport(task, fromHexadecimal(vector.sealed), keys[0]);
      same([report.reportId, report.time], [vector.report_id, vector.time], "head");
      same(toHexadecimal(report.inside), vector.inside, "inside");
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", report.inside)).slice(0, 16);
      same(toHexadecimal(digest), vector.digest, "digest");
      const { messages, refused } = await throughHops(task, report.onions, keys, 1);
      same(messages, large(vector.messages), "messages");
      same(refused, { repeated: 0, "cannot-be-opened": 0 }, "refused");
    });
  }
  for (const vector of await load("corrupted-reports.json")) {
    await checks.run(`corrupted-reports.json: ${vector.name}`, async () => {
      const { task, keys } = found(vector.task);
      same((await openReport(task, fromHexadecimal(vector.sealed), keys[0])).reason, vector.reason, "reason");
    });
  }
}

async function checkBatches(checks, load, found) {
  for (const vector of await load("batches.json")) {
    await checks.run(`batches.json: ${vector.task} at ${vector.position}`, async () => {
      const { task, keys } = found(vector.task);
      const batch = readBatch(task, fromHexadecimal(vector.batch));
      same(batch.magic, "shuffledp batch 1\n", "beginning");
      same([batch.taskId, batch.batchId, batch.position], [task.name, vector.batch_id, vector.position], "head");
      same([batch.number, batch.onions.length], [vector.number, vector.number], "number");
      const { messages, refused } = await throughHops(task, batch.onions, keys, batch.position);
      const counted = messages.filter((message) => message < task.alphabet).sort((one, other) => Number(one - other));
      same(counted, large(vector.messages_at_the_end), "messages");
      const nothing = messages.filter((message) => task.padded && message === BigInt(task.nothing)).length;
      same(nothing, vector.nothing_at_the_end, "messages that count for nothing");
      const all = { ...refused, "not-a-message": messages.length - counted.length - nothing };
      same(Object.fromEntries(Object.entries(all).filter(([, times]) => times)), vector.refused, "refused");
    });
  }
}

/** What is sealed here is opened by the hops in their order, and by no other key, task or position. */
async function checkSealing(task, keys) {
  const messages = messagesOf(task, task.hasAnswers ? await task.valuesOf("a") : task.values - 2);
  const reportId = Uint8Array.from({ length: 16 }, (_, at) => at);
  const time = 500_000 * task.timePrecision;
  const sealed = await sealReport(task, messages, { reportId, time });
  same(sealed.length, 72 + messages.length * task.onionLength(0), "length");
  const report = await openReport(task, sealed, keys[0]);
  same([report.reportId, report.time], [toHexadecimal(reportId), time], "head");
  same((await throughHops(task, report.onions, keys, 1)).messages, large(messages), "messages");
  same(new Set(report.onions.map(toHexadecimal)).size, messages.length, "different onions");
  same(await unseal(task, sealed, keys[0], 1), null, "at another position");
  same(await unseal(task, sealed, keys[1], 0), null, "with another key");
  const refusals = [
    [messages, { reportId, time: time + 1 }],
    [messages, { reportId, time: -task.timePrecision }],
    [messages, { reportId: reportId.slice(1), time }],
    [[], { reportId, time }],
    [[...messages, ...Array(task.mostMessages).fill(0)], { reportId, time }],
    [[task.symbols, ...messages.slice(1)], { reportId, time }],
    [[0.5, ...messages.slice(1)], { reportId, time }],
    ...(task.padded ? [[messages.slice(1), { reportId, time }]] : []),
  ];
  for (const [sent, about] of refusals) {
    same((await failing(() => sealReport(task, sent, about))).name, "ParameterError", "refusal");
  }
}
