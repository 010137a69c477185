/** Events of transactions as v1 and v2 return them; a missing sender or recipient is the empty string. */
import { Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { serializedRows } from '../../http/json.ts';
import type { ContractLog as StoredContractLog } from '../../store/model/contract.ts';
import type { TransactionEvent as StoredTransactionEvent } from '../../store/model/transaction.ts';
import { Amount, ClarityPair, clarity, fields, Hash, Height, Hex, literal, object, variants, words } from './fields.ts';

export const [LoggedValue, loggedValue] = object<Pick<StoredContractLog, 'contractId' | 'topic' | 'value'>>(
  'LoggedValue',
)({
  contract_id: [Type.String(), ({ contractId }) => contractId],
  topic: [Type.String(), ({ topic }) => topic],
  value: [ClarityPair, ({ value }) => clarity(value)],
});

const event_index = Type.Integer({ minimum: 0 });

/** The print event of a contract, with its value in hex and as text. */
const [ContractLog, contractLog] = object<StoredContractLog>('ContractLog')({
  event_index: [event_index, ({ eventIndex }) => eventIndex],
  event_type: literal('smart_contract_log'),
  tx_id: [Hash, ({ txId }) => toHex(txId)],
  contract_log: [LoggedValue, loggedValue],
});

export { ContractLog };

export const contractLogRows = serializedRows('log', contractLog);

type Kind = StoredTransactionEvent['kind'];
export type EventOf<K> = Extract<StoredTransactionEvent, { kind: K }>;
/** An event of each type, by the types of an API's version. */
export type EventsBy<Types extends Record<Kind, string>> = { [K in Kind as Types[K]]: EventOf<K> };

export const eventTypes = {
  contract_log: 'smart_contract_log',
  stx_lock: 'stx_lock',
  stx: 'stx_asset',
  ft: 'fungible_token_asset',
  nft: 'non_fungible_token_asset',
  unknown: 'unknown',
} as const satisfies Record<Kind, string>;

/** An event of a kind that this version can't read, from a newer node. */
export const unknownEvent = object<EventOf<'unknown'>>({
  $id: 'UnreadEvent',
  description: 'An event of a kind that this version does not support',
})({
  type: [Type.String({ description: "The node's name for it" }), ({ type }) => type],
  json: [Type.String({ description: 'The event as the node sent it' }), ({ json }) => json],
});

/** The sides of a movement; a missing one is the empty string. */
export const sides = fields<EventOf<'stx' | 'ft' | 'nft'>>()({
  sender: [Type.String({ description: 'Sending principal; empty for a mint' }), ({ sender }) => sender ?? ''],
  recipient: [
    Type.String({ description: 'Receiving principal; empty for a burn' }),
    ({ recipient }) => recipient ?? '',
  ],
});
const movement = fields<EventOf<'stx' | 'ft' | 'nft'>>()({
  asset_event_type: [words('transfer', 'mint', 'burn'), ({ action }) => action],
  ...sides,
});
const asset_id = fields<EventOf<'ft' | 'nft'>>()({ asset_id: [Type.String(), ({ asset }) => asset] });

/** An event of a transaction as v1 and v2 return it. The context is the id of the transaction, 32 bytes. */
export const [TransactionEvent, transactionEvent] = variants<
  StoredTransactionEvent,
  EventsBy<typeof eventTypes>,
  [txId: Uint8Array]
>('TransactionEventV1')(
  ['event_type', ({ kind }) => eventTypes[kind]],
  { event_index: [event_index, ({ index }) => index], tx_id: [Hash, (_, txId) => toHex(txId)] },
  {
    smart_contract_log: { contract_log: [LoggedValue, loggedValue] },
    stx_lock: {
      stx_lock_event: object<EventOf<'stx_lock'>>()({
        locked_amount: [Amount, ({ amount }) => amount],
        unlock_height: [Height, ({ unlockHeight }) => unlockHeight],
        locked_address: [Type.String(), ({ address }) => address],
      }),
    },
    stx_asset: {
      asset: object<EventOf<'stx'>>()({
        ...movement,
        amount: [Amount, ({ amount }) => amount],
        memo: [Type.Optional(Hex), ({ memo }) => (memo === null ? undefined : toHex(memo))],
      }),
    },
    fungible_token_asset: {
      asset: object<EventOf<'ft'>>()({ ...movement, ...asset_id, amount: [Amount, ({ amount }) => amount] }),
    },
    unknown: { unknown_event: unknownEvent },
    non_fungible_token_asset: {
      asset: object<EventOf<'nft'>>()({
        ...movement,
        ...asset_id,
        value: [ClarityPair, ({ value }) => clarity(value)],
      }),
    },
  },
);
