/** The Bitcoin blocks that canonical blocks are anchored to: appended at the tip, taken back from there. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { table } from '../rows/table.ts';
import type { Stored } from '../rows/table-shape.ts';
import { anchorBurnBlocksTable } from '../rows/tables.ts';

type Last = Stored<typeof anchorBurnBlocksTable, 'ordinal' | 'hash' | 'blocks'>;

/** What applies the effects on anchors through this connection. */
export function anchorWriter(db: Database) {
  const newest = db.prepare<Last, []>(
    'SELECT ordinal, hash, blocks FROM anchor_burn_blocks ORDER BY ordinal DESC LIMIT 1',
  );
  const anchors = table(db, anchorBurnBlocksTable);
  const count = db.prepare(
    `UPDATE anchor_burn_blocks SET blocks = blocks + ?2, transactions = transactions + ?3, rows = rows + ?4
      WHERE ordinal = ?1`,
  );

  return ({ sign, block }: Extract<Effect, { kind: 'anchor' }>): void => {
    const last = newest.get();
    const same = last !== null && Buffer.compare(last.hash, block.burnBlockHash) === 0;
    if (sign === -1 && !same) throw new Error('anchor_burn_blocks had no row to take away');
    if (same && !(sign === -1 && last.blocks === 1)) {
      count.run(last.ordinal, sign, sign * block.announcedTransactions, sign * block.transactions.length);
    } else if (same) {
      anchors.remove({ ordinal: last.ordinal });
    } else {
      anchors.add({
        ordinal: (last?.ordinal ?? 0) + 1,
        hash: block.burnBlockHash,
        height: block.burnBlockHeight,
        time: block.burnBlockTime,
        first_block: block.height,
        blocks: 1,
        transactions: block.announcedTransactions,
        rows: block.transactions.length,
      });
    }
  };
}
