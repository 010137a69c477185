/** Events of v1: of a transaction, or of all that name an address. */
import { Type } from '@sinclair/typebox';
import { ApiError } from '../../http/errors.ts';
import { chainTip } from '../../http/etag.ts';
import { MaybeWritten, serializedLate } from '../../http/json.ts';
import { legacyOffsetQuery } from '../../http/offset-pagination.ts';
import { route } from '../../http/route.ts';
import type { TransactionEvent as Event } from '../../store/model/transaction.ts';
import { TransactionEvent, transactionEvent } from '../shared/event.ts';
import { Principal } from '../shared/legacy-parameters.ts';
import { TxId } from '../shared/parameters.ts';
import { words } from '../shared/values.ts';

const kinds = {
  smart_contract_log: 'contract_log',
  stx_lock: 'stx_lock',
  stx_asset: 'stx',
  fungible_token_asset: 'ft',
  non_fungible_token_asset: 'nft',
} as const satisfies Record<string, Event['kind']>;
const types = [
  'smart_contract_log',
  'stx_lock',
  'stx_asset',
  'fungible_token_asset',
  'non_fungible_token_asset',
] as const;
/** What is returned where no type is asked for: events that only a newer node knows, too. */
const everyKind: readonly Event['kind'][] = [...Object.values(kinds), 'unknown'];

export const transactionEvents = [
  route({
    path: '/extended/v1/tx/events',
    operationId: 'getFilteredEvents',
    summary: 'Events by transaction or address',
    description:
      'Returns the events of one transaction, or the events that name an address or were logged by it, newest first. Give either `tx_id` or `address`.',
    tag: 'Transactions (v1)',
    deprecated: { replacement: null },
    query: {
      tx_id: Type.Optional(TxId),
      address: Type.Optional(Principal),
      type: Type.Optional(
        Type.Array(words(...types), { description: 'Event types to return, separated by commas or as repeated keys' }),
      ),
      ...legacyOffsetQuery({ maximum: 100, default: 20 }),
    },
    response: Type.Object(
      {
        limit: Type.Integer(),
        offset: Type.Integer(),
        events: Type.Array(MaybeWritten(TransactionEvent)),
      },
      { $id: 'FilteredEvents' },
    ),
    etag: chainTip,
    long: true,
    handle: async ({ query: { tx_id, address, type, limit, offset }, read }) => {
      const asked = type?.map((word) => kinds[word]) ?? everyKind;
      if (tx_id !== undefined && address !== undefined) {
        throw new ApiError(400, "can't handle both 'address' and 'tx_id' in the same request");
      }
      if (tx_id !== undefined) {
        const events = await read.events.lastFirst(tx_id, asked, limit, offset);
        return { limit, offset, events: serializedLate(events, (event) => transactionEvent(tx_id, event)) };
      }
      if (address === undefined) throw new ApiError(400, "can not find 'address' or 'tx_id' in the request");
      const events = await read.addresses.events(address, asked, limit, offset);
      return { limit, offset, events: serializedLate(events, ({ txId, event }) => transactionEvent(txId, event)) };
    },
  }),
];
