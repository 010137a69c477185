/** `stackside import`: an event recording into the index. */
import { hash } from 'bun';
import { PayloadError } from '../chain/payload-reader.ts';
import { type RecordingFormat, RowError } from '../chain/recording.ts';
import type { Settings } from '../config.ts';
import { OperatorError } from '../errors.ts';
import { createLog } from '../log.ts';
import { UnknownParentError } from '../store/chain-writer.ts';
import { type Ingest, openIngest } from '../store/ingest.ts';
import { openInput } from './input.ts';
import { type Progress, progressReport } from './progress.ts';
import { rowReader } from './recording-format.ts';
import { SeenIds } from './seen-ids.ts';

export interface ImportOptions {
  /** Count rows that can't be taken, and go on. */
  skipBad: boolean;
  /** Take the recording from its first row, whatever was taken of it before. */
  restart: boolean;
  /** How the recordings are written; undefined where their rows show it. */
  format?: RecordingFormat;
}

/** A transaction of the index holds about this much: enough to make its cost small, not so much as to fill memory. */
const BATCH_BYTES = 8_000_000;
const BATCH_ROWS = 500;

interface Counts {
  rows: number;
  applied: number;
  repeated: number;
  bad: number;
}

const isBadRow = (error: unknown): error is Error =>
  error instanceof RowError || error instanceof PayloadError || error instanceof UnknownParentError;

async function importFile(
  ingest: Ingest,
  file: string,
  { skipBad, restart, format }: ImportOptions,
  report: (progress: Progress) => void,
): Promise<Counts> {
  const input = openInput(file);
  const readRow = rowReader(file, input.size !== null, format ?? null);
  const seen = new SeenIds();
  const counts: Counts = { rows: 0, applied: 0, repeated: 0, bad: 0 };
  let source: string | undefined;
  let taken: { rows: number; digest: string } = { rows: 0, digest: '' };
  /** Of the rows so far, each hashed onto those before it. */
  let digest = 0n;
  let batch = { rows: 0, bytes: 0 };

  const commit = () => {
    if (batch.rows === 0 || source === undefined) return;
    ingest.setImported(source, { rows: counts.rows, digest: digest.toString(16) });
    ingest.commit();
    batch = { rows: 0, bytes: 0 };
  };

  for await (const bytes of input.lines()) {
    const digestBefore = digest;
    digest = hash.xxHash64(bytes, digest);
    if (source === undefined) {
      source = digest.toString(16);
      if (!restart) taken = ingest.imported(source);
    }
    counts.rows += 1;
    if (counts.rows === taken.rows && digest.toString(16) !== taken.digest) {
      throw new OperatorError(
        `${file} begins like a recording of which ${taken.rows} rows were imported, but isn't that one.`,
        'To take it from its first row: --restart.',
      );
    }
    try {
      const row = await readRow(bytes, counts.rows);
      if (row === null || !seen.add(row.id) || counts.rows <= taken.rows) continue;
      counts[ingest.take(row)] += 1;
    } catch (error) {
      if (!isBadRow(error)) throw error;
      if (counts.rows <= taken.rows) continue;
      if (!skipBad) {
        counts.rows -= 1;
        digest = digestBefore;
        commit();
        throw new OperatorError(
          `Row ${counts.rows + 1} of ${file} can't be taken: ${error.message}.`,
          'The rows before it are in the index. Mend the row and import again, or leave such rows out: --skip-bad.',
        );
      }
      counts.bad += 1;
    }
    batch.rows += 1;
    batch.bytes += bytes.length;
    if (batch.bytes < BATCH_BYTES && batch.rows < BATCH_ROWS) continue;
    commit();
    report({ rows: counts.rows, height: ingest.tipHeight(), read: input.bytesRead(), size: input.size });
  }
  commit();
  return counts;
}

/** Imports recordings in the order given. */
export async function runImport(settings: Settings, files: readonly string[], options: ImportOptions): Promise<void> {
  const ingest = openIngest({
    directory: settings.data,
    journal: settings.journal,
    chainId: settings.chainId,
    // Thousands of blocks go by, and old forks with them: the progress line tells enough unless a level is asked for.
    log: createLog(settings.logLevel === 'info' ? 'error' : settings.logLevel),
  });
  const stop = () => {
    ingest.close();
    process.exit(130);
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    for (const file of files) {
      const report = progressReport(file, process.stderr);
      const counts = await importFile(ingest, file, options, report.update);
      report.done();
      process.stdout.write(
        `${file}: ${counts.rows} rows, ${counts.applied} applied, ${counts.repeated} known already, ` +
          `${counts.bad} bad; tip at height ${ingest.tipHeight()}\n`,
      );
    }
  } finally {
    ingest.close();
  }
}
