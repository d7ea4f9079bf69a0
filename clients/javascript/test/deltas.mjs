// What is computed of tasks, for comparisons that other programs make. Reads JSON, a list of promises as in
// vectors/promises.json with `epsilons` and `most_messages`; writes what is found of each. With `at_most`, which may be
// null, the promise is checked as well.
import { curveOf } from "../src/curve/curve.js";
import { chanceOfMore } from "../src/curve/most_messages.js";
import { asked, judged } from "./promise.js";

let text = "";
for await (const part of process.stdin) text += part;
const found = JSON.parse(text).map((vector) => {
  const task = asked(vector, vector);
  if (vector.at_most !== undefined) return judged(task, vector.at_most);
  const curve = curveOf(task);
  return { exact: curve.exact, deltas: vector.epsilons.map(curve.delta), chance: chanceOfMore(task) };
});
process.stdout.write(JSON.stringify(found));
