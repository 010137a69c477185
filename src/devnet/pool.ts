/** The transactions that came from outside: those that wait, and those that may wait again when their block is lost. */
import { Rejection } from './admission.ts';
import { type Party, payerOf, type SignedTransaction } from './transaction.ts';
import type { World } from './world.ts';

/** Most bytes of transactions that are held. */
const MAX_BYTES = 64 * 1024 * 1024;

interface Held {
  readonly transaction: SignedTransaction;
  /** Height of the block after which the transaction's nonce was used; null while it waits. */
  usedAt: number | null;
}

const partiesOf = ({ origin, sponsor }: SignedTransaction): Party[] =>
  sponsor === undefined ? [origin] : [origin, sponsor];

const conflicts = (a: SignedTransaction, b: SignedTransaction): boolean =>
  partiesOf(a).some((one) =>
    partiesOf(b).some((other) => one.account.address === other.account.address && one.nonce === other.nonce),
  );

const isWaiting = ({ origin }: SignedTransaction, world: World): boolean =>
  Number(origin.nonce) >= world.nonce(origin.account.address);

export class Pool {
  readonly #held = new Map<string, Held>();
  #bytes = 0;

  /** The transactions that wait on a state, in order of arrival. */
  waiting(world: World): SignedTransaction[] {
    return [...this.#held.values()].map(({ transaction }) => transaction).filter((one) => isWaiting(one, world));
  }

  /** A transaction that is held, by its id with 0x. */
  get(id: string): SignedTransaction | undefined {
    return this.#held.get(id)?.transaction;
  }

  /**
   * Takes a transaction.
   * @returns the transactions that it replaces, which offered less for the same nonce
   * @throws Rejection where another one offers as much or more, or there is no room
   */
  add(transaction: SignedTransaction, world: World): SignedTransaction[] {
    const replaced = this.waiting(world).filter((other) => conflicts(other, transaction));
    if (replaced.some((other) => payerOf(other).fee >= payerOf(transaction).fee)) {
      throw new Rejection('ConflictingNonceInMempool');
    }
    if (this.#bytes + transaction.raw.length > MAX_BYTES) {
      throw new Rejection('ServerFailureOther', { message: 'The mempool is full' });
    }
    for (const { id } of replaced) this.#forget(id);
    this.#held.set(transaction.id, { transaction, usedAt: null });
    this.#bytes += transaction.raw.length;
    return replaced;
  }

  /**
   * Notes what a block of the winning chain has used up.
   * @param keep number of blocks that a fork can undo at most
   */
  settle(world: World, height: number, keep: number): void {
    for (const [id, held] of this.#held) {
      if (isWaiting(held.transaction, world)) held.usedAt = null;
      else held.usedAt ??= height;
      if (held.usedAt !== null && held.usedAt + keep < height) this.#forget(id);
    }
  }

  #forget(id: string): void {
    this.#bytes -= this.#held.get(id)?.transaction.raw.length ?? 0;
    this.#held.delete(id);
  }
}
