/** Addresses as v1 and v2 return them. */
import { type Static, type TProperties, Type } from '@sinclair/typebox';
import { exactNumber } from '../../base/json.ts';
import { toHex } from '../../codec/hex.ts';
import {
  MAX_NONCES,
  type ReceivedStx,
  type AddressTransaction as StoredAddressTransaction,
  type Nonces as StoredNonces,
  type StxHistory,
  stxOf,
  type TokenHistory,
} from '../../store/model/account.ts';
import type { AssetEvent, PositionedEvent, TransactionDetail } from '../../store/model/transaction.ts';
import { type EventOf, sides, type TransactionEvent, transactionEvent } from './event.ts';
import {
  ClarityPair,
  clarity,
  fields,
  Hash,
  Height,
  Hex,
  named,
  nullable,
  object,
  Principal,
  SignedAmount,
  Uint64,
  variants,
  words,
} from './fields.ts';
import { type Declarations, Transaction, transaction } from './transaction.ts';

/** Fields of a balance. The context is whether to include the effect of pending transactions. */
const stx = fields<StxHistory, [withPending: boolean]>()({
  balance: [SignedAmount, (stx) => String(stxOf(stx))],
  estimated_balance: [
    Type.Optional(SignedAmount),
    (stx, withPending) => (withPending ? String(stxOf(stx) + stx.pending.inbound - stx.pending.outbound) : undefined),
  ],
  pending_balance_inbound: [
    Type.Optional(SignedAmount),
    ({ pending }, withPending) => (withPending ? String(pending.inbound) : undefined),
  ],
  pending_balance_outbound: [
    Type.Optional(SignedAmount),
    ({ pending }, withPending) => (withPending ? String(pending.outbound) : undefined),
  ],
  total_miner_rewards_received: [SignedAmount, ({ mined }) => String(mined)],
  lock_tx_id: [
    Type.String({ description: 'Transaction that locked the STX; empty if nothing is locked' }),
    ({ locked }) => (locked?.transaction == null ? '' : toHex(locked.transaction.txId)),
  ],
  locked: [SignedAmount, ({ locked }) => String(locked?.amount ?? 0n)],
  lock_height: [Height, ({ locked }) => locked?.transaction?.blockHeight ?? 0],
  burnchain_lock_height: [Height, ({ locked }) => locked?.transaction?.burnBlockHeight ?? 0],
  burnchain_unlock_height: [Height, ({ locked }) => locked?.unlockHeight ?? 0],
});

/** An address's STX balance, in micro-STX. */
export const [StxBalance, stxBalance] = object<StxHistory, [withPending: boolean]>('AddressStxBalance')(stx);

/** An address's STX balance and the totals it sent, received and paid as fees, in micro-STX. */
export const [StxBalanceWithTotals, stxBalanceWithTotals] = object<StxHistory, [withPending: boolean]>({
  $id: 'AddressStxBalanceWithTotals',
  extends: StxBalance,
})({
  ...stx,
  total_sent: [SignedAmount, ({ sent }) => String(sent)],
  total_received: [SignedAmount, ({ received }) => String(received)],
  total_fees_sent: [SignedAmount, ({ fees }) => String(fees)],
});

const totals = { total_sent: SignedAmount, total_received: SignedAmount };
const byAsset = <P extends TProperties>($id: string, sums: P) =>
  Type.Record(Type.String(), named($id, { ...sums, ...totals }));

export const Balances = named('AddressBalances', {
  stx: StxBalanceWithTotals,
  fungible_tokens: byAsset('AddressFtTotals', { balance: SignedAmount }),
  non_fungible_tokens: byAsset('AddressNftTotals', { count: SignedAmount }),
});

/** Returns a nonce with all its digits, or null. */
export const exactOrNull = (nonce: bigint | null) => (nonce === null ? null : exactNumber(nonce));

/** Nonces of an address. A nonce above 2^53 keeps all digits. */
export const [Nonces, nonces] = object<StoredNonces>('AddressNonces')({
  last_mempool_tx_nonce: [nullable(Uint64), ({ lastPending }) => exactOrNull(lastPending)],
  last_executed_tx_nonce: [nullable(Uint64), ({ lastConfirmed }) => exactOrNull(lastConfirmed)],
  possible_next_nonce: [Uint64, ({ next }) => exactNumber(next)],
  detected_missing_nonces: [
    Type.Array(Uint64, {
      description: `Nonces above \`last_executed_tx_nonce\` (from 0 on if none is executed) and below \`last_mempool_tx_nonce\` that no pending transaction has, descending. At most the lowest ${MAX_NONCES}`,
    }),
    ({ missing }) => missing.map(exactNumber),
  ],
  detected_mempool_nonces: [
    Type.Array(Uint64, {
      description: `Nonces of pending transactions between \`last_executed_tx_nonce\` and \`last_mempool_tx_nonce\`, without these two, ascending. At most the lowest ${MAX_NONCES}. Empty if no nonce is executed`,
    }),
    ({ pending }) => pending.map(exactNumber),
  ],
});

const transferTypes = { transaction: 'stx-transfer', event: 'stx-transfer-memo', print: 'bulk-send' } as const;

/** A transfer of STX to an address, in micro-STX. */
export const [InboundTransfer, inboundTransfer] = object<ReceivedStx>('InboundTransfer')({
  sender: [Principal, ({ sender }) => sender],
  amount: [SignedAmount, ({ amount }) => amount],
  memo: [
    Type.Union([Hex, Type.Literal('')], { description: 'Memo of the transfer; empty if it has none' }),
    ({ memo }) => (memo === null ? '' : toHex(memo)),
  ],
  block_height: [Height, ({ blockHeight }) => blockHeight],
  tx_id: [Hash, ({ txId }) => toHex(txId)],
  transfer_type: [words('bulk-send', 'stx-transfer', 'stx-transfer-memo'), ({ memoOf }) => transferTypes[memoOf]],
  tx_index: [Type.Integer(), ({ txIndex }) => txIndex],
});

const asset = fields<EventOf<'ft' | 'nft'>>()({ asset_identifier: [Type.String(), ({ asset }) => asset] });
const amount = fields<EventOf<'stx' | 'ft'>>()({ amount: [SignedAmount, ({ amount }) => amount] });
const value = fields<EventOf<'nft'>>()({ value: [ClarityPair, ({ value }) => clarity(value)] });
const sums = fields<StoredAddressTransaction>()({
  stx_sent: [SignedAmount, ({ stx }) => String(stx.sent)],
  stx_received: [SignedAmount, ({ stx }) => String(stx.received)],
});

const [StxTransfer, stxTransfer] = object<EventOf<'stx'>>('AddressStxTransfer')({ ...amount, ...sides });
const [FtTransfer, ftTransfer] = object<EventOf<'ft'>>('AddressFtTransfer')({ ...asset, ...amount, ...sides });
const [NftTransfer, nftTransfer] = object<EventOf<'nft'>>('AddressNftTransfer')({ ...asset, ...value, ...sides });

const stxTransfers = fields<StoredAddressTransaction, [Declarations]>()({
  tx: [Transaction, ({ transaction: tx }, declarations) => transaction(tx, { declarations })],
  ...sums,
  stx_transfers: [
    Type.Array(StxTransfer),
    ({ events }) => events.toReversed().flatMap((event) => (event.kind === 'stx' ? stxTransfer(event) : [])),
  ],
});

export const [TransactionWithStxTransfers, transactionWithStxTransfers] = object<
  StoredAddressTransaction,
  [Declarations]
>('TransactionWithStxTransfers')(stxTransfers);

/** A transaction with the STX it moved for an address, and the transfers of STX and tokens. */
export const [TransactionWithTransfers, transactionWithTransfers] = object<StoredAddressTransaction, [Declarations]>(
  'TransactionWithTransfers',
)({
  ...stxTransfers,
  ft_transfers: [
    Type.Array(FtTransfer),
    ({ events }) => events.toReversed().flatMap((event) => (event.kind === 'ft' ? ftTransfer(event) : [])),
  ],
  nft_transfers: [
    Type.Array(NftTransfer),
    ({ events }) => events.toReversed().flatMap((event) => (event.kind === 'nft' ? nftTransfer(event) : [])),
  ],
});

const counts = named('EventCounts', { transfer: Type.Integer(), mint: Type.Integer(), burn: Type.Integer() });
const noEvents = () => ({ transfer: 0, mint: 0, burn: 0 });

/** The parameters of a request that decide how its transactions are serialized. */
interface AddressQuery {
  /** A transfer of the principal to itself counts twice. */
  principal: string;
  withoutArguments: boolean;
}

/** The list of an address's transactions has always returned calls without the contracts' declarations. */
const noDeclarations: Declarations = new Map();

export const [AddressTransaction, addressTransaction] = object<StoredAddressTransaction, [AddressQuery]>(
  'AddressTransaction',
)({
  tx: [
    Transaction,
    ({ transaction: tx }, { withoutArguments }) => transaction(tx, { declarations: noDeclarations, withoutArguments }),
  ],
  ...sums,
  events: [
    Type.Object({ stx: counts, ft: counts, nft: counts }),
    (entry, { principal }) => {
      const events = { stx: noEvents(), ft: noEvents(), nft: noEvents() };
      for (const { kind, action, sender, recipient } of entry.events) {
        events[kind][action] += Number(sender === principal) + Number(recipient === principal);
      }
      return events;
    },
  ],
});

const action = fields<AssetEvent>()({ type: [words('transfer', 'mint', 'burn'), ({ action }) => action] });
const parties = fields<AssetEvent>()({
  sender: [Type.Optional(Principal), ({ sender }) => sender ?? undefined],
  recipient: [Type.Optional(Principal), ({ recipient }) => recipient ?? undefined],
});
const event_index = fields<AssetEvent>()({ event_index: [Type.Integer(), ({ index }) => index] });

export const [AddressTransactionEvent, addressTransactionEvent] = variants<
  AssetEvent,
  { [K in AssetEvent['kind']]: EventOf<K> }
>('AddressTransactionEvent')(
  ['type', ({ kind }) => kind],
  {},
  {
    stx: { ...event_index, data: object<EventOf<'stx'>>()({ ...action, ...amount, ...parties }) },
    ft: { ...event_index, data: object<EventOf<'ft'>>()({ ...action, ...amount, ...asset, ...parties }) },
    nft: { ...event_index, data: object<EventOf<'nft'>>()({ ...action, ...asset, ...value, ...parties }) },
  },
);

export const AddressFtBalance = named('AddressFtBalance', { token: Type.String(), balance: SignedAmount });

/** An address's STX and tokens, each with its totals. */
export function balances(
  stx: StxHistory,
  tokens: readonly TokenHistory[],
  withPending: boolean,
): Static<typeof Balances> {
  const byToken = (kind: TokenHistory['token']) =>
    tokens
      .filter(({ token }) => token === kind)
      .map(({ asset, sent, received }) => ({
        asset,
        difference: String(received - sent),
        totals: { total_sent: String(sent), total_received: String(received) },
      }));
  return {
    stx: stxBalanceWithTotals(stx, withPending),
    fungible_tokens: Object.fromEntries(
      byToken('ft').map(({ asset, difference, totals }) => [asset, { balance: difference, ...totals }]),
    ),
    non_fungible_tokens: Object.fromEntries(
      byToken('nft').map(({ asset, difference, totals }) => [asset, { count: difference, ...totals }]),
    ),
  };
}

/**
 * An item in the list of an address's events. A lock always has the amount and height 1 there: clients read the real ones
 * from the events of the transaction.
 */
export function listedEvent({ txId, event }: PositionedEvent): Static<typeof TransactionEvent> {
  return transactionEvent(event.kind === 'stx_lock' ? { ...event, amount: '1', unlockHeight: 1 } : event, txId);
}

/** Whether v1 lists a transaction for a principal: it must be more than the sponsor, and not only have moved tokens. */
export function concernsStx({ transaction: tx, events }: StoredAddressTransaction, principal: string): boolean {
  return events.some(({ kind }) => kind === 'stx') || partiesOf(tx).includes(principal);
}

function partiesOf({ sender, payload }: TransactionDetail): string[] {
  if (payload.type === 'token_transfer') return [sender.address, payload.recipient];
  if (payload.type === 'smart_contract' || payload.type === 'contract_call')
    return [sender.address, payload.contractId];
  return [sender.address];
}
