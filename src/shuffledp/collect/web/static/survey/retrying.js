// Trying again with growing pauses while the page is open; at once when the device is online again.

/** Milliseconds: what fails for a moment, such as a change of networks, is over by then. */
const FIRST_PAUSE = 2_000;

/** A server that was away is found within about a minute, and is not kept busy by those who wait for it. */
const LONGEST_PAUSE = 60_000;

/** Pauses are drawn from three to five quarters of their length, so that not everybody comes back at once. */
const [SHORTEST_SHARE, SPREAD] = [0.75, 0.5];

export class Retrying {
  /**
   * @param {() => Promise<void>} act
   * @param {(when: string) => void} tell in words when it is tried next
   */
  constructor(act, tell) {
    this.act = act;
    this.tell = tell;
    this.pause = FIRST_PAUSE;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** Tries once more after a pause, longer each time; gives it in words. */
  later() {
    clearTimeout(this.timer);
    const pause = this.pause * (SHORTEST_SHARE + SPREAD * Math.random());
    this.pause = Math.min(2 * this.pause, LONGEST_PAUSE);
    this.timer = setTimeout(() => this.now(), pause);
    return `next in about ${Math.ceil(pause / 1000)} seconds`;
  }

  /** Tries at once, if it was to be tried later. */
  now() {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.tell("trying now");
    this.act();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.pause = FIRST_PAUSE;
  }
}
