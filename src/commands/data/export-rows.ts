/** `stackside export --table` and `--query`: rows of the index as a file, in one snapshot and with the memory of a few rows. */
import { PassThrough, type Readable } from 'node:stream';
import { OperatorError } from '../../base/errors.ts';
import { madeOnce } from '../../base/made-once.ts';
import { toHex } from '../../codec/hex.ts';
import { viewNamed } from '../../store/sql/view-rows.ts';
import { print, writeFile } from '../cli/output.ts';
import type { QueryEnd, QuerySource, QueryStart } from '../query/messages.ts';
import { type ExportFormat, type ExportOptions, exportFormats, requireReadable } from '../query/options.ts';
import { runQuery } from '../query/run.ts';
import { requireNoDatabase } from './output-place.ts';

const withoutHeights = (name: string): OperatorError =>
  new OperatorError(
    `--from-height and --to-height don't apply to ${name}, whose rows belong to no block.`,
    name === '--query' ? 'Put a condition into the query.' : 'Leave them out.',
  );

/** @throws OperatorError where the options contradict each other */
function sourceOf({ table, query, fromHeight, toHeight }: ExportOptions): QuerySource {
  const hasHeights = fromHeight !== undefined || toHeight !== undefined;
  if (query !== undefined) {
    if (hasHeights) throw withoutHeights('--query');
    return { sql: query };
  }
  const view = viewNamed(table ?? '');
  if (view.range === null && hasHeights) throw withoutHeights(view.name);
  return { view: view.name, heights: { from: fromHeight ?? null, to: toHeight ?? null } };
}

/** The format that is asked for, or that the end of the file's name says; CSV if neither does. */
function formatOf({ format, output = '' }: ExportOptions): ExportFormat {
  const plain = output.replace(/\.(gz|zst)$/, '');
  return format ?? exportFormats.find((one) => plain.endsWith(`.${one}`)) ?? 'csv';
}

/** The output of a query as a stream that is read at its reader's pace, and what becomes of the query. */
function streamed(start: QueryStart): { stream: Readable; end: Promise<QueryEnd> } {
  const stream = new PassThrough();
  const take = (bytes: Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      stream.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  const end = runQuery(start, { seconds: null, bytes: null }, take);
  end.then(
    () => stream.end(),
    (error: Error) => stream.destroy(error),
  );
  return { stream, end };
}

/** What was written, and where the next export of the same view goes on. */
function summary(to: string, { rows, blocks }: QueryEnd): string {
  if (blocks === null) return `${to}: ${rows} rows\n`;
  const { first, last, lastHash } = blocks;
  return `${to}: ${rows} rows of blocks ${first} to ${last} (${toHex(lastHash)}); continue with --from-height ${last + 1}\n`;
}

/**
 * Exports rows. What was written is said on stderr.
 * @throws OperatorError where there is no index, the query fails, or the file can't be written
 */
export async function exportRows(directory: string, options: ExportOptions): Promise<void> {
  const { output, overwrite } = options;
  if (output !== undefined) requireNoDatabase(output, directory);
  const format = formatOf(options);
  const printable = output === undefined && process.stdout.isTTY;
  requireReadable(format, printable);
  const start: QueryStart = { directory, source: sourceOf(options), format, printable, maxRows: null };
  // A query that is under way would keep a process from its end that has nowhere to write.
  const query = madeOnce(() => streamed(start));
  if (output === undefined) await print(query().stream);
  else await writeFile(output, () => query().stream, overwrite);
  const { stream, end } = query();
  // Nobody reads stdout any more: the query needs no end.
  if (!stream.readableEnded) process.exit();
  process.stderr.write(summary(output ?? 'stdout', await end));
}
