/** `stackside export`: the journal as an event recording. */

import { OperatorError } from '../base/errors.ts';
import { recordingRow } from '../chain/recording.ts';
import { type JournalReader, openJournalReader } from '../store/files/journal.ts';
import { printLines, writeLines } from './output.ts';

/**
 * Writes the journal as a recording.
 * @param file the file to write; undefined for stdout
 * @param overwrite whether an existing file may be replaced
 */
export async function runExport(directory: string, file: string | undefined, overwrite: boolean): Promise<void> {
  const journal = openJournalReader(directory);
  if (journal === null) {
    throw new OperatorError(
      `There is no journal in ${directory}.`,
      'Check --data; with --no-journal, no events are stored that could be exported.',
    );
  }
  try {
    for (const { first, last } of journal.gaps()) {
      process.stderr.write(`The journal lacks the events from ${first} to ${last}: the recording is not whole.\n`);
    }
    if (file === undefined) await printLines(rowsOf(journal));
    else await writeLines(file, rowsOf(journal), overwrite);
  } finally {
    journal.close();
  }
}

function* rowsOf(journal: JournalReader): Generator<string> {
  for (const entry of journal.entriesAfter(0, true)) yield recordingRow(entry);
}
