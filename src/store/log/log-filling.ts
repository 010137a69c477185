/** Fills the shared log with the journal of a data directory: many entries in each transaction, the next where the log ends. */
import { OperatorError, PassingError } from '../../base/errors.ts';
import { WAITING_COMMIT } from './engine-tables.ts';
import { CHAIN_START, decompressed, sameChain } from './entry.ts';
import { COPIED_TOGETHER, copyAfter, copyRow } from './entry-copy.ts';
import type { Session } from './postgres-engine.ts';
import type { EngineAccess } from './postgres-log.ts';
import {
  type LogHead,
  LogUnavailableError,
  LogUnknownOutcomeError,
  logEntryOf,
  type OwnEntries,
} from './shared-log.ts';

/** Rows that one transaction writes. */
interface Chunk {
  rows: Buffer[];
  last: LogHead;
}

/** Entries of the journal in chunks, from the one after `id` on. @throws JournalEntryError, JournalDamagedError */
function* chunksAfter(journal: OwnEntries, id: number): Generator<Chunk> {
  let rows: Buffer[] = [];
  let bytes = 0;
  let last: LogHead | null = null;
  for (const entry of journal.entriesAfter(id)) {
    const row = copyRow(logEntryOf(entry));
    rows.push(row);
    bytes += row.length;
    last = { seq: entry.id, chain: entry.chain };
    if (rows.length < COPIED_TOGETHER.entries && bytes < COPIED_TOGETHER.bytes) continue;
    yield { rows, last };
    rows = [];
    bytes = 0;
    last = null;
  }
  if (last !== null) yield { rows, last };
}

async function headOf({ run }: Pick<Session, 'run'>, log: string): Promise<LogHead> {
  const [row] = await run<{ seq: string; chain: Uint8Array }>(
    `SELECT seq, chain FROM ${log} ORDER BY seq DESC LIMIT 1`,
  );
  return row === undefined ? { seq: 0, chain: CHAIN_START } : { seq: Number(row.seq), chain: row.chain };
}

/** The newest entry of a log from before version 0.1.0; null where it is empty. @throws LogUnavailableError */
export async function newestOfEarlierLog({
  engine,
  tables,
}: Pick<EngineAccess, 'engine' | 'tables'>): Promise<{ seq: number; path: string; text: string } | null> {
  const [row] = await engine.read((run) =>
    run<{ seq: string; path: string; payload: Uint8Array }>(
      `SELECT seq, path, payload FROM ${tables.log} ORDER BY seq DESC LIMIT 1`,
    ),
  );
  return row === undefined ? null : { seq: Number(row.seq), path: row.path, text: decompressed(row.payload) };
}

/** Verifies that the journal goes on where the log ends. @throws OperatorError */
function requireContinuation(journal: OwnEntries, head: LogHead): void {
  const gap = journal.gaps().find(({ last }) => last > head.seq);
  if (gap !== undefined) {
    throw new OperatorError(
      `The journal lacks the events from ${gap.first} to ${gap.last}, and the shared log only has ${head.seq}.`,
      'Give the data directory of a host that has them, or make a new one by importing a recording.',
    );
  }
  const chain = journal.chainAt(head.seq);
  if (chain === null) {
    throw new OperatorError(
      `The shared log has ${head.seq} entries already, and the journal only ${journal.lastId()}.`,
      'Start this host with --cluster: it takes what it lacks from the log. Give another --cluster-prefix for another log.',
    );
  }
  if (!sameChain(chain, head.chain)) {
    throw new OperatorError(
      `The shared log is not that of this journal: entry ${head.seq} differs.`,
      'Give the data directory of a host of this log, or another --cluster-prefix for a new log.',
    );
  }
}

const AGAIN = 'Run the command again: it goes on where the log ends.';

/** What a command ends with where the engine failed; any other error as it is. */
const passing = (error: unknown, remedy: string): unknown =>
  error instanceof LogUnavailableError || error instanceof LogUnknownOutcomeError
    ? new PassingError(error.message, remedy, { cause: error })
    : error;

/** The error of entries that were not written, since the log has another one in their place. */
const appendedMeanwhile = (seq: number): PassingError =>
  new PassingError(`Another host appended entry ${seq} to the shared log meanwhile.`, AGAIN);

/**
 * Appends to the shared log what it lacks of a journal. Each entry is verified by the chain when it is read. Nothing is
 * written where another host appends meanwhile. A run that ended early is continued by the next.
 * @param filled told of the number of the newest entry after each transaction
 * @returns the log's newest entry
 * @throws OperatorError where the log is not a beginning of the journal, or the journal is damaged; PassingError where the
 *   engine fails
 */
export async function fillLog(
  { engine, tables }: EngineAccess,
  journal: OwnEntries,
  filled: (seq: number) => void,
): Promise<LogHead> {
  try {
    let head = await engine.read((run) => headOf({ run }, tables.log));
    requireContinuation(journal, head);
    for (const { rows, last } of chunksAfter(journal, head.seq)) {
      if ((await copyAfter({ engine, tables }, head, rows)) === 'conflict') throw appendedMeanwhile(head.seq + 1);
      head = last;
      filled(head.seq);
    }
    // What an earlier run left may be on one disk only.
    await engine.write(({ run }) => run(WAITING_COMMIT));
    return head;
  } catch (error) {
    throw passing(error, AGAIN);
  }
}
