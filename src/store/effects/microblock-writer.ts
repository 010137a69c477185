/** Writes microblocks (Stacks 2.x): those streamed on a block, and those that the next block confirmed. */
import type { Database } from 'bun:sqlite';
import type { EffectOf } from '../../chain/effect.ts';
import type { StreamedMicroblock } from '../../chain/normalise.ts';
import type { Stored } from '../rows/statement.ts';
import { inserter } from '../rows/table.ts';
import { microblocksTable, streamedMicroblocksTable } from '../rows/tables.ts';

type Row = Stored<'streamed_microblocks', 'microblock_hash' | 'sequence' | 'parent_hash' | 'accepted' | 'tx_ids'>;

const TX_ID_BYTES = 32;

const txIdsOf = ({ tx_ids }: { tx_ids: Uint8Array }): Uint8Array[] =>
  Array.from({ length: tx_ids.length / TX_ID_BYTES }, (_, i) =>
    tx_ids.subarray(i * TX_ID_BYTES, (i + 1) * TX_ID_BYTES),
  );

export type MicroblockWriter = ReturnType<typeof microblockWriter>;

/** Writes the microblocks that a node streams. */
export function microblockWriter(db: Database) {
  const ofParent = db.prepare<Row, [Uint8Array]>(
    `SELECT microblock_hash, sequence, parent_hash, accepted, tx_ids FROM streamed_microblocks
      WHERE parent_index_block_hash = ?1`,
  );
  const insert = inserter(db, streamedMicroblocksTable);
  const accept = db.prepare<null, [Uint8Array, number]>(
    'UPDATE streamed_microblocks SET accepted = ?2 WHERE microblock_hash = ?1',
  );
  const isKnown = db.prepare<{ found: number }, [Uint8Array]>(
    'SELECT 1 AS found FROM streamed_microblocks WHERE microblock_hash = ?1',
  );

  return {
    /**
     * Adds the microblocks of a stream message on the tip. The chain that ends with the last of them becomes accepted.
     * @param receivedAt Unix microseconds
     * @param journalId number of the message's entry in the journal
     * @returns the new hashes, and the transactions that joined and left the accepted chain; null where all microblocks are
     *   known, or lack a predecessor down to sequence 0
     */
    add(
      microblocks: readonly StreamedMicroblock[],
      parentIndexBlockHash: Uint8Array,
      receivedAt: number,
      journalId: number,
    ): { added: Uint8Array[]; joined: Uint8Array[]; left: Uint8Array[] } | null {
      const last = microblocks.at(-1);
      const fresh = microblocks.filter(({ hash }) => isKnown.get(hash) === null);
      if (last === undefined || fresh.length === 0) return null;
      const byHash = new Map<string, { sequence: number; parentHash: Uint8Array }>();
      for (const row of ofParent.all(parentIndexBlockHash)) {
        byHash.set(row.microblock_hash.toHex(), { sequence: row.sequence, parentHash: row.parent_hash });
      }
      for (const microblock of microblocks) byHash.set(microblock.hash.toHex(), microblock);
      const chain = new Set<string>();
      let key = last.hash.toHex();
      for (let at = byHash.get(key); ; at = byHash.get(key)) {
        // A chain may not lead back to itself.
        if (at === undefined || chain.has(key)) return null;
        chain.add(key);
        if (at.sequence === 0) break;
        key = at.parentHash.toHex();
      }
      for (const { hash, sequence, parentHash, transactions } of fresh) {
        insert({
          microblock_hash: hash,
          sequence,
          parent_hash: parentHash,
          parent_index_block_hash: parentIndexBlockHash,
          accepted: 0,
          tx_ids: Buffer.concat(transactions.map(({ txId }) => txId)),
          received_at: receivedAt,
          journal_id: journalId,
        });
      }
      const joined: Uint8Array[] = [];
      const left: Uint8Array[] = [];
      for (const row of ofParent.all(parentIndexBlockHash)) {
        const accepted = chain.has(row.microblock_hash.toHex());
        if (accepted === (row.accepted === 1)) continue;
        accept.run(row.microblock_hash, Number(accepted));
        (accepted ? joined : left).push(...txIdsOf(row));
      }
      return { added: fresh.map(({ hash }) => hash), joined, left };
    },

    /** The transactions of the accepted chain on a block. */
    acceptedOn: (parentIndexBlockHash: Uint8Array): Uint8Array[] =>
      ofParent.all(parentIndexBlockHash).flatMap((row) => (row.accepted === 1 ? txIdsOf(row) : [])),
  };
}

/** Applies effects on confirmed microblocks: adds and removes rows at the tip. */
export function confirmedMicroblockWriter(db: Database) {
  const last = db.prepare<{ ordinal: number | null }, []>('SELECT max(ordinal) AS ordinal FROM microblocks');
  const insert = inserter(db, microblocksTable);
  const remove = db.prepare<null, [number]>('DELETE FROM microblocks WHERE height = ?1');

  return ({ sign, height, microblocks }: EffectOf<'microblocks'>): void => {
    if (sign === -1) {
      remove.run(height);
      return;
    }
    let ordinal = last.get()?.ordinal ?? 0;
    for (const { hash, parentHash, sequence } of microblocks) {
      ordinal += 1;
      insert({ ordinal, hash, parent_hash: parentHash, sequence, height });
    }
  };
}
