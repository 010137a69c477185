/** What v1 shows of tokens. */
import { type TProperties, Type } from '@sinclair/typebox';
import { OffsetPage } from '../../../http/offset-pagination.ts';
import { Transaction } from '../../shared/transaction.ts';
import { ClarityPair, Hash, Height, nullable, Principal, SignedAmount, words } from '../../shared/values.ts';

const Holder = Type.Object({ address: Principal, balance: SignedAmount }, { $id: 'HolderV1' });

export const Holders = Type.Object(
  {
    total_supply: Type.String({ description: 'Sum of all balances, in micro-STX or base units of the token' }),
    ...OffsetPage(Holder).properties,
  },
  { $id: 'HolderListV1' },
);

/** An item that names its transaction, or holds it where that is asked for. */
const ofTransaction = <P extends TProperties>($id: string, item: P) =>
  Type.Union(
    [
      Type.Object({ ...item, tx_id: Hash }, { $id: `${$id}WithTxId` }),
      Type.Object({ ...item, tx: Transaction }, { $id: `${$id}WithTransaction` }),
    ],
    { $id },
  );

export const NftHolding = ofTransaction('NftHolding', {
  asset_identifier: Type.String(),
  value: ClarityPair,
  block_height: Height,
});

export const NftHistoryEvent = ofTransaction('NftHistoryEvent', {
  sender: nullable(Principal),
  recipient: Type.Optional(Principal),
  event_index: Type.Integer(),
  asset_event_type: words('transfer', 'mint', 'burn'),
});

export const NftMint = ofTransaction('NftMintV1', {
  recipient: Type.Optional(Principal),
  event_index: Type.Integer(),
  value: ClarityPair,
});
