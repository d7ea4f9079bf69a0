// Hashed messages and free text: every number and every message is the one that its definition says.
import { ClusterSampler } from "../src/cluster_sampler.js";
import { HashFamily } from "../src/hash_family.js";
import { hashedMessages } from "../src/hashed_messages.js";
import { messagesOf } from "../src/randomizer.js";
import { belowLarge } from "../src/randomness.js";
import { readNumber } from "../src/exact.js";
import { readTask } from "../src/task.js";
import { TextCode } from "../src/text_code.js";
import { Checks, failing, given, same } from "./checking.js";

/** All of them. */
export async function check(load) {
  const checks = new Checks();
  await checks.run("numbers below a large limit are uniform", checkBelow);
  await checks.run("two values share a bucket with probability 1 / buckets", checkCollisions);
  await checks.run("seeds are expanded with SplitMix64", checkExpanded);
  await checks.run("messages have a level, a seed and a bucket", checkParts);
  await checks.run("messages of given randomness", checkMessages);
  await checks.run("texts are normalised", checkNormalised);
  await checks.run("texts are cut into the longest pieces", checkPaths);
  await checks.run("values of texts", checkValues);
  await checks.run("codes that cannot be used are refused", checkCodes);
  await checks.run("tasks with texts", () => checkTasks(load));
  return checks.results;
}

function checkBelow() {
  for (const limit of [2n, 3n, 129n, 200n, 256n]) {
    const times = new Map();
    for (let byte = 0; byte < 256; byte++) {
      const random = given(byte, 255, 255);
      const drawn = belowLarge(limit, random);
      if (random.at === 1) times.set(drawn, (times.get(drawn) ?? 0) + 1);
    }
    const range = 2 ** Math.ceil(Math.log2(Number(limit)));
    same(times.size, Number(limit), `values below ${limit}`);
    same([...new Set(times.values())], [256 / range], `times of each value below ${limit}`);
  }
  same(belowLarge(257n, given(1, 1, 1, 0)), 256n, "after one that is too large");
  same(belowLarge(257n, given(2, 5)), 5n, "digits that are too many are not looked at");
  const bytes = [0x3f, 255, 255, 255, 255, 255, 255, 255];
  same(belowLarge(1n << 62n, given(...bytes)), (1n << 62n) - 1n, "the largest number of 62 digits");
  same(belowLarge((1n << 62n) - 1n, given(...bytes, 0, 0, 0, 0, 0, 0, 0, 9)), 9n, "the limit itself is not below it");
}

/** By enumeration of all seeds, over all pairs of values. */
function checkCollisions() {
  for (const [modulus, values, pieces] of [[3, 9, 3], [3, 20, 3], [5, 24, 4], [2, 8, 2]]) {
    const family = new HashFamily({ modulus, values: BigInt(values), pieces });
    same(family.expanded, false, "all coefficients are seeds");
    const tables = Array.from({ length: Number(family.seeds) }, (_, seed) =>
      Array.from({ length: values }, (_, value) => family.bucket(BigInt(seed), BigInt(value))),
    );
    for (let one = 0; one < values; one++) {
      for (let other = 0; other < one; other++) {
        const shared = tables.filter((table) => table[one] === table[other]).length;
        same(shared * modulus, tables.length, `collisions of ${one} and ${other}`);
      }
    }
  }
}

function checkExpanded() {
  const family = new HashFamily({ modulus: 16_777_213, values: 700n << 48n, pieces: 700, levels: 4 });
  same([family.expanded, family.seeds, family.digits], [true, 1n << 36n, 4], "sizes");
  // the first numbers of that generator from the seed 0, as it is published
  same(family.bucket(0n, 1n), Number(0xe220a8397b1dcdafn % 16_777_213n), "the first coefficient");
  const parent = 5n * 700n; // has the digit 5 and no piece
  const second = family.bucket(0n, parent);
  same(second, Number((5n * (mixedOf(1n) % 16_777_213n)) % 16_777_213n), "the second coefficient");
  same(family.bucket(0n, parent + 3n), (second + 3 * family.bucket(0n, 1n)) % 16_777_213, "linear");
  same(family.bucket((1n << 36n) - 1n, 1n), Number(mixedOf(((1n << 36n) - 1n) * 64n) % 16_777_213n), "the last seed");
}

/** SplitMix64 again, as its authors write it, with a state that grows. */
function mixedOf(state) {
  const mask = (1n << 64n) - 1n;
  let z = (state + 0x9e3779b97f4a7c15n) & mask;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
  return z ^ (z >> 31n);
}

function checkParts() {
  const family = new HashFamily({ modulus: 67, values: 29n << 48n, pieces: 29, levels: 16 });
  same(family.expanded, true, "16 levels are too many for all coefficients");
  same(new HashFamily({ modulus: 67, values: 29n << 48n, pieces: 29 }).seeds, 67n ** 9n, "one level is not");
  const last = { level: 15, seed: family.seeds - 1n, bucket: 66 };
  same(family.message(last), family.messages - 1n, "the last message");
  for (const parts of [last, { level: 0, seed: 0n, bucket: 66 }, { level: 7, seed: 12_345_678_901n, bucket: 0 }]) {
    same(family.parts(family.message(parts)), parts, "parts");
  }
  const { message } = new HashFamily({ modulus: 7, values: 40n, levels: 3 });
  same(message.call({ seeds: 10n, modulus: 7 }, { level: 2, seed: 4n, bucket: 5 }), 173n, "(2 10 + 4) 7 + 5");
}

/** One's own messages under a fresh seed each, then dummies anywhere. */
function checkMessages() {
  const family = new HashFamily({ modulus: 5, values: 20n, levels: 2 });
  same([family.seeds, family.messages], [25n, 250n], "sizes");
  const law = { rate: readNumber("1/2^1", "rate"), sizeWeights: [2 ** 40] };
  const randomizer = hashedMessages(family, law, 5); // a mean of 1
  const values = [7n, 13n];
  const own = (level, seed, value) => {
    const [first, second] = [seed % 5, Math.floor(seed / 5)];
    return BigInt((level * 25 + seed) * 5 + ((first * (value % 5) + second * Math.floor(value / 5)) % 5));
  };
  const none = [0, 0, 0, 0, 0, 0];
  for (let seed = 0; seed < 25; seed++) {
    const drawn = randomizer(values, 9, given(31, seed, 24 - seed, ...none)); // 31 is no seed
    same(drawn, [own(0, seed, 7), own(1, 24 - seed, 13)], "own messages");
  }
  const { leading } = new ClusterSampler(law, 10, 5).number;
  const eight = Array.from({ length: 6 }, (_, at) => Math.floor((leading[7] + 1) / 256 ** (5 - at)) % 256);
  const drawn = randomizer(values, 6, given(1, 2, ...eight, 251, 249, 0, 100, 100, 7, 8));
  same(drawn.slice(2, 5), [249n, 0n, 100n], "dummies");
  same(drawn.length, 7, "one more than there may be, and no more work");
  same(hashedMessages(new HashFamily({ modulus: 5, values: 20n }), law, 5)([7n], 9, given(3, ...none)), [own(0, 3, 7)]);
}

const ALPHABET = { kind: "alphabet", characters: "abc", width: 2 };
const code = (more) => new TextCode({ levels: 3, longest: 8, pieces: ALPHABET, normalisation: [], ...more });

function checkNormalised() {
  const every = code({ normalisation: ["trim", "lower", "query", "slash"] });
  const texts = {
    " \u00a0\u3000Ab \t": "ab",
    "E\u0301": "é",
    "\u00c4?q=1#x": "ä",
    "a#b?c": "a",
    "x.y//": "x.y",
    "x/?": "x",
    "\u039f\u03a3": "\u03bf\u03c2",
    "\u0130": "i\u0307",
    "\ufeffa\u200b": "\ufeffa\u200b",
    "\x1fa": "\x1fa",
    "/": "",
  };
  for (const [text, expected] of Object.entries(texts)) same(every.normalised(text), expected, JSON.stringify(text));
  same(code({}).normalised(" A/?\u212b "), " A/?\u00c5 ", "NFC alone");
  const hostile = {
    toString() {
      throw new Error("no text");
    },
  };
  const answers = [null, undefined, "", 12, "\ud800", hostile, Symbol("a"), Object.create(null)];
  const expected = ["", "", "", "12", null, null, "symbol(a)", null];
  same(answers.map((answer) => every.normalised(answer)), expected, "no texts");
}

function checkPaths() {
  const paths = { abc: [7, 5, 0], ca: [12, 0, 0], bcabca: [11, 7, 12], "": [2, 0, 0] };
  Object.assign(paths, { abcabca: [1, 0, 0], abd: [1, 0, 0] });
  for (const [text, path] of Object.entries(paths)) same(code({}).path(text), path, text);
  same(code({}).whyOther("abcabca"), "not-in-code", "too many pieces");
  same(code({}).whyOther("abcabcabc"), "too-long", "nine bytes");
  same([null, "abc"].map((answer) => code({}).whyOther(answer)), [null, null], "not other");
  same(code({}).whyOther("\udc00"), "not-unicode", "half a character");
  const pieces = { kind: "list", values: ["a", "\u{1f4a9}\u{1f4a9}", "\u{1f4a9}", "aab", "é"] };
  const listed = code({ pieces, longest: 12 });
  same(listed.path("aa\u{1f4a9}"), [3, 3, 5], "greedy, in code points");
  same(listed.path("\u{1f4a9}\u{1f4a9}\u{1f4a9}"), [4, 5, 0], "two characters beyond 2^16");
  same(listed.whyOther("\u{1f4a9}\u{1f4a9}\u{1f4a9}a"), "too-long", "13 bytes of UTF-8");
  same(listed.path("aabe\u0301"), [6, 7, 0], "a piece of three characters");
  same(code({ levels: 1 }).path("ab"), [7], "one level");
}

async function checkValues() {
  const texts = code({ pieces: { kind: "alphabet", characters: "abcdefghijklmnopqrstuvwxyz", width: 2 } });
  same([texts.symbols, texts.values], [705, 705n << 48n], "sizes");
  // SHA-256 of 001e and of 001e0003 (ab, a): printf '\x00\x1e' | sha256sum
  same(await texts.valuesOf("aba"), [30n, 0xb3fe2f9bd535n * 705n + 3n, 0x22ad34bce98en * 705n], "of aba");
  same(await texts.valuesOf("A"), [1n, 0xb413f47d13een * 705n, 0xbf5e8ffa51a9n * 705n], "of (other)");
}

async function checkCodes() {
  const right = { kind: "text", levels: 3, longest: 8, pieces: ALPHABET, normalisation: ["trim", "lower"] };
  new TextCode(right);
  new TextCode({ ...right, pieces: { kind: "list", values: ["a b", "ß", "\u{1f4a9}"] } });
  const characters = (text, width = 1) => ({ pieces: { kind: "alphabet", characters: text, width } });
  const values = (...listed) => ({ pieces: { kind: "list", values: listed } });
  const many = Array.from({ length: 2 ** 14 - 2 }, (_, at) => String(at));
  new TextCode({ ...right, ...values(...many.slice(1)) });
  const wrong = [{ levels: 0 }, { levels: 65 }, { longest: 0 }, { longest: 257 }];
  wrong.push(characters("abc", 0), characters("a", 5));
  wrong.push(characters("aba"), characters("A"), characters(""), characters("a\n"), values("e\u0301"), values());
  wrong.push(values(""), values("a", "a"), values("Ab"), values("\u2028"), values("\u200b"), values("\ue000"));
  wrong.push(values(...many), characters("abcdefghijklm", 4), { normalisation: ["lower", "trim"] });
  wrong.push({ normalisation: ["trim", "trim"] }, values("\u00a0"));
  for (const change of wrong) {
    const error = await failing(() => new TextCode({ ...right, ...change }));
    same(error.name, "TaskError", JSON.stringify(change).slice(0, 60));
    same(error.message.startsWith("the code of the answers cannot be used: "), true, error.message);
  }
  new TextCode({ ...right, ...values("Ab"), normalisation: ["trim"] });
}

async function checkTasks(load) {
  const plain = await load("tasks/dummy-poisson.json");
  const answers = { kind: "text", levels: 3, longest: 8, pieces: ALPHABET, normalisation: ["trim", "lower"] };
  const dummies = { rate: "100", size_weights: [2 ** 40] };
  const protocol = { name: "hashed", parameters: { buckets: 17, dummies } };
  const read = (changed) => readTask(JSON.stringify({ ...plain, answers, protocol, ...changed }));
  const task = await read({});
  same([task.levels, task.values, task.family.modulus], [3, 15 * 2 ** 48, 17], "sizes");
  same([task.padded, task.hasAnswers, typeof task.alphabet], [false, true, "bigint"], "kinds");
  same([" AB", "x", null].map((answer) => task.normalised(answer)), ["ab", "x", ""], "normalised");
  same([" AB", "x", null].map((answer) => task.countsAsOther(answer)), [false, true, false], "(other)");
  for (const work of [() => task.placeOf("a"), () => task.labelOf(0), () => task.meaningOf(5n)]) {
    same((await failing(work)).name, "ParameterError", "no places");
  }
  const values = await task.valuesOf("abc");
  const messages = messagesOf(task, values);
  const fits = (message) => {
    const { level, seed, bucket } = task.hashOf(message);
    return task.family.bucket(seed, values[level]) === bucket && level;
  };
  same([0, 1, 2].map((level) => messages.some((message) => fits(message) === level)), [true, true, true], "own");
  const [, ...two] = values;
  for (const wrong of [0, [], two, [...two, -1n], [...two, 15n << 48n], [0, 0, 0]]) {
    same((await failing(() => messagesOf(task, wrong))).name, "ParameterError", "no values");
  }
  const listed = await read({ answers: plain.answers });
  same([listed.levels, listed.code, listed.countsAsOther("x")], [1, null, true], "a listed one");
  same([listed.hashOf(messagesOf(listed, 0)[0]).level, listed.normalised(" A")], [0, " A"], "its messages");
  const hist = await readTask(JSON.stringify(await load("tasks/hist.json")));
  same([hist.hashOf(0), hist.family], [null, null], "not hashed");
  same([hist.whyOther("x"), hist.whyOther(null)], ["not-listed", null], "why (other)");
  const primes = [0, 1, 15, 16, 16_777_259, "17", 17.5, null, [17]];
  for (const buckets of primes) {
    const error = await failing(() => read({ protocol: { name: "hashed", parameters: { buckets, dummies } } }));
    same(error.name, "TaskError", `${buckets}`);
    same(buckets === 17.5 || error.message.includes("must be a prime"), true, error.message);
  }
  const few = { name: "hashed", parameters: { buckets: 13, dummies } };
  same((await failing(() => read({ protocol: few }))).message.includes("number of buckets 13"), true, "few buckets");
  const other = (await failing(() => read({ protocol: plain.protocol }))).message;
  same(other.includes("must be hashed, got dummy-poisson"), true, other);
  const large = { name: "hashed", parameters: { buckets: 16_777_213, dummies } };
  const widest = await read({ protocol: large, answers: { ...answers, levels: 4 } });
  same([widest.alphabet, widest.symbolBytes], [4n * 2n ** 36n * 16_777_213n, 8], "the widest messages");
  const wider = await failing(() => read({ protocol: large, answers: { ...answers, levels: 5 } }));
  same(wider.message.includes("at most 2^62"), true, wider.message);
}
