// Checks on this device what the page of a round says about all rounds of its series together.
import { allowed, checkPinned } from "../src/checking.js";
import { BrokenPromiseError } from "../src/errors.js";
import { SECONDS, fetchTask } from "../src/sending.js";
import { readSeries } from "../src/series.js";
import { t } from "./words.js";

/** @typedef {import("../src/promise.js").CheckedPromise & {rounds: number}} CheckedRounds */

/**
 * Returns the promise for all rounds together. Refuses a series file of which the task is
 * no round, a total that the noise does not give, and a page with other figures than the file.
 * @param {HTMLElement} main
 * @param {import("../src/task.js").Task} task
 * @returns {Promise<CheckedRounds>}
 */
export async function checkRounds({ dataset }, task) {
  const series = await readSeries(await fetchTask(new URL(`/v1/series/${dataset.series}`, location.href), SECONDS));
  checkPinned(series, task.series?.id ?? dataset.series);
  await series.checkRound(task);
  const total = allowed(series, undefined);
  const says = [dataset.series, dataset.round, dataset.rounds, dataset.totalStrength];
  const figures = [Number(dataset.totalEpsilon), Number(dataset.totalDelta)];
  const same = says.join() === [series.name, task.series?.round, series.rounds, total.strength].join();
  if (!same || figures.join() !== [total.epsilon, total.delta].join()) {
    throw new BrokenPromiseError(t("other_rounds"));
  }
  return { ...total, rounds: series.rounds };
}
