/** Events of transactions as v1 and v2 return them; a missing sender or recipient is the empty string. */
import { type Static, type TProperties, Type } from '@sinclair/typebox';
import { memoizeByObject } from '../../base/cache.ts';
import { toHex } from '../../codec/hex.ts';
import { written } from '../../http/json.ts';
import type { ContractLog as StoredContractLog } from '../../store/model/contract.ts';
import type { TransactionEvent as StoredTransactionEvent } from '../../store/model/transaction.ts';
import { Amount, ClarityPair, clarity, Hash, Height, Hex, words } from './values.ts';

/** A printed value. */
export const LoggedValue = Type.Object(
  { contract_id: Type.String(), topic: Type.String(), value: ClarityPair },
  { $id: 'LoggedValue' },
);

export const ContractLog = Type.Object(
  {
    event_index: Type.Integer({ minimum: 0 }),
    event_type: Type.Literal('smart_contract_log'),
    tx_id: Hash,
    contract_log: LoggedValue,
  },
  { $id: 'ContractLog' },
);

const event = <const W extends string, P extends TProperties>(type: W, body: P) =>
  Type.Object({
    event_index: Type.Integer({ minimum: 0 }),
    event_type: Type.Literal(type),
    tx_id: Hash,
    ...body,
  });

const movement = {
  asset_event_type: words('transfer', 'mint', 'burn'),
  sender: Type.String({ description: 'Sending principal; empty for a mint' }),
  recipient: Type.String({ description: 'Receiving principal; empty for a burn' }),
};
const asset_id = Type.String();

/** An event of a kind that only a newer node knows. */
export const UnknownEvent = Type.Object(
  {
    type: Type.String({ description: "The node's word for it" }),
    json: Type.String({ description: 'The event as the node sent it' }),
  },
  { $id: 'UnreadEvent', description: 'An event of a kind that this version does not know' },
);

export const TransactionEvent = Type.Union(
  [
    event('smart_contract_log', {
      contract_log: LoggedValue,
    }),
    event('stx_lock', {
      stx_lock_event: Type.Object({ locked_amount: Amount, unlock_height: Height, locked_address: Type.String() }),
    }),
    event('stx_asset', { asset: Type.Object({ ...movement, amount: Amount, memo: Type.Optional(Hex) }) }),
    event('fungible_token_asset', { asset: Type.Object({ ...movement, asset_id, amount: Amount }) }),
    event('unknown', { unknown_event: UnknownEvent }),
    event('non_fungible_token_asset', { asset: Type.Object({ ...movement, asset_id, value: ClarityPair }) }),
  ],
  { $id: 'TransactionEventV1' },
);

/** What a contract printed, with its value in hex and as text. */
const contractLog = (log: StoredContractLog): Static<typeof ContractLog> => ({
  event_index: log.eventIndex,
  event_type: 'smart_contract_log',
  tx_id: toHex(log.txId),
  contract_log: { contract_id: log.contractId, topic: log.topic, value: clarity(log.value) },
});

/** Serializes {@link contractLog}, once for each cached log. */
export const listedLog = memoizeByObject((log: StoredContractLog) => written(contractLog(log)));

type SerializedEvent = Static<typeof TransactionEvent>;
type Movement = Extract<StoredTransactionEvent, { action: unknown }>;

const sides = ({ action, sender, recipient }: Movement) => ({
  asset_event_type: action,
  sender: sender ?? '',
  recipient: recipient ?? '',
});

/** An event of a transaction as v1 and v2 return it. @param txId id of the transaction, 32 bytes */
export function transactionEvent(txId: Uint8Array, event: StoredTransactionEvent): SerializedEvent {
  const common = { event_index: event.index, tx_id: toHex(txId) };
  switch (event.kind) {
    case 'contract_log': {
      const { contractId, topic, value } = event;
      return {
        ...common,
        event_type: 'smart_contract_log',
        contract_log: { contract_id: contractId, topic, value: clarity(value) },
      };
    }
    case 'stx_lock': {
      const { amount, unlockHeight, address } = event;
      return {
        ...common,
        event_type: 'stx_lock',
        stx_lock_event: { locked_amount: amount, unlock_height: unlockHeight, locked_address: address },
      };
    }
    case 'unknown':
      return { ...common, event_type: 'unknown', unknown_event: { type: event.type, json: event.json } };
    case 'stx': {
      const memo = event.memo === null ? {} : { memo: toHex(event.memo) };
      return { ...common, event_type: 'stx_asset', asset: { ...sides(event), amount: event.amount, ...memo } };
    }
    case 'ft': {
      const { asset: asset_id, amount } = event;
      return { ...common, event_type: 'fungible_token_asset', asset: { ...sides(event), asset_id, amount } };
    }
    case 'nft': {
      const asset = { ...sides(event), asset_id: event.asset, value: clarity(event.value) };
      return { ...common, event_type: 'non_fungible_token_asset', asset };
    }
  }
}
