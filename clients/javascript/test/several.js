// Answers with several values: random subsets of choices, padding bins, nodes of a tree, and what messages mean.
import { ChoicePlaces } from "../src/choices.js";
import { NumberPlaces } from "../src/numbers.js";
import { messagesOf } from "../src/randomizer.js";
import { readTask } from "../src/task.js";
import { Checks, failing, given, same } from "./checking.js";

/** All of them. */
export async function check(load) {
  const checks = new Checks();
  await checks.run("every subset of choices is equally likely", checkSubsets);
  await checks.run("free choices are padding bins", checkPadding);
  await checks.run("every answer has choices", checkHostileChoices);
  await checks.run("every answer has an interval", checkIntervals);
  await checks.run("nodes have names", checkNames);
  await checks.run("messages of choices", () => checkChoices(load));
  await checks.run("messages of numbers", () => checkNumbers(load));
  await checks.run("values that are none", () => checkValues(load));
  await checks.run("edges of many digits are read soon", checkLongEdges);
  return checks.results;
}

const LETTERS = ["a", "b", "c", "d", "e"];
const sorted = (numbers) => [...numbers].sort((one, other) => one - other);

/** With every pair of the first random bytes, each pair of four choices is taken equally often. */
function checkSubsets() {
  const places = new ChoicePlaces({ values: LETTERS, most: 2 });
  const times = new Map();
  for (let first = 0; first < 4; first++) {
    for (let second = 0; second < 3; second++) {
      for (let third = 0; third < 2; third++) {
        const taken = places.reportedPlaces(["a", "b", "d", "x"], given(first, second, third));
        const name = sorted(taken).join("");
        times.set(name, (times.get(name) ?? 0) + 1);
      }
    }
  }
  same([...times].sort(), [["01", 4], ["03", 4], ["05", 4], ["13", 4], ["15", 4], ["35", 4]], "subsets");
}

function checkPadding() {
  const places = new ChoicePlaces({ values: LETTERS, most: 3 });
  same(places.size, 10, "places");
  same(places.reportedPlaces(["e", "a"]), [0, 4, 7], "two choices");
  same(places.reportedPlaces("c"), [2, 7, 8], "one choice");
  same(places.reportedPlaces([]), [6, 7, 8], "no choice");
  same(places.reportedPlaces(new Set(["a", "b", "c"])), [0, 1, 2], "as many as possible");
  same([4, 5, 6, 7, 9].map((place) => places.labelOf(place)), ["e", "(other)", "(none)", "(padding 1)", "(padding 3)"]);
  same([6, 7].map((place) => places.isPadding(place)), [false, true], "padding bins");
}

function checkHostileChoices() {
  const places = new ChoicePlaces({ values: LETTERS, most: 2 });
  const hostile = { toString: () => { throw new Error("no text"); } };
  function* broken() {
    yield "a";
    throw new Error("no more");
  }
  const getter = { get [Symbol.iterator]() { throw new Error("none"); } };
  const asked = [null, undefined, "", [], [""], [null, undefined], hostile, broken(), getter, { a: 1 }, 5, Symbol("a")];
  const expected = [[6], [6], [6], [6], [6], [6], [5], [5], [5], [5], [5], [5]];
  same(asked.map((answer) => places.placesOf(answer)), expected, "places");
  const odd = [[["a"]], {}, new Map(), new Map([["a", 1]]), [["a"], "b"], [{}], [[]], () => "a"];
  same(odd.map((answer) => places.placesOf(answer)), [[5], [5], [5], [5], [1, 5], [5], [5], [5]], "no texts");
  same(places.placesOf(["b", "b", "", hostile, "y", "a"]), [0, 1, 5], "repeated, empty and unknown");
}

function checkIntervals() {
  const places = new NumberPlaces({ edges: "0,18,65.5", quantiles: [] }, 2);
  const hostile = { toString: () => { throw new Error("no text"); } };
  const asked = [-1, 0, 17n, "18", 65.5, 1e300, true, [5], {}, hostile, Symbol("1"), Number.NaN, null, undefined, ""];
  same(asked.map((answer) => places.placeOf(answer)), [0, 1, 1, 2, 3, 3, 4, 4, 4, 4, 4, 4, 5, 5, 5], "places");
  const labels = ["below 0", "0 to below 18", "18 to below 65.5", "65.5 and above", "(other)", "(none)"];
  same(labels.map((_, place) => places.labelOf(place)), labels, "labels");
}

function checkNames() {
  const places = new NumberPlaces({ edges: "0,18,65.5", quantiles: [] }, 2);
  const names = Array.from({ length: places.tree.nodes }, (_, node) => places.labelOf(...places.tree.leavesOf(node)));
  same(names.slice(0, 5), ["any number", "(other), (none)", "below 18", "18 and above", "(other), (none)"], "wide nodes");
  same(names.slice(5), [0, 1, 2, 3, 4, 5].map((leaf) => places.labelOf(leaf)), "leaves");
  const one = new NumberPlaces({ edges: "0", quantiles: [] }, 3);
  same(one.labelOf(0, 3), "any number, (other)", "with answers that are no numbers");
}

async function checkChoices(load) {
  for (const name of ["choices", "choices-unbiased", "choices-dummy", "choices-sparse", "choices-poisson"]) {
    const task = await readTask(JSON.stringify(await load(`tasks/${name}.json`)));
    const values = await task.valuesOf(task.answers.values[1]);
    same(values.length, task.answers.most, "number of values");
    const messages = messagesOf(task, values);
    const kinds = task.alphabet / task.values;
    for (const value of values) same(messages.includes(value * kinds), true, `the message of ${value} in ${name}`);
    if (task.padded) same(messages.length, task.mostMessages, "padded length");
    const [own, padding] = [values[0], values[1]].map((value) => task.meaningOf(value * kinds));
    same([own, padding], [{ label: task.answers.values[1], less: false }, { label: null, less: false }], "meanings");
    if (kinds === 2) same(task.meaningOf(2 * values[1] + 1), { label: null, less: true }, "one less");
  }
}

async function checkNumbers(load) {
  const task = await readTask(JSON.stringify(await load("tasks/ranges.json")));
  const nodes = await task.valuesOf("17");
  same([task.levels, task.values], [task.tree.levels, task.tree.nodes], "sizes");
  const messages = messagesOf(task, nodes);
  for (const node of nodes) same(messages.includes(node), true, `the message of node ${node}`);
  same(task.meaningOf(nodes.at(-1)), { label: "17 to below 18", less: false }, "meaning");
  same([task.whyOther("1,7"), task.whyOther("17"), task.whyOther(null)], ["not-a-number", null, null], "why");
}

async function checkValues(load) {
  const read = async (name) => readTask(JSON.stringify(await load(`tasks/${name}.json`)));
  const [choices, numbers] = [await read("choices"), await read("ranges")];
  const wrong = [0, [0], [0, 1], [0, 1, 1], [0, 1, choices.values], [0, 1, -1], [0, 1, 0.5], [0, 1, 2, 3], ["0", 1, 2]];
  for (const values of [...wrong, null, [0n, 1n, 2n]]) {
    same((await failing(() => messagesOf(choices, values))).name, "ParameterError", `${values}`);
  }
  for (const values of [5, [0, 5], [0, 0, 31], [0, 5, numbers.values], [0, 6, 31], [1, 5, 31], [31, 5, 0], [0, 5, 20]]) {
    same((await failing(() => messagesOf(numbers, values))).name, "ParameterError", `${values}`);
  }
}

function checkLongEdges() {
  const digits = "7".repeat(300);
  const edges = Array.from({ length: 40 }, (_, at) => `${at}.${digits.slice(0, 299)}${1 + (at % 2)}`).join(",");
  const places = new NumberPlaces({ edges, quantiles: [] }, 2);
  same([`39.${digits}`, `39.${digits}9`, "-1e9999", "1e9999"].map((text) => places.placeOf(text)), [40, 40, 0, 40]);
}
