/**
 * Answers a task of shuffledp for one person, on their own device.
 *
 *     const client = await Client.open(text, { pin });
 *     await client.send("dark");
 */

/** The epsilon and delta that a person allows who says nothing else: 10 and 0.01. */
export declare const AT_MOST: readonly [number, number];

/** How a person answers. */
export interface Options {
  /**
   * The id that the task or series must have, as 64 hexadecimal digits. Required where it is fetched from an address.
   */
  pin?: string;
  /** The epsilon and delta that this person allows, for a series those of all rounds; `AT_MOST` unless given. */
  atMost?: readonly [number, number];
  /**
   * Where reports are kept, so that each task is answered once: in browsers the database of the page's origin, in Node
   * the folder that the client in Python uses. In Node it may be the name of a folder.
   */
  journal?: Journal | string;
  /** The secret or the one-time token, for tasks that ask for it; null if `client.admit` gives it later. */
  admission?: string | null;
  /** Seconds that a server may take to answer; 30 unless given. */
  timeout?: number;
  /**
   * The epsilon and delta that all answers in the journal together may have. An answer beyond it is refused before it
   * is made. Default: the limit that is stored in the journal, if any.
   */
  budget?: readonly [number, number];
  /** Whether the budget also holds if the noise of a task is chosen after earlier results; less fits then. */
  byResults?: boolean;
}

/** Answers a task for one person, once. */
export declare class Client {
  private constructor();
  /**
   * Checks everything that a person checks before they answer: that it is the task that is pinned, that its parameters
   * keep what it promises and this person allows, that it is open, and that it can be answered. Nothing is sent.
   *
   * @param task a task or a series, the text or bytes of its file, or a URL to fetch it from. The link of an
   *   invitation, `https://host/ask/ID#token=...`, also is the pin and the admission.
   * @throws TaskError where it is no task, or not the one that is pinned
   * @throws BrokenPromiseError where it gives less privacy than it claims, or than is allowed
   * @throws RefusedError, UnreachableError where it is closed, is not open yet or cannot be fetched
   * @throws DataError where the journal, which may hold a limit, cannot be read
   * @throws ParameterError where an option is not one
   */
  static open(task: Task | Series | string | Uint8Array | URL, options?: Options): Promise<Client>;
  /** The task that is answered; of a series, the round that is open. It is another one once the next round opens. */
  readonly task: Task;
  /** The series whose open round is answered; null for a single task. */
  readonly series: Series | null;
  /** The promise, as it was computed here from the task's parameters. */
  readonly promise: CheckedPromise;
  /** Where reports are kept. */
  readonly journal: Journal;
  /** The limit of all answers in the journal together, given or stored, as it was read last; null if there is none. */
  readonly limit: Limit | null;
  /**
   * What this answer uses of the limit, after everything else in the journal; null without a limit.
   *
   * @throws DataError where the privacy of an answer in the journal is unknown
   */
  spending(): Promise<BudgetUse | null>;
  /**
   * Gives the secret or the one-time token that `send` and `sendKept` need, for tasks that ask for it.
   *
   * @throws ParameterError where it is empty, or has signs that none has
   */
  admit(admission: string): void;
  /** What became of this person's report: there is none, it is ready, it was taken, or it was refused for good. */
  state(): Promise<"new" | "ready" | "sent" | "refused">;
  /** Fetches the list of answers where the task keeps it elsewhere, and checks its fingerprint. */
  loadAnswers(): Promise<void>;
  /**
   * Makes the report, enters it in the journal and shows this one time what is inside. Where there is one already, it
   * is handed out, whatever the answer is now, and nobody can see what is inside.
   */
  prepare(value: unknown): Promise<Prepared>;
  /** The report to send, which is durably in the journal before it is handed out. */
  report(value: unknown): Promise<Uint8Array>;
  /**
   * Hands the report to the first shuffler; what failed before is sent again as the same bytes. No answer is null; one
   * that the task does not list is counted as other. Several choices are a list of texts.
   *
   * @throws UnreachableError where nothing is lost and the same call later sends the same bytes
   * @throws RefusedError where that does not help; `reason` says why
   * @throws BudgetError where the answer is over the limit; nothing was made or sent
   * @throws DataError where the journal cannot be used
   */
  send(value: unknown): Promise<Receipt>;
  /** Sends the report that the journal holds, without knowing the answer. */
  sendKept(): Promise<Receipt>;
}

/**
 * The secret or token in the fragment of an invitation link; null where the link has none.
 *
 * @throws ParameterError where it is empty or cut off
 */
export declare function admissionOf(link: string | URL): string | null;

/** What a task promises, and what was computed from its parameters. */
export interface CheckedPromise {
  /** As the task claims. */
  readonly epsilon: number;
  /** As the task claims. */
  readonly delta: number;
  /** The delta that its parameters give at this epsilon. */
  readonly reached: number;
  /** Whether that is exact; otherwise it is an upper bound. */
  readonly exact: boolean;
  /** How well the claim protects one person: strong up to epsilon 1 and delta 1e-5, moderate up to 3 and 1e-3. */
  readonly strength: "strong" | "moderate" | "weak";
}

/** A report that is in the journal, and what is inside, if it was made just now. */
export interface Prepared {
  /** The messages, in the order in which they are sealed; null if the report was made before. */
  messages: Message[] | null;
  /** The sealed report, as it is sent. */
  report: Uint8Array;
  /** The time in it, in seconds since 1970 and whole steps; null if the report was made before. */
  time: number | null;
  /** Whether the report was made before, so that the answer that was given now was not used. */
  madeBefore: boolean;
}

/** The report is with the shuffler, durably: taken now, or already before, when nothing was sent. */
export interface Receipt {
  state: "sent" | "already sent";
  /** Of the report that was sent now. */
  bytes: number;
  milliseconds: number;
  /** Whether the report was made before, so that the answer that was given now was not used. */
  madeBefore: boolean;
  /**
   * The number of seconds by which this device's clock is ahead of the server's, where the server refused the report's
   * time and took the same messages with another time; about 0 if the clock was corrected since, and null otherwise.
   */
  clockAhead: number | null;
}

/** Reads a task; refuses whatever is not exactly as the wire format says. */
export declare function readTask(source: Task | string | Uint8Array | ArrayBuffer): Promise<Task>;

/** The number of a message: a bigint in tasks with hashed messages, which may be larger than 2^53. */
export type Message = number | bigint;

/**
 * Why an answer is counted as (other): it is not listed; it is not a number; or, of a text, it is not Unicode, has too
 * many bytes, or has characters or more pieces than the code allows.
 */
export type WhyOther = "not-listed" | "not-a-number" | "not-unicode" | "too-long" | "not-in-code";

/**
 * The values of one person: the place of a listed answer; the places of choices, with padding bins; the nodes above a
 * number; or the values of a text on all levels.
 */
export type Values = number | number[] | bigint[];

/** The fraction numerator / 2^power, in lowest terms, and the double that it is. */
export interface Dyadic {
  readonly numerator: bigint;
  readonly power: number;
  readonly value: number;
}

/** Clusters of messages: how many arrive of all people together, and how many of 2^40 have the size 1, 2, ... */
export interface ClusterLaw {
  readonly rate: Dyadic;
  readonly sizeWeights: readonly number[];
}

/**
 * The noise: coins of every value, which add a message to it or leave one out; clusters of messages; or dummies with
 * random hash functions and buckets.
 */
export type Law =
  | { readonly kind: "coin"; readonly probability: Dyadic; readonly leavesOut: boolean }
  | {
      readonly kind: "clusters";
      readonly laws: { readonly dummies: ClusterLaw } | { readonly pairs: ClusterLaw; readonly lone: ClusterLaw };
      /** The most children of a node, where numbers are counted in a tree. */
      readonly branching?: number;
    }
  | { readonly kind: "hashed"; readonly buckets: number; readonly dummies: ClusterLaw };

/** A step of the normalisation of texts: spaces at both ends, small letters, ? and # with what follows, last slashes. */
export type Step = "trim" | "lower" | "query" | "slash";

/** The public code that cuts a text into pieces. */
export interface TextCode {
  /** The most pieces of a text. */
  readonly levels: number;
  /** The most bytes of a text, in UTF-8. */
  readonly longest: number;
  /** How many symbols a level has: the end, (other), (none) and the pieces. */
  readonly symbols: number;
  /** The symbols of an answer on all levels. */
  path(answer: unknown): number[];
}

/** Public edges between intervals of numbers, which are open at both ends. An edge belongs to the interval above it. */
export interface Edges {
  /** The number of edges. */
  readonly number: number;
  /** The number of intervals: one more. */
  readonly intervals: number;
  /** The text of an edge, numbered from 0. */
  textOf(edge: number): string;
  /** The interval that contains the number units * 10^power. */
  intervalOf(number: { units: bigint; power: number }): number;
  /** The name of an interval, or of the intervals from `first` to before `stop` together. */
  labelOf(first: number, stop?: number): string;
}

/** The tree over the intervals, (other) and (none), in which numbers are counted. */
export interface Tree {
  readonly leaves: number;
  readonly branching: number;
  readonly levels: number;
  /** The number of nodes without the root. */
  readonly nodes: number;
  /** The number of nodes of each level, from level 1 to the leaves. */
  readonly sizes: readonly number[];
  /** The number of the first node of each level. */
  readonly starts: readonly number[];
  /** The number of leaves of a node of each level, except for the last node. */
  readonly widths: readonly number[];
  /** The nodes that contain a leaf, one on each level. */
  path(leaf: number): number[];
  /** The first leaf of a node, and the leaf after its last. */
  leavesOf(node: number): [number, number];
}

/** The public hash functions. */
export interface HashFamily {
  /** The number of buckets, a prime. */
  readonly modulus: number;
  /** The number of hash functions. */
  readonly seeds: bigint;
  /** The bucket of a value under a seed. */
  bucket(seed: bigint, value: bigint): number;
}

/** A question that is asked in several rounds, each a task; all tasks follow from the series. */
export declare class Series {
  private constructor();
  readonly version: number;
  readonly question: string;
  /** Who asks, as the file says: nothing proves it. Null where it does not say. */
  readonly asker: string | null;
  /** What the counts are for. */
  readonly purpose: string | null;
  /** A mail address, or an address that begins with https://. */
  readonly contact: string | null;
  /** The language of the question, a tag of BCP 47 such as "de". */
  readonly language: string | null;
  /** The claimed guarantee of all rounds together, as numbers. */
  readonly guarantee: { readonly epsilon: number; readonly delta: number };
  /** The same in the spelling of the file. */
  readonly claim: { readonly epsilon: string; readonly delta: string };
  /** The number of rounds. */
  readonly rounds: number;
  /** The seconds of each round. */
  readonly period: number;
  /** The time at which the first round opens. */
  readonly opens: Date;
  /** The time at which the last round closes. */
  readonly closes: Date;
  /** The SHA-256 of the canonical bytes. */
  readonly id: Uint8Array;
  /** The id in hexadecimal digits: what is pinned. */
  readonly name: string;
  readonly canonical: Uint8Array;
  /** The time at which a round opens, and the round before it closes. */
  opensAt(round: number): Date;
  /** The number of the round that is open at a time, in milliseconds since 1970; null if none is. */
  roundAt(now: number | Date): number | null;
  /** The task of a round, from 1 on. */
  task(round: number): Promise<Task>;
  /**
   * Refuses a task that is not exactly the round of this series that it says.
   *
   * @throws BrokenPromiseError where it is not
   */
  checkRound(task: Task): Promise<void>;
  /**
   * The privacy of one round and of all rounds together, computed from the parameters.
   *
   * @param atMost the epsilon and delta that a person allows for all rounds together
   * @throws BrokenPromiseError where it is weaker than claimed, or than is allowed
   */
  check(atMost?: readonly [number, number]): { round: CheckedPromise; total: CheckedPromise };
}

/**
 * The series that a text or its bytes hold.
 *
 * @throws TaskError where anything in it is not as the wire format says
 */
export declare function readSeries(source: string | Uint8Array | ArrayBuffer | Series): Promise<Series>;

/** A question, who may answer what, the noise, and the servers with their keys. */
export declare class Task {
  private constructor();
  /** 1, or 2 for a round of a series or a task that says who asks. */
  readonly version: number;
  /** The series that the task is a round of, by its id, and the number of the round; null for a single task. */
  readonly series: { readonly id: string; readonly round: number } | null;
  readonly question: string;
  /** Who asks, as the file says: nothing proves it. Null where it does not say. */
  readonly asker: string | null;
  /** What the counts are for. */
  readonly purpose: string | null;
  /** A mail address, or an address that begins with https://. */
  readonly contact: string | null;
  /** The language of the question, a tag of BCP 47 such as "de". */
  readonly language: string | null;
  readonly answers:
    | { readonly kind: "list"; readonly values: readonly string[] }
    | { readonly kind: "range"; readonly start: number; readonly stop: number }
    | { readonly kind: "listed-at"; readonly address: string; readonly sha256: string; readonly size: number }
    | {
        readonly kind: "text";
        /** The most bytes of a text, in UTF-8. */
        readonly longest: number;
        /** The most pieces of a text. */
        readonly levels: number;
        readonly pieces:
          | { readonly kind: "alphabet"; readonly characters: string; readonly width: number }
          | { readonly kind: "list"; readonly values: readonly string[] };
        readonly normalisation: readonly Step[];
      }
    | {
        readonly kind: "numbers";
        /** The edges between intervals, in their one spelling, such as "0:120:1" or "0,18,65". */
        readonly edges: string;
        /** The shares of the quantiles that a release shows. */
        readonly quantiles: readonly string[];
      }
    | {
        readonly kind: "choices";
        readonly values: readonly string[];
        /** The most choices of one person that are counted. */
        readonly most: number;
      };
  readonly protocol: { readonly name: string; readonly parameters: Readonly<Record<string, unknown>> };
  /** The noise, exactly. */
  readonly law: Law;
  /** What is claimed, as numbers. */
  readonly guarantee: { readonly epsilon: number; readonly delta: number };
  /** What is claimed, in the spelling of the task. */
  readonly claim: { readonly epsilon: string; readonly delta: string };
  /** Reports in a batch. */
  readonly users: number;
  /** How many of them are counted on for the noise. */
  readonly honestUsers: number;
  readonly mostMessages: number;
  readonly opens: Date;
  readonly closes: Date;
  /** Steps of a report's time, in seconds. */
  readonly timePrecision: number;
  readonly admission: "anybody" | "secret" | "tokens";
  readonly shufflers: readonly { readonly address: string; readonly key: string }[];
  readonly analyzer: { readonly address: string; readonly key: string };
  /** The SHA-256 of the canonical bytes. */
  readonly id: Uint8Array;
  /** The id in hexadecimal digits: what is pinned. */
  readonly name: string;
  readonly canonical: Uint8Array;
  /**
   * The number of values that messages are made of: the answers of the task, (other) and (none). Of texts, the number of
   * values of each level; of numbers, the nodes of the tree; of choices, also the padding bins.
   */
  readonly values: number;
  /** The code that cuts texts into pieces; null for other answers. */
  readonly code: TextCode | null;
  /** The edges between intervals of numbers; null for other answers. */
  readonly edges: Edges | null;
  /** The tree over these intervals; null for other answers. */
  readonly tree: Tree | null;
  /** The number of values of one person: one on each level of a text or of a tree, the most choices, or 1. */
  readonly levels: number;
  /** The hash functions; null where messages are not hashed. */
  readonly family: HashFamily | null;
  /** How many different messages there are. */
  readonly alphabet: Message;
  /** Whether every report holds exactly `mostMessages`. */
  readonly padded: boolean;
  /** The number of a message that counts for nothing, in padded reports. */
  readonly nothing: Message;
  /** How many different numbers messages can be, the one that counts for nothing included where there is one. */
  readonly symbols: Message;
  /** The width of a message. */
  readonly symbolBytes: number;
  /** Bytes of a message in its layers, as the server at this position opens it; at 0 as it is in a report. */
  onionLength(position: number): number;
  /** Bytes of the longest sealed report. */
  readonly longestReport: number;
  /** Whether the list of answers is here: in the task itself, or taken. */
  readonly hasAnswers: boolean;
  /** Takes the file that the list of answers is kept in, if it has the right fingerprint; `loadAnswers` fetches it. */
  takeAnswers(content: Uint8Array): Promise<void>;
  /**
   * What a person's messages are made of. Of more choices than are counted, a random subset is taken. It never fails
   * because of the answer.
   */
  valuesOf(answer: unknown): Promise<Values>;
  /**
   * The text that is counted, to show before it is sent: an answer after the task's normalisation, "" for no answer,
   * null for text that is not Unicode. Listed answers are not changed.
   */
  normalised(answer: unknown): string | null;
  /** Whether an answer, or one of its choices, is counted as (other); no answer is not. */
  countsAsOther(answer: unknown): boolean;
  /** Why an answer is counted as (other); null if it is not. */
  whyOther(answer: unknown): WhyOther | null;
  /**
   * Where an answer is counted, or one choice. Every answer has a place, except in tasks with texts. The places of
   * numbers are the intervals, then (other), then (none).
   */
  placeOf(answer: unknown): number;
  /** The answer that is counted at a place. */
  labelOf(place: number): string;
  /**
   * What a message stands for: one for an answer, or one less for it; null if it counts for nothing. The answer may be
   * a range of numbers, with (other) and (none) as further parts after commas. The label of a padding bin is null.
   *
   * @throws ParameterError where messages are hashed, and so fit many answers: use `hashOf`
   */
  meaningOf(message: Message): { label: string | null; less: boolean } | null;
  /** The level of a hashed message, the seed of its hash function, and its bucket; null where they are not hashed. */
  hashOf(message: Message): { level: number; seed: bigint; bucket: number } | null;
}

/** What a journal holds of one task; the bytes are there only until it is known what became of them. */
export interface Entry {
  kind: string;
  /** The id of the task in hexadecimal digits. */
  task: string;
  state: "ready" | "sent" | "refused";
  report: Uint8Array;
  /** The same report with the earliest time of the task, for a server that refuses the other; empty if there is none. */
  fallback?: Uint8Array;
  /** Of the report, while it is there. */
  sha256: string;
  /** Of the fallback, while it is there. */
  fallback_sha256?: string;
  reason: string | null;
  /** What the privacy of the answer follows from; null in entries of the first version. */
  spending: Spending | null;
}

/** What the privacy of one answer follows from, with the question and the day (UTC) to recognize it. */
export interface Spending {
  question: string;
  day: string;
  protocol: { name: string; parameters: Record<string, any> };
  guarantee: { epsilon: string; delta: string };
  users: number;
  honest_users: number;
  /** Bins of the protocol; for texts, symbols of their code. */
  values: number;
  /** Of one person. */
  values_per_person: number;
  most_messages: number;
  /** The series that the task is a round of. */
  series: { id: string; round: number } | null;
}

/** One task in a journal; "claimed" if a client began to answer it and did not finish, which counts as spent. */
export interface AnsweredTask {
  task: string;
  state: "ready" | "sent" | "refused" | "claimed";
  /** Null in entries of the first version, which do not have it. */
  spending: Spending | null;
}

/** A limit of all answers together; with `byResults` it holds even if noise is chosen after earlier results. */
export interface Limit {
  epsilon: number;
  delta: number;
  byResults: boolean;
}

/** What an answer uses of a limit; epsilons are at the delta of the limit. */
export interface BudgetUse {
  /** The epsilon of all other answers; that of all answers if this one was given already. */
  before: number;
  /** The epsilon with this answer. */
  after: number;
  /** The epsilon of the limit. */
  limit: number;
  /** The difference between `limit` and `after`, at least 0. */
  left: number;
  /** The delta of the limit. */
  delta: number;
  byResults: boolean;
  /** Whether the answer is allowed; also whether a report that was made before and not sent may be sent. */
  within: boolean;
  /** Other tasks that a client began to answer and did not finish. */
  unfinished: number;
}

/** Where reports are kept; the rules are in the wire format. Tasks are named by their id in hexadecimal digits. */
export interface Journal {
  /** What is known of a task; null if no report was made. What cannot be read is an error, never null. */
  read(task: string): Promise<Entry | null>;
  /**
   * Enters a finished report durably, unless one is there already; gives the one that is there then. Of several at once
   * exactly one enters its report. Claims of this task are removed. The fallback is kept with the report.
   */
  keep(task: string, report: Uint8Array, spending?: Spending, fallback?: Uint8Array): Promise<Entry>;
  /** Enters what became of a report, and drops its bytes; what was entered before stays. */
  settle(task: string, state: "sent" | "refused", reason?: string | null): Promise<void>;
  /** All answered and claimed tasks, each once. Needed for a budget. */
  spendings?(): Promise<AnsweredTask[]>;
  /**
   * Reserves the privacy of an answer. The claim must be durable before `judge` sees all spendings, itself included, or
   * both must be one transaction. `judge` should also get the limit that is stored by then. Gives a function that
   * withdraws the claim, or null if the answer is over the limit.
   * Needed for a budget.
   */
  reserve?(
    task: string,
    spending: Spending,
    judge: (spent: AnsweredTask[], stored?: Limit | null) => { within: boolean; unfinished: number },
  ): Promise<(() => Promise<void>) | null>;
  /** The stored limit; null if there is none. A journal that has one must have `spendings` and `reserve`. */
  limit?(): Promise<Limit | null>;
  /** Stores a limit, or removes it. */
  storeLimit?(limit: Limit | null): Promise<void>;
}

/** The journal of a browser, in its database, which all pages of one origin share. */
export declare class IndexedDBJournal implements Journal {
  constructor(name?: string);
  readonly name: string;
  read(task: string): Promise<Entry | null>;
  keep(task: string, report: Uint8Array, spending?: Spending): Promise<Entry>;
  settle(task: string, state: "sent" | "refused", reason?: string | null): Promise<void>;
  spendings(): Promise<AnsweredTask[]>;
  reserve(
    task: string,
    spending: Spending,
    judge: (spent: AnsweredTask[], stored?: Limit | null) => { within: boolean; unfinished: number },
  ): Promise<(() => Promise<void>) | null>;
  limit(): Promise<Limit | null>;
  storeLimit(limit: Limit | null): Promise<void>;
}

/** Base of every error that is thrown on purpose. No message holds a person's value. */
export declare class ShuffledpError extends Error {}
/** A parameter is not one; the message says what would work. */
export declare class ParameterError extends ShuffledpError {}
/** An answer is over the person's own limit; nothing was made or sent. */
export declare class BudgetError extends ParameterError {
  constructor(
    message: string,
    figures: { before: number; after: number; limit: number; fits: number | null; made?: boolean },
  );
  /** The epsilon of all other answers, at the delta of the limit. */
  readonly before: number;
  /** The epsilon with this answer. */
  readonly after: number;
  /** The epsilon of the limit. */
  readonly limit: number;
  /** The largest epsilon of one more task with one value per person that would fit; null if none does. */
  readonly fits: number | null;
  /** Whether the report was made before and is kept: a higher limit allows to send it. */
  readonly made: boolean;
}
/** Something that was read cannot be used, such as a journal. */
export declare class DataError extends ShuffledpError {}
/** A file that is no task, or another one than is pinned. */
export declare class TaskError extends DataError {}
/** A task that gives less privacy than it claims, or than the person allows: do not answer. */
export declare class BrokenPromiseError extends DataError {}
/** A report that is not taken; sending it again alone does not help. */
export declare class RefusedError extends DataError {
  constructor(message: string, reason: string);
  /** A word of the servers' refusals, such as "closed". */
  readonly reason: string;
}
/** A report could not be handed over now: nothing is lost, and the same bytes are sent later. */
export declare class UnreachableError extends ShuffledpError {
  constructor(message: string, reason?: string | null);
  /** A word of the servers' refusals, where the server said one. */
  readonly reason: string | null;
}
