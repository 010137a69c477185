/** `stackside export`: the journal as an event recording. */

import { OperatorError } from '../../base/errors.ts';
import { isHostPath, WITHHELD_PATH } from '../../chain/payload-reader.ts';
import { recordingRow } from '../../chain/recording.ts';
import type { JournalReader } from '../../store/files/journal.ts';
import { openWholeJournal } from '../../store/files/journal-link.ts';
import { snapshotHolding } from '../../store/files/newest-snapshot.ts';
import { printLines, writeLines } from '../cli/output.ts';
import { requireNoDatabase } from './output-place.ts';

/**
 * Writes the journal as a recording.
 * @param file the file to write; undefined for stdout
 * @param overwrite whether an existing file may be replaced
 * @throws OperatorError where there is no journal, it is not that of the index, or the file can't be written
 */
export async function runExport(directory: string, file: string | undefined, overwrite: boolean): Promise<void> {
  if (file !== undefined) requireNoDatabase(file, directory);
  const journal = openWholeJournal(directory);
  try {
    const trimmedTo = journal.trimmedTo();
    if (trimmedTo > 0) process.stderr.write(`${lackText(directory, trimmedTo)}\n`);
    if (file === undefined) await printLines(rowsOf(journal));
    else await writeLines(file, rowsOf(journal), overwrite);
  } finally {
    journal.close();
  }
}

/** What the recording lacks with the events that were removed from the journal, in words. */
function lackText(directory: string, trimmedTo: number): string {
  const lack = `The journal lacks the events from 1 to ${trimmedTo}: the recording is not whole.`;
  const snapshot = snapshotHolding(directory, trimmedTo);
  return snapshot === null ? lack : `${lack} The snapshot at ${snapshot.location} holds their outcome.`;
}

const isExported = (path: string): boolean => !isHostPath(path) && path !== WITHHELD_PATH;

/**
 * The events of the node: what hosts enter themselves means something to them alone, and may be secret; what is withheld is no
 * more known.
 * @throws OperatorError at the end where the journal lost entries meanwhile, of which nobody was told
 */
function* rowsOf(journal: JournalReader): Generator<string> {
  const told = journal.trimmedTo();
  for (const entry of journal.entriesAfter(0, true)) if (isExported(entry.path)) yield recordingRow(entry);
  if (journal.trimmedTo() === told) return;
  throw new OperatorError('The journal was trimmed while it was exported.', 'Export it once more.');
}
