/** What v1 shows of tokens. */
import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import { offsetPage } from '../../../http/offset-pagination.ts';
import type { HolderPage, NftEvent, NftHolding } from '../../../store/model/token.ts';
import type { TransactionDetail } from '../../../store/model/transaction.ts';
import { type Declarations, transaction } from '../../shared/transaction.ts';
import { clarity } from '../../shared/values.ts';
import type { Holders, NftHolding as HoldingSchema, NftHistoryEvent, NftMint } from '../schemas/token.ts';

/** A page of a token's holders with the supply, in base units. */
export const holders = (query: { limit: number; offset: number }, page: HolderPage): Static<typeof Holders> => ({
  total_supply: page.supply,
  ...offsetPage(query, page, ({ principal, balance }) => ({ address: principal, balance })),
});

/** The transaction where there is one, else its id. */
const transactionOf = (
  { txId, transaction: of }: { txId: Uint8Array; transaction: TransactionDetail | null },
  declarations: Declarations,
) => (of === null ? { tx_id: toHex(txId) } : { tx: transaction(of, { declarations }) });

/** An instance that a principal holds, with the transaction that brought it, or that one's id alone. */
export const nftHolding = (of: NftHolding, declarations: Declarations): Static<typeof HoldingSchema> => ({
  asset_identifier: of.asset,
  value: clarity(of.value),
  block_height: of.blockHeight,
  ...transactionOf(of, declarations),
});

const recipientOf = ({ recipient }: NftEvent['event']) => (recipient === null ? {} : { recipient });

/** A mint, transfer or burn of an instance, with its transaction or that one's id alone. */
export const nftHistoryEvent = (of: NftEvent, declarations: Declarations): Static<typeof NftHistoryEvent> => ({
  sender: of.event.sender,
  ...recipientOf(of.event),
  event_index: of.event.index,
  asset_event_type: of.event.action,
  ...transactionOf(of, declarations),
});

/** The mint of an instance, with its transaction or that one's id alone. */
export const nftMint = (of: NftEvent, declarations: Declarations): Static<typeof NftMint> => ({
  ...recipientOf(of.event),
  event_index: of.event.index,
  value: clarity(of.event.value),
  ...transactionOf(of, declarations),
});
