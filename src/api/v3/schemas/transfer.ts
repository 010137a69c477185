/** Events that moved tokens, one an item. */
import { Type } from '@sinclair/typebox';
import { Amount, Hash, Memo, nullable, Principal } from '../../shared/schemas/values.ts';
import { Block } from './place.ts';

/** A mint has no sender, a burn no recipient. */
const sides = { sender: nullable(Principal), recipient: nullable(Principal) };

const origin = {
  transaction: Type.Object({ tx_id: Hash, event_index: Type.Integer({ minimum: 0 }) }),
  block: Block,
};

export const StxTransfer = Type.Object({ ...sides, amount: Amount, memo: nullable(Memo), ...origin });

export const FtTransfer = Type.Object({ ...sides, amount: Amount, ...origin });

export const NftMove = Type.Object({ ...sides, ...origin });
