/** What transactions did to a principal's assets. */
import type { Database } from 'bun:sqlite';
import type { BalanceChange } from '../model/account.ts';
import type { Cursor, CursorKey, Page } from '../model/page.ts';
import { prepared } from '../rows/statement.ts';
import { AFFECTED, storedToken } from '../rows/words.ts';
import { keysetPage, numberAt, textAt } from './page.ts';

export const sql = {
  stx: `SELECT pt.position, pt.affected, pt.stx_sent, pt.stx_received
          FROM transactions t JOIN principal_transactions pt ON pt.principal_id = ?1 AND pt.position = t.position
         WHERE t.tx_id = ?2 ORDER BY t.position DESC LIMIT 1`,
  tokens: `SELECT c.token, a.identifier, c.sent, c.received
             FROM token_changes c JOIN assets a ON a.id = c.asset_id WHERE c.principal_id = ?1 AND c.position = ?2`,
};

interface StxRow {
  position: number;
  affected: number;
  stx_sent: string;
  stx_received: string;
}

interface TokenRow {
  token: number;
  identifier: string;
  sent: string;
  received: string;
}

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
const order = (a: Pick<Keyed, 'position' | 'kind' | 'identifier'>, b: typeof a): number =>
  b.position - a.position ||
  a.kind - b.kind ||
  (a.identifier < b.identifier ? -1 : Number(a.identifier > b.identifier));

const partsOf = (key: CursorKey) => ({
  position: numberAt(key, 0),
  kind: numberAt(key, 1),
  identifier: textAt(key, 2),
});

export function balanceChangeQueries(db: Database) {
  const stx = prepared<StxRow, [number, Uint8Array]>(db, sql.stx);
  const tokens = prepared<TokenRow, [number, number]>(db, sql.tokens);

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
        asset: { type: storedToken.wordOf(token), identifier },
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
    /** The changes of some transactions. They are few, so the list is made whole and the page cut from it. */
    page(principal: number, txIds: readonly Uint8Array[], limit: number, at: Cursor | null): Page<BalanceChange> {
      const unique = new Map(txIds.map((txId) => [txId.toHex(), txId]));
      const all = [...unique.values()].flatMap((txId) => ofTransaction(principal, txId)).sort(order);
      const placeOf = (key: CursorKey): number => {
        const parts = partsOf(key);
        const place = all.findIndex((row) => order(row, parts) >= 0);
        return place < 0 ? all.length : place;
      };
      return keysetPage<Keyed, BalanceChange>({
        limit,
        at,
        total: all.length,
        rowsFrom: (key, count) => {
          const start = key === null ? 0 : placeOf(key);
          return all.slice(start, start + count);
        },
        rowsBefore: (key, count) => {
          const end = placeOf(key);
          return all.slice(Math.max(0, end - count), end).reverse();
        },
        keyOf,
        itemOf: ({ change }) => change,
      });
    },
  };
}
