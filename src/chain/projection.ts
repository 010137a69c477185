/**
 * Projected blocks: the blocks that the pending transactions would fill if no other transactions arrived.
 *
 * The rule is the rule of a node's miner with its default settings (`mempool_walk_strategy =
 * "NextNonceWithHighestFeeRate"` and `tenure_cost_limit_per_block_percentage = 25`). The miner takes the transaction
 * with the highest fee rate among the transactions with the next nonces of their origin and sponsor. The fee rate is
 * the fee divided by the weight. The weight is the sum of a transaction's shares of each limit of a block: the five
 * dimensions of cost (SIP-006), and the bytes. Equal rates are in the order of receipt. A transaction that doesn't fit
 * starts the next block.
 *
 * The rule has limits. It doesn't include future transactions. It estimates the cost of a contract call from earlier
 * calls of the function, and it counts only the bytes of a deployment. It ignores the miner's settings, the used part
 * of the tenure's budget, and the time at which a block ends.
 */
import { bytesEqual } from '../base/bytes-equal.ts';
import type { Pause } from '../base/turns.ts';
import { TENURE_BUDGET } from './network.ts';

/** The share of a tenure's budget that a miner puts into one block. */
const BLOCK_SHARE = 0.25;

/** Maximum size of a block in bytes (SIP-005). */
const MAX_BYTES = 2 * 1024 * 1024;

/** Limits of a projected block. A single transaction may exceed them. */
export const BLOCK_LIMITS: readonly number[] = [
  ...Object.values(TENURE_BUDGET).map((budget) => budget * BLOCK_SHARE),
  MAX_BYTES,
];

/**
 * Maximum pending transactions of an account that a node accepts. Transactions with later nonces wait for a place in
 * the mempool.
 */
export const MAX_CHAINED = 25;

/** Minimum fee that a node accepts, in micro-STX per byte. */
const MIN_FEE_PER_BYTE = 1;

/** A pending transaction, with the values that a miner's choice depends on. Accounts are numbers. */
export interface Candidate {
  txId: Uint8Array;
  /** Fee in micro-STX. */
  fee: number;
  /** Cost and bytes, in the order of {@link BLOCK_LIMITS}. */
  uses: readonly number[];
  receivedAt: number;
  /** The nonces that the transaction spends: its origin's, and its sponsor's if the sponsor is another account. */
  spends: readonly { account: number; nonce: number }[];
}

/** Returns the sum of the transaction's shares of a block's limits. */
const weightOf = (uses: readonly number[]): number =>
  uses.reduce((sum, amount, index) => sum + amount / BLOCK_LIMITS[index]!, 0);

/** Returns the fee rate: micro-STX for a block's whole limits. */
export const rateOf = ({ fee, uses }: Pick<Candidate, 'fee' | 'uses'>): number => fee / weightOf(uses);

const sumOf = (a: readonly number[], b: readonly number[]): number[] => a.map((amount, index) => amount + b[index]!);
const isWithin = (uses: readonly number[]): boolean => uses.every((amount, index) => amount <= BLOCK_LIMITS[index]!);

export interface ProjectedBlock {
  transactions: Candidate[];
  /** Sums of the block's transactions, in the order of {@link BLOCK_LIMITS}. */
  uses: readonly number[];
}

export interface Projection {
  blocks: ProjectedBlock[];
  /** Block number and index in the block, both from 1, by transaction id in hex. */
  places: ReadonlyMap<string, { block: number; place: number }>;
  /**
   * The next nonces of all candidates' accounts at the tip. If an account's nonce is unknown, its lowest pending nonce.
   */
  nextNonces: ReadonlyMap<number, number>;
}

interface QueueEntry {
  candidate: Candidate;
  rate: number;
  /** Whether the transaction is in the heap, or was. */
  isReady: boolean;
}

const isBefore = (a: QueueEntry, b: QueueEntry): boolean => {
  if (a.rate !== b.rate) return a.rate > b.rate;
  if (a.candidate.receivedAt !== b.candidate.receivedAt) return a.candidate.receivedAt < b.candidate.receivedAt;
  return Buffer.compare(a.candidate.txId, b.candidate.txId) < 0;
};

/** Makes a binary heap with the transaction that a miner takes first at its top. */
function makeHeap() {
  const heap: QueueEntry[] = [];
  return {
    push(added: QueueEntry): void {
      let index = heap.length;
      for (let up = (index - 1) >> 1; index > 0 && isBefore(added, heap[up]!); up = (index - 1) >> 1) {
        heap[index] = heap[up]!;
        index = up;
      }
      heap[index] = added;
    },
    pop(): QueueEntry | undefined {
      const top = heap[0];
      const last = heap.pop();
      if (heap.length === 0 || last === undefined) return top;
      let index = 0;
      for (let down = 1; down < heap.length; down = 2 * index + 1) {
        if (down + 1 < heap.length && isBefore(heap[down + 1]!, heap[down]!)) down += 1;
        if (!isBefore(heap[down]!, last)) break;
        heap[index] = heap[down]!;
        index = down;
      }
      heap[index] = last;
      return top;
    },
  };
}

/** Number of transactions between two checks of the time. */
const BATCH = 256;

/**
 * Fills projected blocks.
 * @param nextNonceOf the next nonce of an account at the tip; null if it is unknown
 */
export async function projectionOf(
  candidates: readonly Candidate[],
  nextNonceOf: (account: number) => number | null,
  pause: Pause,
): Promise<Projection> {
  /** By account, then by nonce. */
  const spenders = new Map<number, Map<number, QueueEntry[]>>();
  const queued: QueueEntry[] = [];
  for (const [index, candidate] of candidates.entries()) {
    if (index % BATCH === 0) await pause();
    const entry: QueueEntry = { candidate, rate: rateOf(candidate), isReady: false };
    queued.push(entry);
    for (const { account, nonce } of candidate.spends) {
      const byNonce = spenders.get(account) ?? new Map<number, QueueEntry[]>();
      spenders.set(account, byNonce);
      const entries = byNonce.get(nonce) ?? [];
      byNonce.set(nonce, entries);
      entries.push(entry);
    }
  }
  const startNonces = new Map<number, number>();
  for (const [account, byNonce] of spenders) {
    if (startNonces.size % BATCH === 0) await pause();
    startNonces.set(account, nextNonceOf(account) ?? [...byNonce.keys()].reduce((a, b) => Math.min(a, b)));
  }

  const next = new Map(startNonces);
  const heap = makeHeap();
  const isNext = ({ candidate: { spends } }: QueueEntry): boolean =>
    spends.every(({ account, nonce }) => next.get(account) === nonce);
  const makeReady = (entry: QueueEntry): void => {
    if (entry.isReady || !isNext(entry)) return;
    entry.isReady = true;
    heap.push(entry);
  };
  for (const entry of queued) makeReady(entry);

  const blocks: ProjectedBlock[] = [];
  const places = new Map<string, { block: number; place: number }>();
  let current: ProjectedBlock | undefined;
  for (let top = heap.pop(); top !== undefined; top = heap.pop()) {
    // Another transaction may have spent the nonce since.
    if (!isNext(top)) continue;
    const { candidate } = top;
    const uses: readonly number[] = current === undefined ? candidate.uses : sumOf(current.uses, candidate.uses);
    if (current === undefined || !isWithin(uses)) {
      current = { transactions: [], uses: candidate.uses };
      blocks.push(current);
    } else {
      current.uses = uses;
    }
    current.transactions.push(candidate);
    places.set(candidate.txId.toHex(), { block: blocks.length, place: current.transactions.length });
    if (places.size % BATCH === 0) await pause();
    for (const { account, nonce } of candidate.spends) next.set(account, nonce + 1);
    for (const { account, nonce } of candidate.spends) {
      for (const follower of spenders.get(account)?.get(nonce + 1) ?? []) makeReady(follower);
    }
  }
  return { blocks, places, nextNonces: startNonces };
}

/**
 * Returns the minimum fee in micro-STX with which a transaction would be in the first projected block, before
 * transactions with equal rates. Returns null if no fee is enough, because the transaction follows transactions that
 * aren't in the first block or are no longer pending.
 * @param blocks the projected blocks
 * @param nextNonce the next nonce of an account at the tip
 */
export function feeForFirstBlock(
  target: Candidate,
  blocks: readonly ProjectedBlock[],
  nextNonce: (account: number) => number,
): number | null {
  const weight = weightOf(target.uses);
  /** Nonces that other transactions must spend before. */
  const awaitedNonces = new Set(
    target.spends
      .filter(({ account, nonce }) => nextNonce(account) !== nonce)
      .map(({ account, nonce }) => `${account} ${nonce - 1}`),
  );
  /** Accounts whose later transactions follow this transaction. */
  const blockedAccounts = new Set<number>();
  let uses: readonly number[] | null = null;
  /** Lowest rate so far of the transactions that the target can come before; Infinity if there is none. */
  let lowestRate = Number.POSITIVE_INFINITY;
  const feeAboveLowest = (): number | null => {
    if (lowestRate === Number.POSITIVE_INFINITY) return null;
    let fee = Math.floor(lowestRate * weight);
    while (fee / weight <= lowestRate) fee += 1;
    return fee;
  };
  for (const { transactions } of blocks) {
    for (const other of transactions) {
      const isOwn = bytesEqual(other.txId, target.txId);
      if (isOwn || other.spends.some(({ account }) => blockedAccounts.has(account))) {
        for (const { account } of other.spends) blockedAccounts.add(account);
        continue;
      }
      if (awaitedNonces.size === 0) {
        if (uses !== null && !isWithin(sumOf(uses, target.uses))) return feeAboveLowest();
        lowestRate = Math.min(lowestRate, rateOf(other));
      }
      uses = uses === null ? other.uses : sumOf(uses, other.uses);
      if (!isWithin(uses)) return feeAboveLowest();
      for (const { account, nonce } of other.spends) awaitedNonces.delete(`${account} ${nonce}`);
    }
  }
  if (awaitedNonces.size > 0) return null;
  if (uses !== null && !isWithin(sumOf(uses, target.uses))) return feeAboveLowest();
  return MIN_FEE_PER_BYTE * target.uses.at(-1)!;
}
