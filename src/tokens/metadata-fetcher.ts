/**
 * Looks up token metadata at the node: takes jobs from the queue in the index, and writes their results as commands. A
 * job stays in the queue until its result is written, even if the process is killed.
 */

import type { Clock, RandomSource } from '../base/clock.ts';
import type { ServiceEvent } from '../base/log-events.ts';
import { backoff, startLoop } from '../base/service.ts';
import { atMost } from '../base/turns.ts';
import { toHex } from '../codec/hex.ts';
import type { NodeRpc } from '../node/rpc.ts';
import { type Commander, commandsOf } from '../store/ingest/commands.ts';
import type { CommitCount } from '../store/ingest/commit-count.ts';
import type { FailedTry, TokenAnswer, TokenCommands } from '../store/ingest/token-commands.ts';
import type { TokenJobItem, TokenQueue } from '../store/model/token.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import { AnswerError, type NodeCalls, requestLastToken, requestTokenFacts } from './node-answers.ts';

/** Maximum concurrent requests. */
const MAX_CONCURRENT = 5;
/** Number of jobs of a round, and number of jobs of each kind and order to take from the queue. */
const MAX_JOBS = 25;
const JOBS_PER_ORDER = 8;
/** Milliseconds until the queue is read again without a commit: for jobs that are due, and after the node or the store failed. */
const POLL_MS = 5_000;
/** Milliseconds between two turns of listing and queueing tokens, so that other work can write. */
const SPREAD_MS = 50;
/** Maximum consecutive attempts without an answer. Then the job fails. */
const MAX_ATTEMPTS = 10;
/** Milliseconds after the first attempt. The wait doubles with each attempt, up to a maximum, plus a random part. */
const BACKOFF = { firstMs: 5_000, maxMs: 600_000 };

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
function* inTurn({ oldest, newest, repeated }: TokenQueue): Generator<TokenJobItem> {
  const seen = new Set<string>();
  const orders = [oldest, repeated, newest];
  for (let index = 0; orders.some((order) => index < order.length); index++) {
    for (const order of orders) {
      const item = order[index];
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

  /** Returns an attempt without an answer. @param state of the job until the next attempt */
  function failedTry({ tries }: TokenJobItem, state: AnswerError['state']): FailedTry {
    if (state === 'invalid') return { state, wait: null };
    if (tries + 1 >= MAX_ATTEMPTS) return { state: 'failed', wait: null };
    const wait = backoff(tries + 1, { ...BACKOFF, random: random.number });
    return { state, wait };
  }

  function report(item: TokenJobItem, { state, wait }: FailedTry, reason: string): void {
    if (state === 'invalid') counters.invalid += 1;
    else counters.failed += 1;
    if (wait !== null) return;
    const { contract, token, work } = item;
    log({ event: 'token_not_read', contract, token, work, state, reason });
  }

  /** Requests the answer for a job. @returns the answer, or the failed attempt @throws NodeUnreachableError */
  async function tryRequest<T>(item: TokenJobItem, request: () => Promise<T>): Promise<T | FailedTry> {
    try {
      const answer = await request();
      counters.answered += 1;
      return answer;
    } catch (error) {
      if (!(error instanceof AnswerError)) throw error;
      const failure = failedTry(item, error.state);
      report(item, failure, error.message);
      return failure;
    }
  }

  /** @throws NodeUnreachableError */
  async function askNode(item: TokenJobItem, calls: NodeCalls): Promise<TokenAnswer> {
    const { contract, token } = item;
    const subject = { contract, tip: toHex(calls.tip.indexBlockHash) };
    if (item.work === 'facts') {
      const answer = await tryRequest(item, () => requestTokenFacts(calls, item));
      return { work: 'facts', ...subject, token: token ?? '', answer };
    }
    const answer = await tryRequest(item, async () => ({ last: await requestLastToken(calls, item) }));
    return { work: 'last_token_id', ...subject, answer };
  }

  /**
   * Requests answers for jobs, and writes them with one command.
   * @throws NodeUnreachableError after the other answers are written
   */
  async function answer(items: readonly TokenJobItem[], calls: NodeCalls): Promise<void> {
    let isAway = false;
    const limited = atMost(MAX_CONCURRENT);
    const ask = async (item: TokenJobItem): Promise<TokenAnswer | null> => {
      if (isAway || calls.signal.aborted || !isHeld()) return null;
      try {
        return await askNode(item, calls);
      } catch (error) {
        isAway = true;
        throw error;
      }
    };
    const results = await Promise.allSettled(items.map((item) => limited(() => ask(item))));
    const answers = results.flatMap((result) => (result.status === 'fulfilled' ? (result.value ?? []) : []));
    if (answers.length > 0) await commands.run('tokens.answer', { answers });
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** Lists and queues tokens of one contract, and answers some jobs. @returns milliseconds until the next round */
  async function round(signal: AbortSignal): Promise<number> {
    if (!isHeld()) return POLL_MS;
    const { contract, queue } = snapshots.read(({ tokenMetadata }) => ({
      contract: tokenMetadata.toSpread(),
      queue: tokenMetadata.queue(clock.now(), JOBS_PER_ORDER),
    }));
    if (contract !== null) await commands.runBatches('tokens.spread', { contract });
    // One request shows whether the node is back.
    const items = [...inTurn(queue)].slice(0, loop.failure() === null ? MAX_JOBS : 1);
    if (queue.tip !== null) await answer(items, { node, signal, tip: queue.tip });
    if (contract !== null) return SPREAD_MS;
    return items.length === 0 ? POLL_MS : 0;
  }

  const loop = startLoop({
    clock,
    everyMs: POLL_MS,
    firstMs: 0,
    turn: round,
    failed: ({ message: reason }) => log({ event: 'service_failing', service: 'token_metadata', reason }),
  });
  const endFollowing = commits.follow(clock, loop.wake);
  return {
    counters,
    async stop(): Promise<void> {
      endFollowing();
      await loop.stop();
    },
  };
}
