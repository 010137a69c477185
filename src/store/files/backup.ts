/** A copy of the data, made while it is written. */
import { operatorErrorOf } from '../../base/system-errors.ts';
import { indexPath, journalPath, openReader } from './database.ts';
import { openJournalReader } from './journal.ts';
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
    // A copy would be as whole as what is copied.
    journal.entries();
    journal.copyTo(file);
  } finally {
    journal.close();
  }
}

/** Copies one of the files. A failure is that of the copy, unless what is copied is damaged. */
function copied(from: string, to: string, copy: () => void): void {
  try {
    makePrivateFile(to);
    copy();
  } catch (error) {
    throw operatorErrorOf(error, unavailable(error)?.failure === 'damaged' ? from : to) ?? error;
  }
}

/**
 * Copies a data directory while others write to it. The index is copied first: a journal that is ahead of its index brings
 * it up to date when the copy is opened.
 * @param into a directory that has no such files
 * @throws OperatorError where a file can't be read or written; parts of the copy may be left then
 */
export function copyData(directory: string, into: string): void {
  makePrivateDirectory(into);
  copied(indexPath(directory), indexPath(into), () => copyIndex(directory, indexPath(into)));
  copied(journalPath(directory), journalPath(into), () => copyJournal(directory, journalPath(into)));
}
