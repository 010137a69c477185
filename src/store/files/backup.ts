/** A copy of the data, made while it is written. */
import { existsSync, rmSync } from 'node:fs';
import { OperatorError } from '../../base/errors.ts';
import { operatorErrorOf } from '../../base/system-errors.ts';
import { type WholeFile, wholeFile } from '../../base/whole-file.ts';
import { indexPath, journalPath, openReader } from './database.ts';
import { openJournalReader } from './journal.ts';
import { FILE_MODE } from './private-files.ts';
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
    journal?.copyTo(file);
  } finally {
    journal?.close();
  }
}

/** Copies one of the files. A failure is that of the copy, unless what is copied is damaged. */
function copied(from: string, to: WholeFile, copy: () => void): void {
  try {
    copy();
  } catch (error) {
    throw operatorErrorOf(error, unavailable(error)?.failure === 'damaged' ? from : to.path) ?? error;
  }
}

/**
 * Copies the index to `file` and the journal, where there is one, to `file`.journal. Both are in their place when both are
 * whole. The index is copied first: a journal that is ahead of its index brings it up to date at the next start.
 * @returns the files written
 * @throws OperatorError where one is there already, or can't be written; nothing is left then
 */
export function backupDirectory(directory: string, file: string): string[] {
  const journalFile = `${file}.journal`;
  // A log that another database left would be read into the copy.
  for (const path of [file, journalFile].flatMap((copy) => [copy, `${copy}-wal`])) {
    if (existsSync(path))
      throw new OperatorError(`A file already exists at ${path}.`, 'Give another name, or remove the file.');
  }
  const copies: WholeFile[] = [];
  const begun = (path: string): WholeFile => {
    const copy = wholeFile(path, FILE_MODE);
    copies.push(copy);
    return copy;
  };
  try {
    const index = begun(file);
    copied(indexPath(directory), index, () => copyIndex(directory, index.partial));
    if (existsSync(journalPath(directory))) {
      const journal = begun(journalFile);
      copied(journalPath(directory), journal, () => copyJournal(directory, journal.partial));
    }
    // The index last: where it is, the backup is whole.
    for (const copy of copies.toReversed()) copy.keep();
    return copies.map(({ path }) => path);
  } catch (error) {
    for (const copy of copies) {
      copy.discard();
      // One without the other is no backup.
      if (copy.isKept()) rmSync(copy.path);
    }
    throw error;
  }
}
