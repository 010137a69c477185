/** What pox-2 to pox-4 printed. */

import type { Database } from 'bun:sqlite';
import { heightOf, positionOf } from '../../chain/position.ts';
import { poxReading } from '../../chain/pox/reading.ts';
import type { StackingPrint } from '../../chain/pox/stacking.ts';
import type { OffsetPage } from '../model/page.ts';
import type { DelegationsAt, StackingEvent, StackingVersion } from '../model/stacking.ts';
import { prepared } from '../rows/statement.ts';

const columns = 's.position, s.event_index, t.tx_id, t.tx_index, e.value, contract.address AS contract';
const joins = `JOIN transactions t ON t.position = s.position
               JOIN events e ON e.position = s.position AND e.event_index = s.event_index
               JOIN principals contract ON contract.id = e.contract_id`;

/**
 * The delegations to a pool that hold at a height: of each stacker the last that had not ended, unless that is a
 * revocation. One that has ended is passed over, so that an earlier one without an end holds again.
 */
const holding = `s.pox_version = ?1 AND s.pool_id = ?2 AND s.position >= ?3 AND s.position < ?4
                 AND s.revoked = 0 AND (s.unlock_height IS NULL OR s.unlock_height > ?5)
                 AND NOT EXISTS (SELECT 1 FROM delegations n
                                  WHERE n.pox_version = ?1 AND n.pool_id = ?2 AND n.stacker_id = s.stacker_id
                                    AND n.position < ?4 AND (n.position, n.event_index) > (s.position, s.event_index)
                                    AND (n.unlock_height IS NULL OR n.unlock_height > ?5))`;

export const sql = {
  total: 'SELECT max(ordinal) AS total FROM stacking_events WHERE pox_version = ?1',
  range: `SELECT ${columns} FROM stacking_events s ${joins}
           WHERE s.pox_version = ?1 AND s.ordinal BETWEEN ?2 AND ?3 ORDER BY s.ordinal DESC`,
  transaction: 'SELECT position FROM transactions WHERE tx_id = ?1 ORDER BY position DESC LIMIT 1',
  ofTransaction: `SELECT ${columns} FROM stacking_events s ${joins}
                   WHERE s.pox_version = ?1 AND s.position = ?2 ORDER BY s.event_index DESC`,
  principal: 'SELECT id FROM principals WHERE address = ?1',
  ofStacker: `SELECT ${columns} FROM stacking_events s ${joins}
               WHERE s.pox_version = ?1 AND s.stacker_id = ?2 ORDER BY s.ordinal DESC`,
  block: 'SELECT height, burn_block_height FROM blocks WHERE height = ?1',
  delegations: `SELECT ${columns} FROM delegations s ${joins}
                 WHERE ${holding} ORDER BY s.position DESC, s.event_index DESC LIMIT ?6 OFFSET ?7`,
  delegationCount: `SELECT count(*) AS total FROM delegations s WHERE ${holding}`,
};

interface Row {
  position: number;
  event_index: number;
  tx_id: Uint8Array;
  tx_index: number;
  value: Uint8Array;
  contract: string;
}

/** A print that was read when its block came, read again. */
export function printOf({ contract, value }: Pick<Row, 'contract' | 'value'>): StackingPrint {
  const reading = poxReading({ kind: 'contract_log', contractId: contract, topic: 'print', value });
  if (reading?.kind !== 'stacking') throw new Error(`a print of ${contract} can be read no more`);
  return reading.print;
}

const eventOf = (row: Row): StackingEvent => ({
  txId: row.tx_id,
  txIndex: row.tx_index,
  blockHeight: heightOf(row.position),
  eventIndex: row.event_index,
  print: printOf(row),
});

export function stackingQueries(db: Database) {
  const total = prepared<{ total: number | null }, [number]>(db, sql.total);
  const range = prepared<Row, [number, number, number]>(db, sql.range);
  const transaction = prepared<{ position: number }, [Uint8Array]>(db, sql.transaction);
  const ofTransaction = prepared<Row, [number, number]>(db, sql.ofTransaction);
  const principal = prepared<{ id: number }, [string]>(db, sql.principal);
  const ofStacker = prepared<Row, [number, number]>(db, sql.ofStacker);
  const block = prepared<{ height: number; burn_block_height: number }, [number]>(db, sql.block);
  type Held = [number, number, number, number, number];
  const delegations = prepared<Row, [...Held, number, number]>(db, sql.delegations);
  const delegationCount = prepared<{ total: number }, Held>(db, sql.delegationCount);

  return {
    /** What a contract printed, newest first. */
    async events(version: StackingVersion, limit: number, offset: number): Promise<OffsetPage<StackingEvent>> {
      const count = total.get(version)?.total ?? 0;
      const last = count - offset;
      return { items: range.all(version, last - limit + 1, last).map(eventOf), total: count };
    },

    /** Stacking events of a transaction, newest first; undefined where the id is not of a canonical one. */
    async ofTransaction(version: StackingVersion, txId: Uint8Array): Promise<StackingEvent[] | undefined> {
      const found = transaction.get(txId);
      return found === null ? undefined : ofTransaction.all(version, found.position).map(eventOf);
    },

    /** All that was ever said of a stacker, newest first. */
    async ofStacker(version: StackingVersion, stacker: string): Promise<StackingEvent[]> {
      const found = principal.get(stacker);
      return found === null ? [] : ofStacker.all(version, found.id).map(eventOf);
    },

    /** The delegations to a pool that hold, one for each stacker, newest first; undefined where there is no such block. */
    async delegations(
      version: StackingVersion,
      pool: string,
      { height, afterHeight }: DelegationsAt,
      limit: number,
      offset: number,
    ): Promise<OffsetPage<StackingEvent> | undefined> {
      const at = block.get(height);
      if (at === null) return undefined;
      const id = principal.get(pool)?.id ?? 0;
      const [first, end] = [positionOf(afterHeight + 1, 0), positionOf(at.height + 1, 0)];
      const of = [version, id, first, end, at.burn_block_height] as const;
      return {
        items: delegations.all(...of, limit, offset).map(eventOf),
        total: delegationCount.get(...of)?.total ?? 0,
      };
    },
  };
}
