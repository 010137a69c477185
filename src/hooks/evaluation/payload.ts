/** The body of a delivery, with the applied and rolled-back blocks and their matching transactions; and the delivery's id. */

import { executionCost } from '../../api/shared/fields.ts';
import { exactNumber } from '../../base/json.ts';
import type { Block, ChainTransaction } from '../../chain/block.ts';
import type { Network } from '../../chain/network.ts';
import { decodedOrThrow } from '../../codec/bytes-reader.ts';
import { toHex } from '../../codec/hex.ts';
import { decodePostConditions } from '../../codec/post-conditions.ts';
import type { DeliveryBody } from '../../store/hooks/model.ts';
import type { Options } from '../definition/definition.ts';
import { ownTransactions } from '../matching/matching.ts';
import { type FindFunction, operationsOf, serializedValue } from './operations.ts';

/** A block with its matching transactions, as indexes into its {@link ownTransactions}. */
export interface MatchedBlock {
  block: Block;
  txIndexes: readonly number[];
  findFunction: FindFunction;
}

export interface PayloadHook {
  uuid: string;
  name: string;
  options: Options;
}

/** Everything that the text of a block depends on, except the block. */
interface View {
  options: Options;
  /** False for blocks that leave the chain. */
  canonical: boolean;
  /** Identifies the options. */
  key: string;
}

const identifier = (index: number, hash: Uint8Array) => ({ index, hash: toHex(hash) });

const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);

/** Returns the transaction type of payloads: `contract_deploy` is `smart_contract` in the REST API. */
const typeOf = ({ payload }: ChainTransaction): string =>
  payload.type === 'smart_contract' ? 'contract_deploy' : payload.type;

function toPostConditions({ postConditions }: ChainTransaction) {
  const { mode, postConditions: conditions } = decodedOrThrow(decodePostConditions(postConditions));
  return { mode, post_conditions: conditions };
}

function toTransaction(transaction: ChainTransaction, { options, canonical }: View, findFunction: FindFunction) {
  const { sender, sponsor, microblock } = transaction;
  return {
    transaction_identifier: { hash: toHex(transaction.txId) },
    operations: operationsOf(transaction, { options, findFunction }),
    metadata: {
      canonical,
      microblock_canonical: true,
      execution_cost: executionCost(transaction.cost),
      // Despite its name, the whole fee.
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
      ...(options.include_post_conditions === true ? { post_conditions: toPostConditions(transaction) } : {}),
      ...(options.include_raw_transactions === true ? { raw_tx: toHex(transaction.raw) } : {}),
    },
  };
}

function blockMetadata(block: Block, options: Options, canonical: boolean) {
  const transactions = ownTransactions(block);
  return {
    canonical,
    burn_block_identifier: identifier(block.burnBlockHeight, block.burnBlockHash),
    burn_block_timestamp: block.burnBlockTime,
    parent_microblock_identifier: isZero(block.parentMicroblockHash)
      ? null
      : identifier(block.parentMicroblockSequence, block.parentMicroblockHash),
    tenure_height: block.tenureHeight ?? (block.signerBits === null ? block.height : -1),
    execution_cost: executionCost(block.cost),
    tx_total_size: transactions.reduce((total, { raw }) => total + raw.length, 0),
    tx_count: transactions.length,
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

/** Sorts by the node's `tx_index`. A block of Stacks 2.x has the transactions of its microblocks first. */
function inTxOrder(block: Block, txIndexes: readonly number[]): readonly number[] {
  const transactions = ownTransactions(block);
  const numberOf = (index: number): number => transactions[index]?.txIndex ?? index;
  return txIndexes.toSorted((a, b) => numberOf(a) - numberOf(b));
}

interface MatchedBlocks {
  /** Ascending. */
  apply: readonly MatchedBlock[];
  /** Highest block first, as receivers undo them. */
  rollback: readonly MatchedBlock[];
}

/** The members of an object as JSON, without its braces. */
const members = (object: object): string => JSON.stringify(object).slice(1, -1);

/** Makes the texts of blocks. Views with the same key share the texts of transactions: each block must have one `findFunction`. */
function blockTexts() {
  const numbers = new Map<Block, number>();
  const transactions = new Map<string, string>();

  function numberOf(block: Block): number {
    const number = numbers.get(block) ?? numbers.size;
    numbers.set(block, number);
    return number;
  }

  function transactionText({ block, findFunction }: MatchedBlock, txIndex: number, view: View): string {
    const key = `${view.key}/${view.canonical}/${numberOf(block)}/${txIndex}`;
    const cached = transactions.get(key);
    if (cached !== undefined) return cached;
    const transaction = ownTransactions(block)[txIndex];
    if (transaction === undefined) throw new Error(`block ${block.height} has no transaction at ${txIndex}`);
    const text = JSON.stringify(toTransaction(transaction, view, findFunction));
    transactions.set(key, text);
    return text;
  }

  return {
    numberOf,
    text(matched: MatchedBlock, view: View): string {
      const { block, txIndexes } = matched;
      const { options, canonical } = view;
      const head = {
        block_identifier: identifier(block.height, block.indexBlockHash),
        parent_block_identifier: identifier(Math.max(0, block.height - 1), block.parentIndexBlockHash),
        timestamp: block.blockTime,
      };
      const texts = inTxOrder(block, txIndexes).map((txIndex) => transactionText(matched, txIndex, view));
      const metadata =
        options.include_block_metadata === true || options.include_block_signatures === true
          ? `,${members({ metadata: blockMetadata(block, options, canonical) })}`
          : '';
      return `{${members(head)},"transactions":[${texts.join()}]${metadata}}`;
    },
  };
}

/** The JSON text of a block as deliveries have it. @param canonical false for a block that leaves the chain */
export const blockText = (matched: MatchedBlock, options: Options, canonical: boolean): string =>
  blockTexts().text(matched, { options, canonical, key: '' });

export type PayloadTexts = ReturnType<typeof payloadTexts>;

/**
 * Makes the bodies of the deliveries of one step. The text of a transaction is made once for all hooks with the same options,
 * and the text of the whole event once for all hooks that match the same transactions. Within a step a block has one
 * `findFunction`, and it either joins the chain or leaves it.
 * @param network null until a signed transaction names the chain: the payload then has `testnet`
 */
export function payloadTexts(network: Network | null) {
  const blocks = blockTexts();
  const events = new Map<string, Uint8Array>();

  function eventText({ apply, rollback }: MatchedBlocks, options: Options, key: string): string {
    const texts = (matching: readonly MatchedBlock[], canonical: boolean): string =>
      matching.map((matched) => blocks.text(matched, { options, canonical, key })).join();
    const head = members({ chain: 'stacks', network: network?.kind ?? 'testnet' });
    return `{${head},"apply":[${texts(apply, true)}],"rollback":[${texts(rollback, false)}]}`;
  }

  const places = (matching: readonly MatchedBlock[]): string =>
    matching.map(({ block, txIndexes }) => `${blocks.numberOf(block)}:${txIndexes.join()}`).join(';');

  return (hook: PayloadHook, event: MatchedBlocks): DeliveryBody => {
    const options = JSON.stringify(hook.options);
    const key = `${options}/${places(event.apply)}/${places(event.rollback)}`;
    let shared = events.get(key);
    if (shared === undefined) {
      // The last brace closes the object that `own` opens.
      shared = Buffer.from(`${eventText(event, hook.options, options)}}`);
      events.set(key, shared);
    }
    return { own: `{${members({ chainhook: { uuid: hook.uuid, name: hook.name } })},"event":`, shared };
  };
}

/** The body of a single delivery, as JSON text. @param network as in {@link payloadTexts} */
export function payloadText(hook: PayloadHook, network: Network | null, event: MatchedBlocks): string {
  const { own, shared } = payloadTexts(network)(hook, event);
  return `${own}${new TextDecoder().decode(shared)}`;
}

/**
 * The id of a delivery: `evt_` and 32 hex digits. A delivery that is made again has the same id; other bodies have other ids.
 * Other logs also have other ids, since a server that was restored to an earlier point may reuse the numbers of deliveries.
 *
 * @param log identity of the log, in hex
 * @param source identifies the delivery, such as the hook's uuid and the delivery's sequence number
 * @param body the JSON text that is sent
 */
export function webhookId(log: string, source: string, body: string | DeliveryBody): string {
  const hasher = new Bun.CryptoHasher('sha256').update(`${log}/${source}\n`);
  if (typeof body === 'string') hasher.update(body);
  else hasher.update(body.own).update(body.shared);
  return `evt_${hasher.digest('hex').slice(0, 32)}`;
}
