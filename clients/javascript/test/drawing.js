// Draws are exact: with bytes that are given, every outcome is the one that its definition says.
import { ClusterSampler } from "../src/cluster_sampler.js";
import { readNumber } from "../src/exact.js";
import { RandomBytes, SYSTEM, below, coinDigits, heads, randomBytes, shuffled } from "../src/randomness.js";
import { messagesOf } from "../src/randomizer.js";
import { readTask } from "../src/task.js";
import { Weighted } from "../src/weighted.js";
import { Checks, failing, given, same } from "./checking.js";

/** All of them. */
export async function check(load) {
  const checks = new Checks();
  await checks.run("randomness comes from crypto.getRandomValues alone", () => checkSource(load));
  await checks.run("bytes are handed out once", checkBytes);
  await checks.run("numbers below a limit are uniform", checkBelow);
  await checks.run("orders are uniform", checkOrders);
  await checks.run("coins", checkCoins);
  await checks.run("weights", checkWeights);
  await checks.run("weights whose thresholds are drawn", checkTies);
  await checks.run("weights against their definition", checkManyWeights);
  await checks.run("clusters", checkClusters);
  await checks.run("limits, places and padding", () => checkMessages(load));
  return checks.results;
}

/** Fills bytes with 0, 1, 2, ... */
function counting(bytes) {
  return bytes.map((_, at) => (bytes[at] = at % 256));
}

async function checkSource(load) {
  const task = await readTask(JSON.stringify(await load("tasks/sparse-best.json")));
  const [random, values] = [Math.random, crypto.getRandomValues];
  try {
    Math.random = () => {
      throw new Error("this is no randomness for people's data");
    };
    crypto.getRandomValues = counting;
    randomBytes(SYSTEM.block.length - SYSTEM.at); // what was drawn before
    const expected = new RandomBytes({ fill: (bytes) => void counting(bytes) });
    same(randomBytes(5000), randomBytes(5000, expected), "bytes");
    same(messagesOf(task, 2), messagesOf(task, 2, expected), "messages");
  } finally {
    Math.random = random;
    delete crypto.getRandomValues;
    same(crypto.getRandomValues, values, "the browser's own");
    randomBytes(SYSTEM.block.length - SYSTEM.at); // nothing of that is left
  }
  same(new Set(randomBytes(4000)).size > 200, true, "many different bytes");
}

function checkBytes() {
  let calls = 0;
  const counted = new RandomBytes({ fill: (block) => block.forEach((_, at) => (block[at] = (at + calls++) % 251)) });
  const drawn = randomBytes(10_000, counted);
  let expected = 0;
  for (const [at, byte] of drawn.entries()) same(byte, ((at % counted.block.length) + expected++) % 251, `byte ${at}`);
  same(counted.block.slice(0, counted.at).every((byte) => byte === 0), true, "bytes that were used are forgotten");
  same(given(1, 2, 3).number(3), 0x010203, "number of three bytes");
  same(given(255, 255, 255, 255, 255, 255).number(6), 2 ** 48 - 1, "number of six bytes");
}

function checkBelow() {
  for (const limit of [1, 2, 3, 5, 128, 129, 200, 255, 256]) {
    const times = new Map();
    for (let byte = 0; byte < 256; byte++) {
      const random = given(byte, 255, 255);
      const drawn = below(limit, random);
      if (random.at === 1) times.set(drawn, (times.get(drawn) ?? 0) + 1);
    }
    const range = 2 ** Math.ceil(Math.log2(limit));
    if (limit > 1) same([...times.keys()].sort((one, other) => one - other), [...Array(limit).keys()], "values");
    same([...new Set(times.values())], limit > 1 ? [256 / range] : [], `times of each value below ${limit}`);
  }
  same(below(300, given(1, 44, 1, 43)), 299, "of two bytes, after one that is too large");
  same(below(2 ** 33, given(255, 1, 2, 3, 4)), 2 ** 32 + 0x01020304, "of five bytes");
}

function checkOrders() {
  const times = new Map();
  for (let first = 0; first < 3; first++) {
    for (let second = 0; second < 2; second++) {
      const order = shuffled([0, 1, 2], given(first, second)).join("");
      times.set(order, (times.get(order) ?? 0) + 1);
    }
  }
  same([...times.keys()].sort(), ["012", "021", "102", "120", "201", "210"], "orders");
  same([...new Set(times.values())], [1], "times");
}

function checkCoins() {
  const half = coinDigits(readNumber("1/2^1", "p"));
  same([127, 128].map((byte) => heads(half, given(byte, 0, 0))), [true, false], "a fair coin");
  const digits = coinDigits(readNumber("2702969343490709/2^53", "p"));
  same(digits.reduce((sum, digit) => sum * 256n + BigInt(digit), 0n), 2702969343490709n << 3n, "digits");
  const bytes = [...digits];
  same(heads(digits, given(...bytes)), false, "the numerator itself");
  same(heads(digits, given(...bytes.with(6, bytes[6] - 1))), true, "one below the numerator");
  same(heads(digits, given(...bytes.with(6, bytes[6] + 1))), false, "one above the numerator");
  same(heads(digits, given(...bytes.with(3, bytes[3] - 1).with(6, 255))), true, "below it, later digits larger");
  same(heads(digits, given(...bytes.with(3, bytes[3] + 1).with(6, 0))), false, "above it, later digits smaller");
  const rare = coinDigits(readNumber("1/2^53", "p"));
  same([7, 8].map((byte) => heads(rare, given(0, 0, 0, 0, 0, 0, byte))), [true, false], "the rarest coin");
}

/** One number in six bytes. */
const sixBytes = (number) => Array.from({ length: 6 }, (_, at) => Math.floor(number / 256 ** (5 - at)) % 256);

function checkWeights() {
  const quarters = new Weighted([1n, 0n, 2n, 1n]);
  const [one, three] = [2 ** 46, 3 * 2 ** 46];
  const numbers = [0, one - 1, one, three - 1, three, 2 ** 48 - 1];
  const drawn = numbers.map((number) => quarters.draw(given(...sixBytes(number))));
  same(drawn, [0, 0, 2, 2, 3, 3], "of quarters, one of them without weight");
  same(new Weighted([5n]).draw(given(1, 2, 3)), 0, "of one weight");
}

function checkTies() {
  const thirds = new Weighted([1n, 2n]); // 1/3 is 0.010101... in binary: bytes of 85
  const draw = (...bytes) => thirds.draw(given(85, 85, 85, 85, 85, 85, ...bytes));
  same([draw(84), draw(85, 84), draw(85, 85, 85, 0)], [0, 0, 0], "below a third");
  same([draw(86), draw(85, 86), draw(85, 85, 85, 255)], [1, 1, 1], "above a third");
  const close = new Weighted([2n ** 99n, 1n, 1n, 2n ** 99n]); // three thresholds within the same first digits
  const near = (...bytes) => close.draw(given(...bytes));
  const zeros = Array(12).fill(0);
  same(near(127, 255, 255, 255, 255, 255, ...Array(12).fill(255)), 1, "just below a half");
  same(near(128, ...zeros.slice(7), ...zeros), 2, "a half, and nothing more");
  same(near(128, 0, 0, 0, 0, 1), 3, "above");
  same(near(127, 255, 255, 255, 255, 255, 0), 0, "below");
}

function checkManyWeights() {
  for (let table = 0; table < 50; table++) {
    const bytes = randomBytes(40);
    const powers = [...bytes.slice(0, 8)].map((byte, at) => BigInt(bytes[8 + at]) ** BigInt(byte % 17));
    const weights = powers.map((power, at) => BigInt(bytes[16 + at] % 3) * power);
    weights.push(1n);
    const total = weights.reduce((sum, weight) => sum + weight, 0n);
    for (let draw = 0; draw < 20; draw++) {
      const digits = [...randomBytes(6), ...Array(24).fill(draw % 2 ? 255 : 0)];
      const uniform = digits.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
      let [expected, sum] = [0, weights[0]];
      while (sum << 240n <= uniform * total) sum += weights[(expected += 1)];
      same(new Weighted(weights).draw(given(...digits)), expected, "value");
    }
  }
}

function checkClusters() {
  const law = { rate: readNumber("250", "rate"), sizeWeights: [2 ** 39, 0, 2 ** 39] };
  const clusters = new ClusterSampler(law, 10, 10);
  same(clusters.parts, 3, "parts of a mean of 250");
  same(new ClusterSampler({ ...law, rate: readNumber("100", "rate") }, 10, 10).parts, 1, "parts of a mean of 100");
  const few = new ClusterSampler({ rate: readNumber("1/2^1", "rate"), sizeWeights: law.sizeWeights }, 2, 2);
  const zero = few.number.leading[0]; // P(0) in units of 2^-48
  same(Math.abs(zero / 2 ** 48 - Math.exp(-0.5)) < 1e-12, true, "chance of no cluster");
  same(few.draw(9, given(...sixBytes(zero - 1))), [], "no cluster");
  same(few.draw(9, given(...sixBytes(zero + 1), 1, 0, 0, 0, 0, 0, 0)), [1], "one cluster of one");
  same(few.draw(9, given(...sixBytes(zero + 1), 0, 128, 0, 0, 0, 0, 0)), [0, 0, 0], "one cluster of three");
}

async function checkMessages(load) {
  const plain = await load("tasks/dummy.json");
  const rare = { name: "dummy", parameters: { dummy_probability: "1/2^53" } };
  const read = (changed) => readTask(JSON.stringify({ ...plain, ...changed }));
  const alone = await read({ protocol: rare, most_messages: 3 });
  const messages = messagesOf(alone, 4);
  same(messages.toSorted((one, other) => one - other), [4, 5, 5], "one's own and padding");
  for (const place of [-1, 5, 0.5, Number.NaN, "0", null]) {
    same((await failing(() => messagesOf(alone, place))).name, "ParameterError", "no place");
  }
  const often = { name: "hist", parameters: { missing_probability: "1/2^53" } };
  const never = await read({ protocol: often, most_messages: 2 });
  const error = await failing(() => messagesOf(never, 0));
  same(error.message.includes("the task was not checked"), true, "a limit that everybody exceeds");
}
