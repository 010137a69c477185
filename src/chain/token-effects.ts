/** What a transaction's events do to fungible and non-fungible tokens. */
import type { ChainTransaction } from './block.ts';
import type { Effect } from './effect.ts';

type FtBalance = Omit<Extract<Effect, { kind: 'ft_balance' }>, 'kind' | 'sign'>;
type FtToken = Omit<Extract<Effect, { kind: 'ft_token' }>, 'kind' | 'sign'>;
type TokenChange = Omit<Extract<Effect, { kind: 'token_change' }>, 'kind' | 'sign'>;

/** The entry of a key, made where there is none. */
function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  let found = map.get(key);
  if (found === undefined) {
    found = make();
    map.set(key, found);
  }
  return found;
}

/** Sums of a block's token events; balances move once a block, whatever the number of transfers. */
export class TokenSums {
  readonly #balances = new Map<string, FtBalance>();
  readonly #tokens = new Map<string, FtToken>();
  /** The number of mints, by asset. */
  readonly #mints = new Map<string, number>();

  /** Takes a transaction's events in. @returns the effects that are the transaction's own */
  add(transaction: ChainTransaction, position: number): Effect[] {
    const moves: Effect[] = [];
    const changes = new Map<string, TokenChange>();
    const change = (principal: string, token: 'ft' | 'nft', asset: string): TokenChange =>
      entry(changes, `${principal} ${token} ${asset}`, () => ({
        position,
        principal,
        token,
        asset,
        sent: 0n,
        received: 0n,
      }));
    for (const [index, event] of transaction.events.entries()) {
      if (event.kind !== 'ft' && event.kind !== 'nft') continue;
      const { kind, asset, sender, recipient } = event;
      const amount = kind === 'ft' ? BigInt(event.amount) : 1n;
      if (sender !== null) change(sender, kind, asset).sent += amount;
      if (recipient !== null) change(recipient, kind, asset).received += amount;
      if (kind === 'ft') this.#move(asset, sender, recipient, amount);
      else {
        moves.push({ kind: 'nft_move', sign: 1, position, index, asset, value: event.value, owner: recipient });
        if (event.action === 'mint') this.#mints.set(asset, (this.#mints.get(asset) ?? 0) + 1);
      }
    }
    for (const sums of changes.values()) moves.push({ kind: 'token_change', sign: 1, ...sums });
    return moves;
  }

  #move(asset: string, sender: string | null, recipient: string | null, amount: bigint): void {
    const balance = (principal: string): FtBalance =>
      entry(this.#balances, `${principal} ${asset}`, () => ({ asset, principal, balance: 0n, transfers: 0 }));
    const token = entry(this.#tokens, asset, () => ({ asset, supply: 0n, events: 0 }));
    token.events += 1;
    if (sender === null) token.supply += amount;
    else {
      const from = balance(sender);
      from.balance -= amount;
      from.transfers += 1;
    }
    if (recipient === null) token.supply -= amount;
    else {
      const to = balance(recipient);
      to.balance += amount;
      if (recipient !== sender) to.transfers += 1;
    }
  }

  /** The effects on balances and supplies of everything added. */
  effects(): Effect[] {
    const effects: Effect[] = [];
    for (const token of this.#tokens.values()) effects.push({ kind: 'ft_token', sign: 1, ...token });
    for (const balance of this.#balances.values()) effects.push({ kind: 'ft_balance', sign: 1, ...balance });
    for (const [asset, mints] of this.#mints) effects.push({ kind: 'nft_mints', sign: 1, asset, mints });
    return effects;
  }
}
