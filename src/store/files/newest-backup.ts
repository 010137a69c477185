/** The newest backup of a data directory whose parts were all read back: what the journal may be trimmed to. */
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

const KnownBackup = Type.Object({
  location: Type.String(),
  /** The last event that it holds, and its chain value in hex. */
  position: Type.Integer({ minimum: 0 }),
  chain: Type.String(),
});
/** A backup that holds everything up to an event. */
type KnownBackup = Static<typeof KnownBackup>;

/** The note on the disk, which users know as `snapshot.json`. */
const notePath = (directory: string): string => join(directory, 'snapshot.json');

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
export function newestBackup(directory: string): KnownBackup | null {
  const path = notePath(directory);
  const text = onFile(path, () => textOf(path));
  const value = text === null ? undefined : parsedJson(text);
  return Value.Check(KnownBackup, value) ? value : null;
}

/** Whether a backup is of the journal that the directory has now, which may be that of other data by then. */
function isOfJournal(directory: string, { position, chain }: KnownBackup): boolean {
  const journal = openJournalReader(directory);
  try {
    return journal.chainAt(position)?.toHex() === chain;
  } finally {
    journal.close();
  }
}

/**
 * Notes a backup of what the directory holds, unless a newer one is known.
 * @throws OperatorError where the note can't be written, or the journal can't be read
 */
export function noteMadeBackup(directory: string, backup: KnownBackup): void {
  const known = newestBackup(directory);
  const isNewer = known !== null && known.position > backup.position && isOfJournal(directory, known);
  if (!isNewer) noteBackup(directory, backup);
}

/** Notes a backup in place of whichever was known. @throws OperatorError where the note can't be written */
export function noteBackup(directory: string, backup: KnownBackup): void {
  const file = wholeFile(notePath(directory), FILE_MODE);
  try {
    onFile(file.path, () => writeFileSync(file.partial, `${JSON.stringify(backup)}\n`));
    file.commit();
  } finally {
    file.discard();
  }
}

/**
 * The backup that holds what was removed from the beginning of a journal.
 * @param trimmedTo the last event that was removed
 * @returns null where none is known that does
 */
export function backupHolding(directory: string, trimmedTo: number): KnownBackup | null {
  const backup = newestBackup(directory);
  return backup !== null && backup.position >= trimmedTo ? backup : null;
}
