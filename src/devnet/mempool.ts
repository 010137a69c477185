import { toHex } from '../codec/hex.ts';
import { type NodeEvent, nodeEvent } from './node-event.ts';
import type { Prng } from './prng.ts';
import type { Traffic } from './traffic.ts';
import { type MadeTransaction, payerOf, type SignedTransaction } from './transaction.ts';
import type { World } from './world.ts';

/** Why a node forgets a transaction, other than for a replacement. */
const dropReasons = ['StaleGarbageCollect', 'TooExpensive', 'Problematic'] as const;
/** Nonces so far ahead never become minable. */
const farAhead = 1000;

/** Simulates the mempool: transactions that are announced before they are mined, replaced, or dropped. */
export class Mempool {
  /** Transactions that were announced, and wait for a later block. */
  #waiting: SignedTransaction[] = [];
  /** Ids of transactions that were announced and will never be mined. */
  #hopeless: string[] = [];

  constructor(
    readonly prng: Prng,
    readonly traffic: Traffic,
  ) {}

  get waiting(): readonly SignedTransaction[] {
    return this.#waiting;
  }

  /** Addresses whose next nonce on this branch is that of a waiting transaction. */
  busy(world: World): Set<string> {
    const busy = new Set<string>();
    for (const { origin } of this.#waiting) {
      if (origin.nonce === world.nonce(origin.account.address)) busy.add(origin.account.address);
    }
    return busy;
  }

  /**
   * The events before a block that holds `fresh`, in order, spread over the time given (Unix ms).
   *
   * @param replaced transactions of another branch whose nonce a fresh one takes on this branch
   */
  announce(
    fresh: readonly MadeTransaction[],
    replaced: readonly SignedTransaction[],
    world: World,
    burnHeight: number,
    from: number,
    to: number,
  ): NodeEvent[] {
    const { prng } = this;
    const messages: { path: string; body: unknown }[] = [];
    const say = (transactions: readonly SignedTransaction[]) =>
      messages.push({ path: '/new_mempool_tx', body: transactions.map(({ raw }) => toHex(raw)) });
    const drop = (ids: readonly string[], reason: string, replacement: string | null) =>
      messages.push({ path: '/drop_mempool_tx', body: { dropped_txids: ids, new_txid: replacement, reason } });

    let batch: SignedTransaction[] = [];
    const flush = () => {
      if (batch.length > 0) say(batch);
      batch = [];
    };
    for (const transaction of fresh) {
      const across = replaced.find((other) => sameNonce(other, transaction));
      if (across !== undefined) {
        flush();
        drop([across.id], 'ReplaceAcrossFork', transaction.id);
      } else if (prng.chance(0.15)) {
        // Straight to the miner: nobody hears of it before the block.
        continue;
      } else if (prng.chance(0.05) && transaction.sponsor === undefined && payerOf(transaction).fee > 200n) {
        flush();
        const cheaper = this.#cheaper(transaction, world);
        say([cheaper]);
        drop([cheaper.id], 'ReplaceByFee', transaction.id);
      }
      batch.push(transaction);
      if (prng.chance(0.4)) flush();
    }
    flush();
    for (const later of this.#later(world, burnHeight)) say([later]);
    if (this.#hopeless.length > 0 && prng.chance(0.2)) {
      const ids = this.#hopeless.splice(0, prng.between(1, 3));
      drop(ids, prng.pick(dropReasons), null);
    }

    const step = (to - from) / (messages.length + 1);
    return messages.map(({ path, body }, i) => nodeEvent(path, body, Math.floor(from + step * (i + 1))));
  }

  /** Forgets what a block of this branch has used up. */
  settle(world: World): void {
    this.#waiting = this.#waiting.filter(({ origin }) => origin.nonce >= world.nonce(origin.account.address));
  }

  /** New transactions that are announced now and mined later, or never. */
  #later(world: World, burnHeight: number): SignedTransaction[] {
    const { prng, traffic } = this;
    const announced: SignedTransaction[] = [];
    const busy = this.busy(world);
    // An account that waits sends nothing else, so most must stay free.
    if (prng.chance(0.3) && busy.size < traffic.users.length / 4) {
      const transaction = traffic.next(world, burnHeight, busy);
      // A sponsor serves many: its nonce would be gone by the time this is mined.
      if (transaction.sponsor === undefined) {
        this.#waiting.push(transaction);
        announced.push(transaction);
      }
    }
    if (prng.chance(0.2)) {
      const user = prng.pick(traffic.users);
      const nonce = world.nonce(user.address) + farAhead + prng.below(farAhead);
      const transaction = traffic.transfer(user, nonce, 10_000_000n, 200n, world);
      this.#hopeless.push(transaction.id);
      announced.push(transaction);
    }
    return announced;
  }

  #cheaper({ origin }: MadeTransaction, world: World): MadeTransaction {
    // Its nonce is used up in `world` by now, so it isn't sponsored.
    return this.traffic.transfer(origin.account, origin.nonce, 10_000_000n, origin.fee / 2n, world);
  }
}

function sameNonce(a: SignedTransaction, b: SignedTransaction): boolean {
  return a.id !== b.id && a.origin.nonce === b.origin.nonce && a.origin.account.address === b.origin.account.address;
}
