import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import type { FtTransfer, Move, StxTransfer } from '../../../store/model/token.ts';
import { memo } from '../../shared/serialize/values.ts';
import type { FtTransfer as FtSchema, NftMove, StxTransfer as StxSchema } from '../schemas/transfer.ts';
import { block } from './place.ts';

const sides = ({ sender, recipient }: Move) => ({ sender, recipient });

const origin = (move: Move) => ({
  transaction: { tx_id: toHex(move.txId), event_index: move.eventIndex },
  block: block(move),
});

/** A transfer, mint or burn of STX, in micro-STX. */
export const stxTransfer = (transfer: StxTransfer): Static<typeof StxSchema> => ({
  ...sides(transfer),
  amount: transfer.amount,
  memo: memo(transfer.memo),
  ...origin(transfer),
});

/** A transfer, mint or burn of a fungible token, in base units. */
export const ftTransfer = (transfer: FtTransfer): Static<typeof FtSchema> => ({
  ...sides(transfer),
  amount: transfer.amount,
  ...origin(transfer),
});

/** A transfer, mint or burn of an instance. */
export const nftMove = (move: Move): Static<typeof NftMove> => ({ ...sides(move), ...origin(move) });
