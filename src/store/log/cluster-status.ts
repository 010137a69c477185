/** Where a shared log and its hosts stand. */

import { readHosts, type SeenHost } from './cluster-hosts.ts';
import { type EngineStatus, engineStatus } from './engine-status.ts';
import { requireTables } from './engine-tables.ts';
import { CHAIN_START, sameChain } from './entry.ts';
import { type LeaseState, readLeases } from './postgres-leases.ts';
import type { EngineAccess } from './postgres-log.ts';
import type { LogHead, OwnEntries } from './shared-log.ts';

/** Where the journal of a data directory stands. */
export interface DirectoryPosition {
  /** The newest entry of the journal. */
  seq: number;
  /** Whether journal and log hold the same entries, as far as both go; null for a trimmed journal that begins after the log's end. */
  fits: boolean | null;
}

export interface ClusterStatus {
  /** Null until a host named it. */
  chainId: number | null;
  head: LogHead;
  /** What the log takes on the disk of PostgreSQL. */
  bytes: number;
  hosts: SeenHost[];
  leases: LeaseState[];
  /** Null where no data directory was given, or it has no journal yet. */
  directory: DirectoryPosition | null;
  engine: EngineStatus;
}

interface LogRow {
  seq: string;
  chain: Uint8Array;
}

/**
 * @param journal of a data directory to compare with the log
 * @throws OperatorError where there is no log, LogUnavailableError
 */
export async function clusterStatus(access: EngineAccess, journal: OwnEntries | null): Promise<ClusterStatus> {
  const { engine, tables } = access;
  await requireTables(engine, tables);
  const [newest] = await engine.read((run) =>
    run<LogRow>(`SELECT seq, chain FROM ${tables.log} ORDER BY seq DESC LIMIT 1`),
  );
  const head = newest === undefined ? { seq: 0, chain: CHAIN_START } : { seq: Number(newest.seq), chain: newest.chain };
  const [facts] = await engine.read((run) =>
    run<{ chain_id: string | null; bytes: string }>(
      `SELECT chain_id, pg_total_relation_size('${tables.log}') AS bytes FROM ${tables.meta}`,
    ),
  );
  return {
    chainId: facts?.chain_id == null ? null : Number(facts.chain_id),
    head,
    bytes: Number(facts?.bytes ?? 0),
    hosts: await readHosts(access),
    leases: await readLeases(access),
    directory: journal === null ? null : await positionOf(access, journal, head),
    engine: await engineStatus(access),
  };
}

async function positionOf(
  { engine, tables }: EngineAccess,
  journal: OwnEntries,
  head: LogHead,
): Promise<DirectoryPosition> {
  const seq = journal.lastId();
  const shared = Math.min(seq, head.seq);
  const [row] = await engine.read((run) =>
    run<LogRow>(`SELECT seq, chain FROM ${tables.log} WHERE seq = $1`, [shared]),
  );
  const [ofLog, ofJournal] = [shared === 0 ? CHAIN_START : row?.chain, journal.chainAt(shared)];
  return { seq, fits: ofJournal === null ? null : ofLog !== undefined && sameChain(ofLog, ofJournal) };
}

/** Entries whose numbers are looked at together, and the most stretches that are named. */
const COUNTED_TOGETHER = 100_000;
const MOST_NAMED = 10;

/**
 * Stretches of entries that the log lacks before its newest one, oldest first, by their numbers alone.
 * @throws LogUnavailableError
 */
export async function missingEntries({ engine, tables }: EngineAccess): Promise<{ first: number; last: number }[]> {
  const after = `(SELECT seq FROM ${tables.log} WHERE seq > $1::bigint ORDER BY seq LIMIT ${COUNTED_TOGETHER}) AS stretch`;
  const counted = `SELECT max(seq) AS newest, count(*) AS number FROM ${after}`;
  const holes =
    'SELECT before + 1 AS first, seq - 1 AS last' +
    ` FROM (SELECT seq, lag(seq, 1, $1::bigint) OVER (ORDER BY seq) AS before FROM ${after}) AS pair` +
    ` WHERE seq > before + 1 ORDER BY seq LIMIT ${MOST_NAMED}`;
  const found: { first: number; last: number }[] = [];
  for (let last = 0; found.length < MOST_NAMED; ) {
    const [row] = await engine.read((run) => run<{ newest: string | null; number: string }>(counted, [last]));
    if (row?.newest == null) break;
    if (Number(row.newest) - last !== Number(row.number)) {
      const rows = await engine.read((run) => run<{ first: string; last: string }>(holes, [last]));
      found.push(...rows.map((hole) => ({ first: Number(hole.first), last: Number(hole.last) })));
    }
    last = Number(row.newest);
  }
  return found.slice(0, MOST_NAMED);
}
