/** Fills the shared log with the journal of a data directory: many entries in each transaction, the next where the log ends. */
import { OperatorError, PassingError } from '../../base/errors.ts';
import type { JournalReads } from '../files/journal.ts';
import { CHAIN_START, compressed, type JournalEntry, sameChain } from '../files/journal-entry.ts';
import type { Session } from './postgres-engine.ts';
import type { EngineAccess } from './postgres-log.ts';
import { type LogHead, LogUnavailableError, LogUnknownOutcomeError } from './shared-log.ts';

/** The most entries of a transaction, and bytes of payloads after which no more are added. */
const CHUNK = { entries: 2_000, bytes: 8_000_000 };

/** What PostgreSQL's binary copies begin and end with. */
const HEADER = Buffer.concat([Buffer.from('PGCOPY\n\u00ff\r\n\0', 'latin1'), Buffer.alloc(8)]);
const TRAILER = Buffer.from([0xff, 0xff]);

/** A column of a binary copy: its length, and its bytes. */
function column(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return column(bytes);
}

const COLUMNS = 'seq, received_at, path, payload, chain';

/** A row of a binary copy. */
function rowOf({ id, receivedAt, path, text, chain }: JournalEntry): Buffer {
  const columns = [number(id), number(receivedAt), column(Buffer.from(path)), column(compressed(text)), column(chain)];
  return Buffer.concat([Buffer.from([0, columns.length]), ...columns]);
}

/** Rows that one transaction writes. */
interface Chunk {
  rows: Buffer[];
  bytes: number;
  last: LogHead;
}

/** Entries of the journal in chunks, from the one after `id` on. @throws JournalEntryError, JournalDamagedError */
function* chunksAfter(journal: JournalReads, id: number): Generator<Chunk> {
  let rows: Buffer[] = [];
  let bytes = 0;
  let last: LogHead | null = null;
  for (const entry of journal.entriesAfter(id)) {
    const row = rowOf(entry);
    rows.push(row);
    bytes += row.length;
    last = { seq: entry.id, chain: entry.chain };
    if (rows.length < CHUNK.entries && bytes < CHUNK.bytes) continue;
    yield { rows, bytes, last };
    rows = [];
    bytes = 0;
    last = null;
  }
  if (last !== null) yield { rows, bytes, last };
}

async function headOf({ run }: Pick<Session, 'run'>, log: string): Promise<LogHead> {
  const [row] = await run<{ seq: string; chain: Uint8Array }>(
    `SELECT seq, chain FROM ${log} ORDER BY seq DESC LIMIT 1`,
  );
  return row === undefined ? { seq: 0, chain: CHAIN_START } : { seq: Number(row.seq), chain: row.chain };
}

async function copy({ sql }: Session, log: string, rows: readonly Buffer[]): Promise<void> {
  const writer = sql.unsafe(`COPY ${log} (${COLUMNS}) FROM STDIN (FORMAT binary)`).writable().getWriter();
  for (const part of [HEADER, ...rows, TRAILER]) await writer.write(part);
  await writer.close();
}

/** Verifies that the journal goes on where the log ends. @throws OperatorError */
function requireContinuation(journal: JournalReads, head: LogHead): void {
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

/**
 * Appends to the shared log what it lacks of a journal. Each entry is verified by the chain when it is read. Each number is written once, so that nothing is written where another host appends meanwhile. A run that ended early is continued
 * by the next.
 * @param filled told of the number of the newest entry after each transaction
 * @returns the log's newest entry
 * @throws OperatorError where the log is not a beginning of the journal, or the journal is damaged; PassingError where the
 *   engine fails
 */
export async function fillLog(
  { engine, tables }: EngineAccess,
  journal: JournalReads,
  filled: (seq: number) => void,
): Promise<LogHead> {
  try {
    let head = await engine.read((run) => headOf({ run }, tables.log));
    requireContinuation(journal, head);
    for (const { rows, bytes, last } of chunksAfter(journal, head.seq)) {
      await engine.write((session) => copy(session, tables.log, rows), bytes);
      head = last;
      filled(head.seq);
    }
    return head;
  } catch (error) {
    if (!(error instanceof LogUnavailableError || error instanceof LogUnknownOutcomeError)) throw error;
    throw new PassingError(error.message, 'Run the command again: it goes on where the log ends.', { cause: error });
  }
}
