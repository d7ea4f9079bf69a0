// Totals of many answers, for comparisons that other programs make. Reads JSON, a list of totals as in
// vectors/budgets.json; writes what is computed for each, and the milliseconds that it took.
import { computed } from "./budgets.js";

let text = "";
for await (const part of process.stdin) text += part;
const found = JSON.parse(text).map((vector) => {
  const start = performance.now();
  const values = computed(vector);
  return { ...values, milliseconds: performance.now() - start };
});
process.stdout.write(JSON.stringify(found));
