/** What a transaction did, as v1 and v2 show it: a missing side of a movement is the empty string. */
import { type TProperties, Type } from '@sinclair/typebox';
import { LoggedValue } from './contract-log.ts';
import { Amount, ClarityPair, Hash, Height, Hex, words } from './values.ts';

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
