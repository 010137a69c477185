/** `--verify-node`: what the newest blocks touched is compared with the node, again and again, beside everything else. */

import type { Registry } from 'prom-client';
import { type Clock, pause } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { toHex } from '../../codec/hex.ts';
import { comparisonMetrics } from '../../metrics/server.ts';
import { type ComparisonEvent, comparison, differenceText, TipLostError } from '../../node/comparison.ts';
import { type NodeRpc, NodeUnreachableError } from '../../node/rpc.ts';
import { NoSnapshotError } from '../../store/model/read-errors.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';

/** Requests to the node a second: it has its chain to follow, and others ask it, too. */
const RATE = 20;
/** Blocks whose facts one comparison takes at most, the newest first: after an outage there may be thousands. */
const MOST_BLOCKS = 20;
/** Facts of each kind that one comparison takes at most. */
const MOST_FACTS = 50;

/** The last comparison that came to an end, and what all since the start came to: a difference stays when others follow. */
export interface Verified {
  /** The block at which index and node were compared. */
  height: number;
  indexBlockHash: string;
  /** Unix milliseconds. */
  at: number;
  /** Facts that were compared since the start, and those in which both differed. */
  compared: number;
  mismatches: number;
  /** Height at which a fact differed last; null where none did. */
  mismatchHeight: number | null;
}

interface VerificationOptions {
  /** Seconds between two comparisons. */
  seconds: number;
  snapshots: Snapshots;
  node: NodeRpc;
  clock: Clock;
  registry: Registry;
  log: (event: ComparisonEvent) => void;
}

/** Begins the comparisons. */
export function verifyNode({ seconds, snapshots, node, clock, registry, log }: VerificationOptions) {
  const stopping = new AbortController();
  const { signal } = stopping;
  const { common, branch, compare } = comparison(snapshots, node, { rate: RATE, clock, signal });
  const totals: Pick<Verified, 'compared' | 'mismatches' | 'mismatchHeight'> = {
    compared: 0,
    mismatches: 0,
    mismatchHeight: null,
  };
  let last: Verified | null = null;
  /** Hashes of the newest blocks at the last comparison: what a fork puts in their place is compared again. */
  let known: ReadonlySet<string> = new Set();
  /** Why the last comparison was not made; null where it was. */
  let hindrance: string | null = null;

  comparisonMetrics(registry, totals);

  /** Compares the blocks that came since the last comparison. */
  async function compareNewest(): Promise<void> {
    const at = await common();
    if (at === null) return;
    const newest = await branch(at, MOST_BLOCKS);
    const hashes = newest.map(({ hash }) => toHex(hash));
    const lastKnown = hashes.findIndex((hash) => known.has(hash));
    if (lastKnown === 0) return;
    const lowest = newest.at(lastKnown === -1 ? -1 : lastKnown - 1)!.height;
    const found = await compare(at, { most: MOST_FACTS, lowest });
    for (const { kind, compared, differing, differences } of found) {
      totals.compared += compared;
      totals.mismatches += differing;
      if (differing > 0) totals.mismatchHeight = at.height;
      for (const one of differences) {
        const place = { block_height: at.height, index_block_hash: toHex(at.hash) };
        log({ event: 'node_mismatch', kind, difference: differenceText(one), ...place });
      }
    }
    known = new Set(hashes);
    last = { height: at.height, indexBlockHash: toHex(at.hash), at: clock.now(), ...totals };
  }

  async function run(): Promise<void> {
    for (;;) {
      await pause(clock, seconds * 1000, signal);
      if (signal.aborted) return;
      try {
        await compareNewest();
        hindrance = null;
      } catch (error) {
        // The next comparison takes a fork's blocks. A metric of its own says that the index is away.
        if (error instanceof TipLostError || error instanceof NoSnapshotError) continue;
        if (!(error instanceof OperatorError || error instanceof NodeUnreachableError)) throw error;
        if (error.message !== hindrance) log({ event: 'node_not_compared', reason: error.message });
        hindrance = error.message;
      }
    }
  }

  const running = run().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return {
    /** The last comparison; null before the first. */
    last: (): Verified | null => last,
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}
