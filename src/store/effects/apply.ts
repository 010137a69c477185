/** Effects to rows: the one place that writes the tables of the canonical chain. */
import type { Database } from 'bun:sqlite';
import type { Block, ChainEvent, ChainTransaction } from '../../chain/block.ts';
import type { Effect } from '../../chain/effect.ts';
import { contractFunctions } from '../../codec/abi.ts';
import { CHECKPOINT_EVERY } from '../queries/account-states.ts';
import { sortable } from '../rows/amounts.ts';
import { table } from '../rows/table.ts';
import { AFFECTED, assetEventKind, EVENT_LOCK, EVENT_LOG, statusNumber } from '../rows/words.ts';
import { accountWriter } from './account-writer.ts';
import { anchorWriter } from './anchor-writer.ts';
import { checkpointWriter } from './checkpoint-writer.ts';
import { contractLogWriter } from './contract-log-writer.ts';
import type { Dictionaries } from './dictionary.ts';
import { confirmedMicroblockWriter } from './microblock-writer.ts';
import { nameEffectsWriter } from './name-writer.ts';
import { deployedContract, payloadColumns } from './payload-columns.ts';
import { rewardSetWriter, stackingWriter } from './stacking-writer.ts';
import { stakingWriter } from './staking-writer.ts';
import { supplyWriter } from './supply-writer.ts';
import { tallyWriter } from './tally-writer.ts';
import { tokenEffectsWriter } from './token-writer.ts';

const size = (block: Block): number => block.transactions.reduce((total, { raw }) => total + raw.length, 0);

const concatenated = (parts: readonly Uint8Array[] | null): Uint8Array | null =>
  parts === null ? null : Buffer.concat(parts);

export type ApplyEffects = (effects: readonly Effect[]) => void;

/** A print of a stacking contract that could not be read, and changed nothing. */
export type UnreadPrint = Extract<Effect, { kind: 'unread_print' }>;

interface Options {
  /** For tests, which have accounts of a short history. */
  checkpointEvery?: number;
  /** Told of each as it is applied. */
  onUnreadPrint?: (print: UnreadPrint) => void;
}

/** What applies effects through this connection, inside the transaction that is open on it. */
export function effectsWriter(
  db: Database,
  dictionaries: Dictionaries,
  { checkpointEvery = CHECKPOINT_EVERY, onUnreadPrint = () => {} }: Options = {},
): ApplyEffects {
  const { principals, assets } = dictionaries;
  const accounts = accountWriter(db, dictionaries);
  const moveAnchor = anchorWriter(db);
  const moveContractLogs = contractLogWriter(db, dictionaries);
  const moveTallies = tallyWriter(db);
  const moveMicroblocks = confirmedMicroblockWriter(db);
  const applyTokenEffect = tokenEffectsWriter(db, dictionaries);
  const moveSupply = supplyWriter(db);
  const applyNameEffect = nameEffectsWriter(db, dictionaries);
  const applyStackingPrint = stackingWriter(db, dictionaries);
  const applyStaking = stakingWriter(db, dictionaries);
  const applyRewardSet = rewardSetWriter(db);
  const blocks = table(
    db,
    'blocks',
    [
      'height',
      'index_block_hash',
      'block_hash',
      'parent_index_block_hash',
      'parent_block_hash',
      'block_time',
      'burn_block_hash',
      'burn_block_height',
      'burn_block_time',
      'parent_burn_block_time',
      'miner_tx_id',
      'parent_microblock_hash',
      'parent_microblock_sequence',
      'tenure_height',
      'announced_transactions',
      'transactions',
      'preceding_transactions',
      'size',
      'cost_runtime',
      'cost_read_count',
      'cost_read_length',
      'cost_write_count',
      'cost_write_length',
      'signer_bits',
      'signer_signatures',
      'pox_1_unlock_height',
      'pox_2_unlock_height',
      'pox_3_unlock_height',
      'pox_4_unlock_height',
    ],
    1,
  );
  const transactions = table(
    db,
    'transactions',
    [
      'position',
      'tx_id',
      'tx_index',
      'type',
      'status',
      'sender_id',
      'nonce',
      'sponsor_id',
      'sponsor_nonce',
      'fee',
      'event_count',
      'recipient_id',
      'amount',
      'memo',
      'contract_id',
      'function_name',
      'clarity_version',
      'tenure_change_cause',
      'microblock_sequence',
      'microblock_hash',
      'microblock_parent_hash',
      'genesis_block_time',
    ],
    1,
  );
  const bodies = table(
    db,
    'transaction_bodies',
    [
      'position',
      'anchor_mode',
      'cost_runtime',
      'cost_read_count',
      'cost_read_length',
      'cost_write_count',
      'cost_write_length',
      'vm_error',
      'result',
      'post_conditions',
      'function_args',
      'genesis_parent_index_block_hash',
      'genesis_parent_burn_block_time',
      'contract_interface',
      'raw',
    ],
    1,
  );
  const contracts = table(db, 'contracts', ['contract_id', 'position'], 2);
  const functions = table(db, 'declared_functions', ['name', 'position'], 2);
  const events = table(
    db,
    'events',
    [
      'position',
      'event_index',
      'kind',
      'sender_id',
      'recipient_id',
      'asset_id',
      'contract_id',
      'topic',
      'amount',
      'unlock_height',
      'value',
    ],
    2,
  );
  const involvements = table(
    db,
    'principal_transactions',
    ['principal_id', 'position', 'affected', 'events', 'stx_sent', 'stx_received'],
    2,
  );
  const locks = table(
    db,
    'stx_locks',
    ['principal_id', 'position', 'event_index', 'amount', 'unlock_height', 'pox_version'],
    3,
  );
  const rewards = table(
    db,
    'miner_rewards',
    [
      'height',
      'reward_index',
      'recipient_id',
      'miner_id',
      'coinbase',
      'fees_anchored',
      'fees_streamed_confirmed',
      'fees_streamed_produced',
      'from_block_hash',
      'from_index_block_hash',
    ],
    2,
  );
  const memoTransfers = table(db, 'memo_transfers', ['principal_id', 'position', 'event_index', 'printed'], 3);
  /** Transactions and rewards of the accounts that these effects moved so far. */
  const entries = new Map<string, number>();
  const moveCheckpoint = checkpointWriter(db, dictionaries, checkpointEvery);
  const totals = db.prepare<{ transactions: number; stx_supply: string; stx_balances: string }, []>(
    'SELECT transactions, stx_supply, stx_balances FROM totals',
  );
  const setTotals = db.prepare(
    'UPDATE totals SET transactions = transactions + ?1, stx_supply = ?2, stx_balances = ?3',
  );

  const principal = (address: string | null): number | null => (address === null ? null : principals.id(address));

  const addBlock = (block: Block) =>
    blocks.add(
      block.height,
      block.indexBlockHash,
      block.blockHash,
      block.parentIndexBlockHash,
      block.parentBlockHash,
      block.blockTime,
      block.burnBlockHash,
      block.burnBlockHeight,
      block.burnBlockTime,
      block.parentBurnBlockTime,
      block.minerTxId,
      block.parentMicroblockHash,
      block.parentMicroblockSequence,
      block.tenureHeight,
      block.announcedTransactions,
      block.transactions.length,
      // The totals move after the block's row.
      totals.get()?.transactions ?? 0,
      size(block),
      block.cost.runtime,
      block.cost.readCount,
      block.cost.readLength,
      block.cost.writeCount,
      block.cost.writeLength,
      block.signerBits,
      concatenated(block.signerSignatures),
      ...block.poxUnlockHeights,
    );

  const declaredNames = ({ contractInterface }: ChainTransaction): string[] =>
    contractInterface === null ? [] : [...contractFunctions(contractInterface).keys()];

  function addTransaction(position: number, transaction: ChainTransaction): void {
    const { sender, sponsor, payload, cost, microblock } = transaction;
    const columns = payloadColumns(payload, sender.address, principals);
    transactions.add(
      position,
      transaction.txId,
      transaction.txIndex,
      payload.typeId,
      statusNumber[transaction.status],
      principals.id(sender.address),
      transaction.bitcoinOperation ? null : sender.nonce,
      principal(sponsor?.address ?? null),
      sponsor?.nonce ?? null,
      sortable(transaction.fee.toString()),
      transaction.events.length,
      columns.recipientId,
      columns.amount,
      columns.memo,
      columns.contractId,
      columns.functionName,
      columns.clarityVersion,
      columns.tenureChangeCause,
      microblock?.sequence ?? null,
      microblock?.hash ?? null,
      microblock?.parentHash ?? null,
      transaction.genesis?.blockTime ?? null,
    );
    bodies.add(
      position,
      transaction.anchorMode,
      cost.runtime,
      cost.readCount,
      cost.readLength,
      cost.writeCount,
      cost.writeLength,
      transaction.vmError,
      transaction.result,
      transaction.postConditions,
      transaction.bitcoinOperation && payload.type === 'contract_call' ? payload.functionArgs : null,
      transaction.genesis?.parentIndexBlockHash ?? null,
      transaction.genesis?.parentBurnBlockTime ?? null,
      transaction.contractInterface,
      transaction.raw,
    );
    const contract = deployedContract(transaction);
    if (contract === null) return;
    contracts.add(principals.id(contract), position);
    for (const name of declaredNames(transaction)) functions.add(name, position);
  }

  function removeTransaction(position: number, transaction: ChainTransaction): void {
    const contract = deployedContract(transaction);
    if (contract !== null) {
      for (const name of declaredNames(transaction)) functions.remove(name, position);
      contracts.remove(principals.id(contract), position);
    }
    bodies.remove(position);
    transactions.remove(position);
  }

  function addEvent(position: number, index: number, event: ChainEvent): void {
    switch (event.kind) {
      case 'contract_log': {
        const contract = principals.id(event.contractId);
        events.add(position, index, EVENT_LOG, null, null, null, contract, event.topic, null, null, event.value);
        return;
      }
      case 'stx_lock': {
        const { address, contractName, amount, unlockHeight } = event;
        const sender = principals.id(address);
        events.add(position, index, EVENT_LOCK, sender, null, null, null, contractName, amount, unlockHeight, null);
        return;
      }
      default: {
        const asset = event.kind === 'stx' ? null : assets.id(event.asset);
        const amount = event.kind === 'nft' ? null : event.amount;
        const value = event.kind === 'stx' ? event.memo : event.kind === 'nft' ? event.value : null;
        const [sender, recipient] = [principal(event.sender), principal(event.recipient)];
        events.add(position, index, assetEventKind(event), sender, recipient, asset, null, null, amount, null, value);
      }
    }
  }

  function moveTotals({ sign, transactions: count, supply, balances }: Extract<Effect, { kind: 'totals' }>): void {
    const known = totals.get();
    const moved = (kept: string | undefined, by: bigint): string => String(BigInt(kept ?? 0) + BigInt(sign) * by);
    setTotals.run(sign * count, moved(known?.stx_supply, supply), moved(known?.stx_balances, balances));
  }

  function applyOne(effect: Effect): void {
    const added = effect.sign === 1;
    switch (effect.kind) {
      case 'block':
        if (added) addBlock(effect.block);
        else blocks.remove(effect.block.height);
        return;
      case 'transaction':
        if (added) addTransaction(effect.position, effect.transaction);
        else removeTransaction(effect.position, effect.transaction);
        return;
      case 'event':
        if (added) addEvent(effect.position, effect.index, effect.event);
        else events.remove(effect.position, effect.index);
        return;
      case 'involvement': {
        const { position, involvement } = effect;
        const id = principals.id(effect.principal);
        if (!added) {
          involvements.remove(id, position);
          return;
        }
        const affected =
          (involvement.stx ? AFFECTED.stx : 0) |
          (involvement.ft ? AFFECTED.ft : 0) |
          (involvement.nft ? AFFECTED.nft : 0) |
          (involvement.stxMoved ? AFFECTED.stxMoved : 0) |
          (involvement.sponsorOnly ? AFFECTED.sponsorOnly : 0);
        const { events: count, sent, received } = involvement;
        involvements.add(id, position, affected, count, sent.toString(), received.toString());
        return;
      }
      case 'memo_transfer': {
        const { recipient, eventIndex, printed } = effect.transfer;
        const key = [principals.id(recipient), effect.position, eventIndex] as const;
        if (added) memoTransfers.add(...key, Number(printed));
        else memoTransfers.remove(...key);
        return;
      }
      case 'lock': {
        const { position, index, lock } = effect;
        const id = principals.id(lock.principal);
        if (added) locks.add(id, position, index, lock.amount, lock.unlockHeight, lock.poxVersion);
        else locks.remove(id, position, index);
        return;
      }
      case 'stacking_print':
        applyStackingPrint(effect);
        return;
      case 'staking':
        applyStaking(effect);
        return;
      case 'reward_set':
        applyRewardSet(effect);
        return;
      case 'unread_print':
        if (added) onUnreadPrint(effect);
        return;
      case 'miner_reward': {
        const { height, index, reward } = effect;
        if (!added) {
          rewards.remove(height, index);
          return;
        }
        rewards.add(
          height,
          index,
          principals.id(reward.recipient),
          principals.id(reward.miner),
          reward.coinbase.toString(),
          reward.feesAnchored.toString(),
          reward.feesStreamedConfirmed.toString(),
          reward.feesStreamedProduced.toString(),
          reward.fromBlockHash,
          reward.fromIndexBlockHash,
        );
        return;
      }
      case 'anchor':
        moveAnchor(effect);
        return;
      case 'microblocks':
        moveMicroblocks(effect);
        return;
      case 'contract_logs':
        moveContractLogs(effect);
        return;
      case 'account':
        entries.set(effect.principal, accounts.move(effect));
        return;
      case 'tallies':
        moveTallies(effect);
        return;
      case 'totals':
        moveTotals(effect);
        return;
      case 'supply':
        moveSupply(effect);
        return;
      case 'name_operation':
      case 'namespace':
      case 'namespace_price':
        applyNameEffect(effect);
        return;
      case 'token_change':
      case 'ft_balance':
      case 'ft_token':
      case 'nft_move':
      case 'nft_mints':
        applyTokenEffect(effect);
        return;
      case 'checkpoint':
        moveCheckpoint(effect, entries.get(effect.principal));
    }
  }

  return (effects) => {
    entries.clear();
    for (const effect of effects) applyOne(effect);
  };
}
