/** Applies effects: passes each kind to its writer. Only the writers write the tables of the canonical chain. */
import type { Database } from 'bun:sqlite';
import { makeCollector } from '../../base/garbage.ts';
import type { Effect, EffectOf } from '../../chain/effect.ts';
import { CHECKPOINT_EVERY } from '../rows/formats.ts';
import { accountWriter, checkpointWriter, touchMarks } from './account-writer.ts';
import {
  activityWriter,
  anchorWriter,
  blockWriter,
  confirmedMicroblockWriter,
  minerRewardWriter,
  tallyWriter,
} from './block-writer.ts';
import type { Dictionaries } from './dictionary.ts';
import {
  eventWriter,
  involvementWriter,
  memoTransferWriter,
  stxLockWriter,
  tokenChangeWriter,
} from './event-writer.ts';
import { hotRows } from './hot-rows.ts';
import { bnsWriter, nameWriters } from './name-writer.ts';
import { rewardSetWriter, stackingWriter } from './stacking-writer.ts';
import { stakingWriter } from './staking-writer.ts';
import { metadataWriters } from './token-metadata-writer.ts';
import { ftBalanceWriter, ftSupplyWriter, nftWriter } from './token-writer.ts';
import { transactionWriter } from './transaction-writer.ts';
import { valueIndexWriter } from './value-index-writer.ts';

/** A print of a stacking contract that could not be read, and changed nothing. */
export type UnreadPrint = EffectOf<'unread_print'>;

interface Options {
  /** Transactions and rewards between two checkpoints; tests, whose accounts have a short history, set it. */
  checkpointEvery?: number;
  /** Called for each print that could not be read, when it is applied. */
  onUnreadPrint?: (print: UnreadPrint) => void;
  onUnknownKind?: (unknown: EffectOf<'unknown_kind'>) => void;
}

type Writers = { [Kind in Effect['kind']]: (effect: EffectOf<Kind>) => void };

/** Number of effects after which garbage is collected: only few blocks, such as the first, have more. */
const EFFECTS_OF_A_COLLECTION = 10_000;

/** The tables that effects change, without the dictionaries. */
export const chainTables = [
  ...['blocks', 'anchor_burn_blocks', 'microblocks', 'miner_rewards'],
  ...['transactions', 'transaction_bodies', 'counters', 'principal_transactions'],
  ...['daily_counts'],
  ...['events', 'declared_functions', 'memo_transfers', 'stx_locks'],
  ...['accounts', 'account_checkpoints', 'token_checkpoints', 'token_changes', 'ft_balances', 'asset_totals'],
  ...['nft_instances', 'nft_holdings', 'namespaces', 'name_operations'],
  ...['bns_names', 'bns_namespaces', 'bns_primary_names'],
  ...['stacking_events', 'delegations', 'stacking_terms', 'cycle_stackers', 'reward_cycles'],
  ...['cycle_signers', 'bonds', 'bond_allowances', 'bond_registrations', 'bond_positions', 'stakes'],
  ...['staking_shares', 'staking_rewards', 'cycle_rewards', 'signer_keys', 'value_index_entries'],
  ...['token_contracts', 'tokens', 'token_events', 'token_jobs'],
  ...['name_parts'],
];

/** Applies effects in the open transaction. */
export function effectsWriter(
  db: Database,
  dictionaries: Dictionaries,
  { checkpointEvery = CHECKPOINT_EVERY, onUnreadPrint = () => {}, onUnknownKind = () => {} }: Options = {},
) {
  const hot = hotRows(db);
  const values = valueIndexWriter(db);
  const marks = touchMarks(db, hot);
  const writeTransaction = transactionWriter(db, dictionaries);
  const writeEvent = eventWriter(db, dictionaries);
  const blocks = blockWriter(db);
  const writeSupply = ftSupplyWriter(db, dictionaries, hot);
  const { moveSupply, requeueFrom, ...metadata } = metadataWriters(db, dictionaries);
  const writers: Writers = {
    block(effect) {
      blocks.block(effect);
      if (effect.sign === -1) requeueFrom(effect.block.height);
    },
    anchor: anchorWriter(db),
    microblocks: confirmedMicroblockWriter(db),
    miner_reward: minerRewardWriter(db, dictionaries),
    reward_set: rewardSetWriter(db),
    transaction(effect) {
      writeTransaction(effect);
      values.call(effect);
    },
    event(effect) {
      writeEvent(effect);
      values.log(effect);
    },
    involvement: involvementWriter(db, dictionaries),
    memo_transfer: memoTransferWriter(db, dictionaries),
    lock: stxLockWriter(db, dictionaries, marks),
    token_change: tokenChangeWriter(db, dictionaries),
    ft_balance: ftBalanceWriter(dictionaries, hot),
    ft_token(effect) {
      writeSupply(effect);
      moveSupply(effect);
    },
    nft_move: nftWriter(db, dictionaries, hot),
    ...metadata,
    ...nameWriters(db, dictionaries),
    bns: bnsWriter(db, dictionaries),
    stacking_print: stackingWriter(db, dictionaries),
    staking: stakingWriter(db, dictionaries),
    unread_print(effect) {
      if (effect.sign === 1) onUnreadPrint(effect);
    },
    unknown_kind(effect) {
      if (effect.sign === 1) onUnknownKind(effect);
    },
    account: accountWriter(dictionaries, hot, marks, blocks.countAccounts),
    checkpoint: checkpointWriter(db, dictionaries, hot, checkpointEvery),
    tallies: tallyWriter(db),
    activity: activityWriter(dictionaries, hot),
    sums: blocks.sums,
  };
  const applyOne = <Kind extends Effect['kind']>(effect: EffectOf<Kind>): void => {
    const write: (effect: EffectOf<Kind>) => void = writers[effect.kind as Kind];
    write(effect);
  };
  return {
    apply(effects: Iterable<Effect>): void {
      values.begin();
      marks.begin();
      const collect = makeCollector(EFFECTS_OF_A_COLLECTION);
      for (const effect of effects) {
        applyOne(effect);
        collect();
      }
    },
    /** Reverts the only block of the chain. To revert its effects would take as long as applying them, and more memory. */
    empty(): void {
      hot.forget();
      for (const table of chainTables) db.run(`DELETE FROM ${table}`);
    },
    /** Writes the rows of the hot-row cache; called before each commit. */
    store: hot.store,
    /** Discards the hot-row cache, because the transaction is rolled back. */
    forget: hot.forget,
  };
}
export type EffectsWriter = ReturnType<typeof effectsWriter>;
