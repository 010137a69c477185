/**
 * Transactions of the newest blocks that an index of chosen accounts and contracts does not keep. The mempool needs to know which
 * nonces they spent: a pending transaction with such a nonce is ruled out, also after a fork.
 */
import type { Database } from 'bun:sqlite';
import type { ChainTransaction } from '../../chain/block.ts';
import { positionOf } from '../../chain/position.ts';
import { isKept, type Rules } from '../../chain/rules.ts';
import { inserterIfAbsent } from '../rows/table.ts';
import { unkeptTransactionsTable } from '../rows/tables.ts';
import { RETAINED_BLOCKS } from './block-payloads.ts';

/** A transaction of a block, and its position on the chain. */
interface Placed {
  content: ChainTransaction;
  position: number;
}

export function unkeptTransactions(db: Database, rules: Rules) {
  const add = inserterIfAbsent(db, unkeptTransactionsTable);
  const remove = db.prepare<null, [number]>('DELETE FROM unkept_transactions WHERE position = ?1');
  const forget = db.prepare<null, [number]>('DELETE FROM unkept_transactions WHERE position < ?1');

  return {
    /** The chain changed. @param tipHeight after the change: what no reorganization reaches any more is removed */
    chainChanged(left: readonly Placed[], joined: readonly Placed[], tipHeight: number): void {
      if (rules.only === null) return;
      for (const { position } of left) remove.run(position);
      for (const { content, position } of joined) {
        if (content.bitcoinOperation || isKept(content, rules)) continue;
        const { txId, sender, sponsor } = content;
        add({
          position,
          tx_id: txId,
          sender: sender.address,
          nonce: sender.nonce,
          sponsor: sponsor?.address ?? null,
          sponsor_nonce: sponsor?.nonce ?? null,
        });
      }
      forget.run(positionOf(Math.max(0, tipHeight - RETAINED_BLOCKS), 0));
    },
  };
}
