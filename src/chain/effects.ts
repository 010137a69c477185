/**
 * What a block does to the canonical tables, as a list. Applying a block applies the list; reverting it applies the
 * list that {@link undone} makes of it. Nothing else changes a canonical table, so a chain that was left and taken up
 * again, or was never left, ends in the same rows. Block 0 alone is taken back by emptying them.
 */
import { AccountMoves } from './account-moves.ts';
import type { Block, ChainTransaction, Microblock, MinerReward } from './block.ts';
import type { Effect, UnknownKind } from './effect.ts';
import { involvementsOf } from './involvements.ts';
import { memoTransfers, type SendMany } from './memo-transfers.ts';
import { nameEffects } from './name-effects.ts';
import { positionOf } from './position.ts';
import { stackingEffects } from './stacking-effects.ts';
import { TokenSums } from './token-effects.ts';

/**
 * The effects that undo a block: the same list, last first, with the signs turned round.
 *
 * Last first because rows build on each other: what was added last refers to what was added before.
 */
export const undone = (effects: Iterable<Effect>): Effect[] =>
  [...effects].reverse().map((effect) => ({ ...effect, sign: effect.sign === 1 ? -1 : 1 }));

const unknownKind = (what: UnknownKind, reason: string): Effect => ({ kind: 'unknown_kind', sign: 1, what, reason });

/** micro-STX that the transaction's events brought into being, less what they destroyed. */
function minted(transaction: ChainTransaction): bigint {
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

/** The microblocks of a block, each once, by ascending sequence. */
function microblocksOf({ transactions }: Block): Microblock[] {
  const byHash = new Map<string, Microblock>();
  for (const { microblock } of transactions) {
    // The anchor block's own transactions follow those of its microblocks.
    if (microblock === null) break;
    byHash.set(microblock.hash.toHex(), microblock);
  }
  return [...byHash.values()];
}

/** How much of a block's sums is in memory at a time. */
export interface Portions {
  /** Events of a transaction for which its principals are one portion. */
  events: number;
  /** Accounts. */
  accounts: number;
}

/** Only a genesis block has more. */
const PORTIONS: Portions = { events: 75_000, accounts: 50_000 };

/**
 * The effects of applying a block on its parent, made as they are asked for: a genesis block has more than a million.
 * Block 1 comes with block 0's transactions in it.
 * @param sendMany contracts whose prints are memos; the same when a block is applied and when it is undone
 */
export function* effectsOf(block: Block, sendMany: SendMany, portions = PORTIONS): Generator<Effect> {
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
  let supply = 0n;
  for (const [place, transaction] of block.transactions.entries()) {
    const position = positionOf(block.height, place);
    yield { kind: 'transaction', sign: 1, position, transaction };
    const { payload, unknownStatus } = transaction;
    if (payload.type === 'unknown') yield unknownKind('transaction', payload.reason);
    if (unknownStatus !== undefined) yield unknownKind('status', unknownStatus);
    count(types, payload.typeId);
    if (payload.type === 'contract_call') count(functions, payload.functionName);
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
    for (const transfer of memoTransfers(transaction, sendMany)) {
      yield { kind: 'memo_transfer', sign: 1, position, transfer };
    }
    supply += minted(transaction);
    for (const effect of tokens.add(transaction, position)) tokenEffects.push(effect);
    yield* nameEffects(transaction, position);
  }
  for (const [index, reward] of block.minerRewards.entries()) {
    yield { kind: 'miner_reward', sign: 1, height: block.height, index, reward };
    accounts.reward(reward.recipient, rewardTotal(reward));
    // The fees in a reward are STX that existed; only the coinbase is new.
    supply += reward.coinbase;
  }
  if (block.rewardSet !== null) {
    yield { kind: 'reward_set', sign: 1, height: block.height, rewardSet: block.rewardSet };
  }
  for (const [contract, count] of logs) yield { kind: 'contract_logs', sign: 1, contract, logs: count };
  yield* accounts.effects();
  yield { kind: 'tallies', sign: 1, types, functions };
  yield { kind: 'totals', sign: 1, transactions: block.transactions.length, supply, balances: accounts.balances };
  if (supply !== 0n) yield { kind: 'supply', sign: 1, height: block.height, supply };
  // After the accounts, which count the tokens of each principal.
  for (const effect of tokens.effects()) tokenEffects.push(effect);
  yield* tokenEffects;
  // Last, since a checkpoint is made of all that stands in the tables then.
  yield* accounts.checkpoints();
}
