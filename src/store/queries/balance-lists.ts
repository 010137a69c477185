/** Lists by balance, greatest first, then by a text: holders of an asset, tokens of a principal. */
import type { Database, SQLQueryBindings } from 'bun:sqlite';
import type { Cursor, Page } from '../model/page.ts';
import { decimalOf } from '../rows/amounts.ts';
import { prepared } from '../rows/statement.ts';
import { equalThenBeyond, keysetPage, textAt } from './page.ts';

/**
 * The statements of such a list. Descending by one column and ascending by another is no order that one comparison of
 * the key can find, so rows of the key's own balance are asked for apart from those below and above it.
 * Every statement says `balance > 'A0'`, or the partial indexes don't serve it. SQLite seeks by the first of two lower
 * bounds and only filters by the second, so the key's stands before it.
 * @param owner the column whose value the list is of, null where there is one list
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
export type BalanceList = keyof typeof lists;

export const sql: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(lists).flatMap(([list, named]) =>
    Object.entries(named).map(([name, statement]) => [`${list}.${name}`, statement]),
  ),
);

interface Row {
  /** Balance in the form that sorts. */
  balance: string;
  text: string;
}

/** A list of one owner, by its number; 0 for the list that has none. */
export function balanceList(db: Database, list: BalanceList) {
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
