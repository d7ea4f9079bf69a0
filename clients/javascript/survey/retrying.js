// Retries with growing pauses while the page is open, and at once when the device is online again.
import { t } from "./words.js";

/** Milliseconds: a short failure, such as a change of networks, is over by then. */
const FIRST_PAUSE = 2_000;

/** A server that comes back is found within about a minute, and is not kept busy until then. */
const LONGEST_PAUSE = 60_000;

/** Pauses are randomized between 0.75 and 1.25 of their length, so that clients do not come back all at once. */
const [SHORTEST_SHARE, SPREAD] = [0.75, 0.5];

export class Retrying {
  /**
   * @param {() => Promise<void>} act
   * @param {(when: string) => void} tell gets the time of the next try as text
   */
  constructor(act, tell) {
    this.act = act;
    this.tell = tell;
    this.pause = FIRST_PAUSE;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** Tries once more after a pause, longer each time; returns the pause as text. */
  later() {
    clearTimeout(this.timer);
    const pause = this.pause * (SHORTEST_SHARE + SPREAD * Math.random());
    this.pause = Math.min(2 * this.pause, LONGEST_PAUSE);
    this.timer = setTimeout(() => this.now(), pause);
    return t("next_try", { number: Math.ceil(pause / 1000) });
  }

  /** Tries at once, if a retry is pending. */
  now() {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.tell(t("trying"));
    this.act();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.pause = FIRST_PAUSE;
  }
}
