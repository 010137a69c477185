import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import type { TransactionPlace } from '../../../store/model/transaction.ts';
import type { Block } from '../schemas/place.ts';

/** The block of a transaction and the transaction's index in it. */
export const block = ({ txIndex, block }: Omit<TransactionPlace, 'txId'>): Static<typeof Block> => ({
  height: block.height,
  hash: toHex(block.hash),
  index_hash: toHex(block.indexHash),
  time: block.time,
  tx_index: txIndex,
});
