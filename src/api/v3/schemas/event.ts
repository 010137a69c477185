import { type TProperties, Type } from '@sinclair/typebox';
import { LoggedValue } from '../../shared/schemas/contract-log.ts';
import { UnknownEvent } from '../../shared/schemas/event.ts';
import { Amount, ClarityPair, Height, Memo, nullable, Principal } from '../../shared/schemas/values.ts';

const index = { event_index: Type.Integer({ minimum: 0 }) };

/** A transfer has both sides, a mint no sender, a burn no recipient. */
const movement = <M extends TProperties, T extends TProperties>($id: string, moved: M, transferOnly: T) =>
  Type.Union(
    [
      Type.Object({
        type: Type.Literal('transfer'),
        sender: Principal,
        recipient: Principal,
        ...moved,
        ...transferOnly,
      }),
      Type.Object({ type: Type.Literal('mint'), recipient: Principal, ...moved }),
      Type.Object({ type: Type.Literal('burn'), sender: Principal, ...moved }),
    ],
    { $id },
  );

const asset_identifier = Type.String();

export const TransactionEvent = Type.Union(
  [
    Type.Object({
      ...index,
      type: Type.Literal('contract_log'),
      contract_log: LoggedValue,
    }),
    Type.Object({
      ...index,
      type: Type.Literal('stx_lock'),
      stx_lock: Type.Object({ amount: Amount, unlock_bitcoin_height: Height, address: Principal }),
    }),
    Type.Object({
      ...index,
      type: Type.Literal('stx_asset'),
      stx_asset: movement('StxMovement', { amount: Amount }, { memo: nullable(Memo) }),
    }),
    Type.Object({
      ...index,
      type: Type.Literal('ft_asset'),
      ft_asset: movement('FtMovement', { asset_identifier, amount: Amount }, {}),
    }),
    Type.Object({ ...index, type: Type.Literal('unknown'), unknown: UnknownEvent }),
    Type.Object({
      ...index,
      type: Type.Literal('nft_asset'),
      nft_asset: movement('NftMovement', { asset_identifier, value: ClarityPair }, {}),
    }),
  ],
  { $id: 'TransactionEvent' },
);
