/** Parts of a backup: copies of the files while they are written, entries withheld from the copy, and the state of the data. */

import type { Database } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import { operatorErrorOf } from '../../base/system-errors.ts';
import { compressed, type Head, withheld } from '../log/entry.ts';
import { type FileKind, openToRead, openToWrite, prepared, requireKind, versionOf } from './connection.ts';
import { INDEX, indexPath, journalPath, openReader, openWriter } from './database.ts';
import { JOURNAL, JOURNAL_VERSION, openJournalReader, requireEnds, requirePresentVersion } from './journal.ts';
import { makePrivateDirectory, makePrivateFile } from './private-files.ts';
import { unavailable } from './store-failure.ts';

function copyIndex(directory: string, file: string): void {
  const db = openReader(directory);
  try {
    db.run('PRAGMA query_only = OFF');
    db.run('VACUUM INTO ?1', [file]);
  } finally {
    db.close();
  }
}

function copyJournal(directory: string, file: string): void {
  const journal = openJournalReader(directory);
  try {
    // Checks that no entry is missing, before a copy is made that would lack it as well.
    journal.entries();
    journal.copyTo(file);
  } finally {
    journal.close();
  }
}

/** Copies one of the files. An error names the copy, or the original where that is damaged. */
function copied(from: string, to: string, copy: () => void): void {
  try {
    makePrivateFile(to);
    copy();
  } catch (error) {
    throw operatorErrorOf(error, unavailable(error)?.failure === 'damaged' ? from : to) ?? error;
  }
}

/**
 * Copies a data directory while others write to it. The index is copied first: if the copied journal is ahead of it, the copy's
 * index is brought up to date when it is opened.
 * @param into a directory that has no such files
 * @throws OperatorError where a file can't be read or written; parts of the copy may be left then
 */
export function copyData(directory: string, into: string): void {
  makePrivateDirectory(into);
  copied(indexPath(directory), indexPath(into), () => copyIndex(directory, indexPath(into)));
  copied(journalPath(directory), journalPath(into), () => copyJournal(directory, journalPath(into)));
}

/** Number of entries that are read at a time. */
const TOGETHER = 1_000;

/**
 * Withholds entries of a path in the journal of a directory that no other process writes, in one transaction. The removed
 * bytes are overwritten.
 * @throws JournalEntryError where such an entry is damaged, SQLiteError
 */
export function withholdEntries(directory: string, path: string, isWithheld = (_text: string): boolean => true): void {
  const file = journalPath(directory);
  using closing = new DisposableStack();
  const journal = openJournalReader(directory);
  closing.defer(() => journal.close());
  const db = prepared(openToWrite(file, 'FULL'), (opened) => {
    requirePresentVersion(opened, file);
    opened.run('PRAGMA secure_delete = ON');
  });
  closing.defer(() => db.close());
  const next = db.prepare<{ id: number }, [string, number]>(
    `SELECT id FROM events WHERE path = ?1 AND id > ?2 ORDER BY id LIMIT ${TOGETHER}`,
  );
  const update = db.prepare<null, [number, string, Uint8Array]>(
    'UPDATE events SET path = ?2, payload = ?3 WHERE id = ?1',
  );
  db.transaction(() => {
    for (let found = next.all(path, 0); found.length > 0; found = next.all(path, found.at(-1)!.id)) {
      for (const { id } of found) {
        const stored = journal.read(id)!;
        if (!isWithheld(stored.text)) continue;
        const entry = withheld(stored);
        update.run(id, entry.path, compressed(entry.text));
      }
    }
  }).immediate();
}

export interface DataState {
  /** Null before the first block. */
  chainId: number | null;
  /** Null before the first block. */
  tip: { height: number; indexBlockHash: Uint8Array } | null;
  /** Position of the index. */
  position: Head;
  /** Versions of the files. */
  schema: { index: number; journal: number };
  /** The journal's chain value of the index's last event; null where it has none. */
  journalChain: Uint8Array | null;
}

/** @throws OperatorError where the file is of another kind, or empty */
function requireMade(db: Database, path: string, kind: FileKind): void {
  requireKind(db, path, kind);
  if (versionOf(db) === 0) throw new OperatorError(`${path} is empty.`, 'Take another backup.');
}

/** The chain value that a journal has for an event, and the version of its file. */
function journalAt(path: string, id: number): Pick<DataState, 'journalChain'> & { version: number } {
  using db = openToRead(path);
  requireMade(db, path, JOURNAL);
  if (versionOf(db) === JOURNAL_VERSION) requireEnds(db, path);
  const found = db
    .query<{ value: Uint8Array }, [number]>(
      'SELECT value FROM chain WHERE id = ?1 UNION ALL SELECT chain FROM breaks WHERE after_id = ?1',
    )
    .get(id);
  return { journalChain: found?.value ?? null, version: versionOf(db) };
}

/**
 * Reads the state of a directory that no process writes.
 * @throws OperatorError where a file is of another kind, SQLiteError where it is no database
 */
export function dataStateOf(directory: string): DataState {
  const path = indexPath(directory);
  using db = openToRead(path);
  requireMade(db, path, INDEX);
  const progress = db
    .query<{ chainId: number | null; id: number; chain: Uint8Array }, []>(
      'SELECT chain_id AS chainId, journal_id AS id, journal_chain AS chain FROM progress',
    )
    .get();
  if (progress === null) throw new Error('progress has no row');
  const tip = db
    .query<{ height: number; indexBlockHash: Uint8Array }, []>(
      'SELECT height, index_block_hash AS indexBlockHash FROM blocks ORDER BY height DESC LIMIT 1',
    )
    .get();
  const { chainId, id, chain } = progress;
  const journal = journalAt(journalPath(directory), id);
  return {
    chainId,
    tip,
    position: { id, chain },
    schema: { index: versionOf(db), journal: journal.version },
    journalChain: journal.journalChain,
  };
}

/** The tables that private commands write, so that a journal without these doesn't fill them. */
export const tablesOfCommands: readonly string[] = [
  'hooks',
  'hook_secrets',
  'hook_deliveries',
  'hook_bodies',
  'hook_attempts',
  'hook_ledger',
  'hook_backfills',
  'faucet_requests',
  'old_namespaces',
  'old_names',
  'old_zonefiles',
  'old_subdomains',
];

/** Columns of other tables that private commands write, which are 0 without these. */
export const columnsOfCommands: Readonly<Record<string, string>> = { hook_progress: 'epoch' };

/**
 * Removes all that commands wrote from an index that is to be published: the chainhooks with their secrets, requests to the
 * faucets, and the names from before the chain.
 */
export function forgetPrivateData(directory: string): void {
  const db = openWriter(directory);
  try {
    // Overwrites deleted bytes.
    db.run('PRAGMA secure_delete = ON');
    db.transaction(() => {
      for (const table of tablesOfCommands) db.run(`DELETE FROM ${table}`);
      for (const [table, column] of Object.entries(columnsOfCommands)) db.run(`UPDATE ${table} SET ${column} = 0`);
    })();
  } finally {
    db.close();
  }
}
