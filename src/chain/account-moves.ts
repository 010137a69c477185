/** What a block does to accounts: sums for each principal of its transactions. */
import type { ChainTransaction } from './block.ts';
import type { AccountMove, Effect, Involvement } from './effect.ts';

export class AccountMoves {
  readonly #height: number;
  readonly #moves = new Map<string, AccountMove>();
  /** Transactions and rewards of each account in the block. */
  readonly #entries = new Map<string, number>();
  /** micro-STX by which the balances of all accounts change, once their effects are made. */
  balances = 0n;

  constructor(height: number) {
    this.#height = height;
  }

  #of(principal: string): AccountMove {
    let known = this.#moves.get(principal);
    if (known === undefined) {
      known = {
        balance: 0n,
        stxMoves: 0,
        transactions: 0,
        rewards: 0,
        stxInbound: 0,
        stxOutbound: 0,
        sent: 0,
        paid: 0,
        calls: 0,
      };
      this.#moves.set(principal, known);
    }
    return known;
  }

  /** Adds a principal's part in a transaction. */
  involve(principal: string, { sent, received, stxMoved, stxInbound, stxOutbound }: Involvement): void {
    const moved = this.#of(principal);
    moved.balance += received - sent;
    moved.stxMoves += stxMoved ? 1 : 0;
    moved.transactions += 1;
    moved.stxInbound += stxInbound;
    moved.stxOutbound += stxOutbound;
  }

  /** Adds what the payload of a transaction says, whose involvements were added before. */
  act({ payload, sender }: ChainTransaction): void {
    this.#of(sender.address).sent += 1;
    if (payload.type === 'token_transfer') this.#of(payload.recipient).paid += 1;
    if (payload.type === 'contract_call') this.#of(payload.contractId).calls += 1;
  }

  /** Adds a reward of so many micro-STX. */
  reward(principal: string, amount: bigint): void {
    const moved = this.#of(principal);
    moved.balance += amount;
    moved.stxMoves += 1;
    moved.rewards += 1;
  }

  /** The number of accounts whose effects are not made yet. */
  get size(): number {
    return this.#moves.size;
  }

  /** The effects of what was added since the last ones; a principal may have several in a block. */
  *effects(): Generator<Effect> {
    for (const [principal, moved] of this.#moves) {
      yield { kind: 'account', sign: 1, principal, ...moved };
      this.balances += moved.balance;
      this.#entries.set(principal, (this.#entries.get(principal) ?? 0) + moved.transactions + moved.rewards);
    }
    this.#moves.clear();
  }

  /** The effects on checkpoints, once for each principal of the block. */
  *checkpoints(): Generator<Effect> {
    for (const [principal, entries] of this.#entries) {
      yield { kind: 'checkpoint', sign: 1, height: this.#height, principal, entries };
    }
  }
}
