/**
 * Starts the history of a server, and requests accounts at the start from its node, once per account that a block touches. The
 * answer becomes an entry.
 */

import type { Registry } from 'prom-client';
import { heightOf } from '../../archive/restore.ts';
import { type Clock, microseconds } from '../../base/clock.ts';
import type { OperatorError } from '../../base/errors.ts';
import type { ServiceEvent } from '../../base/log-events.ts';
import { startLoop } from '../../base/service.ts';
import { PayloadError, STARTING_ACCOUNT_PATH } from '../../chain/payload-reader.ts';
import { accountMetrics } from '../../metrics/server.ts';
import { NoAnswer, ThrottledNode } from '../../node/facts.ts';
import { type HistoryStartEvent, requestStartingAccount, startHeight } from '../../node/history.ts';
import { type NodeRpc, NodeUnreachableError } from '../../node/rpc.ts';
import type { Settings } from '../../settings/config.ts';
import type { Outcome, ReceivedEvent } from '../../store/ingest/event.ts';
import { PartialHistoryError } from '../../store/ingest/history-start.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import type { MissingParent } from '../../store/ingest/known-blocks.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';
import type { gapFilling } from './gap-filling.ts';

/** Whether a partial history is refused: hosts share the log of a whole chain. */
export const requiresWhole = ({ history, cluster }: Pick<Settings, 'history' | 'cluster'>): boolean =>
  history === 'full' || cluster !== null;

/** Refuses data with a partial history if the settings need the whole chain. @throws PartialHistoryError */
export function requireWholeHistory(
  settings: Pick<Settings, 'history' | 'cluster' | 'data'>,
  { bottom }: Pick<Ingest['history'], 'bottom'>,
): void {
  if (requiresWhole(settings) && bottom() > 0) throw PartialHistoryError.ofData(settings.data, bottom() + 1);
}

/** Makes a function that accepts events. @param ended called if the first block needs a partial history, which is refused */
export const untilPartial =
  (receive: (event: ReceivedEvent) => Outcome | Promise<Outcome>, ended: (error: OperatorError) => void) =>
  async (event: ReceivedEvent): Promise<Outcome> => {
    try {
      return await receive(event);
    } catch (error) {
      if (error instanceof PartialHistoryError) ended(error);
      throw error;
    }
  };

/** Requests to the node per second. The node must follow its chain, and has other clients. */
const RATE = 50;

interface StartOptions {
  ingest: Pick<Ingest, 'history'>;
  /** Null without the node's token. */
  filling: Pick<ReturnType<typeof gapFilling>, 'start' | 'fill' | 'state' | 'stop'> | null;
  node: NodeRpc;
  clock: Clock;
  log: (event: HistoryStartEvent) => void;
}

/** Milliseconds between attempts to start below the node's tip. */
const RETRY_MS = 5_000;

const AGAIN = 'start again with a new --data directory. Or start from an archive with --from.';
/** Obstacles to a start below the tip. */
const NO_TOKEN = {
  reason: "Stackside doesn't have the node's auth token",
  remedy: `To get older blocks, set --node-config or --node-auth-file, and ${AGAIN}`,
};
const NOT_NAKAMOTO = {
  reason: 'the node does not return its Nakamoto blocks',
  remedy: 'To get older blocks, start from an archive with --from.',
};
type Obstacle = typeof NO_TOKEN;
const toObstacle = (reason: string): Obstacle => ({
  reason,
  remedy: `To get older blocks, check --node-rpc and the node's auth token, and ${AGAIN}`,
});
const START_NODE = 'Start the node, or check --node-rpc. Stackside retries until it has a block.';

/**
 * Starts an empty index below the tip of the node, in the background. A failed attempt is repeated until the index has a block.
 * If the node posts a block first, that block waits for one more attempt. If the attempt fails, the history starts at that
 * block.
 */
export function startBelowTip({ ingest: { history }, filling, node, clock, log }: StartOptions) {
  /** Whether a posted block was accepted, which the index may not have yet. */
  let isPosted = false;
  const isEmpty = (): boolean => !isPosted && history.tip().height === 0 && history.hashAt(0) === undefined;
  const stopping = new AbortController();
  /** The node's tip, up to which the blocks are filled. */
  let target: MissingParent | null = null;
  let running: Promise<Obstacle | null> | null = null;

  async function start(): Promise<Obstacle | null> {
    if (!isEmpty()) return null;
    if (filling === null) return NO_TOKEN;
    const info = await node.info();
    const { height, indexBlockHash } = info;
    // The node starts, or its whole chain is still to come.
    if (height === 0) return null;
    const from = await startHeight(new ThrottledNode(node, { rate: RATE, clock, signal: stopping.signal }), info);
    if (from === null || indexBlockHash === null) return NOT_NAKAMOTO;
    target = { height, indexBlockHash };
    await filling.start(target, from);
    if (isEmpty()) return toObstacle(filling.state().failure ?? 'the node returned no block');
    log({ event: 'history_starting', from_height: history.bottom() + 1, to_height: height });
    return null;
  }

  /**
   * Makes an attempt, or waits for the current one.
   * @returns the obstacle to a start below the tip, if one is known
   * @throws NodeUnreachableError
   */
  function attempt(): Promise<Obstacle | null> {
    running ??= start()
      .catch((error) => {
        if (stopping.signal.aborted) return null;
        throw error;
      })
      .finally(() => {
        running = null;
      });
    return running;
  }

  async function turn(): Promise<number | null> {
    const obstacle = await attempt();
    if (filling === null || obstacle === NOT_NAKAMOTO) return null;
    if (isEmpty()) return RETRY_MS;
    if (target === null || history.tip().height >= target.height) return null;
    // This changes nothing while the blocks are being filled.
    filling.fill(target);
    return RETRY_MS;
  }

  const loop = startLoop({
    clock,
    everyMs: RETRY_MS,
    firstMs: 0,
    turn,
    failed: ({ message: reason }) => log({ event: 'history_starting', from_height: null, reason, remedy: START_NODE }),
  });
  return {
    around:
      (receive: (event: ReceivedEvent) => Outcome | Promise<Outcome>) =>
      async (event: ReceivedEvent): Promise<Outcome> => {
        if (event.path !== '/new_block' || !isEmpty()) return receive(event);
        const from_height = heightOf(event) ?? 0;
        const attempted = from_height > 1 ? attempt() : null;
        const obstacle = await attempted?.catch((error) => {
          if (error instanceof NodeUnreachableError) return toObstacle(error.message);
          throw error;
        });
        const outcome = await receive(event);
        if (outcome !== 'applied' || from_height === 0) return outcome;
        isPosted = true;
        if (obstacle) log({ event: 'history_starting', from_height, ...obstacle });
        return outcome;
      },
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all([loop.stop(), filling?.stop()]);
    },
  };
}

/** Accounts that are read at once. */
const BATCH = 100;
/** Requests that wait for the node at the same time. */
const AT_ONCE = 4;
const AWAY_MS = 5_000;

interface StartingAccountsOptions {
  ingest: Pick<Ingest, 'commits' | 'history' | 'queue' | 'receive'>;
  snapshots: Snapshots;
  node: NodeRpc;
  clock: Clock;
  registry: Registry;
  log: (event: ServiceEvent) => void;
}

/** Requests the accounts at the start of a partial history from the node, in the background. */
export function askStartingAccounts({ ingest, snapshots, node: rpc, clock, registry, log }: StartingAccountsOptions) {
  const counts = { fetched: 0, waiting: 0 };
  accountMetrics(registry, counts);

  /** @returns why the index still lacks the account; null if the node returned it @throws NodeUnreachableError */
  async function ask(node: ThrottledNode, principal: string, below: Uint8Array): Promise<string | null> {
    const account = await requestStartingAccount(node, principal, below);
    if (account instanceof NoAnswer) return `the node answered /v2/accounts/${principal} with ${account.reason}`;
    const event = { path: STARTING_ACCOUNT_PATH, text: JSON.stringify(account), receivedAt: microseconds(clock) };
    try {
      if ((await ingest.queue.run(() => ingest.receive(event))) === 'applied') counts.fetched += 1;
      return null;
    } catch (error) {
      // The node returned a value that no account can have.
      if (!(error instanceof PayloadError)) throw error;
      return error.message;
    }
  }

  /**
   * Requests all pending accounts.
   * @returns null to wait for a commit
   * @throws NodeUnreachableError if the node can't be reached, or after all requests if it didn't return an account
   */
  async function askAll(signal: AbortSignal): Promise<null> {
    // There is no block yet, or the history starts with the genesis block and so never changes its start.
    if (ingest.history.bottom() === 0) return null;
    // The next round repeats a request that failed.
    const node = new ThrottledNode(rpc, { rate: RATE, retries: 0, clock, signal });
    const start = snapshots.read((reader) => reader.chain.start());
    let failure: string | null = null;
    for (let lastId = 0; start !== null; ) {
      const { accounts, waiting } = snapshots.read((reader) => reader.principals.listPending(lastId, BATCH));
      counts.waiting = waiting;
      for (let index = 0; index < accounts.length; index += AT_ONCE) {
        const batch = accounts.slice(index, index + AT_ONCE);
        const reasons = await Promise.all(batch.map(({ principal }) => ask(node, principal, start.indexBlockHash)));
        failure ??= reasons.find((reason) => reason !== null) ?? null;
      }
      const last = accounts.at(-1);
      if (last === undefined) break;
      lastId = last.id;
    }
    if (failure !== null) throw new NodeUnreachableError(failure);
    return null;
  }

  const service = 'starting_accounts';
  const loop = startLoop({
    clock,
    everyMs: AWAY_MS,
    firstMs: 0,
    turn: askAll,
    failed: ({ message: reason }) => log({ event: 'service_failing', service, reason }),
    recovered: (failures) => log({ event: 'service_resumed', service, failures }),
  });
  const endFollowing = ingest.commits.follow(clock, loop.wake);
  return {
    async stop(): Promise<void> {
      endFollowing();
      await loop.stop();
    },
  };
}
