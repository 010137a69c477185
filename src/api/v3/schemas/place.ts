/** Where in the chain something stands. */
import { Type } from '@sinclair/typebox';
import { Hash, Height, UnixTime } from '../../shared/schemas/values.ts';

export const Block = Type.Object(
  {
    height: Height,
    hash: Hash,
    index_hash: Hash,
    time: UnixTime,
    tx_index: Type.Integer(),
  },
  { $id: 'BlockPosition' },
);

export const BitcoinBlock = Type.Object({ height: Height, time: UnixTime }, { $id: 'BitcoinBlock' });
