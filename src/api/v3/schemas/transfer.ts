/** Events that moved tokens, one an item. */
import { Type } from '@sinclair/typebox';
import { Amount, EventPosition, Memo, nullable, Principal } from '../../shared/schemas/values.ts';
import { Block } from './place.ts';

/** A mint has no sender, a burn no recipient. */
const sides = { sender: nullable(Principal), recipient: nullable(Principal) };

const origin = {
  transaction: EventPosition,
  block: Block,
};

export const StxTransfer = Type.Object(
  { ...sides, amount: Amount, memo: nullable(Memo), ...origin },
  { $id: 'StxTransfer' },
);

export const FtTransfer = Type.Object({ ...sides, amount: Amount, ...origin }, { $id: 'FtTransfer' });

export const NftMove = Type.Object({ ...sides, ...origin }, { $id: 'NftTransfer' });
