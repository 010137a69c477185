/**
 * `--from-block`: the index of a server begins at a block of a chain that its node has. What the node says of the block below it,
 * and of each account that a block here touches first, becomes an entry.
 */
import type { Registry } from 'prom-client';
import { type Clock, pause } from '../../base/clock.ts';
import { OperatorError, PassingError } from '../../base/errors.ts';
import { HISTORY_START_PATH, PayloadError, STARTING_ACCOUNT_PATH } from '../../chain/payload-reader.ts';
import { accountMetrics } from '../../metrics/server.ts';
import { AskedNode, NoAnswer } from '../../node/facts.ts';
import { askedHistoryStart, askedStartingAccount, type StartingAccountEvent } from '../../node/history.ts';
import { type NodeInfo, type NodeRpc, NodeUnreachableError } from '../../node/rpc.ts';
import type { Settings } from '../../settings/config.ts';
import { unavailable } from '../../store/files/store-failure.ts';
import { ForkBelowHistoryError, SharedBeginningError } from '../../store/ingest/history-start.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import { NoSnapshotError } from '../../store/model/read-errors.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';
import { requireNodesChain } from './start-checks.ts';

const another = (from: number, fromBlock: Settings['fromBlock'], directory: string): OperatorError =>
  new OperatorError(
    `The index in ${directory} begins at block ${from}, and --from-block names ${fromBlock}.`,
    'Omit --from-block, or begin with another --data directory.',
  );

const MICROSECONDS_PER_MILLISECOND = 1_000;

/** Requests to the node a second: it has its chain to follow, and others ask it, too. */
const RATE = 50;

const askedAt = (node: NodeRpc, clock: Clock, signal?: AbortSignal): AskedNode =>
  new AskedNode(node, { rate: RATE, clock, ...(signal === undefined ? {} : { signal }) });

/** Asks for the node's tip. @throws PassingError */
async function infoOf(node: NodeRpc): Promise<NodeInfo> {
  try {
    return await node.info();
  } catch (cause) {
    throw cause instanceof NodeUnreachableError ? away(cause) : cause;
  }
}

const away = (cause: NodeUnreachableError): PassingError =>
  new PassingError(
    `The node's RPC interface doesn't say where the index can begin: ${cause.message}.`,
    'Check --node-rpc, and start again once the node answers.',
    { cause },
  );

/** Refuses an index that begins at a block for hosts that share a log. @throws OperatorError */
export function requireWholeForHosts(
  { fromBlock, cluster, data }: Pick<Settings, 'fromBlock' | 'cluster' | 'data'>,
  { bottom }: Pick<Ingest['history'], 'bottom'>,
): void {
  if (cluster === null) return;
  if (bottom() > 0) throw new SharedBeginningError(data, bottom() + 1);
  if (fromBlock === null) return;
  throw new OperatorError(
    '--from-block begins the index of one host, and the hosts of --cluster share the log of the whole chain.',
    'Omit one of them.',
  );
}

/**
 * Begins an empty index at the block of the setting. An index that begins there already stays as it is.
 * @throws OperatorError where the index begins elsewhere, or the node has no such block; PassingError where it doesn't answer
 */
export async function beginHistory(
  { fromBlock, data }: Pick<Settings, 'fromBlock' | 'data'>,
  { history, queue, receive, publish, chainId }: Pick<Ingest, 'history' | 'queue' | 'receive' | 'publish' | 'chainId'>,
  { node, clock }: { node: NodeRpc; clock: Clock },
): Promise<void> {
  if (fromBlock === null) return;
  const first = history.bottom() + 1;
  const tip = history.tip();
  const isEmpty = tip.height < first && tip.indexBlockHash.every((byte) => byte === 0);
  if (fromBlock === 'tip' ? first > 1 : Math.max(fromBlock, 1) === first) return;
  if (first > 1 || !isEmpty) throw another(first, fromBlock, data);
  const info = await infoOf(node);
  await requireNodesChain(node, chainId());
  const height = fromBlock === 'tip' ? info.height + 1 : fromBlock;
  try {
    const start = await askedHistoryStart(askedAt(node, clock), info, height);
    const event = { path: HISTORY_START_PATH, text: JSON.stringify(start), receivedAt: receivedAt(clock) };
    await queue.run(() => receive(event));
    // Others read where the index begins.
    publish();
    if (history.bottom() + 1 !== height) {
      throw new PassingError(
        'Where the index begins could not be written.',
        'See the log for the reason, and start again.',
      );
    }
  } catch (cause) {
    if (cause instanceof PayloadError) {
      throw new OperatorError(
        `The index can't begin at block ${height}, for what the node says of the block below: ${cause.message}.`,
        'Check --node-rpc.',
        { cause },
      );
    }
    throw cause instanceof NodeUnreachableError ? away(cause) : cause;
  }
}

const receivedAt = (clock: Clock): number => clock.now() * MICROSECONDS_PER_MILLISECOND;

/** Makes a function that accepts events. @param ended is called for a fork below the first block */
export const untilForkBelow =
  (receive: Ingest['receive'], ended: (error: OperatorError) => void): Ingest['receive'] =>
  (event) => {
    try {
      return receive(event);
    } catch (error) {
      if (error instanceof ForkBelowHistoryError) ended(error);
      throw error;
    }
  };

/** Accounts that are read at once. */
const BATCH = 100;
/** Requests that wait for the node at the same time. */
const AT_ONCE = 4;
/** Milliseconds between two looks for accounts, and after a request that the node didn't answer. */
const LOOK_MS = 500;
const AWAY_MS = 5_000;

interface AskingOptions {
  ingest: Pick<Ingest, 'history' | 'queue' | 'receive'>;
  snapshots: Snapshots;
  node: NodeRpc;
  clock: Clock;
  registry: Registry;
  log: (event: StartingAccountEvent) => void;
}

/** Asks the node, beside everything else, what accounts had where the index begins. @returns null for an index of the whole chain */
export function askStartingAccounts({ ingest, snapshots, node: rpc, clock, registry, log }: AskingOptions) {
  if (ingest.history.bottom() === 0) return null;
  const stopping = new AbortController();
  const { signal } = stopping;
  const node = askedAt(rpc, clock, signal);
  const counts = { asked: 0, waiting: 0 };
  /** Why the node gave no answer; null after one. */
  let hindrance: string | null = null;
  accountMetrics(registry, counts);

  function hinder(reason: string): void {
    if (hindrance === null) log({ event: 'accounts_not_asked', accounts: counts.waiting, reason });
    hindrance = reason;
  }

  /** @returns whether the node said what the account had */
  async function ask(principal: string, below: Uint8Array): Promise<boolean> {
    const account = await askedStartingAccount(node, principal, below);
    if (account instanceof NoAnswer) {
      hinder(account.reason);
      return false;
    }
    const event = { path: STARTING_ACCOUNT_PATH, text: JSON.stringify(account), receivedAt: receivedAt(clock) };
    try {
      if ((await ingest.queue.run(() => ingest.receive(event))) === 'applied') counts.asked += 1;
    } catch (error) {
      // The node says what no account can have.
      if (!(error instanceof PayloadError)) throw error;
      hinder(error.message);
      return false;
    }
    hindrance = null;
    return true;
  }

  /** Asks about the accounts that wait. @returns the milliseconds until it is to be called again */
  async function askAll(): Promise<number> {
    const start = await snapshots.read(async (reader) => reader.chain.start());
    let pauseMs = LOOK_MS;
    for (let after = 0; start !== null; ) {
      const { accounts, waiting } = await snapshots.read((reader) => reader.principals.unasked(after, BATCH));
      counts.waiting = waiting;
      for (let at = 0; at < accounts.length; at += AT_ONCE) {
        const together = accounts.slice(at, at + AT_ONCE);
        const said = await Promise.all(together.map(({ principal }) => ask(principal, start.indexBlockHash)));
        if (said.includes(false)) pauseMs = AWAY_MS;
      }
      const last = accounts.at(-1);
      if (last === undefined) break;
      after = last.id;
    }
    return pauseMs;
  }

  async function run(): Promise<void> {
    for (let wait = LOOK_MS; ; ) {
      await pause(clock, wait, signal);
      if (signal.aborted) return;
      try {
        wait = await askAll();
      } catch (error) {
        // Others say that the index or the disk is away.
        const isAway = error instanceof NoSnapshotError || unavailable(error) !== null;
        if (!isAway && !(error instanceof NodeUnreachableError)) throw error;
        if (error instanceof NodeUnreachableError) hinder(error.message);
        wait = AWAY_MS;
      }
    }
  }

  const running = run().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return {
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}
