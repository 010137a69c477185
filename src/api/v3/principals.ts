/** Principals: balances, nonces, transactions and balance changes. */
import { Type } from '@sinclair/typebox';
import { exactNumber } from '../../base/json.ts';
import { toHex } from '../../codec/hex.ts';
import { principalAndMempool, principal as principalTag, transaction } from '../../http/etag.ts';
import { requireTransactions, requireWholeHistory, withUntouched } from '../../http/history.ts';
import { serializedRows } from '../../http/json.ts';
import { CursorPage, cursorList, cursorQuery, listOf } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import {
  MAX_NONCES,
  type BalanceChange as StoredBalanceChange,
  type Nonces as StoredNonces,
  type PrincipalTransaction as StoredPrincipalTransaction,
  type StxBalance as StoredStxBalance,
} from '../../store/model/account.ts';
import { exactOrNull } from '../shared/address.ts';
import {
  Amount,
  Asset,
  Decimals,
  fields,
  Hash,
  Height,
  loadUnit,
  named,
  nullable,
  object,
  SignedAmount,
  TokenSymbol,
  Uint64,
  words,
} from '../shared/fields.ts';
import {
  AddressParameter,
  AssetParameter,
  listField,
  MAX_SUBJECTS,
  NftAssetParameter,
  PrincipalParameter,
  ResultsAtTip,
  readPrincipals,
  TxId,
  texts,
  tipOf,
} from '../shared/parameters.ts';
import { FtBalance, ftBalance, NftInstance, nftInstance } from './tokens.ts';
import { PendingSummary, pendingRows, TransactionSummary, transactionSummary } from './transaction.ts';

const [Lock, lock] = object<NonNullable<StoredStxBalance['locked']>>()({
  amount: [Amount, ({ amount }) => String(amount)],
  // The node doesn't return the version of a lock that is older than the index.
  pox_version: [nullable(Type.Integer()), ({ transaction, poxVersion }) => (transaction === null ? null : poxVersion)],
  lock_tx_id: [nullable(Hash), ({ transaction }) => (transaction === null ? null : toHex(transaction.txId))],
  stacks_lock_height: [nullable(Height), ({ transaction }) => transaction?.blockHeight ?? null],
  burn_lock_height: [nullable(Height), ({ transaction }) => transaction?.burnBlockHeight ?? null],
  burn_unlock_height: [Height, ({ unlockHeight }) => unlockHeight],
});

const available = ({ balance, locked }: StoredStxBalance): bigint => balance - (locked?.amount ?? 0n);

const [PendingChange, pendingChange] = object<StoredStxBalance>()({
  estimated_balance: [
    Type.String({
      pattern: '^-?[0-9]+$',
      description: 'Available balance once all pending transactions are mined, in micro-STX',
    }),
    (balance) => String(available(balance) + balance.pending.inbound - balance.pending.outbound),
  ],
  inbound: [Amount, ({ pending }) => String(pending.inbound)],
  outbound: [Amount, ({ pending }) => String(pending.outbound)],
});

/** A principal's STX balance, in micro-STX. */
const [StxBalance, stxBalance] = object<StoredStxBalance>('StxBalance')({
  balance: [Amount, ({ balance }) => String(balance)],
  available: [
    Type.String({ pattern: '^-?[0-9]+$', description: 'Balance less the locked amount, in micro-STX' }),
    (balance) => String(available(balance)),
  ],
  locked: [nullable(Lock), ({ locked }) => (locked === null ? null : lock(locked))],
  mempool: [nullable(PendingChange), (balance) => (balance.pending.any ? pendingChange(balance) : null)],
});

export { stxBalance };

/** Nonces of an address. A nonce above 2^53 keeps all digits. */
const [Nonces, nonces] = object<StoredNonces>('Nonces')({
  next_nonce: [Uint64, ({ next }) => exactNumber(next)],
  last_confirmed_nonce: [nullable(Uint64), ({ lastConfirmed }) => exactOrNull(lastConfirmed)],
  mempool: object<StoredNonces>()({
    last_nonce: [
      nullable(Uint64, { description: 'Greatest nonce of a pending transaction; null if none is pending' }),
      ({ lastPending }) => exactOrNull(lastPending),
    ],
    pending_nonces: [
      Type.Array(Uint64, {
        description: `Nonces of pending transactions between \`last_confirmed_nonce\` and \`last_nonce\`, without these two, ascending. At most the lowest ${MAX_NONCES}. Empty if no nonce is confirmed`,
      }),
      ({ pending }) => pending.map(exactNumber),
    ],
    missing_nonces: [
      Type.Array(Uint64, {
        description: `Nonces above \`last_confirmed_nonce\` (from 0 on if none is confirmed) and below \`last_nonce\` that no pending transaction has, descending. At most the lowest ${MAX_NONCES}`,
      }),
      ({ missing }) => missing.map(exactNumber),
    ],
  }),
});

const [AssetChange, assetChange] = object<{ sent: bigint; received: bigint }>('AssetChange')({
  sent: [Amount, ({ sent }) => String(sent)],
  received: [Amount, ({ received }) => String(received)],
  net: [SignedAmount, ({ sent, received }) => String(received - sent)],
});

/**
 * The change of one asset of a principal by a transaction: STX with the fee in `sent`, base units of a fungible token, or the
 * number of a non-fungible token's events.
 */
const change = fields<StoredBalanceChange>()({
  asset: [Asset, ({ asset }) => asset],
  balance_change: [AssetChange, assetChange],
});
const [BalanceChange, balanceChange] = object<StoredBalanceChange>('BalanceChange')(change);

const [TransactionBalanceChange, transactionBalanceChange] = object<StoredBalanceChange>('TransactionBalanceChange')({
  tx_id: [Hash, ({ txId }) => toHex(txId)],
  ...change,
});

const [PrincipalTransaction, principalTransaction] = object<StoredPrincipalTransaction>('PrincipalTransaction')({
  transaction: [TransactionSummary, ({ transaction }) => transactionSummary(transaction)],
  involvement: [words('sender', 'sponsor', 'affected'), ({ involvement }) => involvement],
  balance_changes: object<StoredPrincipalTransaction>()({ stx: [AssetChange, ({ stx }) => assetChange(stx)] }),
  affected_balances: object<StoredPrincipalTransaction>()({
    stx: [Type.Boolean(), ({ affected }) => affected.stx],
    ft: [Type.Boolean(), ({ affected }) => affected.ft],
    nft: [Type.Boolean(), ({ affected }) => affected.nft],
  }),
});

const involvementRows = serializedRows('involvement', principalTransaction);

const tag = 'Principals';

const family = { tag, params: { principal: PrincipalParameter }, etag: principalTag } as const;
const withPending = { ...family, etag: principalAndMempool } as const;

export const principals = [
  route({
    ...family,
    path: '/extended/v3/principals/{principal}/transactions',
    operationId: 'getPrincipalTransactions',
    summary: 'Transactions of a principal',
    description:
      'Returns the transactions that involve a principal, newest first. Each item states how much STX the principal sent and received in it.',
    query: cursorQuery,
    response: CursorPage(PrincipalTransaction),
    history: 'since',
    handle: ({ params: { principal }, query, read }) => {
      const list = cursorList(`principal-transactions ${principal}`, query);
      return list.page(read.transactions.ofPrincipal(principal, ...list.start, involvementRows));
    },
  }),
  route({
    ...withPending,
    path: '/extended/v3/principals/{principal}/mempool/transactions',
    operationId: 'getPrincipalMempoolTransactions',
    summary: 'Pending transactions of a principal',
    description:
      'Returns the pending transactions in which the principal is the sender, the sponsor, the recipient or the contract, starting with the one received last.',
    query: cursorQuery,
    response: CursorPage(PendingSummary),
    history: 'pending',
    handle: ({ params: { principal }, query, read }) => {
      const list = cursorList(`principal-mempool-transactions ${principal}`, query);
      return list.page(read.mempool.ofPrincipal(principal, ...list.start, pendingRows));
    },
  }),
  route({
    ...withPending,
    path: '/extended/v3/principals/{principal}/nonces',
    operationId: 'getPrincipalNonces',
    summary: 'Nonces of an account',
    description:
      'Returns the last nonce an account used, the nonces of its pending transactions, the gaps between them, and the nonce to use next.',
    params: { principal: AddressParameter },
    response: Nonces,
    history: 'account',
    handle: ({ params: { principal }, read, askAccount }) =>
      withUntouched(read, [principal], askAccount, ([untouched]) =>
        nonces(read.principals.nonces(principal, untouched)),
      ),
  }),
];

export const balances = [
  route({
    ...withPending,
    path: '/extended/v3/principals/{principal}/balances/stx',
    operationId: 'getPrincipalStxBalance',
    summary: 'STX balance of a principal',
    description:
      'Returns the STX a principal holds, how much of it is locked, and how pending transactions will change it. Unknown principals have a balance of zero.',
    response: StxBalance,
    history: 'account',
    handle: ({ params: { principal }, read, askAccount }) =>
      withUntouched(read, [principal], askAccount, ([untouched]) =>
        stxBalance(read.principals.stxBalance(principal, untouched)),
      ),
  }),
  route({
    ...family,
    path: '/extended/v3/principals/{principal}/balances/ft',
    operationId: 'getPrincipalFtBalances',
    summary: 'Fungible token balances of a principal',
    description: 'Returns the fungible tokens a principal holds, largest balance first.',
    query: cursorQuery,
    response: CursorPage(FtBalance),
    history: 'whole',
    handle: ({ params: { principal }, query, read }) => {
      const list = cursorList(`principal-ft-balances ${principal}`, query);
      return list.page(read.principals.ftBalances(principal, ...list.start), ftBalance);
    },
  }),
  route({
    ...family,
    path: '/extended/v3/principals/{principal}/balances/ft/{asset_identifier}',
    operationId: 'getPrincipalFtBalance',
    summary: 'Balance of one fungible token',
    description: "Returns a principal's balance of one fungible token. Unknown tokens have a balance of zero.",
    params: { principal: PrincipalParameter, asset_identifier: AssetParameter },
    response: FtBalance,
    history: 'whole',
    handle: ({ params: { principal, asset_identifier: asset }, read }) =>
      ftBalance({ asset, balance: read.principals.ftBalance(principal, asset) }),
  }),
  route({
    ...family,
    path: '/extended/v3/principals/{principal}/balances/nft',
    operationId: 'getPrincipalNftBalances',
    summary: 'Non-fungible tokens of a principal',
    description:
      'Returns the instances of non-fungible tokens that a principal owns, ordered by asset identifier, then by value.',
    query: { asset_identifier: Type.Optional(NftAssetParameter), ...cursorQuery },
    response: CursorPage(NftInstance),
    history: 'whole',
    handle: ({ params: { principal }, query, read }) => {
      const asset = query.asset_identifier ?? null;
      const list = cursorList(`principal-nft-balances ${principal} ${asset ?? ''}`, query);
      return list.page(read.principals.nftBalances(principal, asset, ...list.start), nftInstance);
    },
  }),
];

/** The name of a list for its cursors, which doesn't depend on the order or repetition of ids. */
const balanceChangesList = (principal: string, txIds: readonly Uint8Array[]) =>
  `balance-changes ${principal} ${[...new Set(txIds.map(toHex))].sort().join(' ')}`;

const NOT_SINCE = 'Transaction not found: only on a server with a partial history';

/** Balance changes of a principal; empty for transactions that are unknown or don't involve the principal. */
export const balanceChanges = [
  route({
    path: '/extended/v3/principals/{principal}/transactions/{tx_id}/balance-changes',
    operationId: 'getPrincipalTransactionBalanceChanges',
    summary: 'Balance changes of a principal in one transaction',
    description:
      'Returns how one transaction changed the balance of each asset of a principal. A transaction that changed none of them returns an empty list.',
    tag,
    params: { principal: PrincipalParameter, tx_id: TxId },
    query: cursorQuery,
    response: CursorPage(BalanceChange),
    notFound: NOT_SINCE,
    etag: transaction,
    history: 'thing',
    handle: ({ params: { principal, tx_id }, query, read }) => {
      requireTransactions(read, [tx_id]);
      const list = cursorList(`transaction-${balanceChangesList(principal, [tx_id])}`, query);
      return list.page(read.principals.balanceChanges(principal, [tx_id], ...list.start), balanceChange);
    },
  }),
  route({
    ...family,
    path: '/extended/v3/principals/{principal}/balance-changes',
    operationId: 'getPrincipalBalanceChanges',
    summary: 'Balance changes of a principal in several transactions',
    description:
      'Returns how each of the given transactions changed the balance of each asset of a principal, newest transaction first.',
    query: {
      tx_id: Type.Array(TxId, {
        minItems: 1,
        maxItems: 20,
        description: 'Transaction ids, separated by commas or as repeated keys',
      }),
      ...cursorQuery,
    },
    response: CursorPage(TransactionBalanceChange),
    notFound: NOT_SINCE,
    history: 'thing',
    handle: ({ params: { principal }, query, read }) => {
      requireTransactions(read, query.tx_id);
      const list = cursorList(balanceChangesList(principal, query.tx_id), query);
      return list.page(read.principals.balanceChanges(principal, query.tx_id, ...list.start), transactionBalanceChange);
    },
  }),
];

const MAX_TOKENS = 20;

const MeasuredFtBalance = named('MeasuredFtBalance', {
  ...FtBalance.properties,
  symbol: nullable(TokenSymbol),
  decimals: nullable(Decimals),
});
const PrincipalBalances = named('PrincipalBalances', {
  principal: Type.String(),
  stx: StxBalance,
  fungible_tokens: Type.Array(MeasuredFtBalance),
});
const readTokens = listField('fungible_tokens', AssetParameter);

/** Balances of several principals from one snapshot. Stackside's own route. */
export const balancesOfMany = [
  route({
    method: 'POST',
    path: '/stackside/v1/principals/balances',
    operationId: 'getBalancesOfPrincipals',
    summary: 'Balances of several principals',
    description:
      'Returns the STX balances of up to 50 principals, and on request their balances of up to 20 fungible tokens, in the order of the request. All are from one state of the chain. Unknown principals have balances of zero.',
    tag: 'Stackside',
    body: Type.Object(
      {
        principals: texts('Standard addresses and contract identifiers', { minItems: 1, maxItems: MAX_SUBJECTS }),
        fungible_tokens: Type.Optional(
          texts('Asset identifiers of the fungible tokens to return balances of', { maxItems: MAX_TOKENS }),
        ),
      },
      { additionalProperties: false },
    ),
    response: listOf(ResultsAtTip, PrincipalBalances),
    etag: null,
    history: 'account',
    handle: ({ body, read, askAccount }) => {
      const principals = readPrincipals(body.principals);
      const tokens = readTokens(body.fungible_tokens ?? []);
      if (tokens.length > 0) requireWholeHistory(read);
      return withUntouched(read, principals, askAccount, (untouched) => {
        const units = tokens.map((asset) => loadUnit(read, asset));
        const balancesOf = (principal: string, place: number) => ({
          principal,
          stx: stxBalance(read.principals.stxBalance(principal, untouched[place])),
          fungible_tokens: tokens.map((asset, index) => ({
            ...ftBalance({ asset, balance: read.principals.ftBalance(principal, asset) }),
            ...units[index]!,
          })),
        });
        return { ...tipOf(read), results: principals.map(balancesOf) };
      });
    },
  }),
];
