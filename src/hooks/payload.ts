/** The body of a delivery: the blocks that joined and left the chain, with the transactions that matched in them. */
import type { Block, ChainTransaction, ExecutionCost } from '../chain/block.ts';
import type { Network } from '../chain/network.ts';
import { exactNumber } from '../codec/exact-number.ts';
import { toHex } from '../codec/hex.ts';
import { decodePostConditions } from '../codec/post-conditions.ts';
import type { Options } from './definition.ts';
import { ownTransactions } from './matching.ts';
import { type FindFunction, operationsOf, serializedValue } from './operations.ts';

/** A block, and the indexes into its {@link ownTransactions} of those that match. */
export interface MatchedBlock {
  block: Block;
  txIndexes: readonly number[];
  findFunction: FindFunction;
}

/** What a payload says of its hook. */
export interface PayloadHook {
  uuid: string;
  name: string;
  options: Options;
}

const costOf = (cost: ExecutionCost) => ({
  read_count: exactNumber(cost.readCount),
  read_length: exactNumber(cost.readLength),
  runtime: exactNumber(cost.runtime),
  write_count: exactNumber(cost.writeCount),
  write_length: exactNumber(cost.writeLength),
});

const identifier = (index: number, hash: Uint8Array) => ({ index, hash: toHex(hash) });

const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);

/** The REST API's word is `smart_contract`. */
const typeOf = ({ payload }: ChainTransaction): string =>
  payload.type === 'smart_contract' ? 'contract_deploy' : payload.type;

function postConditionsOf({ postConditions }: ChainTransaction) {
  const decoded = decodePostConditions(postConditions);
  if (!decoded.ok) throw decoded.error;
  return { mode: decoded.value.mode, post_conditions: decoded.value.postConditions };
}

function transactionOf(
  transaction: ChainTransaction,
  options: Options,
  { canonical, findFunction }: { canonical: boolean; findFunction: FindFunction },
) {
  const { sender, sponsor, microblock } = transaction;
  return {
    transaction_identifier: { hash: toHex(transaction.txId) },
    operations: operationsOf(transaction, { options, findFunction }),
    metadata: {
      canonical,
      microblock_canonical: true,
      execution_cost: costOf(transaction.cost),
      // The whole fee, in spite of the name.
      fee_rate: transaction.fee.toString(),
      nonce: exactNumber(sender.nonce),
      type: typeOf(transaction),
      position: {
        index: transaction.txIndex,
        microblock_identifier: microblock === null ? null : identifier(microblock.sequence, microblock.hash),
      },
      result: serializedValue(transaction.result, options),
      sender_address: sender.address,
      sponsor_address: sponsor?.address ?? null,
      sponsored: sponsor !== null,
      status: transaction.status,
      vm_error: transaction.vmError,
      ...(options.include_post_conditions === true ? { post_conditions: postConditionsOf(transaction) } : {}),
      ...(options.include_raw_transactions === true ? { raw_tx: toHex(transaction.raw) } : {}),
    },
  };
}

function blockMetadata(block: Block, options: Options, canonical: boolean) {
  const own = ownTransactions(block);
  return {
    canonical,
    burn_block_identifier: identifier(block.burnBlockHeight, block.burnBlockHash),
    burn_block_timestamp: block.burnBlockTime,
    parent_microblock_identifier: isZero(block.parentMicroblockHash)
      ? null
      : identifier(block.parentMicroblockSequence, block.parentMicroblockHash),
    tenure_height: block.tenureHeight ?? (block.signerBits === null ? block.height : -1),
    execution_cost: costOf(block.cost),
    tx_total_size: own.reduce((total, { raw }) => total + raw.length, 0),
    tx_count: own.length,
    ...(options.include_block_signatures === true
      ? {
          signatures: {
            signer_bitvec: block.signerBits,
            signer_signatures: block.signerSignatures?.map(toHex) ?? null,
          },
        }
      : {}),
  };
}

/** A block as payloads show it. @param canonical false where it leaves the chain */
export function payloadBlock({ block, txIndexes, findFunction }: MatchedBlock, options: Options, canonical: boolean) {
  const own = ownTransactions(block);
  return {
    block_identifier: identifier(block.height, block.indexBlockHash),
    parent_block_identifier: identifier(Math.max(0, block.height - 1), block.parentIndexBlockHash),
    timestamp: block.blockTime,
    transactions: txIndexes.map((txIndex) => {
      const transaction = own[txIndex];
      if (transaction === undefined) throw new Error(`block ${block.height} has no transaction at ${txIndex}`);
      return transactionOf(transaction, options, { canonical, findFunction });
    }),
    ...(options.include_block_metadata === true || options.include_block_signatures === true
      ? { metadata: blockMetadata(block, options, canonical) }
      : {}),
  };
}

/**
 * The JSON text of a delivery.
 * @param apply ascending @param rollback descending: the order in which to undo
 */
export function payloadText(
  hook: PayloadHook,
  network: Network,
  { apply, rollback }: { apply: readonly MatchedBlock[]; rollback: readonly MatchedBlock[] },
): string {
  return JSON.stringify({
    chainhook: { uuid: hook.uuid, name: hook.name },
    event: {
      chain: 'stacks',
      network: network.kind,
      apply: apply.map((matched) => payloadBlock(matched, hook.options, true)),
      rollback: rollback.map((matched) => payloadBlock(matched, hook.options, false)),
    },
  });
}
