/** `stackside import`: imports event recordings into the index. */
import { OperatorError } from '../../base/errors.ts';
import { discard } from '../../base/garbage.ts';
import { isHostPath, isNodeQueryPath, PayloadError } from '../../chain/payload-reader.ts';
import type { RecordingFormat } from '../../chain/recording.ts';
import { silentMachine } from '../../hooks/machine.ts';
import { createLog } from '../../log.ts';
import type { SettingsOf } from '../../settings/config.ts';
import type { Imported } from '../../store/files/journal.ts';
import { ForeignChainError } from '../../store/ingest/chain-identity.ts';
import { PreparedEvent, type ReceivedEvent } from '../../store/ingest/event.ts';
import { PartialHistoryError } from '../../store/ingest/history-start.ts';
import { type Ingest, type IngestOptions, type Outcome, openIngest } from '../../store/ingest/ingest.ts';
import { UnknownParentError } from '../../store/ingest/known-blocks.ts';
import type { Entry } from '../../store/log/entry.ts';
import { interruptible } from '../cli/output.ts';
import { makeSecondaryIndexes, type Progress, progressReport } from '../cli/progress.ts';
import { type Input, openInput, requireInput } from './input.ts';
import { LogBeginning } from './log-beginning.ts';
import { readAhead, threadsOfCores } from './read-ahead.ts';
import { type RowBatch, type RowEvent, rowDigest, rowsOf } from './recording-rows.ts';
import { disorderIn, SeenIds, unsorted } from './row-order.ts';

export interface ImportOptions {
  /** Whether to count and skip rows that can't be read. */
  skipBad: boolean;
  /** Whether to begin with the first row, even if the recording was partly imported. */
  restart: boolean;
  /** The format of the recordings; by default detected from their rows. */
  format?: RecordingFormat;
  /** Bytes of a recording above which threads read ahead; tests use a lower number than the default. */
  aheadFrom?: number;
  thread?: URL;
  /** Number of these threads, for tests; by default, the cores decide. */
  threads?: number;
  /** The random numbers of the log's identity; tests give others. */
  random?: IngestOptions['random'];
}

/** Maximum bytes and rows of a batch that becomes durable together: enough to make syncs cheap, without filling the memory. */
const BATCH_BYTES = 8_000_000;
export const BATCH_ROWS = 2_000;

interface Counts {
  rows: number;
  applied: number;
  repeated: number;
  bad: number;
}

/** Whether a host wrote the entry for itself. */
const isForeign = (path: string): boolean => isHostPath(path) && !isNodeQueryPath(path);

const isBadRow = (error: unknown): error is Error =>
  error instanceof PayloadError || error instanceof UnknownParentError || error instanceof PartialHistoryError;

/** Returns the progress of an earlier import of the same recording; none if another recording begins with the same rows. */
const importedOf = async (file: string, imported: Imported): Promise<Imported> =>
  imported.rows === 0 || (await beginsWith(file, imported)) ? imported : NOTHING_IMPORTED;

const otherRecording = (file: string, rows: number): OperatorError =>
  new OperatorError(
    `${file} differs from the recording of which ${rows} rows were imported.`,
    'Add --restart to import the recording from its first row.',
  );

const foreign = (file: string, row: number, cause: ForeignChainError): OperatorError =>
  new OperatorError(
    `The recording ${file} belongs to another chain: in row ${row}, ${cause.message}.`,
    'Give each chain its own --data directory.',
    { cause },
  );

/** The remedy for a recording that doesn't begin with the log of the directory. */
const NEW_DIRECTORY = 'Give a new directory with --data, and import the recording into it.';

const differentLog = (directory: string, file: string, row: number, { id, path }: Entry): OperatorError =>
  new OperatorError(
    `${file} does not begin with the log in ${directory}: row ${row} differs from entry ${id} (${path}).`,
    NEW_DIRECTORY,
  );

const tooShort = (directory: string, file: string, { id, path }: Entry): OperatorError =>
  new OperatorError(
    `${file} does not begin with the log in ${directory}: it ends before entry ${id} (${path}).`,
    NEW_DIRECTORY,
  );

/** The remedy for a row that can't be imported. @param mayBeUnsorted whether the rows may have another order, which can't be looked up */
const badRowRemedy = (mayBeUnsorted: boolean): string =>
  mayBeUnsorted
    ? 'The rows before it are in the index. If the rows are not in the order of their ids, sort them (LC_ALL=C sort -n); else correct the row, or add --skip-bad to skip such rows.'
    : 'The rows before it are in the index. Correct the row and import again, or add --skip-bad to skip such rows.';

async function* readHere(input: Input, file: string, format: RecordingFormat | null): AsyncGenerator<RowBatch> {
  for await (const row of rowsOf(input, file, format)) yield { rows: [row], read: input.bytesRead() };
}

/** Minimum bytes of a recording for threads to read ahead. For fewer, starting the threads takes longer than they save. */
const AHEAD_FROM_BYTES = 4_000_000;

function batchesOf(
  ingest: Ingest,
  file: string,
  input: Input,
  { format, aheadFrom = AHEAD_FROM_BYTES, thread }: Pick<ImportOptions, 'format' | 'aheadFrom' | 'thread'>,
  threads: number,
  unprepared: number,
): AsyncGenerator<RowBatch> {
  if (threads === 0 || input.size === null || input.size < aheadFrom) return readHere(input, file, format ?? null);
  return readAhead(
    { source: { file, format: format ?? null, prepareFrom: unprepared + 1 }, chainId: ingest.chainId() },
    threads,
    thread,
  );
}

/** Returns the digest of a file's first row; null if there is no row, or the file can't be read twice. */
async function firstDigest(file: string, { size }: Input): Promise<bigint | null> {
  if (size === null) return null;
  for await (const line of openInput(file).lines()) {
    const digest = rowDigest(line, 0n);
    discard(line);
    return digest;
  }
  return null;
}

const received = (event: RowEvent): ReceivedEvent =>
  'prepared' in event ? new PreparedEvent(event.path, event.receivedAt, event.prepared) : event;

/**
 * Imports the rows of a recording.
 * @throws OperatorError if a row needs a row that comes later in the file and has a lower id
 */
async function importRows(
  ingest: Ingest,
  file: string,
  { directory, log, skipBad, restart, ...how }: ImportOptions & Destination,
  threads: number,
  report: (progress: Progress) => void,
): Promise<Counts> {
  const input = openInput(file);
  const seen = new SeenIds();
  const counts: Counts = { rows: 0, applied: 0, repeated: 0, bad: 0 };
  const first = await firstDigest(file, input);
  let source = first === null ? undefined : digestText(first);
  let imported = NOTHING_IMPORTED;
  if (source !== undefined && !restart) {
    imported = await importedOf(file, ingest.imported(source));
  }
  /** The entries that the rows must be equal to. */
  const beginningOf = (): LogBeginning => {
    const found = imported.rows === 0 ? log.at : Math.max(log.at, ingest.imported(logOf(source!)).rows);
    return new LogBeginning(ingest.entries, found, log.last);
  };
  let beginning = beginningOf();
  /** Whether the recording was found to belong to this chain. Until then, none of its rows become durable. */
  let ours = imported.rows > 0;
  let digest = 0n;
  let batch = { rows: 0, bytes: 0 };

  const note = (digestOfRows: bigint) => {
    if (batch.rows === 0 || source === undefined || beginning.next !== null) return;
    ingest.setImported(source, { rows: counts.rows, digest: digestText(digestOfRows) });
    ingest.setImported(logOf(source), { rows: ingest.position().id, digest: '' });
    batch = { rows: 0, bytes: 0 };
  };
  let isOrdered = false;
  /** Requires that no row with a lower id comes later in the file. @throws OperatorError; rows that aren't durable are rolled back */
  const requireLowerIds = async (): Promise<void> => {
    if (isOrdered || !seen.hasGaps || input.size === null) return;
    const disorder = await disorderIn(file);
    isOrdered = disorder === null;
    if (disorder === null) return;
    ingest.rollback();
    throw unsorted(file, disorder);
  };
  const commit = (digestOfRows: bigint) => {
    note(digestOfRows);
    ingest.commit();
  };
  /** Applies an event. Another first block than the genesis block starts a partial history, but only if the rows are in order. */
  const applied = async (event: ReceivedEvent): Promise<Outcome> => {
    try {
      return ingest.apply(event);
    } catch (error) {
      if (!(error instanceof PartialHistoryError)) throw error;
      await requireLowerIds();
      if (input.size === null && seen.hasGaps) throw error;
      ingest.allowPartialHistory();
      return ingest.apply(event);
    }
  };

  /** Requires that an event is the next entry of the log. @throws OperatorError */
  const requireNext = async (event: ReceivedEvent, next: Entry): Promise<Outcome> => {
    log.isCompared = true;
    if (beginning.takes(event)) return 'repeated';
    await requireLowerIds();
    throw differentLog(directory, file, counts.rows, next);
  };

  const unprepared = imported.rows + beginning.left();
  for await (const { rows, read } of batchesOf(ingest, file, input, how, threads, unprepared)) {
    for (const row of rows) {
      const before = digest;
      digest = row.digest;
      if (source === undefined) {
        // A stream, which is read once.
        source = digestText(digest);
        if (!restart) imported = ingest.imported(source);
        ours = imported.rows > 0;
        beginning = beginningOf();
      }
      counts.rows += 1;
      if (counts.rows === imported.rows && digestText(digest) !== imported.digest) {
        throw otherRecording(file, imported.rows);
      }
      try {
        if (row.problem !== null) throw new PayloadError(row.problem);
        const { event } = row;
        if (event === null || !seen.add(event.id) || counts.rows <= imported.rows || isForeign(event.path)) continue;
        const [own, { next }] = [received(event), beginning];
        counts[next === null ? await applied(own) : await requireNext(own, next)] += 1;
        ours ||= event.path === '/new_block';
      } catch (error) {
        if (error instanceof ForeignChainError) {
          ingest.rollback();
          throw foreign(file, counts.rows, error);
        }
        if (!isBadRow(error)) throw error;
        if (counts.rows <= imported.rows) continue;
        const needsParent = error instanceof UnknownParentError || error instanceof PartialHistoryError;
        if (needsParent) await requireLowerIds();
        if (!skipBad) {
          counts.rows -= 1;
          commit(before);
          throw new OperatorError(
            `Row ${counts.rows + 1} of ${file} can't be imported: ${error.message}.`,
            badRowRemedy(needsParent && input.size === null && seen.hasGaps),
          );
        }
        counts.bad += 1;
      }
      batch.rows += 1;
      batch.bytes += row.bytes;
      if (!ours || (batch.bytes < BATCH_BYTES && batch.rows < BATCH_ROWS)) continue;
      if (beginning.next === null) {
        note(digest);
        ingest.commitToJournal();
      } else {
        batch = { rows: 0, bytes: 0 };
      }
      report({ rows: counts.rows, height: ingest.tipHeight(), read, size: input.size });
    }
    // The runtime holds a batch longer than it is used, and a genesis block's row has 80 MB.
    rows.length = 0;
  }
  if (counts.rows < imported.rows) throw otherRecording(file, imported.rows);
  log.at = beginning.at;
  log.next = beginning.next;
  if (beginning.next === null) commit(digest);
  return counts;
}

/** The data directory, and its log before the import, which the recordings must begin with. */
interface Destination {
  directory: string;
  log: {
    /** Number of the last entry. */
    readonly last: number;
    /** Number of the last entry found in the recordings. */
    at: number;
    /** The entry that the next recording must begin with; null if all were found. */
    next: Entry | null;
    /** Whether a row was compared with an entry. */
    isCompared: boolean;
  };
}

/** Imports recordings in the given order. */
export async function runImport(
  settings: SettingsOf<'import'>,
  files: readonly string[],
  options: ImportOptions,
): Promise<void> {
  // Before anything is written: a mistyped name must not leave an empty data directory, or import the other files.
  for (const file of files) requireInput(file);
  const ingest = openIngest({
    directory: settings.data,
    chainId: settings.network,
    machine: silentMachine,
    load: 'bulk',
    log: createLog(settings.logLevel),
    ...(options.random === undefined ? {} : { random: options.random }),
    history: 'full',
  });
  try {
    const log: Destination['log'] = { last: ingest.lastEntry(), at: 0, next: null, isCompared: false };
    const into = { directory: settings.data, log };
    await interruptible(ingest.close, async () => {
      for (const file of files) {
        const report = progressReport(file, process.stderr);
        const threads = options.threads ?? threadsOfCores();
        const counts = await importRows(ingest, file, { ...options, ...into }, threads, report.update);
        report.done();
        process.stdout.write(
          `${file}: ${counts.rows} rows, ${counts.applied} applied, ${counts.repeated} repeated, ` +
            `${counts.bad} bad; tip at height ${ingest.tipHeight()}\n`,
        );
      }
      if (log.next !== null && log.isCompared) throw tooShort(settings.data, files.at(-1)!, log.next);
    });
    makeSecondaryIndexes(ingest);
  } finally {
    ingest.close();
  }
}

/** The source under which the progress of a recording has the number of the log's last entry by then. */
const logOf = (source: string): string => `${source} log`;

const digestText = (digest: bigint): string => digest.toString(16);

const NOTHING_IMPORTED: Imported = { rows: 0, digest: '' };

/**
 * Whether a recording begins with the rows of an earlier import, which had the same first row.
 * @param file not stdin, since the rows are read
 */
async function beginsWith(file: string, { rows, digest }: Imported): Promise<boolean> {
  let [count, read] = [0, 0n];
  for await (const row of openInput(file).lines()) {
    read = rowDigest(row, read);
    count += 1;
    if (count === rows) return digestText(read) === digest;
  }
  return false;
}
