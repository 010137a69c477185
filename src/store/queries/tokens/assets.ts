/** Tokens by identifier and principals by address: lists by balance, and changes of a principal's assets by transactions. */

import type { Database, SQLQueryBindings } from 'bun:sqlite';
import type { BalanceChange } from '../../model/account.ts';
import type { HeightSpan } from '../../model/block.ts';
import type { Cursor, CursorKey, ListOrder, Page } from '../../model/page.ts';
import type { FtTransfer, Holder, Move, NftInstance, StxTransfer } from '../../model/token.ts';
import { decimalOf } from '../../rows/amounts.ts';
import { AFFECTED, storedToken } from '../../rows/enums.ts';
import { prepared, type Stored } from '../../rows/statement.ts';
import { type ChainCache, noChainCache } from '../chain-cache.ts';
import { equalThenBeyond, keysetPage, numberAt, textAt } from '../page.ts';
import { nftQueries } from './nfts.ts';
import { transferQueries } from './transfers.ts';

export const sql = {
  principal: 'SELECT id FROM principals WHERE address = ?1',
  asset: 'SELECT id FROM assets WHERE identifier = ?1',
  ftTokens: 'SELECT ft_tokens AS total FROM accounts WHERE principal_id = ?1',
  ftBalance: 'SELECT balance FROM ft_balances WHERE asset_id = ?1 AND principal_id = ?2',
  ftToken: 'SELECT supply, holders FROM ft_tokens WHERE asset_id = ?1',
  stx: 'SELECT stx_supply, stx_holders FROM totals',
  stxSupplyAt: 'SELECT supply FROM stx_supplies WHERE height <= ?1 ORDER BY height DESC LIMIT 1',
};

/** A number that no principal or asset has, so that queries with it find nothing. */
const NONE = 0;

/** @param cache caches changes of balances until the file changes */
export function assetReaders(db: Database, cache: ChainCache = noChainCache) {
  const principalId = prepared<Stored<'principals', 'id'>, [string]>(db, sql.principal);
  const assetId = prepared<Stored<'assets', 'id'>, [string]>(db, sql.asset);
  const ftTokens = prepared<{ total: number }, [number]>(db, sql.ftTokens);
  const ftBalance = prepared<Stored<'ft_balances', 'balance'>, [number, number]>(db, sql.ftBalance);
  const ftToken = prepared<Stored<'ft_tokens', 'supply' | 'holders'>, [number]>(db, sql.ftToken);
  const stx = prepared<Stored<'totals', 'stx_supply' | 'stx_holders'>, []>(db, sql.stx);
  const stxSupplyAt = prepared<Stored<'stx_supplies', 'supply'>, [number]>(db, sql.stxSupplyAt);
  const ftBalanceList = balanceList(db, 'ftBalances');
  const stxHolderList = balanceList(db, 'stxHolders');
  const ftHolderList = balanceList(db, 'ftHolders');
  const nfts = nftQueries(db);
  const changes = balanceChangeQueries(db, cache);
  const transfers = transferQueries(db);

  const principalOf = (address: string): number => principalId.get(address)?.id ?? NONE;
  const assetOf = (identifier: string): number => assetId.get(identifier)?.id ?? NONE;
  const holder = (principal: string, balance: string) => ({ principal, balance });

  return {
    principals: {
      /** Fungible tokens with a positive balance: greatest first, then by identifier. */
      ftBalances(principal: string, limit: number, at: Cursor | null): Page<{ asset: string; balance: string }> {
        const id = principalOf(principal);
        const total = ftTokens.get(id)?.total ?? 0;
        return ftBalanceList(id, total, limit, at, (asset, balance) => ({ asset, balance }));
      },
      /** Base units, decimal; `0` where there are none. */
      ftBalance(principal: string, asset: string): string {
        const row = ftBalance.get(assetOf(asset), principalOf(principal));
        return row === null ? '0' : decimalOf(row.balance);
      },
      /** Non-fungible tokens by asset identifier, then value. @param asset identifier of the one to list; null for all */
      nftBalances: (principal: string, asset: string | null, limit: number, at: Cursor | null): Page<NftInstance> =>
        nfts.ofOwner(principalOf(principal), asset, limit, at),
      /** Newest transaction first; within it STX, then fungible, then non-fungible tokens by identifier. */
      balanceChanges: (
        principal: string,
        txIds: readonly Uint8Array[],
        limit: number,
        at: Cursor | null,
      ): Page<BalanceChange> => changes.page(principalOf(principal), txIds, limit, at),
    },
    transfers: {
      stx: (
        principal: string,
        direction: 'inbound' | 'outbound',
        limit: number,
        at: Cursor | null,
      ): Page<StxTransfer> => transfers.stx(principalOf(principal), direction, limit, at),
      ft: (principal: string, asset: string, limit: number, at: Cursor | null): Page<FtTransfer> =>
        transfers.ft(assetOf(asset), principalOf(principal), limit, at),
      /** Transfers, mints and burns of a token by all principals. */
      ftOfAsset: (
        asset: string,
        order: ListOrder,
        heights: HeightSpan,
        limit: number,
        at: Cursor | null,
      ): Page<FtTransfer, null> => transfers.ftOfAsset(assetOf(asset), order, heights, limit, at),
    },
    tokens: {
      /** micro-STX ever minted and mined, less burnt; decimal. */
      stxSupply: (): string => stx.get()?.stx_supply ?? '0',
      /** STX supply after the block of a height. */
      stxSupplyAt: (height: number): string => stxSupplyAt.get(height)?.supply ?? '0',
      /** Base units, decimal; `0` for an unknown token. */
      ftSupply: (asset: string): string => ftToken.get(assetOf(asset))?.supply ?? '0',
      /** Greatest balance first, then by address. */
      stxHolders: (limit: number, at: Cursor | null): Page<Holder> =>
        stxHolderList(NONE, stx.get()?.stx_holders ?? 0, limit, at, holder),
      ftHolders(asset: string, limit: number, at: Cursor | null): Page<Holder> {
        const id = assetOf(asset);
        return ftHolderList(id, ftToken.get(id)?.holders ?? 0, limit, at, holder);
      },
      /** Every event of an instance, newest first. */
      nftHistory: (asset: string, value: Uint8Array, limit: number, at: Cursor | null): Page<Move> =>
        transfers.nft(assetOf(asset), value, limit, at),
    },
  };
}

export const balanceChangesSql = {
  stx: `SELECT pt.position, pt.affected, pt.stx_sent, pt.stx_received
          FROM transactions t JOIN principal_transactions pt ON pt.principal_id = ?1 AND pt.position = t.position
         WHERE t.tx_id = ?2 ORDER BY t.position DESC LIMIT 1`,
  tokens: `SELECT c.token, a.identifier, c.sent, c.received
             FROM token_changes c JOIN assets a ON a.id = c.asset_id WHERE c.principal_id = ?1 AND c.position = ?2`,
};

type StxRow = Stored<'principal_transactions', 'position' | 'affected' | 'stx_sent' | 'stx_received'>;

type TokenRow = Stored<'token_changes', 'token' | 'sent' | 'received'> & Stored<'assets', 'identifier'>;

/** A change with the key that orders it: position, kind of asset, identifier. */
interface Keyed {
  position: number;
  kind: number;
  identifier: string;
  change: BalanceChange;
}

const STX_KIND = 0;

/** Maximum number of transactions whose changes are cached. */
const MOST_CHANGES = 2_000;

const keyOf = ({ position, kind, identifier }: Keyed): CursorKey => [position, kind, identifier];

/** Newest transaction first, then kind and identifier, both ascending. */
const order = (a: Pick<Keyed, 'position' | 'kind' | 'identifier'>, b: typeof a): number =>
  b.position - a.position ||
  a.kind - b.kind ||
  (a.identifier < b.identifier ? -1 : Number(a.identifier > b.identifier));

const partsOf = (key: CursorKey) => ({
  position: numberAt(key, 0),
  kind: numberAt(key, 1),
  identifier: textAt(key, 2),
});

function balanceChangeQueries(db: Database, cache: ChainCache) {
  const stx = prepared<StxRow, [number, Uint8Array]>(db, balanceChangesSql.stx);
  const tokens = prepared<TokenRow, [number, number]>(db, balanceChangesSql.tokens);

  function ofTransaction(principal: number, txId: Uint8Array): Keyed[] {
    const row = stx.get(principal, txId);
    if (row === null) return [];
    const { position } = row;
    const changes: Keyed[] = tokens.all(principal, position).map(({ token, identifier, sent, received }) => ({
      position,
      kind: token,
      identifier,
      change: {
        txId,
        asset: { type: storedToken.nameOf(token), identifier },
        sent: BigInt(sent),
        received: BigInt(received),
      },
    }));
    if ((row.affected & AFFECTED.stxMoved) !== 0) {
      const [sent, received] = [BigInt(row.stx_sent), BigInt(row.stx_received)];
      changes.push({
        position,
        kind: STX_KIND,
        identifier: '',
        change: { txId, asset: { type: 'stx' }, sent, received },
      });
    }
    return changes;
  }

  /** Changes by the principal's id and the transaction's in hex. */
  const changesOf = cache.memoize((key): readonly Keyed[] => {
    const [principal = '', txId = ''] = key.split('/');
    return ofTransaction(Number(principal), Uint8Array.fromHex(txId));
  }, MOST_CHANGES);

  return {
    /** The changes by some transactions. They are few, so the whole list is made and the page cut from it. */
    page(principal: number, txIds: readonly Uint8Array[], limit: number, at: Cursor | null): Page<BalanceChange> {
      const unique = new Set(txIds.map((txId) => txId.toHex()));
      const all = [...unique].flatMap((txId) => changesOf(`${principal}/${txId}`)).sort(order);
      const indexOfKey = (key: CursorKey): number => {
        const parts = partsOf(key);
        const index = all.findIndex((row) => order(row, parts) >= 0);
        return index < 0 ? all.length : index;
      };
      return keysetPage<Keyed, BalanceChange>({
        limit,
        at,
        total: all.length,
        rowsFrom: (key, count) => {
          const start = key === null ? 0 : indexOfKey(key);
          return all.slice(start, start + count);
        },
        rowsBefore: (key, count) => {
          const end = indexOfKey(key);
          return all.slice(Math.max(0, end - count), end).reverse();
        },
        keyOf,
        itemOf: ({ change }) => change,
      });
    },
  };
}

/**
 * The statements of a list by balance, descending, and by text, ascending. No single comparison finds the rows after a key in
 * such an order, so rows with the key's balance have statements of their own.
 * Every statement has the condition `balance > 'A0'`, which the partial indexes need. SQLite seeks by the first of two lower
 * bounds and filters by the second, so the key's bound comes first.
 * @param owner the column of the list's owner; null where there is one list for all
 */
const statements = (table: string, owner: string | null, text: string) => {
  const of = owner === null ? '' : `${owner} = ?1 AND `;
  const select = `SELECT balance, ${text} AS text FROM ${table} WHERE ${of}`;
  const positive = "balance > 'A0'";
  return {
    head: `${select}${positive} ORDER BY balance DESC, ${text} LIMIT ?2`,
    equalFrom: `${select}balance = ?3 AND ${text} >= ?4 AND ${positive} ORDER BY ${text} LIMIT ?2`,
    below: `${select}balance < ?3 AND ${positive} ORDER BY balance DESC, ${text} LIMIT ?2`,
    equalBefore: `${select}balance = ?3 AND ${text} < ?4 AND ${positive} ORDER BY ${text} DESC LIMIT ?2`,
    above: `${select}balance > ?3 AND ${positive} ORDER BY balance, ${text} DESC LIMIT ?2`,
  };
};

const lists = {
  stxHolders: statements('accounts', null, 'address'),
  ftHolders: statements('ft_balances', 'asset_id', 'address'),
  ftBalances: statements('ft_balances', 'principal_id', 'identifier'),
};
type BalanceList = keyof typeof lists;

export const balanceListsSql: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(lists).flatMap(([list, named]) =>
    Object.entries(named).map(([name, statement]) => [`${list}.${name}`, statement]),
  ),
);

interface Row {
  /** Balance in its sortable form. */
  balance: string;
  text: string;
}

/** A list of one owner, by its number; 0 for the list without owners. */
function balanceList(db: Database, list: BalanceList) {
  const prepare = (statement: string) => prepared<Row, SQLQueryBindings[]>(db, statement);
  const named = lists[list];
  const [head, equalFrom, below] = [prepare(named.head), prepare(named.equalFrom), prepare(named.below)];
  const [equalBefore, above] = [prepare(named.equalBefore), prepare(named.above)];

  return <Item>(
    owner: number,
    total: number,
    limit: number,
    at: Cursor | null,
    itemOf: (text: string, balance: string) => Item,
  ): Page<Item> =>
    keysetPage<Row, Item>({
      limit,
      at,
      total,
      rowsFrom(key, count) {
        if (key === null) return head.all(owner, count);
        const [balance, text] = [textAt(key, 0), textAt(key, 1)];
        return equalThenBeyond(
          count,
          (most) => equalFrom.all(owner, most, balance, text),
          (most) => below.all(owner, most, balance),
        );
      },
      rowsBefore(key, count) {
        const [balance, text] = [textAt(key, 0), textAt(key, 1)];
        return equalThenBeyond(
          count,
          (most) => equalBefore.all(owner, most, balance, text),
          (most) => above.all(owner, most, balance),
        );
      },
      keyOf: ({ balance, text }) => [balance, text],
      itemOf: ({ balance, text }) => itemOf(text, decimalOf(balance)),
    });
}
