// What is particular to reading tasks in JavaScript; the rest is compared with Python in tests/clients.
import { Places, isBlank } from "../src/answers.js";
import { byCodePoints, canonicalBytes } from "../src/canonical.js";
import { ParameterError, RefusedError, ShuffledpError, TaskError, UnreachableError } from "../src/errors.js";
import { parseStrictly } from "../src/strict_json.js";
import { Task, readTask } from "../src/task.js";
import { Checks, failing, same } from "./checking.js";

const text = (value) => new TextDecoder().decode(canonicalBytes(value));

/** All of them. */
export async function check(load) {
  const checks = new Checks();
  await checks.run("names are sorted by code points", () => {
    same(["\u{1f4a9}", "\uff5e", "b", "ab", "a"].sort(byCodePoints), ["a", "ab", "b", "\uff5e", "\u{1f4a9}"], "order");
    same(text({ "\u{1f4a9}": 1, "\uff5e": { b: [], a: null } }), '{"\uff5e":{"a":null,"b":[]},"\u{1f4a9}":1}');
  });
  await checks.run("control characters have one spelling", () => {
    same(text('\u0000\u001f\b\t\n\f\r"\\/\u007f\u2028'), '"\\u0000\\u001f\\b\\t\\n\\f\\r\\"\\\\/\u007f\u2028"');
  });
  await checks.run("strict JSON is read", () => {
    const read = parseStrictly(' {"a" : [ -0 , -12,true,null, false,"\\u00e9\\ud83d\\udca9\\n" ], "__proto__":{}} ');
    same(Object.is(read.a[0], 0), true, "zero");
    same(read.a, [0, -12, true, null, false, "é\u{1f4a9}\n"], "list");
    same(Object.keys(read), ["a", "__proto__"], "names");
    same(parseStrictly("[]"), [], "empty list");
  });
  await checks.run("anything else is refused", async () => {
    const deep = "[".repeat(100_000);
    const texts = ["", "{", "[1,]", '{"a":1,}', '{"a"}', "{a:1}", "'a'", "[1 2]", "01", "-", "+1"];
    texts.push("1.0", "1e2", "1E+2", "NaN", "Infinity", "-Infinity", "nul", "nulll", '"\\x"', '"\u0001"');
    texts.push('"a', '"\\', "[1]]", "\ufeff[1]", '{"a":1,"a":1}');
    texts.push('{"a":1,"\\u0061":1}', '{"__proto__":1,"__proto__":2}', '"\\ud800"', '"\\udca9\\ud83d"');
    texts.push("9007199254740992", "-9007199254740992", deep, `${deep}${"]".repeat(100_000)}`, "\u00a01", "1\u3000");
    for (const each of texts) {
      same((await failing(() => parseStrictly(each))).name, "TaskError", JSON.stringify(each.slice(0, 40)));
    }
  });
  await checks.run("spaces are those of Python", () => {
    same(["", " \t\n\v\f\r\x1c\x1f\x85\xa0\u2000\u200a\u2028\u3000"].map(isBlank), [true, true], "spaces");
    same(["a", "\ufeff", "\u200b", " . "].map(isBlank), [false, false, false, false], "no spaces");
  });
  await checks.run("every answer has a place", () => checkPlaces());
  await checks.run("every message has a meaning", () => checkMeanings(load));
  await checks.run("text, bytes and what was read before", () => checkSources(load));
  await checks.run("errors say what they are", () => {
    const errors = [new TaskError("a"), new RefusedError("b", "closed"), new UnreachableError("c")];
    same(errors.map((error) => `${error}`), ["TaskError: a", "RefusedError: b", "UnreachableError: c"]);
    same([errors[1].reason, errors[2].reason], ["closed", null], "reasons");
    same([...errors, new ParameterError("d")].every((error) => error instanceof ShuffledpError), true, "kind");
  });
  return checks.results;
}

function checkPlaces() {
  const hostile = {
    toString() {
      throw new Error("no text");
    },
  };
  const listed = new Places(["5", "constructor", "true"]);
  const asked = ["5", 5, 5n, "constructor", true, "__proto__", Symbol("5"), {}, hostile, () => 5, null, undefined, ""];
  same(asked.map((answer) => listed.placeOf(answer)), [0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 4, 4, 4], "of a list");
  const range = new Places({ start: -2, stop: 3 });
  const numbers = [-2, "-2", 2, 2n, -0, "-0", 3, -3, 1.5, Number.NaN, Infinity, true, "1.0", "+1", "\uff10"];
  numbers.push(hostile, [1], "", null);
  const places = [0, 0, 4, 4, 2, 2, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6];
  same(numbers.map((answer) => range.placeOf(answer)), places, "of a range");
  same([0, 4, 5, 6].map((place) => range.labelOf(place)), ["-2", "2", "(other)", "(none)"], "labels");
  const wide = new Places({ start: 2 ** 53 - 10, stop: 2 ** 53 - 1 });
  const far = ["9007199254740990", "9007199254740991", "9007199254740993"];
  same(far.map((answer) => wide.placeOf(answer)), [8, 9, 9], "of numbers near 2^53");
}

async function checkMeanings(load) {
  const read = async (name) => readTask(JSON.stringify(await load(`tasks/${name}.json`)));
  const none = (less) => ({ label: "(none)", less });
  const hist = await read("hist");
  const single = [0, hist.values - 1, hist.nothing].map((message) => hist.meaningOf(message));
  same(single, [{ label: hist.labelOf(0), less: false }, none(false), null], "of one kind");
  const sparse = await read("sparse-best");
  const double = [2, 3, sparse.alphabet - 1, sparse.nothing].map((message) => sparse.meaningOf(message));
  const label = sparse.labelOf(1);
  same(double, [{ label, less: false }, { label, less: true }, none(true), null], "of two kinds");
  const unpadded = await read("dummy-poisson");
  same(unpadded.meaningOf(unpadded.values - 1), none(false), "without padding");
}

async function checkSources(load) {
  const plain = JSON.stringify(await load("tasks/hist.json"));
  const bytes = new TextEncoder().encode(plain);
  const tasks = [await readTask(plain), await readTask(bytes), await readTask(bytes.buffer)];
  same(new Set(tasks.map((task) => task.name)).size, 1, "id");
  same((await readTask(tasks[0])) === tasks[0] && tasks[0] instanceof Task, true, "a task stays itself");
  const broken = [plain.replace("yes", "\ud800"), bytes.with(bytes.indexOf(121), 0xff), "", " \n", `\ufeff${plain}`];
  for (const source of [...broken, new Uint8Array(64 * 2 ** 20 + 1).fill(32), "[]", "null", '"a"']) {
    same((await failing(() => readTask(source))).name, "TaskError", "error");
  }
  const { opens, closes, guarantee, claim } = tasks[0];
  same([opens.toISOString(), closes.toISOString()], ["2027-01-01T00:00:00.000Z", "2027-02-01T00:00:00.000Z"], "times");
  same([guarantee, claim], [{ epsilon: 1, delta: 1e-6 }, { epsilon: "1", delta: "1e-6" }], "guarantee");
  const { probability } = tasks[0].law;
  same(probability, { numerator: 2702969343490709n, power: 53, value: 2702969343490709 / 2 ** 53 }, "law");
}
