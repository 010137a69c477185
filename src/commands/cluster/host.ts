/** Joins a serving process to a cluster by its settings; and the JSON of a cluster's status. */
import { hostname } from 'node:os';
import type { Registry } from 'prom-client';
import type { StateReadings } from '../../api/server-state.ts';
import type { ClusterLog, HostsState } from '../../api/stackside/server.ts';
import type { Clock, RandomSource } from '../../base/clock.ts';
import { OperatorError, TemporaryError } from '../../base/errors.ts';
import { durationInWords } from '../../base/format.ts';
import { type Service, startLoop } from '../../base/service.ts';
import { WITHHELD_PATH } from '../../chain/payload-reader.ts';
import type { ClusterStatus, HostReport } from '../../cluster/cluster-status.ts';
import type { ClusterState, LeaseStatus } from '../../cluster/events.ts';
import { ClusterHost, otherChainError } from '../../cluster/host.ts';
import { deliveryLease, hostOf } from '../../cluster/lease-keeper.ts';
import type { LeaseEngine } from '../../cluster/leases.ts';
import { LogUnavailableError, type SharedLog } from '../../cluster/shared-log.ts';
import { startVerifying } from '../../cluster/verifying.ts';
import { toHex } from '../../codec/hex.ts';
import type { Log } from '../../log.ts';
import { clusterMetrics, leaseMetrics, verificationMetrics } from '../../metrics/cluster.ts';
import type { Settings } from '../../settings/config.ts';
import { lastWithheldIn } from '../../store/files/journal.ts';
import type { Ingest, ReceivedEvent } from '../../store/ingest/ingest.ts';
import { serverVersion } from '../cli/this-program.ts';

/** Milliseconds between two reports of this host. */
const REPORT_MS = 5_000;

/**
 * Seconds without an answer of the log, or without a successful write, until a host is not ready: its lag is unknown, or
 * events wait. A host reads the log every few seconds, but readers should not lose all hosts while a standby takes over.
 */
const MAX_FAILING_SECONDS = 60;

export interface OpenedLog {
  log: SharedLog;
  /**
   * Writes this host's report, for operators.
   * @returns whether another host has its name
   * @throws LogUnavailableError, LogUnknownOutcomeError
   */
  report(host: HostReport, isFirst: boolean): Promise<boolean>;
  /** Reads the status of the log and its hosts. @throws LogUnavailableError, OperatorError */
  status(): Promise<ClusterStatus>;
  leases: LeaseEngine;
}

/** Opens the log of a cluster. @throws OperatorError if there is none, its version differs, or the role lacks rights */
export type OpenLog = (url: string, options: { prefix: string; clock: Clock; isHost: true }) => Promise<OpenedLog>;

/** Opens the log in PostgreSQL; loads its client on demand. */
export const openClusterLog: OpenLog = async (url, options) => {
  const [{ openPostgresLog }, { clusterStatus, writeReport }, { postgresLeases }] = await Promise.all([
    import('../../cluster/postgres-log.ts'),
    import('../../cluster/cluster-status.ts'),
    import('../../cluster/leases.ts'),
  ]);
  const log = await openPostgresLog(url, options);
  return {
    log,
    report: (host, isFirst) => writeReport(log.access, host, isFirst),
    status: () => clusterStatus(log),
    leases: postgresLeases(log.access),
  };
};

/** This process as a host of a cluster. */
export type ServedCluster = NonNullable<Awaited<ReturnType<typeof joinCluster>>>;

/** Ends the claim of work that only this host does for now. */
export type Release = () => Promise<void>;

/**
 * Seconds until a claim expires, which another host may wait for if this host dies. If the work takes longer, another host does
 * it as well, which is harmless.
 */
const CLAIM_SECONDS = 60;

/** Entries that a host may lag behind the log and still be ready. */
const MAX_LAG_ENTRIES = 100;

/** Seconds after the start in which a host may not have reached the log. */
const STARTING_SECONDS = 10;

/** Explains why a host is too far behind the log; null if it isn't. */
function explainLag({ position, head, failingSeconds, failure }: ClusterState): StateReadings['log'] {
  const cause = failure === null ? '' : `: ${failure}`;
  if (head === null) {
    const reason = `This host has not reached the cluster's log yet${cause}`;
    return { reason, isReachable: failingSeconds <= STARTING_SECONDS };
  }
  if (failingSeconds > MAX_FAILING_SECONDS) {
    const reason = `The cluster's log has accepted nothing for ${durationInWords(failingSeconds)}${cause}`;
    return { reason, isReachable: false };
  }
  if (head - position <= MAX_LAG_ENTRIES) return null;
  const reason = `This host is at entry ${position} of the cluster's log; the newest entry is ${head}.`;
  return { reason, isReachable: true };
}

/** Reads the log with its hosts, or the reason why it can't be read. */
async function readLog({ status }: OpenedLog): Promise<Pick<HostsState, 'log' | 'problem'>> {
  try {
    return { log: clusterLogJson(await status()), problem: null };
  } catch (error) {
    if (!(error instanceof LogUnavailableError || error instanceof OperatorError)) throw error;
    return { log: null, problem: error.message };
  }
}

function startReporting(report: OpenedLog['report'], clock: Clock, current: () => HostReport, say: Log): Service {
  let isFirst = true;
  let isLogged = false;

  async function turn(): Promise<void> {
    const host = current();
    const isNameShared = await report(host, isFirst);
    isFirst = false;
    if (!isNameShared || isLogged) return;
    isLogged = true;
    const problem = `Another running host of the cluster has the name ${host.name}.`;
    say({ event: 'setup_warning', problem, remedy: 'Give each host a different --host-name.' });
  }

  // The reports are for people: the host itself logs that the log is unavailable, and another report follows.
  return startLoop({ clock, everyMs: REPORT_MS, firstMs: 0, turn });
}

export interface JoinOptions {
  settings: Settings;
  ingest: Ingest;
  clock: Clock;
  random: RandomSource;
  openLog: OpenLog;
  registry: Registry;
  log: Log;
}

/**
 * Refuses data of a public backup, which lack the effects of commands in the log, unless the log began with such data.
 * @throws OperatorError if the journal withholds an entry that the log has, TemporaryError if the log can't be read
 */
async function requireNothingWithheld(directory: string, log: SharedLog): Promise<void> {
  const last = lastWithheldIn(directory);
  if (last === null) return;
  try {
    const [entry] = await log.read(last - 1, 1);
    if (entry?.id === last && entry.path === WITHHELD_PATH) return;
  } catch (error) {
    if (!(error instanceof LogUnavailableError)) throw error;
    const remedy =
      'Start this host again once the log can be reached. It must check the data, which come from a public backup.';
    throw new TemporaryError(error.message, remedy, { cause: error });
  }
  throw new OperatorError(
    `The data in ${directory} come from a public backup, which lacks the private commands up to entry ${last}.`,
    'Restore a backup that was not made with --public, or start with an empty directory.',
  );
}

/**
 * Holds the host to the chain of the log. If the log is unavailable, the host checks before it reads or appends.
 * @throws OperatorError if the settings or the data belong to another chain
 */
async function requireLogChain({ chainId, holdTo }: Ingest, log: SharedLog): Promise<void> {
  try {
    const logChain = await log.chain(null);
    if (logChain === null) return;
    const ownChain = chainId();
    if (ownChain === null) holdTo(logChain);
    else if (ownChain !== logChain) throw otherChainError(logChain, ownChain, 'this host');
  } catch (error) {
    if (!(error instanceof LogUnavailableError)) throw error;
  }
}

/**
 * Opens the cluster's log; the host follows it after `start`.
 * @returns null if the settings name no cluster
 * @throws OperatorError
 */
export async function joinCluster(options: JoinOptions) {
  const { settings, ingest, clock, random, registry, log: say } = options;
  const { cluster: url, clusterPrefix: prefix } = settings;
  const { entries, queue } = ingest;
  if (url === null) return null;
  const opened = await options.openLog(url, { prefix, clock, isHost: true });
  try {
    await requireLogChain(ingest, opened.log);
    await requireNothingWithheld(settings.data, opened.log);
  } catch (error) {
    await opened.log.close();
    throw error;
  }
  const failed = Promise.withResolvers<OperatorError>();
  const name = settings.hostName ?? hostname();
  const metrics = clusterMetrics(registry, name, () => host.state());
  const host = new ClusterHost({
    log: opened.log,
    entries,
    queue,
    chainId: ingest.chainId,
    clock,
    random,
    say,
    metrics,
    failed: (error) => failed.resolve(error),
  });
  const deliveries =
    settings.mode === 'read' ? null : deliveryLease({ leases: opened.leases, host, name, ingest, clock, random, say });
  if (deliveries !== null) leaseMetrics(registry, () => deliveries.status());
  const { log } = opened;
  const hasLease = () => deliveries?.hasLease() ?? false;
  const verification = deliveries === null ? null : startVerifying({ log, entries, hasLease, clock, say });
  if (verification !== null) verificationMetrics(registry, verification.state);
  const process = random.uuid();
  const report = (): HostReport => {
    const { position, lagSeconds } = host.state();
    return { name, entry: position, version: serverVersion, lagSeconds, process };
  };
  const reports = startReporting(opened.report, clock, report, say);
  const ownState = () => hostJson(name, host.state(), deliveries?.status() ?? null);
  return {
    receive: (event: ReceivedEvent) => host.receive(event),
    commander: host.commander,
    caughtUp: (signal: AbortSignal) => host.caughtUp(signal),
    start: () => host.start(),
    host: ownState,
    /** The status of all hosts, if the log can be read. */
    hosts: async (): Promise<HostsState> => ({ host: ownState(), ...(await readLog(opened)) }),
    /** The lease for delivering chainhooks, requested once it is started; null if this host only reads. */
    deliveries,
    /** Takes the lease for other work that one host does at a time; null while another host has it. */
    async claim(work: string): Promise<Release | null> {
      // Without the process, so that a host that was killed gets its claim again when it restarts.
      const holder = `${name}/`;
      const lease = await opened.leases.give({ name: work, holder, seconds: CLAIM_SECONDS, epochSeen: 0 });
      if (!('newEpoch' in lease)) return null;
      const key = { name: work, holder, epoch: lease.newEpoch };
      return async () => void (await opened.leases.setUntil(key, 0));
    },
    /** How far this host is behind the log, if that is too far to answer; null if it isn't. */
    behind: () => explainLag(host.state()),
    /** Why the log, which answered before, is unusable; null if it isn't. */
    failure: () => (host.state().head === null ? null : host.state().failure),
    /** Resolves with the error that ended the host; only the operator can resolve it. */
    failed: failed.promise,
    async stop(): Promise<void> {
      await host.stop();
      await Promise.all([reports.stop(), verification?.stop()]);
    },
  };
}

/** The JSON of a log with its hosts, also of `stackside cluster status`. */
export const clusterLogJson = ({
  chainId,
  head,
  bytes,
  hosts,
  leases,
  engine,
  warnings,
}: ClusterStatus): ClusterLog => ({
  chain_id: chainId,
  head: { entry: head.id, chain: toHex(head.chain) },
  log_bytes: bytes,
  hosts: hosts.map((host) => ({ ...host, behind: Math.max(0, head.id - host.entry) })),
  leases: leases.map((lease) => ({ ...lease, holder: hostOf(lease.holder) })),
  engine,
  warnings,
});

/** The JSON of this host. @param deliveries its status of the lease to deliver; null if it only reads */
const hostJson = (
  name: string,
  { position, head, lagSeconds, reachable, conflicts, healed }: ClusterState,
  deliveries: LeaseStatus | null,
): NonNullable<HostsState['host']> => ({
  name,
  entry: position,
  head,
  lag_seconds: lagSeconds,
  reachable,
  conflicts,
  healed,
  deliveries:
    deliveries === null ? null : { held: deliveries.isHeld, holder: deliveries.holder, epoch: deliveries.epoch },
});
