/**
 * The beginning of an index that knows nothing below a block, because it was begun beside a node that had its chain already. What
 * the node said then are entries as its events are (`chain/payload-reader.ts` has their paths): the block below the first one
 * here, and what each account had after that block.
 */
import type { Database } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import type { HistoryStartPayload, StartingAccountPayload } from '../../chain/payload-schemas.ts';
import { fromHex } from '../../codec/hex.ts';
import { type HistoryStart, historyStartQuery } from '../queries/blocks/chain.ts';
import { inserter } from '../rows/table.ts';
import { historyStartTable, startingAccountsTable } from '../rows/tables.ts';
import type { ChainIdentity } from './chain-identity.ts';

/** The chain forked below the first block of the index: the index lacks the block at which it did. */
export class ForkBelowHistoryError extends OperatorError {
  override readonly name = 'ForkBelowHistoryError';
  /** @param block the index block hash of a block of the fork, at the height of the first block */
  constructor({ height }: HistoryStart, block: string) {
    super(
      `The chain forked below block ${height}, where this index begins: block ${block} of this height has another parent.`,
      'Begin again: stackside serve --from-block with a lower height, and with another --data directory.',
    );
  }
}

/** Hosts share the log of a whole chain: each asks its node by itself, so that answers about accounts would differ. */
export class SharedBeginningError extends OperatorError {
  override readonly name = 'SharedBeginningError';
  constructor(directory: string, height: number) {
    super(
      `The index in ${directory} begins at block ${height}, and hosts share the log of a whole chain.`,
      'Give the data of a server that has the chain from its beginning, or omit --cluster.',
    );
  }
}

/** Whether the first block of the index is to have this height and parent. @throws ForkBelowHistoryError for another parent */
export function isFirst(start: HistoryStart, parent: Uint8Array, height: number, block: string): boolean {
  if (height !== start.height) return false;
  if (Buffer.compare(parent, start.indexBlockHash) !== 0) throw new ForkBelowHistoryError(start, block);
  return true;
}

/** Writes where history begins. @returns a function that returns whether it did: an index with blocks begins where it does */
export function historyStartWriter(db: Database, identity: ChainIdentity) {
  const known = historyStartQuery(db);
  const block = db.prepare<{ found: number }, []>('SELECT 1 AS found FROM block_payloads LIMIT 1');
  const add = inserter(db, historyStartTable);
  const raise = db.prepare<null, [number]>('UPDATE progress SET burn_block_height = max(burn_block_height, ?1)');

  return (start: HistoryStartPayload): boolean => {
    if (block.get() !== null || known() !== null) return false;
    identity.learn(start.chain_id);
    add({
      height: start.block_height,
      index_block_hash: fromHex(start.parent_index_block_hash),
      block_hash: fromHex(start.parent_block_hash),
      burn_block_hash: fromHex(start.parent_burn_block_hash),
      burn_block_height: start.parent_burn_block_height,
    });
    raise.run(start.parent_burn_block_height);
    return true;
  };
}

/**
 * Writes what an account had where the index begins.
 * @returns a function that returns whether it did: nothing is written of an account that waits for no answer
 */
export function startingAccountWriter(db: Database) {
  const asked = db.prepare<null, [string]>(
    'DELETE FROM unasked_accounts WHERE principal_id = (SELECT id FROM principals WHERE address = ?1)',
  );
  const id = db.prepare<{ id: number }, [string]>('SELECT id FROM principals WHERE address = ?1');
  const add = inserter(db, startingAccountsTable);

  return ({ principal, balance, locked, unlock_height, nonce }: StartingAccountPayload): boolean => {
    if (asked.run(principal).changes === 0) return false;
    add({
      principal_id: id.get(principal)!.id,
      balance: String(BigInt(balance) + BigInt(locked)),
      locked,
      unlock_height,
      nonce,
    });
    return true;
  };
}
