/**
 * What a block does to the canonical tables, as a list. Applying a block applies the list; reverting it applies the
 * list that {@link undone} makes of it. Nothing else changes a canonical table, so a chain that was left and taken up
 * again, or was never left, ends in the same rows.
 */
import type { Block, ChainTransaction, Microblock, MinerReward } from './block.ts';
import type { AccountMove, Effect, Involvement } from './effect.ts';
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

class Involvements {
  readonly byPrincipal = new Map<string, Involvement>();

  of(principal: string): Involvement {
    let involvement = this.byPrincipal.get(principal);
    if (involvement === undefined) {
      involvement = {
        stx: false,
        ft: false,
        nft: false,
        stxMoved: false,
        sponsorOnly: true,
        events: 0,
        sent: 0n,
        received: 0n,
      };
      this.byPrincipal.set(principal, involvement);
    }
    return involvement;
  }

  /** The involvement of a principal that does more than sponsor the transaction. */
  concerning(principal: string): Involvement {
    const involvement = this.of(principal);
    involvement.sponsorOnly = false;
    return involvement;
  }
}

/**
 * The principals a transaction concerns: its sender, who pays the fee, recipient, called or deployed contract, and the
 * parties of every asset event. A principal that is only named in a lock, a log or an argument is left out.
 */
export function involvements(transaction: ChainTransaction): Map<string, Involvement> {
  const found = new Involvements();
  found.concerning(transaction.sender.address);
  const payer = found.of(transaction.sponsor?.address ?? transaction.sender.address);
  payer.stx = true;
  payer.stxMoved = true;
  payer.sent += transaction.fee;
  const { payload } = transaction;
  if (payload.type === 'token_transfer') found.concerning(payload.recipient).stx = true;
  else if (payload.type === 'contract_call') found.concerning(payload.contractId);
  else if (payload.type === 'smart_contract') {
    found.concerning(`${transaction.sender.address}.${payload.contractName}`);
  }
  for (const event of transaction.events) {
    if (event.kind !== 'stx' && event.kind !== 'ft' && event.kind !== 'nft') continue;
    if (event.sender !== null) {
      const sender = found.concerning(event.sender);
      sender[event.kind] = true;
      sender.events += 1;
      if (event.kind === 'stx') {
        sender.stxMoved = true;
        sender.sent += BigInt(event.amount);
      }
    }
    if (event.recipient !== null) {
      const recipient = found.concerning(event.recipient);
      recipient[event.kind] = true;
      if (event.recipient !== event.sender) recipient.events += 1;
      if (event.kind === 'stx') {
        recipient.stxMoved = true;
        recipient.received += BigInt(event.amount);
      }
    }
  }
  return found.byPrincipal;
}

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
export function microblocksOf({ transactions }: Block): Microblock[] {
  const byHash = new Map<string, Microblock>();
  for (const { microblock } of transactions) {
    // The anchor block's own transactions follow those of its microblocks.
    if (microblock === null) break;
    byHash.set(microblock.hash.toHex(), microblock);
  }
  return [...byHash.values()];
}

/**
 * The effects of applying a block on its parent, made as they are asked for: a genesis block has more than a million.
 * Block 1 comes with block 0's transactions in it.
 * @param sendMany contracts whose prints are memos; the same when a block is applied and when it is undone
 */
export function* effectsOf(block: Block, sendMany: SendMany): Generator<Effect> {
  yield { kind: 'block', sign: 1, block };
  yield { kind: 'anchor', sign: 1, block };
  const microblocks = microblocksOf(block);
  if (microblocks.length > 0) yield { kind: 'microblocks', sign: 1, height: block.height, microblocks };
  const tokens = new TokenSums();
  const tokenEffects: Effect[] = [];
  const accounts = new Map<string, AccountMove>();
  const account = (principal: string): AccountMove => {
    let known = accounts.get(principal);
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
      accounts.set(principal, known);
    }
    return known;
  };
  const logs = new Map<string, number>();
  const types = new Map<number, number>();
  const functions = new Map<string, number>();
  let supply = 0n;
  for (const [place, transaction] of block.transactions.entries()) {
    const position = positionOf(block.height, place);
    yield { kind: 'transaction', sign: 1, position, transaction };
    const { payload, sender } = transaction;
    count(types, payload.typeId);
    account(sender.address).sent += 1;
    if (payload.type === 'token_transfer') account(payload.recipient).paid += 1;
    if (payload.type === 'contract_call') {
      count(functions, payload.functionName);
      account(payload.contractId).calls += 1;
    }
    for (const [index, event] of transaction.events.entries()) {
      yield { kind: 'event', sign: 1, position, index, event };
      if (event.kind === 'contract_log') count(logs, event.contractId);
      if (event.kind !== 'stx') continue;
      if (event.recipient !== null) account(event.recipient).stxInbound += 1;
      if (event.sender !== null) account(event.sender).stxOutbound += 1;
    }
    yield* stackingEffects(transaction, position, block.burnBlockHeight);
    for (const [principal, involvement] of involvements(transaction)) {
      yield { kind: 'involvement', sign: 1, position, principal, involvement };
      const moved = account(principal);
      moved.balance += involvement.received - involvement.sent;
      moved.stxMoves += involvement.stxMoved ? 1 : 0;
      moved.transactions += 1;
    }
    for (const transfer of memoTransfers(transaction, sendMany)) {
      yield { kind: 'memo_transfer', sign: 1, position, transfer };
    }
    supply += minted(transaction);
    for (const effect of tokens.add(transaction, position)) tokenEffects.push(effect);
    yield* nameEffects(transaction, position);
  }
  for (const [index, reward] of block.minerRewards.entries()) {
    yield { kind: 'miner_reward', sign: 1, height: block.height, index, reward };
    const moved = account(reward.recipient);
    moved.balance += rewardTotal(reward);
    moved.stxMoves += 1;
    moved.rewards += 1;
    // The fees in a reward are STX that existed; only the coinbase is new.
    supply += reward.coinbase;
  }
  if (block.rewardSet !== null) {
    yield { kind: 'reward_set', sign: 1, height: block.height, rewardSet: block.rewardSet };
  }
  for (const [contract, count] of logs) yield { kind: 'contract_logs', sign: 1, contract, logs: count };
  let balances = 0n;
  for (const [principal, moved] of accounts) {
    yield { kind: 'account', sign: 1, principal, ...moved };
    balances += moved.balance;
  }
  yield { kind: 'tallies', sign: 1, types, functions };
  yield { kind: 'totals', sign: 1, transactions: block.transactions.length, supply, balances };
  if (supply !== 0n) yield { kind: 'supply', sign: 1, height: block.height, supply };
  // After the accounts, which count the tokens of each principal.
  for (const effect of tokens.effects()) tokenEffects.push(effect);
  yield* tokenEffects;
  // Last, since a checkpoint is made of all that stands in the tables then.
  for (const [principal, { transactions, rewards }] of accounts) {
    const entries = transactions + rewards;
    yield { kind: 'checkpoint', sign: 1, height: block.height, principal, entries };
  }
}
