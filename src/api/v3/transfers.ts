/** Token transfers, mints and burns; each item is an event. */
import { type Static, Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { principal as principalTag } from '../../http/etag.ts';
import { CursorPage, cursorPage, cursorQuery, pageCursor } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type {
  Move,
  FtTransfer as StoredFtTransfer,
  StxTransfer as StoredStxTransfer,
} from '../../store/model/token.ts';
import { AssetParameter, PrincipalParameter } from '../shared/parameters.ts';
import { Amount, EventPosition, Memo, memo, nullable, Principal } from '../shared/values.ts';
import { Block, block } from './transaction.ts';

/** A mint has no sender, a burn no recipient. */
const Sides = { sender: nullable(Principal), recipient: nullable(Principal) };

const Origin = {
  transaction: EventPosition,
  block: Block,
};

const StxTransfer = Type.Object({ ...Sides, amount: Amount, memo: nullable(Memo), ...Origin }, { $id: 'StxTransfer' });

const FtTransfer = Type.Object({ ...Sides, amount: Amount, ...Origin }, { $id: 'FtTransfer' });

export const NftMove = Type.Object({ ...Sides, ...Origin }, { $id: 'NftTransfer' });

const sides = ({ sender, recipient }: Move) => ({ sender, recipient });

const origin = (move: Move) => ({
  transaction: { tx_id: toHex(move.txId), event_index: move.eventIndex },
  block: block(move),
});

/** A transfer, mint or burn of STX, in micro-STX. */
export const stxTransfer = (transfer: StoredStxTransfer): Static<typeof StxTransfer> => ({
  ...sides(transfer),
  amount: transfer.amount,
  memo: memo(transfer.memo),
  ...origin(transfer),
});

/** A transfer, mint or burn of a fungible token, in base units. */
export const ftTransfer = (transfer: StoredFtTransfer): Static<typeof FtTransfer> => ({
  ...sides(transfer),
  amount: transfer.amount,
  ...origin(transfer),
});

/** A transfer, mint or burn of an instance. */
export const nftMove = (move: Move): Static<typeof NftMove> => ({ ...sides(move), ...origin(move) });

const tag = 'Principals';

/** OpenAPI texts of the two directions. */
const stxTexts = {
  inbound: {
    operationId: 'getPrincipalStxInbound',
    summary: 'STX received by a principal',
    description: 'Returns the STX transfers and mints that a principal received, newest first.',
  },
  outbound: {
    operationId: 'getPrincipalStxOutbound',
    summary: 'STX sent by a principal',
    description: 'Returns the STX transfers and burns that a principal sent, newest first.',
  },
};

const stxTransfers = (direction: keyof typeof stxTexts) =>
  route({
    path: `/extended/v3/principals/{principal}/transfers/stx/${direction}`,
    ...stxTexts[direction],
    tag,
    params: { principal: PrincipalParameter },
    query: cursorQuery,
    response: CursorPage(StxTransfer),
    etag: principalTag,
    history: 'since',
    handle: ({ params: { principal }, query: { limit, cursor }, read }) => {
      const list = `stx-${direction} ${principal}`;
      const page = read.transfers.stx(principal, direction, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, stxTransfer);
    },
  });

export const transfers = [
  stxTransfers('inbound'),
  stxTransfers('outbound'),
  route({
    path: '/extended/v3/principals/{principal}/transfers/ft/{asset_identifier}',
    operationId: 'getPrincipalFtTransfers',
    summary: 'Transfers of a fungible token by a principal',
    description:
      'Returns the transfers, mints and burns of one fungible token that a principal sent or received, newest first.',
    tag,
    params: { principal: PrincipalParameter, asset_identifier: AssetParameter },
    query: cursorQuery,
    response: CursorPage(FtTransfer),
    etag: principalTag,
    history: 'since',
    handle: ({ params: { principal, asset_identifier: asset }, query: { limit, cursor }, read }) => {
      const list = `ft-transfers ${principal} ${asset}`;
      const page = read.transfers.ft(principal, asset, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, ftTransfer);
    },
  }),
];
