/** `stackside import`: imports event recordings into the index. */
import { OperatorError } from '../../base/errors.ts';
import { discard } from '../../base/garbage.ts';
import { isHostPath, isNodeQueryPath, PayloadError } from '../../chain/payload-reader.ts';
import type { RecordingFormat } from '../../chain/recording.ts';
import { silentMachine } from '../../hooks/machine.ts';
import type { SettingsOf } from '../../settings/config.ts';
import type { ImportProgress } from '../../store/files/journal.ts';
import { ForeignChainError } from '../../store/ingest/chain-identity.ts';
import { PreparedEvent, type ReceivedEvent } from '../../store/ingest/event.ts';
import { PartialHistoryError } from '../../store/ingest/history-start.ts';
import { type Ingest, type IngestOptions, type Outcome, openIngest } from '../../store/ingest/ingest.ts';
import { UnknownParentError } from '../../store/ingest/known-blocks.ts';
import type { Entry } from '../../store/log/entry.ts';
import { interruptible } from '../cli/output.ts';
import { makeSecondaryIndexes, type Progress, progressReport } from '../cli/progress.ts';
import { commandLog } from './command-log.ts';
import { type Input, openInput, requireInput } from './input.ts';
import { LogBeginning } from './log-beginning.ts';
import { readAhead, threadsOfCores } from './read-ahead.ts';
import {
  findDisorder,
  type RecordingRow,
  type RowBatch,
  type RowEvent,
  rowDigest,
  rowsOf,
  SeenIds,
  unsortedError,
} from './recording-rows.ts';

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
const findProgress = async (file: string, imported: ImportProgress): Promise<ImportProgress> =>
  imported.rows === 0 || (await beginsWith(file, imported)) ? imported : NOTHING_IMPORTED;

const otherRecordingError = (file: string, rows: number): OperatorError =>
  new OperatorError(
    `${file} differs from the recording of which ${rows} rows were imported.`,
    'Add --restart to import the recording from its first row.',
  );

/** @param isNew whether the data had no entry before the import, so that only --network decides the chain */
const foreignChainError = (file: string, row: number, cause: ForeignChainError, isNew: boolean): OperatorError =>
  new OperatorError(
    `The recording ${file} belongs to another chain${isNew ? ' than --network' : ''}: in row ${row}, ${cause.problem}.`,
    isNew ? 'Leave out --network, or correct it.' : 'Give each chain its own --data directory.',
    { cause },
  );

/** The remedy for a recording that doesn't begin with the log of the directory. */
const NEW_DIRECTORY = 'Give a new directory with --data, and import the recording into it.';

const differentLogError = (directory: string, file: string, row: number, { id, path }: Entry): OperatorError =>
  new OperatorError(
    `${file} does not begin with the log in ${directory}: row ${row} differs from entry ${id} (${path}).`,
    NEW_DIRECTORY,
  );

const tooShortError = (directory: string, file: string, { id, path }: Entry): OperatorError =>
  new OperatorError(
    `${file} does not begin with the log in ${directory}: it ends before entry ${id} (${path}).`,
    NEW_DIRECTORY,
  );

/** The remedy for the first row, if it can't be imported: the file may be an archive, a dump or a database. */
const BAD_FILE =
  'Give a recording as TSV, plain or compressed with gzip or zstd. To skip such rows of a recording, add --skip-bad.';

/** The remedy for a later row. @param mayBeUnsorted whether the rows may have another order, which can't be looked up */
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

const toEvent = (event: RowEvent): ReceivedEvent =>
  'prepared' in event ? new PreparedEvent(event.path, event.receivedAt, event.prepared) : event;

class RecordingImport {
  readonly counts: Counts = { rows: 0, applied: 0, repeated: 0, bad: 0 };
  readonly #seen = new SeenIds();
  /** Identifies the recording by its first row; null for a stream until that row is read. */
  #source: string | null;
  #imported: ImportProgress;
  #beginning: LogBeginning;
  /** Whether the recording was found to belong to this chain. Until then, none of its rows become durable. */
  #isOurs: boolean;
  /** Digest of the rows so far. */
  #digest = 0n;
  #batch = { rows: 0, bytes: 0 };
  /** Whether all rows were found to be in the order of their ids. */
  #isOrdered = false;

  private constructor(
    private readonly ingest: Ingest,
    private readonly file: string,
    private readonly input: Input,
    private readonly options: ImportOptions & Destination,
    source: string | null,
    imported: ImportProgress,
  ) {
    this.#source = source;
    this.#imported = imported;
    this.#isOurs = imported.rows > 0;
    this.#beginning = this.#makeBeginning();
  }

  /** The entries of the log that the rows must match. */
  get beginning(): LogBeginning {
    return this.#beginning;
  }

  /** Opens a recording, and finds how much of it was imported before. @throws OperatorError if it can't be read */
  static async open(ingest: Ingest, file: string, options: ImportOptions & Destination): Promise<RecordingImport> {
    const input = openInput(file);
    const first = await firstDigest(file, input);
    const source = first === null ? null : digestText(first);
    const imported =
      source === null || options.restart ? NOTHING_IMPORTED : await findProgress(file, ingest.imported(source));
    return new RecordingImport(ingest, file, input, options, source, imported);
  }

  /** Finds how much of a stream was imported before, by its first row. */
  #beginStream(first: bigint): void {
    this.#source = digestText(first);
    if (!this.options.restart) this.#imported = this.ingest.imported(this.#source);
    this.#isOurs = this.#imported.rows > 0;
    this.#beginning = this.#makeBeginning();
  }

  #makeBeginning(): LogBeginning {
    const { lastMatch, lastEntry } = this.options;
    const entry =
      this.#source === null || this.#imported.rows === 0 ? 0 : this.ingest.imported(logOf(this.#source)).rows;
    return new LogBeginning(this.ingest.entries, Math.max(lastMatch, entry), lastEntry);
  }

  /** Imports the rows that weren't imported before. @throws OperatorError */
  async run(threads: number, report: (progress: Progress) => void): Promise<void> {
    const { ingest } = this;
    const unprepared = this.#imported.rows + this.#beginning.left();
    const batches = batchesOf(ingest, this.file, this.input, this.options, threads, unprepared);
    for await (const { rows, read } of batches) {
      for (const row of rows) {
        const isInBatch = await this.#import(row);
        if (!isInBatch || !this.#addToBatch(row.bytes)) continue;
        this.#recordProgress(this.#digest);
        if (this.#beginning.next === null) ingest.commitToJournal();
        report({ rows: this.counts.rows, height: ingest.tipHeight(), read, size: this.input.size });
      }
      // The runtime holds a batch longer than it is used, and a genesis block's row has 80 MB.
      rows.length = 0;
    }
    if (this.counts.rows < this.#imported.rows) throw otherRecordingError(this.file, this.#imported.rows);
    if (this.#beginning.next === null) this.#commit(this.#digest);
  }

  /** Imports a row. @returns whether it belongs to a batch: false if it has no new event. @throws OperatorError */
  async #import(row: RecordingRow): Promise<boolean> {
    const { counts } = this;
    const previous = this.#digest;
    this.#digest = row.digest;
    if (this.#source === null) this.#beginStream(row.digest);
    counts.rows += 1;
    const { rows, digest } = this.#imported;
    if (counts.rows === rows && digestText(row.digest) !== digest) throw otherRecordingError(this.file, rows);
    const isImported = counts.rows <= rows;
    try {
      if (row.problem !== null) throw new PayloadError(row.problem);
      const { event } = row;
      if (event === null || !this.#seen.add(event.id) || isImported || isForeign(event.path)) return false;
      counts[await this.#apply(toEvent(event))] += 1;
      this.#isOurs ||= event.path === '/new_block';
    } catch (error) {
      if (error instanceof ForeignChainError) {
        this.ingest.rollback();
        this.ingest.forgetChain();
        const isNew = this.options.network !== null && error.chainId !== null && this.ingest.lastEntry() === 0;
        throw foreignChainError(this.file, counts.rows, error, isNew);
      }
      if (!isBadRow(error)) throw error;
      if (isImported) return false;
      await this.#skip(error, previous);
    }
    return true;
  }

  /** Compares an event with the log's next entry, or applies it after the last one. @throws OperatorError if it is another entry */
  async #apply(event: ReceivedEvent): Promise<Outcome> {
    const { next } = this.#beginning;
    if (next === null) return this.#applyNew(event);
    if (this.#beginning.accepts(event)) return 'repeated';
    await this.#requireLowerIds();
    throw differentLogError(this.options.directory, this.file, this.counts.rows, next);
  }

  /** Applies an event. Another first block than the genesis block starts a partial history, but only if the rows are in order. */
  async #applyNew(event: ReceivedEvent): Promise<Outcome> {
    try {
      return this.ingest.apply(event);
    } catch (error) {
      if (!(error instanceof PartialHistoryError)) throw error;
      await this.#requireLowerIds();
      if (this.input.size === null && this.#seen.hasGaps) throw error;
      this.ingest.allowPartialHistory();
      return this.ingest.apply(event);
    }
  }

  /**
   * Skips a bad row if the options allow it.
   * @param previous digest of the rows before it
   * @throws OperatorError if bad rows aren't skipped, or if the row needs one that comes later
   */
  async #skip(error: Error, previous: bigint): Promise<void> {
    const { counts } = this;
    const needsParent = error instanceof UnknownParentError || error instanceof PartialHistoryError;
    if (needsParent) await this.#requireLowerIds();
    if (this.options.skipBad) {
      counts.bad += 1;
      return;
    }
    counts.rows -= 1;
    this.#commit(previous);
    throw new OperatorError(
      `Row ${counts.rows + 1} of ${this.file} can't be imported: ${error.message}.`,
      counts.rows === 0 && !needsParent
        ? BAD_FILE
        : badRowRemedy(needsParent && this.input.size === null && this.#seen.hasGaps),
    );
  }

  /** Requires that no row with a lower id comes later in the file. @throws OperatorError; rows that aren't durable are rolled back */
  async #requireLowerIds(): Promise<void> {
    if (this.#isOrdered || !this.#seen.hasGaps || this.input.size === null) return;
    const disorder = await findDisorder(this.file);
    this.#isOrdered = disorder === null;
    if (disorder === null) return;
    this.ingest.rollback();
    throw unsortedError(this.file, disorder);
  }

  /** Counts a row of the batch. @returns whether the batch is full */
  #addToBatch(bytes: number): boolean {
    const batch = this.#batch;
    batch.rows += 1;
    batch.bytes += bytes;
    return this.#isOurs && (batch.bytes >= BATCH_BYTES || batch.rows >= BATCH_ROWS);
  }

  /** Ends a batch, and records the progress, unless its rows are only compared with the log. @param digest of the rows so far */
  #recordProgress(digest: bigint): void {
    const isNew = this.#batch.rows > 0 && this.#beginning.next === null;
    this.#batch = { rows: 0, bytes: 0 };
    if (!isNew || this.#source === null) return;
    this.ingest.setImported(this.#source, { rows: this.counts.rows, digest: digestText(digest) });
    this.ingest.setImported(logOf(this.#source), { rows: this.ingest.position().id, digest: '' });
  }

  #commit(digest: bigint): void {
    this.#recordProgress(digest);
    this.ingest.commit();
  }
}

/** The data directory, and its log before the import, which the recordings must begin with. */
interface Destination {
  directory: string;
  /** The chain of --network; null if the data decides. */
  network: number | null;
  /** Number of the log's last entry. */
  lastEntry: number;
  /** Number of the last entry found in earlier recordings. */
  lastMatch: number;
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
    log: commandLog(settings.logLevel),
    ...(options.random === undefined ? {} : { random: options.random }),
    history: 'full',
  });
  try {
    const destination = { directory: settings.data, network: settings.network, lastEntry: ingest.lastEntry() };
    await interruptible(ingest.close, async () => {
      let lastMatch = 0;
      let missing: Entry | null = null;
      let isCompared = false;
      for (const file of files) {
        const report = progressReport(file, process.stderr);
        const threads = options.threads ?? threadsOfCores();
        const recording = await RecordingImport.open(ingest, file, { ...options, ...destination, lastMatch });
        await recording.run(threads, report.update);
        const { counts, beginning } = recording;
        ({ lastMatch, next: missing } = beginning);
        isCompared ||= beginning.isCompared;
        report.done();
        process.stdout.write(
          `${file}: ${counts.rows} rows, ${counts.applied} applied, ${counts.repeated} repeated, ` +
            `${counts.bad} bad; tip at height ${ingest.tipHeight()}\n`,
        );
      }
      if (missing !== null && isCompared) throw tooShortError(settings.data, files.at(-1)!, missing);
    });
    makeSecondaryIndexes(ingest);
  } finally {
    ingest.close();
  }
}

/** Returns the source under which an import stores the number of the log's last entry of a recording. */
const logOf = (source: string): string => `${source} log`;

const digestText = (digest: bigint): string => digest.toString(16);

const NOTHING_IMPORTED: ImportProgress = { rows: 0, digest: '' };

/**
 * Whether a recording begins with the rows of an earlier import, which had the same first row.
 * @param file not stdin, since the rows are read
 */
async function beginsWith(file: string, { rows, digest }: ImportProgress): Promise<boolean> {
  let [count, read] = [0, 0n];
  for await (const row of openInput(file).lines()) {
    read = rowDigest(row, read);
    count += 1;
    if (count === rows) return digestText(read) === digest;
  }
  return false;
}
