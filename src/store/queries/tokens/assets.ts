/** Tokens by identifier and principals by address: lists by balance, and changes of a principal's assets by transactions. */
import type { Database, SQLQueryBindings } from 'bun:sqlite';
import type { BalanceChange } from '../../model/account.ts';
import type { Cursor, CursorKey, Page } from '../../model/page.ts';
import type { Holder, HolderPage } from '../../model/token.ts';
import { AFFECTED, storedToken, TOKEN } from '../../rows/enums.ts';
import { decimalOf } from '../../rows/formats.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { down, orderedList, sortedRows, up } from '../list.ts';
import { numbers } from '../numbers.ts';
import { numberAt, readPage, textAt } from '../page.ts';
import { nftQueries } from './nfts.ts';

export const sql = {
  ftTokens: query<{ total: number }, [number]>`SELECT ft_tokens AS total FROM accounts WHERE principal_id = ?1`,
  ftBalance: query<Stored<'ft_balances', 'balance'>, [number, number]>`
    SELECT balance FROM ft_balances WHERE asset_id = ?1 AND principal_id = ?2`,
  ftToken: query<Stored<'asset_totals', 'supply' | 'holders'>, [number]>`
    SELECT supply, holders FROM asset_totals WHERE token = ${TOKEN.ft} AND asset_id = ?1`,
  stx: query<Stored<'blocks', 'stx_supply' | 'stx_holders'>>`
    SELECT stx_supply, stx_holders FROM blocks ORDER BY height DESC LIMIT 1`,
  stxSupplyAt: query<Stored<'blocks', 'stx_supply'>, [number]>`
    SELECT stx_supply FROM blocks WHERE height <= ?1 ORDER BY height DESC LIMIT 1`,
};

const holderOf = ({ address, balance }: HolderRow): Holder => ({ principal: address, balance: decimalOf(balance) });

export function assetReaders(db: Database) {
  const read = statements(db, sql);
  const { ftBalances, stxHolders, ftHolders } = statements(db, balanceListsSql);
  const { principalOf, assetOf } = numbers(db);

  return {
    principals: {
      /** Fungible tokens with a positive balance: greatest first, then by identifier. */
      ftBalances(principal: string, limit: number, cursor: Cursor | null): Page<{ asset: string; balance: string }> {
        const id = principalOf(principal);
        const total = read.ftTokens.get(id)?.total ?? 0;
        return readPage({
          limit,
          cursor,
          total,
          ...ftBalances([id]),
          itemOf: ({ identifier, balance }) => ({ asset: identifier, balance: decimalOf(balance) }),
        });
      },
      /** Base units, decimal; `0` if there are none. */
      ftBalance(principal: string, asset: string): string {
        const row = read.ftBalance.get(assetOf(asset), principalOf(principal));
        return row === null ? '0' : decimalOf(row.balance);
      },
      nftBalances: nftQueries(db).ofOwner,
      balanceChanges: balanceChangeQueries(db).page,
    },
    tokens: {
      /** micro-STX ever minted and mined, less burnt; decimal. */
      stxSupply: (): string => read.stx.get()?.stx_supply ?? '0',
      /** STX supply after the block of a height. */
      stxSupplyAt: (height: number): string => read.stxSupplyAt.get(height)?.stx_supply ?? '0',
      /** Base units, decimal; `0` for an unknown token. */
      ftSupply: (asset: string): string => read.ftToken.get(assetOf(asset))?.supply ?? '0',
      /** Greatest balance first, then by address. */
      stxHolders: (limit: number, cursor: Cursor | null): Page<Holder> =>
        readPage({ limit, cursor, total: read.stx.get()?.stx_holders ?? 0, ...stxHolders([]), itemOf: holderOf }),
      ftHolders(asset: string, limit: number, cursor: Cursor | null): Page<Holder> {
        const id = assetOf(asset);
        const total = read.ftToken.get(id)?.holders ?? 0;
        return readPage({ limit, cursor, total, ...ftHolders([id]), itemOf: holderOf });
      },
    },
  };
}

export const balanceChangesSql = {
  stx: query<StxRow, [number, Uint8Array]>`
    SELECT pt.position, pt.affected, pt.stx_sent, pt.stx_received
      FROM transactions t JOIN principal_transactions pt ON pt.principal_id = ?1 AND pt.position = t.position
     WHERE t.tx_id = ?2 ORDER BY t.position DESC LIMIT 1`,
  tokens: query<TokenRow, [number, number]>`
    SELECT c.token, a.identifier, c.sent, c.received
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

const keyOf = ({ position, kind, identifier }: Keyed): CursorKey => [position, kind, identifier];

/** Newest transaction first, then kind and identifier, both ascending. */
const compareKeys = (a: CursorKey, b: CursorKey): number =>
  numberAt(b, 0) - numberAt(a, 0) ||
  numberAt(a, 1) - numberAt(b, 1) ||
  (textAt(a, 2) < textAt(b, 2) ? -1 : Number(textAt(a, 2) > textAt(b, 2)));

function balanceChangeQueries(db: Database) {
  const { stx, tokens } = statements(db, balanceChangesSql);
  const { principalOf } = numbers(db);

  function ofTransaction(principal: number, txId: Uint8Array): Keyed[] {
    const row = stx.get(principal, txId);
    if (row === null) return [];
    const { position } = row;
    const changes: Keyed[] = tokens
      .all(principal, position)
      .map(({ token, identifier, sent, received }) => ({
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

  return {
    /**
     * The changes by some transactions: newest transaction first; within it STX, then fungible, then non-fungible tokens by
     * identifier. They are few, so the whole list is made and the page cut from it.
     */
    page(address: string, txIds: readonly Uint8Array[], limit: number, cursor: Cursor | null): Page<BalanceChange> {
      const principal = principalOf(address);
      const unique = new Map(txIds.map((txId) => [txId.toHex(), txId]));
      const all = [...unique.values()]
        .flatMap((txId) => ofTransaction(principal, txId))
        .sort((a, b) => compareKeys(keyOf(a), keyOf(b)));
      return readPage({
        limit,
        cursor,
        total: all.length,
        ...sortedRows(all, keyOf, compareKeys),
        itemOf: ({ change }) => change,
      });
    },
  };
}

/**
 * A list by balance in its sortable form, descending, and by text, ascending. Some of the indexes are partial, and need
 * the condition `balance > 'A0'`.
 * @param owner the column of the list's owner; null if there is one list for all
 */
const byBalance = <Text extends string>(table: string, owner: string | null, text: Text) =>
  orderedList<{ balance: string } & Record<Text, string>>(
    {
      select: `SELECT balance, ${text} FROM ${table}`,
      where: `${owner === null ? '' : `${owner} = ?1 AND `}balance > 'A0'`,
    },
    [down('balance', 'text'), up(text, 'text')],
  );

export const balanceListsSql = {
  stxHolders: byBalance('accounts', null, 'address'),
  ftHolders: byBalance('ft_balances', 'asset_id', 'address'),
  ftBalances: byBalance('ft_balances', 'principal_id', 'identifier'),
};

const page = 'ORDER BY balance DESC, address LIMIT ?2 OFFSET ?3';

export const holderListsSql = {
  stx: query<HolderRow, SQLQueryBindings[]>`SELECT address, balance FROM accounts WHERE balance > 'A0' ${page}`,
  // With the condition of the index, word for word, SQLite reads only the index.
  stxSpent: query<HolderRow, SQLQueryBindings[]>`
    SELECT address, balance FROM accounts
     WHERE balance <= 'A0' AND (balance > 'A0' OR stx_moves > 0) ${page}`,
  stxTotals: query<Totals>`
    SELECT stx_holders AS holders, stx_accounts AS accounts, stx_balances AS supply
      FROM blocks ORDER BY height DESC LIMIT 1`,
  ft: query<HolderRow, SQLQueryBindings[]>`
    SELECT address, balance FROM ft_balances WHERE asset_id = ?1 AND balance > 'A0' ${page}`,
  ftSpent: query<HolderRow, SQLQueryBindings[]>`
    SELECT address, balance FROM ft_balances WHERE asset_id = ?1 AND balance <= 'A0' ${page}`,
  ftTotals: query<Totals, [number]>`
    SELECT holders, accounts, supply FROM asset_totals WHERE token = ${TOKEN.ft} AND asset_id = ?1`,
};

type HolderRow = Stored<'accounts' | 'ft_balances', 'address' | 'balance'>;

type Totals = Stored<'asset_totals', 'holders' | 'accounts' | 'supply'>;

/** Lists of holders by offset. */
export function holderListQueries(db: Database) {
  const read = statements(db, holderListsSql);
  const { assetOf } = numbers(db);
  const stx = { having: read.stx, spent: read.stxSpent };
  const ft = { having: read.ft, spent: read.ftSpent };

  function holders(lists: typeof stx, asset: number, totals: Totals | null, limit: number, offset: number): HolderPage {
    if (totals === null) return { items: [], total: 0, supply: '0' };
    const rows = offset < totals.holders ? lists.having.all(asset, limit, offset) : [];
    if (rows.length < limit && offset < totals.accounts) {
      rows.push(...lists.spent.all(asset, limit - rows.length, Math.max(0, offset - totals.holders)));
    }
    return { items: rows.map(holderOf), total: totals.accounts, supply: totals.supply };
  }

  return {
    /** Greatest balance first, then by address; former holders come last. */
    stxHolders: (limit: number, offset: number): HolderPage => holders(stx, 0, read.stxTotals.get(), limit, offset),
    ftHolders(asset: string, limit: number, offset: number): HolderPage {
      const id = assetOf(asset);
      return holders(ft, id, read.ftTotals.get(id), limit, offset);
    },
  };
}
