/** `stackside export`: the journal as an event recording. */

import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { createGzip, createZstdCompress } from 'node:zlib';
import { recordingRow } from '../chain/recording.ts';
import { OperatorError } from '../errors.ts';
import { openJournalReader } from '../store/journal.ts';

const compressor = (file: string) =>
  file.endsWith('.gz') ? createGzip() : file.endsWith('.zst') ? createZstdCompress() : null;

/** @param file where to; undefined for stdout. Written only if it isn't there yet, unless `overwrite`. */
export async function runExport(directory: string, file: string | undefined, overwrite: boolean): Promise<void> {
  const journal = openJournalReader(directory);
  if (journal === null) {
    throw new OperatorError(
      `There is no journal in ${directory}.`,
      'Check --data; with --no-journal, no events are kept that could be exported.',
    );
  }
  if (file !== undefined && existsSync(file) && !overwrite) {
    throw new OperatorError(`A file already exists at ${file}.`, 'To replace it: --overwrite.');
  }
  for (const { first, last } of journal.gaps()) {
    process.stderr.write(`The journal lacks the events from ${first} to ${last}: the recording is not whole.\n`);
  }
  const target: Writable = file === undefined ? process.stdout : createWriteStream(file);
  const packed = file === undefined ? null : compressor(file);
  packed?.pipe(target);
  const output: Writable = packed ?? target;
  let rows = 0;
  for (const entry of journal.entriesAfter(0, true)) {
    rows += 1;
    if (!output.write(`${recordingRow(entry)}\n`)) await once(output, 'drain');
  }
  if (file !== undefined) {
    const finished = once(target, 'finish');
    output.end();
    await finished;
    process.stderr.write(`${file}: ${rows} rows\n`);
  }
  journal.close();
}
