/** Events of a transaction, in order. */
import type { Database } from 'bun:sqlite';
import type { Cursor, Page } from '../../model/page.ts';
import type { TransactionEvent } from '../../model/transaction.ts';
import { assetEventOf, EVENT_KIND, kindMask } from '../../rows/enums.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { orderedList, up } from '../list.ts';
import { readPage } from '../page.ts';
import type { DetailQueries } from './details.ts';

/** Columns for a query whose FROM has `events e`. */
export const eventColumns = `e.event_index, e.kind, sender.address AS sender, recipient.address AS recipient,
  asset.identifier AS asset, contract.address AS contract, e.topic, e.amount, e.unlock_height, e.value`;
export const eventJoins = `LEFT JOIN principals sender ON sender.id = e.sender_id
  LEFT JOIN principals recipient ON recipient.id = e.recipient_id
  LEFT JOIN assets asset ON asset.id = e.asset_id
  LEFT JOIN principals contract ON contract.id = e.contract_id`;

export const sql = {
  ofTransaction: orderedList<EventRow>(
    { select: `SELECT ${eventColumns} FROM events e ${eventJoins}`, where: 'e.position = ?1' },
    [up('e.event_index')],
  ),
  downwards: query<EventRow, [number, number, number, number]>`
    SELECT ${eventColumns} FROM events e ${eventJoins}
     WHERE e.position = ?1 AND (?2 >> e.kind) & 1 ORDER BY e.event_index DESC LIMIT ?3 OFFSET ?4`,
  count: query<{ total: number }, [number, number]>`
    SELECT count(*) AS total FROM events e WHERE e.position = ?1 AND (?2 >> e.kind) & 1`,
};

/** Maximum events of a transaction that are counted by kind. */
const MAX_COUNTED = 10_000;

export interface EventRow
  extends Stored<'events', 'event_index' | 'kind' | 'topic' | 'amount' | 'unlock_height' | 'value'> {
  sender: string | null;
  recipient: string | null;
  asset: string | null;
  contract: string | null;
}

const NO_BYTES = new Uint8Array(0);

export function eventOf(row: EventRow): TransactionEvent {
  const { event_index: index, sender, recipient } = row;
  const amount = row.amount ?? '0';
  const value = row.value ?? NO_BYTES;
  const asset = row.asset ?? '';
  switch (row.kind) {
    case EVENT_KIND.log:
      return { index, kind: 'contract_log', contractId: row.contract ?? '', topic: row.topic ?? '', value };
    case EVENT_KIND.lock: {
      const unlockHeight = row.unlock_height ?? 0;
      return { index, kind: 'stx_lock', address: sender ?? '', amount, unlockHeight, contractName: row.topic ?? '' };
    }
    case EVENT_KIND.unknown:
      return { index, kind: 'unknown', type: row.topic ?? '', json: new TextDecoder().decode(value) };
    default: {
      const { asset: kind, action } = assetEventOf(row.kind);
      if (kind === 'stx') return { index, kind, action, sender, recipient, amount, memo: row.value };
      if (kind === 'ft') return { index, kind, action, asset, sender, recipient, amount };
      return { index, kind, action, asset, sender, recipient, value };
    }
  }
}

export type EventQueries = ReturnType<typeof eventQueries>;

export function eventQueries(db: Database, { placeOf }: Pick<DetailQueries, 'placeOf'>) {
  const { downwards, count, ofTransaction } = statements(db, sql);
  return {
    /** Number of a transaction's events of some kinds; null if it has too many to count. */
    count(txId: Uint8Array, kinds: readonly TransactionEvent['kind'][]): number | null {
      const place = placeOf(txId);
      if (place === null) return 0;
      return place.event_count > MAX_COUNTED ? null : (count.get(place.position, kindMask(kinds))?.total ?? 0);
    },

    /** Events of a canonical transaction from an offset on; none if no canonical transaction has the id. */
    page(txId: Uint8Array, limit: number, offset: number): TransactionEvent[] {
      const place = placeOf(txId);
      return place === null ? [] : ofTransaction([place.position]).rows([offset], false, limit).map(eventOf);
    },

    /** Events of some kinds, the last first; none if no canonical transaction has the id. */
    lastFirst(
      txId: Uint8Array,
      kinds: readonly TransactionEvent['kind'][],
      limit: number,
      offset: number,
    ): TransactionEvent[] {
      const place = placeOf(txId);
      return place === null ? [] : downwards.all(place.position, kindMask(kinds), limit, offset).map(eventOf);
    },

    /** Events in order; undefined if no canonical transaction has the id. */
    ofTransaction(txId: Uint8Array, limit: number, cursor: Cursor | null): Page<TransactionEvent> | undefined {
      const place = placeOf(txId);
      if (place === null) return undefined;
      const { position, event_count: total } = place;
      return readPage({ limit, cursor, total, ...ofTransaction([position]), itemOf: eventOf });
    },
  };
}
