/** The newest snapshot of a data directory whose parts were all read back: what the journal may be trimmed to. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { hasCode } from '../../base/errors.ts';
import { wholeFile } from '../../base/files.ts';
import { parsedJson } from '../../base/json.ts';
import { onFile } from '../../base/system-errors.ts';
import { openJournalReader } from './journal.ts';
import { FILE_MODE } from './private-files.ts';

const KnownSnapshot = Type.Object({
  location: Type.String(),
  /** The last event that it holds, and its chain value in hex. */
  position: Type.Integer({ minimum: 0 }),
  chain: Type.String(),
});
/** A snapshot that holds everything up to an event. */
type KnownSnapshot = Static<typeof KnownSnapshot>;

const snapshotPath = (directory: string): string => join(directory, 'snapshot.json');

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/**
 * Null where none is known, which is so too where the file was changed by hand.
 * @throws OperatorError where the file can't be read
 */
export function newestSnapshot(directory: string): KnownSnapshot | null {
  const path = snapshotPath(directory);
  const text = onFile(path, () => textOf(path));
  const value = text === null ? undefined : parsedJson(text);
  return Value.Check(KnownSnapshot, value) ? value : null;
}

/** Whether a snapshot is of the journal that the directory has now, which may be that of other data by then. */
function isOfJournal(directory: string, { position, chain }: KnownSnapshot): boolean {
  const journal = openJournalReader(directory);
  try {
    return journal.chainAt(position)?.toHex() === chain;
  } finally {
    journal.close();
  }
}

/**
 * Notes a snapshot of what the directory holds, unless a newer one is known.
 * @throws OperatorError where the note can't be written, or the journal can't be read
 */
export function noteMadeSnapshot(directory: string, snapshot: KnownSnapshot): void {
  const known = newestSnapshot(directory);
  const isNewer = known !== null && known.position > snapshot.position && isOfJournal(directory, known);
  if (!isNewer) noteSnapshot(directory, snapshot);
}

/** Notes a snapshot in place of whichever was known. @throws OperatorError where the note can't be written */
export function noteSnapshot(directory: string, snapshot: KnownSnapshot): void {
  const file = wholeFile(snapshotPath(directory), FILE_MODE);
  try {
    onFile(file.path, () => writeFileSync(file.partial, `${JSON.stringify(snapshot)}\n`));
    file.keep();
  } finally {
    file.discard();
  }
}

/**
 * The snapshot that holds what was removed from the beginning of a journal.
 * @param trimmedTo the last event that was removed
 * @returns null where none is known that does
 */
export function snapshotHolding(directory: string, trimmedTo: number): KnownSnapshot | null {
  const snapshot = newestSnapshot(directory);
  return snapshot !== null && snapshot.position >= trimmedTo ? snapshot : null;
}
