/** `stackside export`: the journal as an event recording, or rows of the index as a file. */
import { lazy } from '../../base/cache.ts';
import { OperatorError } from '../../base/errors.ts';
import { isSamePath } from '../../base/files.ts';
import { plural } from '../../base/format.ts';
import { isRecordedPath } from '../../chain/payload-reader.ts';
import { recordingRow } from '../../chain/recording.ts';
import { toHex } from '../../codec/hex.ts';
import { indexPath, journalPath } from '../../store/files/database.ts';
import type { JournalReads } from '../../store/files/journal.ts';
import { openWholeJournal } from '../../store/files/journal-link.ts';
import { viewNamed } from '../../store/sql/view-rows.ts';
import { views } from '../../store/views/views.ts';
import { print, printLines, writeFile, writeLines } from '../cli/output.ts';
import { type ExportFormat, type ExportOptions, endingOf, exportFormats, requireReadable } from '../query/options.ts';
import { printHistory, type QueryEnd, type QuerySource, type QueryStart, queryStream } from '../query/run.ts';

/**
 * Writes the journal as a recording.
 * @param file the output; undefined for stdout
 * @param overwrite whether to replace an existing file
 * @throws OperatorError if there is no journal, it doesn't belong to the index, or the file can't be written
 */
export async function runExport(directory: string, file: string | undefined, overwrite: boolean): Promise<void> {
  if (file !== undefined) requireNoDatabase(file, directory);
  const journal = openWholeJournal(directory);
  try {
    if (file === undefined) await printLines(rowsOf(journal));
    else await writeLines(file, rowsOf(journal), overwrite);
  } finally {
    journal.close();
  }
}

function* rowsOf(journal: JournalReads): Generator<string> {
  for (const entry of journal.after(0)) if (isRecordedPath(entry.path)) yield recordingRow(entry);
}

const viewsWithHeights = views.filter(({ range }) => range !== null).map(({ name }) => name);

/** @throws OperatorError if no view has this name, or if heights are given for a view without them */
function toSource({ table, query, fromHeight, toHeight }: ExportOptions): QuerySource {
  if (query !== undefined) return { sql: query };
  const view = viewNamed(table ?? '');
  if (view.range === null && (fromHeight !== undefined || toHeight !== undefined)) {
    throw new OperatorError(
      `--from-height and --to-height don't apply to ${view.name}.`,
      `Omit them. They apply to ${viewsWithHeights.join(', ')}.`,
    );
  }
  return { view: view.name, heights: { from: fromHeight ?? null, to: toHeight ?? null } };
}

/**
 * The format of rows: the option, or else the ending of the file name. A file name without an ending means CSV.
 * @throws OperatorError if the file name has another ending
 */
function chooseFormat({ format, output = '' }: ExportOptions): ExportFormat {
  const { ending, compression } = endingOf(output);
  const named = exportFormats.find((name) => name === ending);
  if (format === undefined && named === undefined && ending !== '') {
    throw new OperatorError(
      `"${output}" doesn't end with a known format.`,
      'Set --format, or use a name that ends with .csv, .ndjson or .parquet.',
    );
  }
  const chosen = format ?? named ?? 'csv';
  if (chosen === 'parquet' && compression !== '') {
    throw new OperatorError(
      `"${output}" ends with ${compression}, but Parquet files are compressed already.`,
      `Omit ${compression}, or choose another --format.`,
    );
  }
  return chosen;
}

function summary(to: string, { rows, blocks }: QueryEnd): string {
  const text = `${to}: ${plural(rows, 'row')}`;
  if (blocks === null) return `${text}\n`;
  const { first, last, lastHash } = blocks;
  return `${text} of blocks ${first} to ${last} (${toHex(lastHash)}); continue with --from-height ${last + 1}\n`;
}

/**
 * Exports rows, and describes the result on stderr.
 * @throws OperatorError if there is no index, the query fails, or the file can't be written
 */
export async function exportRows(directory: string, options: ExportOptions): Promise<void> {
  const { output, overwrite } = options;
  if (output !== undefined) requireNoDatabase(output, directory);
  const format = chooseFormat(options);
  const printable = output === undefined && process.stdout.isTTY;
  requireReadable(format, printable);
  const start: QueryStart = { directory, source: toSource(options), format, printable, maxRows: null };
  // Begun on demand: if the file can't be written, a running query would keep the process from ending.
  const query = lazy(() => queryStream(start));
  if (output === undefined) await print(query().stream);
  else await writeFile(output, () => query().stream, overwrite);
  const { stream, result } = query();
  const end = stream.readableEnded ? result() : null;
  // The reader of stdout is gone, so the query need not end.
  if (end === null) process.exit();
  process.stderr.write(summary(output ?? 'stdout', end));
  printHistory(end);
}

/** Refuses to overwrite one of the exported databases. @throws OperatorError */
function requireNoDatabase(file: string, directory: string): void {
  if (![indexPath(directory), journalPath(directory)].some((path) => isSamePath(file, path))) return;
  throw new OperatorError(`${file} is a database file of the data directory.`, 'Give the path of another file.');
}
