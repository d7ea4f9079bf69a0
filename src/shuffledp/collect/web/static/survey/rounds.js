// Checks on this device what the page of a round says about all rounds of its series together.
import { allowed, checkPinned } from "/client/src/checking.js";
import { BrokenPromiseError } from "/client/src/errors.js";
import { SECONDS, fetchTask } from "/client/src/sending.js";
import { readSeries } from "/client/src/series.js";

/** @typedef {import("/client/src/promise.js").CheckedPromise & {rounds: number}} CheckedRounds */

/**
 * Returns the promise for all rounds together; null if the page makes none. Refuses a series file of which the task is
 * no round, a total that the noise does not give, and a page with other figures than the file.
 * @param {HTMLElement} main
 * @param {import("/client/src/task.js").Task} task
 * @returns {Promise<CheckedRounds | null>}
 */
export async function checkRounds({ dataset }, task) {
  if (dataset.series === undefined) return null;
  const series = await readSeries(await fetchTask(new URL(`/v1/series/${dataset.series}`, location.href), SECONDS));
  checkPinned(series, task.series?.id ?? dataset.series);
  await series.checkRound(task);
  const total = allowed(series, undefined);
  const says = [dataset.series, dataset.round, dataset.rounds, dataset.totalStrength];
  const figures = [Number(dataset.totalEpsilon), Number(dataset.totalDelta)];
  const same = says.join() === [series.name, task.series?.round, series.rounds, total.strength].join();
  if (!same || figures.join() !== [total.epsilon, total.delta].join()) {
    throw new BrokenPromiseError("this page says other figures about all rounds than the series itself");
  }
  return { ...total, rounds: series.rounds };
}
