/** Entries that are written to the shared log together by one copy: all of them or none. */

import { hasState } from './engine-failure.ts';
import type { EngineTables } from './engine-tables.ts';
import { CHAIN_START, compressed, sameChain } from './entry.ts';
import type { PostgresEngine, Session } from './postgres-engine.ts';
import type { LogEntry, LogHead } from './shared-log.ts';

/** What PostgreSQL's binary copies begin and end with. */
const HEADER = Buffer.concat([Buffer.from('PGCOPY\n\u00ff\r\n\0', 'latin1'), Buffer.alloc(8)]);
const TRAILER = Buffer.from([0xff, 0xff]);

const COLUMNS = 'seq, received_at, path, payload, chain';

const UNIQUE_VIOLATION = '23505';

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

/** The most entries that are copied together, and bytes after which no more are added. */
export const COPIED_TOGETHER = { entries: 2_000, bytes: 8_000_000 };

/** The row of an entry in a binary copy. */
export function copyRow({ seq, receivedAt, path, text, chain }: LogEntry): Buffer {
  const columns = [number(seq), number(receivedAt), column(Buffer.from(path)), column(compressed(text)), column(chain)];
  return Buffer.concat([Buffer.from([0, columns.length]), ...columns]);
}

/** Whether the log has the entry. Entries are never removed from the server that this session is of. */
async function isThere({ run }: Session, log: string, { seq, chain }: LogHead): Promise<boolean> {
  if (seq === 0) return sameChain(chain, CHAIN_START);
  const rows = await run(`SELECT 1 FROM ${log} WHERE seq = $1::bigint AND chain = $2::bytea`, [seq, chain]);
  return rows.length === 1;
}

async function copy({ sql }: Session, log: string, rows: readonly Buffer[]): Promise<void> {
  const writer = sql.unsafe(`COPY ${log} (${COLUMNS}) FROM STDIN (FORMAT binary)`).writable().getWriter();
  for (const part of [HEADER, ...rows, TRAILER]) await writer.write(part);
  await writer.close();
}

/**
 * Writes entries that follow each other where `head` is the newest entry of the log.
 * @param rows as {@link copyRow} makes them
 * @returns `conflict` where another entry stands there; then nothing was written
 * @throws LogUnavailableError, LogUnknownOutcomeError
 */
export async function copyAfter(
  { engine, tables: { log } }: { engine: PostgresEngine; tables: EngineTables },
  head: LogHead,
  rows: readonly Buffer[],
): Promise<'appended' | 'conflict'> {
  const bytes = rows.reduce((sum, row) => sum + row.length, 0);
  try {
    return await engine.write(async (session) => {
      if (!(await isThere(session, log, head))) return 'conflict';
      await copy(session, log, rows);
      return 'appended';
    }, bytes);
  } catch (error) {
    // Another host was there first, with one of these entries at least: none was written.
    if (hasState(error, UNIQUE_VIOLATION)) return 'conflict';
    throw error;
  }
}
