/** A copy of the data, made while it is written. */
import { existsSync } from 'node:fs';
import { OperatorError } from '../errors.ts';
import { openReader } from './database.ts';
import { openJournalReader } from './journal.ts';
import { makePrivateFile } from './private-files.ts';

/**
 * Copies the index to `file` and the journal, where there is one, to `file`.journal. The index goes first: a journal
 * that is ahead of its index brings it up to date at the next start.
 * @returns the files written
 */
export function backupDirectory(directory: string, file: string): string[] {
  const journalFile = `${file}.journal`;
  for (const path of [file, journalFile]) {
    if (existsSync(path))
      throw new OperatorError(`A file already exists at ${path}.`, 'Give another name, or remove it.');
  }
  const db = openReader(directory);
  makePrivateFile(file);
  db.run('PRAGMA query_only = OFF');
  db.run('VACUUM INTO ?1', [file]);
  db.close();
  const journal = openJournalReader(directory);
  if (journal === null) return [file];
  makePrivateFile(journalFile);
  journal.copyTo(journalFile);
  journal.close();
  return [file, journalFile];
}
