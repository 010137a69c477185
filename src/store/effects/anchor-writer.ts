/** The Bitcoin blocks that canonical blocks are anchored to: appended at the tip, taken back from there. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';

interface Last {
  ordinal: number;
  hash: Uint8Array;
  blocks: number;
}

/** What applies the effects on anchors through this connection. */
export function anchorWriter(db: Database) {
  const newest = db.prepare<Last, []>(
    'SELECT ordinal, hash, blocks FROM anchor_burn_blocks ORDER BY ordinal DESC LIMIT 1',
  );
  const insert = db.prepare('INSERT INTO anchor_burn_blocks VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7)');
  const remove = db.prepare('DELETE FROM anchor_burn_blocks WHERE ordinal = ?1');
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
      remove.run(last.ordinal);
    } else {
      const { burnBlockHash, burnBlockHeight, burnBlockTime, height, announcedTransactions, transactions } = block;
      const ordinal = (last?.ordinal ?? 0) + 1;
      insert.run(
        ordinal,
        burnBlockHash,
        burnBlockHeight,
        burnBlockTime,
        height,
        announcedTransactions,
        transactions.length,
      );
    }
  };
}
