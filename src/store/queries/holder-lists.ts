/** Who ever had STX or a token, by offset: greatest balance first, and those who have nothing left after the others. */
import type { Database, SQLQueryBindings } from 'bun:sqlite';
import type { OffsetPage } from '../model/page.ts';
import type { FtBalance, Holder, HolderPage } from '../model/token.ts';
import { decimalOf } from '../rows/amounts.ts';
import { prepared } from '../rows/statement.ts';

const page = 'ORDER BY balance DESC, address LIMIT ?2 OFFSET ?3';

export const sql = {
  stx: `SELECT address, balance FROM accounts WHERE balance > 'A0' ${page}`,
  stxSpent: `SELECT address, balance FROM accounts WHERE balance <= 'A0' AND stx_moves > 0 ${page}`,
  stxTotals: 'SELECT stx_holders AS holders, stx_accounts AS accounts, stx_balances AS supply FROM totals',
  ft: `SELECT address, balance FROM ft_balances WHERE asset_id = ?1 AND balance > 'A0' ${page}`,
  ftSpent: `SELECT address, balance FROM ft_balances WHERE asset_id = ?1 AND balance <= 'A0' ${page}`,
  ftTotals: 'SELECT holders, accounts, supply FROM ft_tokens WHERE asset_id = ?1',
  ofPrincipal: `SELECT identifier, balance FROM ft_balances INDEXED BY ft_balances_by_identifier
                 WHERE principal_id = ?1 AND balance > 'A0' ORDER BY identifier COLLATE NOCASE LIMIT ?2 OFFSET ?3`,
  ofPrincipalTotal: 'SELECT ft_tokens AS total FROM accounts WHERE principal_id = ?1',
};

interface Row {
  address: string;
  balance: string;
}

interface Totals {
  holders: number;
  accounts: number;
  supply: string;
}

const holderOf = ({ address, balance }: Row): Holder => ({ principal: address, balance: decimalOf(balance) });

export function holderListQueries(db: Database) {
  const list = (statement: string) => prepared<Row, SQLQueryBindings[]>(db, statement);
  const stx = { having: list(sql.stx), spent: list(sql.stxSpent) };
  const ft = { having: list(sql.ft), spent: list(sql.ftSpent) };
  const stxTotals = prepared<Totals, []>(db, sql.stxTotals);
  const ftTotals = prepared<Totals, [number]>(db, sql.ftTotals);
  const ofPrincipal = prepared<{ identifier: string; balance: string }, [number, number, number]>(db, sql.ofPrincipal);
  const ofPrincipalTotal = prepared<{ total: number }, [number]>(db, sql.ofPrincipalTotal);

  function holders(of: typeof stx, asset: number, totals: Totals | null, limit: number, offset: number): HolderPage {
    if (totals === null) return { items: [], total: 0, supply: '0' };
    const rows = offset < totals.holders ? of.having.all(asset, limit, offset) : [];
    if (rows.length < limit && offset < totals.accounts) {
      rows.push(...of.spent.all(asset, limit - rows.length, Math.max(0, offset - totals.holders)));
    }
    return { items: rows.map(holderOf), total: totals.accounts, supply: totals.supply };
  }

  return {
    stx: (limit: number, offset: number): HolderPage => holders(stx, 0, stxTotals.get(), limit, offset),
    ft: (asset: number, limit: number, offset: number): HolderPage =>
      holders(ft, asset, ftTotals.get(asset), limit, offset),

    /** Tokens of which a principal has some, by their names in either case. */
    tokensOf(principal: number, limit: number, offset: number): OffsetPage<FtBalance> {
      const total = ofPrincipalTotal.get(principal)?.total ?? 0;
      const rows = offset >= total ? [] : ofPrincipal.all(principal, limit, offset);
      return { items: rows.map(({ identifier: asset, balance }) => ({ asset, balance: decimalOf(balance) })), total };
    },
  };
}
