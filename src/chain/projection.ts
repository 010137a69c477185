/**
 * Projected blocks: the blocks that pending transactions would fill, if no other came.
 *
 * The rule is that of a node's miner with its default settings (`mempool_walk_strategy = "NextNonceWithHighestFeeRate"` and
 * `tenure_cost_limit_per_block_percentage = 25`): next comes the transaction with the highest fee rate, among those whose nonces
 * are the next ones of their origin and of their sponsor. The fee rate is the fee divided by the weight, which is the sum of the
 * shares that a transaction has of each limit of a block: of the five dimensions of cost (SIP-006), and of the bytes. Equal rates
 * are in the order of receipt. A transaction that does not fit begins the next block.
 *
 * What the rule can't know: transactions that are still to come; what a contract call will cost, which is estimated from earlier
 * calls of its function, and what a deployment will, of which the bytes alone count; the settings of the miner and how much of its
 * tenure's budget is used; when a block ends by its time.
 */
import type { Pause } from '../base/turns.ts';
import { TENURE_BUDGET } from './tenure-budget.ts';

/** The part of a tenure's budget that a miner puts into one block. */
const BLOCK_SHARE = 0.25;

/** Maximum size of a block in bytes (SIP-005). */
const MOST_BYTES = 2 * 1024 * 1024;

/** What a projected block has at most, unless its only transaction has more. */
export const BLOCK_LIMITS: readonly number[] = [
  ...Object.values(TENURE_BUDGET).map((most) => most * BLOCK_SHARE),
  MOST_BYTES,
];

/** Pending transactions of an account that a node accepts: those with later nonces wait for a place in the mempool. */
export const MOST_CHAINED = 25;

/** The least fee that a node accepts, in micro-STX for each byte. */
const LEAST_FEE_PER_BYTE = 1;

/** A pending transaction, as far as a miner's choice depends on it. Accounts are numbers. */
export interface Candidate {
  txId: Uint8Array;
  /** micro-STX. */
  fee: number;
  /** Cost and bytes, in the order of {@link BLOCK_LIMITS}. */
  uses: readonly number[];
  receivedAt: number;
  /** The nonces that it spends: its origin's, and its sponsor's if that is another account. */
  spends: readonly { account: number; nonce: number }[];
}

/** The sum of the shares of a block's limits. */
const weightOf = (uses: readonly number[]): number =>
  uses.reduce((sum, amount, index) => sum + amount / BLOCK_LIMITS[index]!, 0);

/** micro-STX for a block's whole limits. */
export const rateOf = ({ fee, uses }: Pick<Candidate, 'fee' | 'uses'>): number => fee / weightOf(uses);

const sumOf = (a: readonly number[], b: readonly number[]): number[] => a.map((amount, index) => amount + b[index]!);
const isWithin = (uses: readonly number[]): boolean => uses.every((amount, index) => amount <= BLOCK_LIMITS[index]!);

export interface ProjectedBlock {
  transactions: Candidate[];
  /** The sums of its transactions, in the order of {@link BLOCK_LIMITS}. */
  uses: readonly number[];
}

export interface Projection {
  blocks: ProjectedBlock[];
  /** Block and place in it by transaction id in hex, from 1. */
  places: ReadonlyMap<string, { block: number; place: number }>;
  /** The next nonces of the accounts of all candidates at the tip; where one is unknown, the lowest that is pending. */
  nextNonces: ReadonlyMap<number, number>;
}

interface Queued {
  candidate: Candidate;
  rate: number;
  /** Whether it is in the heap, or was. */
  isReady: boolean;
}

const isBefore = (a: Queued, b: Queued): boolean => {
  if (a.rate !== b.rate) return a.rate > b.rate;
  if (a.candidate.receivedAt !== b.candidate.receivedAt) return a.candidate.receivedAt < b.candidate.receivedAt;
  return Buffer.compare(a.candidate.txId, b.candidate.txId) < 0;
};

/** A binary heap: the transaction that a miner takes first is at its top. */
function heapOf() {
  const heap: Queued[] = [];
  return {
    push(added: Queued): void {
      let at = heap.length;
      for (let up = (at - 1) >> 1; at > 0 && isBefore(added, heap[up]!); up = (at - 1) >> 1) {
        heap[at] = heap[up]!;
        at = up;
      }
      heap[at] = added;
    },
    pop(): Queued | undefined {
      const top = heap[0];
      const last = heap.pop();
      if (heap.length === 0 || last === undefined) return top;
      let at = 0;
      for (let down = 1; down < heap.length; down = 2 * at + 1) {
        if (down + 1 < heap.length && isBefore(heap[down + 1]!, heap[down]!)) down += 1;
        if (!isBefore(heap[down]!, last)) break;
        heap[at] = heap[down]!;
        at = down;
      }
      heap[at] = last;
      return top;
    },
  };
}

/** Transactions between two looks at the time. */
const BATCH = 256;

/**
 * Fills projected blocks.
 * @param nextNonceOf the next nonce of an account at the tip; null where it is unknown
 */
export async function projectionOf(
  candidates: readonly Candidate[],
  nextNonceOf: (account: number) => number | null,
  pause: Pause,
): Promise<Projection> {
  /** By account, then by nonce. */
  const spending = new Map<number, Map<number, Queued[]>>();
  const queued: Queued[] = [];
  for (const [index, candidate] of candidates.entries()) {
    if (index % BATCH === 0) await pause();
    const one: Queued = { candidate, rate: rateOf(candidate), isReady: false };
    queued.push(one);
    for (const { account, nonce } of candidate.spends) {
      const ofAccount = spending.get(account) ?? new Map<number, Queued[]>();
      spending.set(account, ofAccount);
      const ofNonce = ofAccount.get(nonce) ?? [];
      ofAccount.set(nonce, ofNonce);
      ofNonce.push(one);
    }
  }
  const starting = new Map<number, number>();
  for (const [account, byNonce] of spending) {
    if (starting.size % BATCH === 0) await pause();
    starting.set(account, nextNonceOf(account) ?? [...byNonce.keys()].reduce((a, b) => Math.min(a, b)));
  }

  const next = new Map(starting);
  const heap = heapOf();
  const isNext = ({ candidate: { spends } }: Queued): boolean =>
    spends.every(({ account, nonce }) => next.get(account) === nonce);
  const makeReady = (one: Queued): void => {
    if (one.isReady || !isNext(one)) return;
    one.isReady = true;
    heap.push(one);
  };
  for (const one of queued) makeReady(one);

  const blocks: ProjectedBlock[] = [];
  const places = new Map<string, { block: number; place: number }>();
  let current: ProjectedBlock | undefined;
  for (let top = heap.pop(); top !== undefined; top = heap.pop()) {
    // Another one may have spent the nonce meanwhile.
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
      for (const follower of spending.get(account)?.get(nonce + 1) ?? []) makeReady(follower);
    }
  }
  return { blocks, places, nextNonces: starting };
}

/**
 * The least fee in micro-STX with which a transaction would be in the first projected block, before those with equal rates; null where
 * none would do, since it follows transactions that are not in the first block, or are pending no more.
 * @param blocks the projected blocks
 * @param nextNonce the next nonce of an account at the tip
 */
export function feeForFirstBlock(
  own: Candidate,
  blocks: readonly ProjectedBlock[],
  nextNonce: (account: number) => number,
): number | null {
  const weight = weightOf(own.uses);
  /** Nonces that others must spend before. */
  const awaited = new Set(
    own.spends
      .filter(({ account, nonce }) => nextNonce(account) !== nonce)
      .map(({ account, nonce }) => `${account} ${nonce - 1}`),
  );
  /** Accounts whose further transactions follow this one. */
  const held = new Set<number>();
  let uses: readonly number[] | null = null;
  let beaten = Number.POSITIVE_INFINITY;
  const feeAbove = (rate: number): number => {
    let fee = Math.floor(rate * weight);
    while (fee / weight <= rate) fee += 1;
    return fee;
  };
  for (const { transactions } of blocks) {
    for (const other of transactions) {
      const isOwn = Buffer.compare(other.txId, own.txId) === 0;
      if (isOwn || other.spends.some(({ account }) => held.has(account))) {
        for (const { account } of other.spends) held.add(account);
        continue;
      }
      if (awaited.size === 0) {
        if (uses !== null && !isWithin(sumOf(uses, own.uses))) return Number.isFinite(beaten) ? feeAbove(beaten) : null;
        beaten = Math.min(beaten, rateOf(other));
      }
      uses = uses === null ? other.uses : sumOf(uses, other.uses);
      if (!isWithin(uses)) return Number.isFinite(beaten) ? feeAbove(beaten) : null;
      for (const { account, nonce } of other.spends) awaited.delete(`${account} ${nonce}`);
    }
  }
  if (awaited.size > 0) return null;
  if (uses !== null && !isWithin(sumOf(uses, own.uses))) return Number.isFinite(beaten) ? feeAbove(beaten) : null;
  return LEAST_FEE_PER_BYTE * own.uses.at(-1)!;
}
