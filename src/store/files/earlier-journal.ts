/**
 * Journals from before version 0.1.0, for `stackside rebuild` alone. Their entries are the same as today's; their chain values
 * differ, or are missing:
 *
 *     version 1   none
 *     version 2   SHA-256(chain(n - 1) || n || received_at || path length || path || text length || text)
 *
 * The numbers are 8 bytes each, big-endian.
 */

import type { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { CryptoHasher } from 'bun';
import { OperatorError } from '../../base/errors.ts';
import { CHAIN_START, nextChain, sameChain } from '../log/entry.ts';
import { type Connect, kindOf, markFile, openToWrite, prepared, versionOf } from './connection.ts';
import { journalPath } from './database.ts';
import {
  CHAIN_TABLES,
  type EntryRow,
  JOURNAL,
  JOURNAL_VERSION,
  JournalEntryError,
  requireEnds,
  textOfRow,
  WITHHELD_INDEX,
} from './journal.ts';

const WITHOUT_CHAIN = 1;
const WITH_CHAIN = 2;

const ANEW = 'Import a recording of the chain into another directory, or let a node send its events anew.';

/** Called with the number of entries that have new chain values. */
type Report = (entries: number) => void;

const ENTRIES_BETWEEN_REPORTS = 100_000;

const NUMBER_BYTES = 8;

/** The chain value of an entry in version 2. */
function formerChain(previous: Uint8Array, { id, received_at, path }: EntryRow, text: string): Uint8Array {
  const head = Buffer.alloc(3 * NUMBER_BYTES);
  head.writeBigUInt64BE(BigInt(id), 0);
  head.writeBigInt64BE(BigInt(received_at), NUMBER_BYTES);
  head.writeBigUInt64BE(BigInt(Buffer.byteLength(path)), 2 * NUMBER_BYTES);
  const length = Buffer.alloc(NUMBER_BYTES);
  length.writeBigUInt64BE(BigInt(Buffer.byteLength(text)));
  return new CryptoHasher('sha256').update(previous).update(head).update(path).update(length).update(text).digest();
}

/** @throws OperatorError where the version is unknown */
function requireKnown(path: string, version: number): void {
  if (version === WITHOUT_CHAIN || version === WITH_CHAIN) return;
  throw new OperatorError(
    `${path} is a journal of version ${version} from before version 0.1.0 of Stackside, which is not known.`,
    ANEW,
  );
}

/** Writes the chain values of all entries, in the open transaction. @throws OperatorError where an entry is missing or damaged */
function renewChain(db: Database, path: string, version: number, report: Report): void {
  db.run(WITHHELD_INDEX);
  if (version === WITHOUT_CHAIN) db.run(CHAIN_TABLES);
  else requireEnds(db, path);
  const next = db.prepare<EntryRow, [number]>(
    `SELECT e.id, e.received_at, e.path, e.payload, c.value AS chain, NULL AS previous
       FROM events e LEFT JOIN chain c ON c.id = e.id WHERE e.id > ?1 ORDER BY e.id LIMIT 1`,
  );
  const set = db.prepare<null, [number, Uint8Array]>(
    'INSERT INTO chain VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET value = ?2',
  );
  let former: Uint8Array = CHAIN_START;
  let now: Uint8Array = CHAIN_START;
  let entries = 0;
  for (let row = next.get(0); row !== null; row = next.get(row.id)) {
    const { id, received_at: receivedAt, path: at, chain } = row;
    entries += 1;
    if (id !== entries) {
      throw new OperatorError(
        `${path} lacks the events from ${entries} to ${id - 1}: no index can be built from it.`,
        ANEW,
      );
    }
    const text = textOfRow(path, { ...row, previous: former });
    if (version === WITH_CHAIN) {
      former = formerChain(former, row, text);
      if (chain === null || !sameChain(chain, former)) {
        throw new JournalEntryError(path, id, 'is damaged: its chain value is wrong');
      }
    }
    now = nextChain(now, { id, receivedAt, path: at, text });
    set.run(id, now);
    if (entries % ENTRIES_BETWEEN_REPORTS === 0) report(entries);
  }
  if (entries > 0) report(entries);
}

/**
 * Upgrades a journal from before version 0.1.0 in one transaction; another journal stays as it is. Called with the writer's
 * lock held.
 * @throws OperatorError where an entry is missing or damaged
 */
export function renewEarlierJournal(directory: string, report: Report, connect: Connect = openToWrite): void {
  const path = journalPath(directory);
  if (!existsSync(path)) return;
  const db = prepared(connect(path, 'FULL'), (opened) => {
    if (kindOf(opened, JOURNAL) !== 'earlier') return;
    const version = versionOf(opened);
    requireKnown(path, version);
    opened
      .transaction(() => {
        renewChain(opened, path, version, report);
        markFile(opened, JOURNAL, JOURNAL_VERSION);
      })
      .immediate();
  });
  db.close();
}
