/**
 * The effects of a block on the canonical tables. Applying a block applies the list; reverting it applies the list that
 * {@link reverseEffects} makes. Nothing else changes a canonical table, so a reorg back and forth ends in the same rows as no
 * reorg. Only block 0 is reverted in another way: by emptying the tables.
 */

import { dayOf } from '../base/utc-time.ts';
import type { Block, ChainTransaction, Microblock, MinerReward } from './block.ts';
import { bnsChangeOfCall, bnsChangesOf } from './bns-v2.ts';
import type { AccountMove, Effect, EffectOf, Involvement, UnknownKind } from './effect.ts';
import { involvementsOf } from './involvements.ts';
import { memoTransfers } from './memo-transfers.ts';
import { type NameChange, nameChangeOf, unprintedChange } from './name-system.ts';
import { positionOf } from './position.ts';
import { type PoxReading, poxReading, stackingLock } from './pox/reading.ts';
import type { StakingChange } from './pox/staking.ts';
import { tokenContract, tokenNews } from './token-contracts.ts';

/**
 * Returns the effects that revert a block: the same list with opposite signs. The order is reversed because later rows
 * refer to earlier rows.
 */
export const reverseEffects = (effects: Iterable<Effect>): Effect[] =>
  [...effects].reverse().map((effect) => ({ ...effect, sign: effect.sign === 1 ? -1 : 1 }));

const unknownKind = (what: UnknownKind, reason: string): Effect => ({ kind: 'unknown_kind', sign: 1, what, reason });

/** Returns the micro-STX that the transaction's events minted, minus the burnt micro-STX. */
function mintedAmount(transaction: ChainTransaction): bigint {
  let amount = 0n;
  for (const event of transaction.events) {
    if (event.kind !== 'stx') continue;
    if (event.action === 'mint') amount += BigInt(event.amount);
    else if (event.action === 'burn') amount -= BigInt(event.amount);
  }
  return amount;
}

const rewardTotal = (reward: MinerReward): bigint =>
  reward.coinbase + reward.feesAnchored + reward.feesStreamedConfirmed + reward.feesStreamedProduced;

const count = <K>(counts: Map<K, number>, key: K): Map<K, number> => counts.set(key, (counts.get(key) ?? 0) + 1);

/** Returns the microblocks of a block, each once, by ascending sequence. */
function microblocksOf({ transactions }: Block): Microblock[] {
  const byHash = new Map<string, Microblock>();
  for (const { microblock } of transactions) {
    // The transactions of the anchor block follow the transactions of its microblocks.
    if (microblock === null) break;
    byHash.set(microblock.hash.toHex(), microblock);
  }
  return [...byHash.values()];
}

/** Limits of a block's sums in memory. */
interface Portions {
  /** Maximum events of a transaction per portion of its principals. */
  events: number;
  /** Maximum accounts. */
  accounts: number;
}

/** Only a genesis block exceeds these. */
const PORTIONS: Portions = { events: 75_000, accounts: 50_000 };

/**
 * Generates the effects of a block on its parent's state. The generation is lazy because a genesis block has more than
 * a million effects. Block 1 includes block 0's transactions.
 */
export function* effectsOf(block: Block, portions = PORTIONS): Generator<Effect> {
  yield { kind: 'block', sign: 1, block };
  yield { kind: 'anchor', sign: 1, block };
  const microblocks = microblocksOf(block);
  if (microblocks.length > 0) yield { kind: 'microblocks', sign: 1, height: block.height, microblocks };
  const tokens = new TokenSums();
  const tokenEffects: Effect[] = [];
  const accounts = new AccountMoves(block.height);
  const logs = new Map<string, number>();
  const types = new Map<number, number>();
  const functions = new Map<string, number>();
  const calls = new Map<string, number>();
  let supply = 0n;
  for (const [txIndex, transaction] of block.transactions.entries()) {
    const position = positionOf(block.height, txIndex);
    yield { kind: 'transaction', sign: 1, position, transaction };
    const { payload, unknownStatus } = transaction;
    if (payload.type === 'unknown') yield unknownKind('transaction', payload.reason);
    if (unknownStatus !== undefined) yield unknownKind('status', unknownStatus);
    count(types, payload.typeId);
    if (payload.type === 'contract_call') {
      count(functions, payload.functionName);
      count(calls, payload.contractId);
    }
    for (const [index, event] of transaction.events.entries()) {
      yield { kind: 'event', sign: 1, position, index, event };
      if (event.kind === 'contract_log') count(logs, event.contractId);
      else if (event.kind === 'unknown') yield unknownKind('event', event.type);
    }
    yield* stackingEffects(transaction, position, block.burnBlockHeight);
    for (const portion of involvementsOf(transaction, portions.events)) {
      for (const [principal, involvement] of portion) {
        yield { kind: 'involvement', sign: 1, position, principal, involvement };
        accounts.involve(principal, involvement);
      }
      if (accounts.size >= portions.accounts) yield* accounts.effects();
    }
    accounts.act(transaction);
    for (const transfer of memoTransfers(transaction)) {
      yield { kind: 'memo_transfer', sign: 1, position, transfer };
    }
    supply += mintedAmount(transaction);
    for (const effect of tokens.add(transaction, position)) tokenEffects.push(effect);
    yield* nameEffects(transaction, position);
    yield* bnsEffects(transaction, position);
    yield* metadataEffects(transaction, position);
  }
  for (const [index, reward] of block.minerRewards.entries()) {
    yield { kind: 'miner_reward', sign: 1, height: block.height, index, reward };
    accounts.reward(reward.recipient, rewardTotal(reward));
    // The fees in a reward are existing STX; only the coinbase is new.
    supply += reward.coinbase;
  }
  if (block.rewardSet !== null) {
    yield { kind: 'reward_set', sign: 1, height: block.height, rewardSet: block.rewardSet };
  }
  yield* accounts.effects();
  yield { kind: 'tallies', sign: 1, types, functions, logs };
  yield { kind: 'activity', sign: 1, day: dayOf(block.blockTime), calls, ...tokens.events };
  yield { kind: 'sums', sign: 1, height: block.height, supply, balances: accounts.balances };
  // After the accounts' effects, because account rows count the tokens of each principal.
  for (const effect of tokens.effects()) tokenEffects.push(effect);
  yield* tokenEffects;
  // Last, because a checkpoint is computed from the tables.
  yield* accounts.checkpoints();
}

type FtBalance = Omit<EffectOf<'ft_balance'>, 'kind' | 'sign'>;
type FtToken = Omit<EffectOf<'ft_token'>, 'kind' | 'sign'>;
type TokenChange = Omit<EffectOf<'token_change'>, 'kind' | 'sign'>;

/** Returns the value of a key. Inserts it if there is none. */
function getOrInsert<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

/** Sums of a block's token events; each balance changes once per block. */
class TokenSums {
  readonly #balances = new Map<string, FtBalance>();
  readonly #tokens = new Map<string, FtToken>();
  /** Number of events, by asset. */
  readonly events = { ft: new Map<string, number>(), nft: new Map<string, number>() };

  /** Adds a transaction's events to the sums. @returns the effects of the transaction */
  add(transaction: ChainTransaction, position: number): Effect[] {
    const moves: Effect[] = [];
    const changes = new Map<string, TokenChange>();
    const change = (principal: string, token: 'ft' | 'nft', asset: string): TokenChange =>
      getOrInsert(changes, `${principal} ${token} ${asset}`, () => ({
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
      count(this.events[kind], asset);
      if (kind === 'ft') this.#move(asset, sender, recipient, amount);
      else {
        const isMint = event.action === 'mint';
        moves.push({ kind: 'nft_move', sign: 1, position, index, asset, value: event.value, owner: recipient, isMint });
      }
    }
    for (const sums of changes.values()) moves.push({ kind: 'token_change', sign: 1, ...sums });
    return moves;
  }

  #move(asset: string, sender: string | null, recipient: string | null, amount: bigint): void {
    const balance = (principal: string): FtBalance =>
      getOrInsert(this.#balances, `${principal} ${asset}`, () => ({ asset, principal, balance: 0n, transfers: 0 }));
    const token = getOrInsert(this.#tokens, asset, () => ({ asset, supply: 0n, events: 0 }));
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

  /** Returns the effects of the sums on balances and supplies. */
  effects(): Effect[] {
    const effects: Effect[] = [];
    for (const token of this.#tokens.values()) effects.push({ kind: 'ft_token', sign: 1, ...token });
    for (const balance of this.#balances.values()) effects.push({ kind: 'ft_balance', sign: 1, ...balance });
    return effects;
  }
}

const noMove = (): AccountMove => ({
  balance: 0n,
  stxMoves: 0,
  transactions: 0,
  rewards: 0,
  stxInbound: 0,
  stxOutbound: 0,
  sent: 0,
  paid: 0,
  calls: 0,
});

/** Sums of a block's account changes, by principal. */
class AccountMoves {
  readonly #height: number;
  readonly #moves = new Map<string, AccountMove>();
  /** Number of transactions and rewards of each account in the block. */
  readonly #items = new Map<string, number>();
  /** Sum of the balance changes of all accounts, in micro-STX, after their effects were generated. */
  balances = 0n;

  constructor(height: number) {
    this.#height = height;
  }

  #moveOf(principal: string): AccountMove {
    return getOrInsert(this.#moves, principal, noMove);
  }

  /** Adds a principal's part in a transaction. */
  involve(principal: string, { sent, received, stxMoved, stxInbound, stxOutbound }: Involvement): void {
    const move = this.#moveOf(principal);
    move.balance += received - sent;
    move.stxMoves += stxMoved ? 1 : 0;
    move.transactions += 1;
    move.stxInbound += stxInbound;
    move.stxOutbound += stxOutbound;
  }

  /** Adds the counts that depend on a transaction's payload. Its involvements must have been added before. */
  act({ payload, sender }: ChainTransaction): void {
    this.#moveOf(sender.address).sent += 1;
    if (payload.type === 'token_transfer') this.#moveOf(payload.recipient).paid += 1;
    if (payload.type === 'contract_call') this.#moveOf(payload.contractId).calls += 1;
  }

  /** Adds a reward. @param amount in micro-STX */
  reward(principal: string, amount: bigint): void {
    const move = this.#moveOf(principal);
    move.balance += amount;
    move.stxMoves += 1;
    move.rewards += 1;
  }

  /** Number of accounts whose effects were not generated yet. */
  get size(): number {
    return this.#moves.size;
  }

  /** Generates the effects of the sums since the last call. A principal may have several in a block. */
  *effects(): Generator<Effect> {
    for (const [principal, move] of this.#moves) {
      yield { kind: 'account', sign: 1, principal, ...move };
      this.balances += move.balance;
      this.#items.set(principal, (this.#items.get(principal) ?? 0) + move.transactions + move.rewards);
    }
    this.#moves.clear();
  }

  /** Generates the effects on checkpoints, one per principal of the block. */
  *checkpoints(): Generator<Effect> {
    for (const [principal, items] of this.#items) {
      yield { kind: 'checkpoint', sign: 1, height: this.#height, principal, items };
    }
  }
}

/**
 * Returns the cycle of a distribution to a bond, from the reward calculation that is printed after it; null if there is
 * none.
 * @param readings of the transaction's events
 * @param index of the distribution
 */
function cycleOf(readings: readonly (PoxReading | null)[], index: number): number | null {
  for (const reading of readings.slice(index + 1)) {
    if (reading?.kind !== 'staking') continue;
    for (const change of reading.changes) if (change.kind === 'reward_calculation') return change.cycle;
  }
  return null;
}

const withCycle = (change: StakingChange, readings: readonly (PoxReading | null)[], index: number): StakingChange =>
  change.kind === 'bond_distribution' ? { ...change, cycle: cycleOf(readings, index) } : change;

/** Returns the effects of a transaction's stacking and staking prints. @param burnHeight Bitcoin height of its block */
function stackingEffects({ events }: ChainTransaction, position: number, burnHeight: number): Effect[] {
  const effects: Effect[] = [];
  const readings = Array.from(events, poxReading);
  for (const [index, event] of events.entries()) {
    const reading = readings[index] ?? null;
    const lock = stackingLock(event, reading);
    if (lock !== null) effects.push({ kind: 'lock', sign: 1, position, index, lock });
    if (reading === null) continue;
    if (reading.kind === 'stacking') {
      effects.push({ kind: 'stacking_print', sign: 1, position, index, print: reading.print });
    } else if (reading.kind === 'unread') {
      effects.push({ ...reading, kind: 'unread_print', sign: 1 });
    } else {
      for (const change of reading.changes) {
        const stakingChange = withCycle(change, readings, index);
        effects.push({ kind: 'staking', sign: 1, position, index, burnHeight, change: stakingChange });
      }
    }
  }
  return effects;
}

/** Returns the effect of one change. @param index of its event */
const effectOfChange = (change: NameChange, position: number, index: number): Effect =>
  change.kind === 'name'
    ? { kind: 'name_operation', sign: 1, position, index, operation: change.operation }
    : { kind: 'namespace', sign: 1, position, index, change };

/** Generates the effects of a transaction on namespaces and names, in the order of its events. */
function* nameEffects(transaction: ChainTransaction, position: number): Generator<Effect> {
  const { events } = transaction;
  for (const [index, event] of events.entries()) {
    const change = nameChangeOf(event);
    if (change !== null) yield effectOfChange(change, position, index);
  }
  const callChange = unprintedChange(transaction);
  if (callChange !== null) yield effectOfChange(callChange, position, events.length);
}

/** Generates the effects of a transaction on the second name system, in the order of its events. */
function* bnsEffects(transaction: ChainTransaction, position: number): Generator<Effect> {
  const { events } = transaction;
  for (const [index, event] of events.entries()) {
    const bns = bnsChangesOf(event);
    if (bns === null) continue;
    for (const change of bns.changes) {
      yield { kind: 'bns', sign: 1, position, index, contract: bns.contract, change };
    }
  }
  const callChange = bnsChangeOfCall(transaction);
  if (callChange !== null) yield { kind: 'bns', sign: 1, position, index: events.length, ...callChange };
}

/** Generates the effects of a transaction on token contracts, and on their NFTs and semi-fungible tokens. */
function* metadataEffects(transaction: ChainTransaction, position: number): Generator<Effect> {
  const { payload, sender, status, contractInterface, events } = transaction;
  if (status !== 'success') return;
  if (payload.type === 'smart_contract' && contractInterface !== null) {
    const token = tokenContract(contractInterface);
    const contract = `${sender.address}.${payload.contractName}`;
    if (token !== null) yield { kind: 'token_contract', sign: 1, position, contract, token };
  }
  for (const [index, event] of events.entries()) {
    const news = tokenNews(event, sender.address);
    if (news === null) continue;
    if ('token' in news) yield { kind: 'token_mint', sign: 1, position, index, mint: news };
    else yield { kind: 'token_update', sign: 1, position, index, update: news };
  }
}
