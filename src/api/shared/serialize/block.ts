/** Blocks and microblocks as v1 shows them. */
import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import type { ChainMicroblock, WholeBlock } from '../../../store/model/block.ts';
import type { Block, Microblock } from '../schemas/block.ts';
import { chainBlock } from './chain-block.ts';
import { timeText } from './values.ts';

/** @param microblocks the order of those it confirmed, by their sequence */
export function block(of: WholeBlock, microblocks: 'ascending' | 'descending'): Block {
  const { parent_index_block_hash: _, tx_count: __, ...shared } = chainBlock(of);
  const accepted = of.confirmed.map(({ hash }) => toHex(hash));
  return {
    ...shared,
    canonical: of.canonical,
    txs: of.txIds.map(toHex).reverse(),
    parent_microblock_hash: of.parentMicroblock === null ? '' : toHex(of.parentMicroblock.hash),
    parent_microblock_sequence: of.parentMicroblock?.sequence ?? -1,
    microblocks_accepted: microblocks === 'ascending' ? accepted : accepted.reverse(),
    microblocks_streamed: of.streamed.map(toHex),
    microblock_tx_count: Object.fromEntries(of.confirmed.map(({ hash, transactions }) => [toHex(hash), transactions])),
  };
}

/** A microblock as v1 lists it. */
export function microblock(of: ChainMicroblock): Static<typeof Microblock> {
  const { hash, burnBlock } = of.parentBlock;
  return {
    canonical: true,
    microblock_canonical: true,
    microblock_hash: toHex(of.hash),
    microblock_sequence: of.sequence,
    microblock_parent_hash: toHex(of.parentHash),
    block_height: of.height,
    parent_block_height: of.height - 1,
    parent_block_hash: toHex(hash),
    block_hash: of.blockHash === null ? '0x' : toHex(of.blockHash),
    parent_burn_block_hash: toHex(burnBlock.hash),
    parent_burn_block_time: burnBlock.time,
    parent_burn_block_time_iso: timeText(burnBlock.time),
    parent_burn_block_height: burnBlock.height,
    txs: of.txIds.map(toHex).reverse(),
  };
}
