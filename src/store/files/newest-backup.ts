/** The newest verified backup of a data directory, up to which the journal may be trimmed. */
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
  /** Number of the last event in it, and that event's chain value in hex. */
  position: Type.Integer({ minimum: 0 }),
  chain: Type.String(),
});
/** A backup of everything up to an event. */
type KnownBackup = Static<typeof KnownBackup>;

/** Path of the note about the backup, which users know as `snapshot.json`. */
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
 * Reads the note; null where there is none, or it was changed by hand.
 * @throws OperatorError where the file can't be read
 */
export function newestBackup(directory: string): KnownBackup | null {
  const path = notePath(directory);
  const text = onFile(path, () => textOf(path));
  const value = text === null ? undefined : parsedJson(text);
  return Value.Check(KnownBackup, value) ? value : null;
}

/** Whether a backup belongs to the directory's present journal: the data may have been replaced since. */
function isOfJournal(directory: string, { position, chain }: KnownBackup): boolean {
  const journal = openJournalReader(directory);
  try {
    return journal.chainAt(position)?.toHex() === chain;
  } finally {
    journal.close();
  }
}

/**
 * Notes a backup of the directory's data, unless a newer one is known.
 * @throws OperatorError where the note can't be written, or the journal can't be read
 */
export function noteMadeBackup(directory: string, backup: KnownBackup): void {
  const known = newestBackup(directory);
  const isNewer = known !== null && known.position > backup.position && isOfJournal(directory, known);
  if (!isNewer) noteBackup(directory, backup);
}

/** Notes a backup in place of a known one. @throws OperatorError where the note can't be written */
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
 * The newest backup, if it has the trimmed entries of a journal.
 * @param trimmedTo number of the last trimmed entry
 * @returns null where no known backup has them
 */
export function backupHolding(directory: string, trimmedTo: number): KnownBackup | null {
  const backup = newestBackup(directory);
  return backup !== null && backup.position >= trimmedTo ? backup : null;
}
