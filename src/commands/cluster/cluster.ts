/** `stackside cluster init` and `stackside cluster status`. */
import { existsSync } from 'node:fs';
import { OperatorError, TemporaryError } from '../../base/errors.ts';
import { durationInWords, plural } from '../../base/format.ts';
import { chainIdText } from '../../chain/network.ts';
import { type ClusterStatus, clusterStatus, type SeenHost } from '../../cluster/cluster-status.ts';
import { fillHole, fillLog, type LogFault, type VerifiedEntry, verifyRange } from '../../cluster/comparing.ts';
import { type EngineAccess, engineAccess, grantStatements, makeTables } from '../../cluster/engine-tables.ts';
import { otherChainError } from '../../cluster/host.ts';
import { hostOf } from '../../cluster/lease-keeper.ts';
import type { LeaseState } from '../../cluster/leases.ts';
import { hasState, loginRefusal } from '../../cluster/postgres-engine.ts';
import { PostgresLog } from '../../cluster/postgres-log.ts';
import {
  CORRUPT_LOG_REMEDY,
  DamagedLogError,
  LogUnavailableError,
  LogUnknownOutcomeError,
} from '../../cluster/shared-log.ts';
import { toHex } from '../../codec/hex.ts';
import { type KeyLocation, loadOrCreateSealing, secretReader, secretsKeyFile } from '../../hooks/delivery/sealing.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { indexPath, journalPath, openReader } from '../../store/files/database.ts';
import type { JournalReader } from '../../store/files/journal.ts';
import { openWholeJournal } from '../../store/files/journal-link.ts';
import { lockWriter } from '../../store/files/lock.ts';
import { directoryStatus } from '../../store/files/status.ts';
import { hookSecrets } from '../../store/hooks/store.ts';
import { PartialHistoryError } from '../../store/ingest/history-start.ts';
import { LOG_START } from '../../store/log/entry.ts';
import { historyStartQuery } from '../../store/queries/blocks/chain.ts';
import { etaText, progressLines } from '../cli/progress.ts';
import { clusterLogJson } from './host.ts';

type InitSettings = SettingsOf<'cluster init'>;
type StatusSettings = SettingsOf<'cluster status'>;

const INSUFFICIENT_PRIVILEGE = '42501';
const RIGHTS_REMEDY =
  'Name a role that has this right in --cluster: stackside cluster init is run by the owner of the tables, and prints the statements that give other roles their rights.';

/** Runs work on the log's engine. @throws OperatorError; TemporaryError if the engine fails */
async function onEngine<T>(settings: StatusSettings, work: (access: EngineAccess) => Promise<T>): Promise<T> {
  if (settings.cluster === null) {
    throw new OperatorError('This command needs the URL of a shared log.', 'Set --cluster or STACKSIDE_CLUSTER.');
  }
  const access = engineAccess(settings.cluster, settings.clusterPrefix);
  try {
    return await work(access);
  } catch (error) {
    if (!(error instanceof LogUnavailableError || error instanceof LogUnknownOutcomeError)) throw error;
    const lacksRight = hasState(error, INSUFFICIENT_PRIVILEGE);
    if (lacksRight) throw new OperatorError(error.message, RIGHTS_REMEDY, { cause: error });
    const refusal = loginRefusal(error);
    if (refusal !== null) throw refusal;
    const remedy =
      'Check --cluster and the server. If its primary is lost, promote a standby. If a commit is not confirmed, start the standbys that it waits for. Then repeat the command.';
    throw new TemporaryError(error.message, remedy, { cause: error });
  } finally {
    await access.engine.close();
  }
}

/** Sets the log's chain to that of a data directory. @throws OperatorError if the log belongs to another chain */
async function requireChain(log: PostgresLog, data: string): Promise<void> {
  const chainId = existsSync(indexPath(data)) ? directoryStatus(data).chain_id : null;
  if (chainId === null) return;
  const logChain = await log.chain(chainId);
  if (logChain !== null && logChain !== chainId) throw otherChainError(logChain, chainId, data);
}

/** @throws PartialHistoryError if the history of a data directory starts at a block */
function requireWhole(data: string): void {
  if (!existsSync(indexPath(data))) return;
  using db = openReader(data);
  const start = historyStartQuery(db)();
  if (start !== null) throw PartialHistoryError.ofData(data, start.height);
}

/**
 * Creates missing tables of the shared log, and appends the journal's entries that the log lacks. An interrupted run is
 * continued by the next.
 * @throws OperatorError, also while another process writes to the data directory
 */
export async function initCluster(settings: InitSettings): Promise<void> {
  const { data } = settings;
  // Without a journal, the directory is neither read nor created.
  using _lock = existsSync(journalPath(data)) ? lockWriter(data) : null;
  requireWhole(data);
  await onEngine(settings, async (access) => {
    const isNew = await makeTables(access);
    process.stdout.write(
      isNew ? 'Created the tables of the shared log.\n' : 'The tables of the shared log already exist.\n',
    );
    if (isNew) {
      const grants = grantStatements(access.tables).map((grant) => `  ${grant}\n`);
      process.stdout.write(`If the hosts use another role, grant it these rights:\n${grants.join('')}`);
    }
    if (!existsSync(journalPath(data))) {
      process.stdout.write(`No entries were added to the log, because ${data} doesn't contain a journal.\n`);
      const key = keyFileOf(settings);
      process.stdout.write(
        existsSync(key)
          ? keyNotice(key)
          : 'Create the key for signing secrets, and copy the file to all hosts: (umask 077; openssl rand -hex 32 > secrets.key).\n',
      );
      return;
    }
    const journal = openWholeJournal(data);
    try {
      const log = new PostgresLog(access);
      await requireChain(log, data);
      const key = sharedKey(settings);
      await mendLog(log, journal);
      const head = await fillLog(log, journal, drawProgress(journal.lastId()));
      process.stdout.write(`The log now has the ${head.id} entries of the journal in ${data}.\n`);
      process.stdout.write(keyNotice(key));
    } finally {
      journal.close();
    }
  });
}

async function verifyLog(log: PostgresLog): Promise<{ verified: number; faults: LogFault[] }> {
  const { id: last } = await log.head();
  const draw = drawProgress(last, 'entries verified');
  const faults: LogFault[] = [];
  let verified: VerifiedEntry = LOG_START;
  for (let next: VerifiedEntry | null = verified; next !== null; ) {
    verified = next;
    next = await verifyRange(log, verified, (fault) => faults.push(fault));
    if (next !== null) draw(Math.min(next.id, last));
  }
  return { verified: verified.id, faults };
}

/** Gives the log missing entries before its newest one. @throws OperatorError if it stays corrupt */
async function mendLog(log: PostgresLog, journal: JournalReader): Promise<void> {
  const { faults } = await verifyLog(log);
  for (const fault of faults) {
    const { first, last } = fault;
    if (fault.fault !== 'is missing' || !(await fillHole(log, journal, fault))) {
      throw new DamagedLogError(first, fault.fault);
    }
    process.stdout.write(`Restored entries ${first} to ${last} of the log from the journal.\n`);
  }
}

const keyFileOf = ({ data, clusterKey }: KeyLocation): string => clusterKey ?? secretsKeyFile(data);

const keyNotice = (file: string): string =>
  `Signing secrets are encrypted with the key in ${file}. Copy this file to the data directory of each other host, or name it there with --cluster-key.\n`;

/**
 * The key file in a data directory for all hosts to share; creates it if there is none. Called with the writer's lock held.
 * @returns its path
 * @throws OperatorError if it can't be used
 */
function sharedKey(place: KeyLocation): string {
  const { data } = place;
  const file = keyFileOf(place);
  const isNew = !existsSync(file);
  const sealing = loadOrCreateSealing(place);
  if (isNew) process.stdout.write(`Created a key for signing secrets in ${file}.\n`);
  if (!existsSync(indexPath(data))) return file;
  using db = openReader(data);
  const unreadableSecrets = secretReader(hookSecrets(db), sealing, () => {}).unreadable();
  if (unreadableSecrets.length > 0) {
    process.stderr.write(
      `Warning: the key in ${file} does not open the signing secrets of ${plural(unreadableSecrets.length, 'consumer')}. Add the line with their key to the file, or have the consumers create new secrets.\n`,
    );
  }
  return file;
}

/** Reports progress through the log on stderr. @param last number of the last entry @param what noun for entries */
function drawProgress(last: number, what = 'entries'): (id: number) => void {
  const lines = progressLines(process.stderr);
  let first: number | null = null;
  return (id) => {
    first ??= id;
    const done = id - first;
    lines.draw((seconds) => {
      const rate = Math.round(done / seconds);
      return `${id} of ${last} ${what}, ${rate} entries/s${etaText(seconds, done, last - id)}`;
    });
    if (id === last) lines.done();
  };
}

export interface ReportOptions {
  json: boolean;
  /** Whether to verify the chain value of every entry. */
  verify: boolean;
}

/**
 * Prints the status of the log and its hosts, and on stderr warnings for the operator.
 * @returns whether no faults were found in the entries that were verified
 * @throws OperatorError
 */
export async function reportCluster(settings: StatusSettings, { json, verify }: ReportOptions): Promise<boolean> {
  const print = (lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`);
  return onEngine(settings, async (access) => {
    const log = new PostgresLog(access);
    const status = await clusterStatus(log);
    // Before the verification: it waits for the standbys, and a warning may name those that are missing.
    if (!json) {
      print(clusterLines(status));
      for (const warning of status.warnings) process.stderr.write(`Warning: ${warning}\n`);
    }
    const verified = verify ? await verifyLog(log) : null;
    const isSound = verified === null || verified.faults.length === 0;
    if (json) {
      const summary = clusterLogJson(status);
      print([JSON.stringify(verified === null ? summary : { ...summary, verification: verified })]);
    } else if (verified !== null) {
      print(verificationLines(verified));
      if (!isSound) process.stderr.write(`${CORRUPT_LOG_REMEDY}\n`);
    }
    return isSound;
  });
}

function verificationLines({ verified, faults }: { verified: number; faults: readonly LogFault[] }): string[] {
  const rangeText = ({ first, last }: LogFault): string =>
    first === last ? `entry ${first}` : `each from ${first} to ${last}`;
  return [
    line('verified', `up to entry ${verified}: ${faults.length === 0 ? 'nothing is wrong' : 'the log is corrupt'}`),
    ...faults.map((fault) => line('corrupt', `${rangeText(fault)} ${fault.fault}`)),
  ];
}

const line = (name: string, text: string): string => `${name.padEnd(14)} ${text}`;

/** Seconds without a report, two in a row, after which a host probably doesn't run or can't reach PostgreSQL. */
const MAX_REPORT_SECONDS = 10;

/** The position of a journal beside the log's newest entry. */
function lagText(head: number, entry: number): string {
  if (entry > head) return `${entry - head} above the log`;
  return entry === head ? 'up to date' : `${head - entry} behind`;
}

/** The position of a host at its last report. Entries since then count as lag only if the host had lag then, or is silent. */
function hostText(
  head: number,
  { entry, version, seen_seconds_ago: seconds, lag_seconds: lagSeconds }: SeenHost,
): string {
  const isSilent = seconds > MAX_REPORT_SECONDS;
  const isLate = lagSeconds > 0 && entry < head;
  const newest = lagSeconds === 0 && !isSilent ? Math.min(head, entry) : head;
  const lag = `${lagText(newest, entry)}${isLate ? ` for ${durationInWords(Math.ceil(lagSeconds))}` : ''}`;
  const seen = isSilent ? `not seen for ${durationInWords(seconds)}` : `seen ${seconds.toFixed(1)} s ago`;
  return `entry ${entry}, ${lag}, ${version}, ${seen}`;
}

function leaseText({ holder, epoch, seconds_left: seconds }: LeaseState): string {
  const state = seconds > 0 ? `held by ${hostOf(holder)}, expires in ${seconds.toFixed(1)} s unless renewed` : 'free';
  return `epoch ${epoch}, ${state}`;
}

/** In place of the state of a standby that the role may not read. */
const HIDDEN_STATE = 'not visible to this role without: GRANT pg_read_all_stats TO …';

/** The status of a cluster as lines of text. */
export function clusterLines({ chainId, head, bytes, hosts, leases, engine }: ClusterStatus): string[] {
  const width = Math.max(0, ...hosts.map(({ name }) => name.length));
  return [
    line('chain', chainId === null ? 'not known yet' : chainIdText(chainId)),
    line('log', `entry ${head.id}, chain value ${toHex(head.chain)}, ${(bytes / 1e6).toFixed(1)} MB`),
    ...hosts.map((host) => line('host', `${host.name.padEnd(width)}  ${hostText(head.id, host)}`)),
    ...leases.map((lease) => line('lease', `${lease.name}: ${leaseText(lease)}`)),
    line('postgresql', `${engine.version}, written at ${engine.server}`),
    line(
      'synchronous',
      engine.synchronous_standby_names === '' ? 'no' : (engine.synchronous_standby_names ?? 'not known'),
    ),
    ...engine.standbys.map(({ name, state, sync }) =>
      line('standby', `${name}  ${state ?? HIDDEN_STATE}${sync === null ? '' : `, ${sync}`}`),
    ),
  ];
}
