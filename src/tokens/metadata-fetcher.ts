/**
 * Looks up token metadata at the node: takes jobs from the queue in the index, and writes their results as commands. A
 * job stays in the queue until its result is written, even if the process is killed.
 */

import type { Clock } from '../base/clock.ts';
import type { ServiceEvent } from '../base/log-events.ts';
import type { RandomSource } from '../base/random.ts';
import { backoff, startLoop } from '../base/service.ts';
import { isTransient } from '../base/store-failure.ts';
import { toHex } from '../codec/hex.ts';
import { inTime, LateError } from '../http/outgoing.ts';
import { type NodeRpc, NodeUnreachableError } from '../node/rpc.ts';
import { type Commander, commandsOf } from '../store/ingest/commands.ts';
import type { CommitCount } from '../store/ingest/commit-count.ts';
import type { FailedTry, TokenAnswer, TokenCommands } from '../store/ingest/token-commands.ts';
import type { TokenJobItem, TokenQueue } from '../store/model/token.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import { ClarityError, JOB_MS, NoAnswerError, requestLastToken, requestTokenFacts } from './node-answers.ts';

/** Maximum concurrent look-ups. */
const AT_ONCE = 5;
/** Number of jobs of each kind and order to take from the queue at once. */
const TAKEN = 8;
/** Milliseconds from a commit to a look at an empty queue. */
const COMMIT_MS = 500;
/** Milliseconds between two looks without a commit, for jobs whose time has come, or if the node or the store is unavailable. */
const LOOK_MS = 5_000;
/** Maximum results per command, and milliseconds that the first result waits for others. */
const MAX_ANSWERS = 25;
const ANSWERS_MS = 250;
/** Milliseconds between two turns of listing and queueing tokens, so that other work can write. */
const SPREAD_MS = 50;
/** Maximum consecutive attempts without an answer. Then the job fails. */
const MAX_ATTEMPTS = 10;
/** Milliseconds after the first attempt. The wait doubles with each attempt, up to a maximum, plus a random part. */
const WAITS = { firstMs: 5_000, mostMs: 600_000 };

export type TokenLogEvent =
  | ServiceEvent
  | { event: 'token_not_read'; contract: string; token: string | null; work: string; state: string; reason: string };

/** Number of jobs by result since the start, for metrics. */
export interface TokenCounters {
  answered: number;
  failed: number;
  invalid: number;
}

export interface MetadataFetcherOptions {
  snapshots: Snapshots;
  node: NodeRpc;
  commander: Commander;
  /** The commits that may add jobs. */
  commits: Pick<CommitCount, 'follow'>;
  /** Reports whether this host does the look-ups. In a cluster, one host does. */
  isHeld: () => boolean;
  clock: Clock;
  random: Pick<RandomSource, 'number'>;
  log: (event: TokenLogEvent) => void;
}

const keyOf = ({ work, contract, token }: TokenJobItem): string => `${work} ${contract} ${token ?? ''}`;

/** Generates the jobs of each order in turn, each job once. */
function* inTurn({ oldest, newest, again }: TokenQueue): Generator<TokenJobItem> {
  const seen = new Set<string>();
  const orders = [oldest, again, newest];
  for (let at = 0; orders.some((order) => at < order.length); at++) {
    for (const order of orders) {
      const item = order[at];
      if (item === undefined || seen.has(keyOf(item))) continue;
      seen.add(keyOf(item));
      yield item;
    }
  }
}

/** Starts the look-ups. */
export function startMetadataFetcher(options: MetadataFetcherOptions) {
  const { snapshots, node, commits, isHeld, clock, random, log } = options;
  const commands = commandsOf<TokenCommands>(options.commander);
  const counters: TokenCounters = { answered: 0, failed: 0, invalid: 0 };
  const stopping = new AbortController();
  const { signal } = stopping;
  /** Reason why look-ups are paused; null if they aren't. */
  let pauseReason: string | null = null;
  let restsUntil = Number.NEGATIVE_INFINITY;

  function rest(reason: string): void {
    if (pauseReason === null) log({ event: 'service_failing', service: 'token_metadata', reason });
    pauseReason = reason;
    restsUntil = clock.monotonic() + LOOK_MS;
  }

  /**
   * Calls `work`. If the index or the log is unavailable, returns undefined and pauses the look-ups. @throws other
   * errors
   */
  async function unlessAway<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error)) throw error;
      rest(error.message);
      return undefined;
    }
  }

  const results = answerWriter((answers) => unlessAway(() => commands.run('tokens.answer', { answers })), clock);

  /** Returns an attempt without an answer. @param isShown whether the job is shown as failed until the next attempt */
  function tried({ tries }: TokenJobItem, isShown: boolean): FailedTry {
    if (tries + 1 >= MAX_ATTEMPTS) return { state: 'failed', wait: null };
    const wait = backoff(tries + 1, { ...WAITS, random: random.number });
    return { state: isShown ? 'failed' : 'pending', wait };
  }

  function say(item: TokenJobItem, { state, wait }: FailedTry, reason: string): void {
    if (state === 'invalid') counters.invalid += 1;
    else counters.failed += 1;
    if (wait !== null) return;
    const { contract, token, work } = item;
    log({ event: 'token_not_read', contract, token, work, state, reason });
  }

  /** @throws NodeUnreachableError */
  async function askNode(item: TokenJobItem, tip: NonNullable<TokenQueue['tip']>): Promise<TokenAnswer> {
    const { contract, token } = item;
    const of = { contract, tip: toHex(tip.indexBlockHash) };
    const answered = (answer: FailedTry): TokenAnswer =>
      item.work === 'facts'
        ? { work: 'facts', ...of, token: token ?? '', answer }
        : { work: 'last_token_id', ...of, answer };
    try {
      return await inTime({ clock, timeoutMs: JOB_MS, signal }, async (ending): Promise<TokenAnswer> => {
        const calls = { node, clock, signal: ending, tip };
        if (item.work !== 'facts') {
          return { work: 'last_token_id', ...of, answer: { last: await requestLastToken(calls, item) } };
        }
        return { work: 'facts', ...of, token: token ?? '', answer: await requestTokenFacts(calls, item) };
      });
    } catch (error) {
      let failure: FailedTry;
      if (error instanceof ClarityError) {
        failure = { state: 'invalid', wait: null };
      } else if (error instanceof NoAnswerError || error instanceof LateError) {
        const isShown = error instanceof LateError || error.isShown;
        failure = tried(item, isShown);
      } else throw error;
      say(item, failure, error.message);
      return answered(failure);
    }
  }

  const canWork = (): boolean => isHeld() && clock.monotonic() >= restsUntil;

  /** Works on the queue, several jobs at a time. */
  function startWorking() {
    let ready: TokenJobItem[] = [];
    let tip: TokenQueue['tip'] = null;
    /** Keys of running jobs, until their result is written. */
    const names = new Set<string>();
    const working = new Set<Promise<void>>();
    let emptyUntil = Number.NEGATIVE_INFINITY;

    async function look(): Promise<void> {
      const maxQueued = TAKEN + names.size;
      const queue = await unlessAway(async () =>
        snapshots.read((reader) => reader.tokenMetadata.queue(clock.now(), maxQueued)),
      );
      if (queue === undefined) return;
      tip = queue.tip;
      ready = [...inTurn(queue)].filter((item) => !names.has(keyOf(item))).slice(0, 3 * TAKEN);
      if (ready.length > 0) return;
      emptyUntil = clock.monotonic() + COMMIT_MS;
      // No job is left that could share the command with these results.
      if (names.size > 0) results.flush();
    }

    async function work(item: TokenJobItem, at: NonNullable<TokenQueue['tip']>): Promise<void> {
      const key = keyOf(item);
      names.add(key);
      try {
        const answer = await askNode(item, at);
        pauseReason = null;
        if (!('state' in answer.answer)) counters.answered += 1;
        // The next job doesn't wait for the command.
        void results.write(answer).finally(() => names.delete(key));
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof NodeUnreachableError)) throw error;
        ready = [];
        rest(error.message);
      }
      names.delete(key);
    }

    async function turn(): Promise<number> {
      while (canWork()) {
        if (ready.length === 0 && clock.monotonic() >= emptyUntil) await look();
        // One request shows whether the node is back.
        const concurrency = pauseReason === null ? AT_ONCE : 1;
        const item = working.size < concurrency ? ready.shift() : undefined;
        if (item === undefined || tip === null) break;
        const done = work(item, tip).finally(() => {
          working.delete(done);
          loop.wake();
        });
        working.add(done);
      }
      return LOOK_MS;
    }

    const loop = startLoop({ clock, everyMs: LOOK_MS, firstMs: 0, turn });
    return {
      wake(): void {
        emptyUntil = Number.NEGATIVE_INFINITY;
        loop.wake();
      },
      async stop(): Promise<void> {
        await loop.stop();
        await Promise.all(working);
      },
    };
  }

  /** Lists and queues the tokens of contracts, one turn after the other. @returns null to wait for a commit */
  async function spread(): Promise<number | null> {
    if (!canWork()) return LOOK_MS;
    const contract = await unlessAway(async () => snapshots.read((reader) => reader.tokenMetadata.toSpread()));
    if (contract === undefined) return LOOK_MS;
    if (contract === null) return null;
    await unlessAway(() => commands.runBatches('tokens.spread', { contract }));
    return SPREAD_MS;
  }

  const loops = [startWorking(), startLoop({ clock, everyMs: LOOK_MS, firstMs: 0, turn: spread })];
  const endFollowing = commits.follow(clock, COMMIT_MS, () => {
    for (const loop of loops) loop.wake();
  });
  return {
    counters,
    async stop(): Promise<void> {
      stopping.abort();
      endFollowing();
      await Promise.all(loops.map((loop) => loop.stop()));
      await results.flush();
    },
  };
}

/**
 * Writes results, several per command. @param write returns undefined if they couldn't be written: the jobs then run
 * again
 */
function answerWriter(write: (answers: TokenAnswer[]) => Promise<number | undefined>, clock: Clock) {
  let waiting: { answer: TokenAnswer; written: () => void }[] = [];
  let writing: Promise<void> | null = null;
  let cancel: (() => void) | null = null;

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_ANSWERS);
      waiting = waiting.slice(MAX_ANSWERS);
      try {
        await write(batch.map(({ answer }) => answer));
      } finally {
        for (const { written } of batch) written();
      }
    }
  }

  function flush(): Promise<void> {
    cancel?.();
    cancel = null;
    writing ??= writeAll().finally(() => {
      writing = null;
    });
    return writing;
  }

  return {
    flush,
    /** Resolves when the result is written, or can't be. */
    write: (answer: TokenAnswer): Promise<void> =>
      new Promise((written) => {
        waiting.push({ answer, written });
        if (waiting.length >= MAX_ANSWERS) void flush();
        else cancel ??= clock.after(ANSWERS_MS, () => void flush());
      }),
  };
}
