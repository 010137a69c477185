/**
 * Archives the log while the server runs, and makes bases of it, both on separate threads. Retries until it succeeds. A base
 * may read one snapshot of the index for minutes, while rounds continue. After a failure or a restart, its uploaded parts are
 * found by their content.
 */
import type { Registry } from 'prom-client';
import type { ServerStatus } from '../../api/stackside/server.ts';
import type { BaseProgress } from '../../archive/base-writer.ts';
import { type Clock, pause, type RandomSource } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { startLoop } from '../../base/service.ts';
import { operatorErrorOf } from '../../base/system-errors.ts';
import type { Log } from '../../log.ts';
import { archiveMetrics, baseMetrics } from '../../metrics/server.ts';
import type { Settings } from '../../settings/config.ts';
import { objectStoreAt } from '../../storage/location.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import type { ArchiveNews, ArchiveWork, ArchiveWorker, BaseSummary } from './archive-client.ts';

/** Milliseconds for the last round of a server that stops. Then the round is cancelled. */
const LAST_ROUND_MS = 2_000;
/** Maximum milliseconds between two attempts while the archive fails. */
const MAX_WAIT_MS = 60_000;

/** Returns the lease of this host; null while another host has it. Without a shared log, the epoch is null. */
export type ArchiveLease = () => { epoch: number | null } | null;

export interface ArchivingOptions {
  directory: string;
  location: string;
  /** Seconds between two rounds. */
  seconds: number;
  host: string;
  /** The lease now; null while another host archives. */
  lease: ArchiveLease;
  /** Entry of the newest base, if known. */
  newestBase: () => number | null;
  worker: ArchiveWorker;
  ingest: Pick<Ingest, 'chainId' | 'identity' | 'lastEntry'>;
  clock: Clock;
  random: Pick<RandomSource, 'number'>;
  registry: Registry;
  log: Log;
}

export interface Archiving {
  /** Null while another host archives. */
  status: () => Omit<NonNullable<ServerStatus['archive']>, 'base'> | null;
  stop: () => Promise<void>;
}

type SharedOption = 'directory' | 'location' | 'lease' | 'worker' | 'clock' | 'random' | 'registry' | 'log';

/** Does a piece of work, and ends it early once this host's lease has another epoch. @returns whether the work was done */
async function workInEpoch(
  epoch: number | null,
  work: ArchiveWork,
  { worker, lease }: Pick<ArchivingOptions, SharedOption>,
  hear: (news: ArchiveNews) => void,
  stopping: AbortSignal,
): Promise<boolean> {
  const lost = new AbortController();
  const signal = AbortSignal.any([lost.signal, stopping]);
  const tell = (news: ArchiveNews): void => {
    hear(news);
    if (lease()?.epoch !== epoch) lost.abort();
  };
  await worker.run(work, tell, signal);
  return !signal.aborted;
}

const isForOperator = (error: unknown): error is OperatorError => error instanceof OperatorError;

/** Makes the function that logs a failure. */
const failureLog =
  ({ log, location: place }: Pick<ArchivingOptions, SharedOption>, service: 'archive' | 'bases') =>
  ({ message: reason, remedy, cause }: OperatorError): void =>
    log({ event: 'service_failing', service, place, reason, remedy, ...(cause === undefined ? {} : { cause }) });

/** Starts to archive the log of a server. */
export function startArchiving(options: ArchivingOptions): Archiving {
  const { directory, location, seconds, host, lease, newestBase, worker, ingest, clock, random, registry, log } =
    options;
  /** Aborted when the last round has had its time. */
  const ended = new AbortController();
  let isHeld = lease() !== null;
  /** The last entry in the archive, if known. */
  let entry = 0;
  /** Monotonic time, in milliseconds, when the archive last had every entry, or this host started to write it. */
  let completeAt = clock.monotonic();
  let failures = 0;
  /** Whether the location was checked before the first entry, to report a wrong one early. */
  let isChecked = false;

  function status(): ReturnType<Archiving['status']> {
    if (!isHeld) return null;
    const lag = Math.max(0, ingest.lastEntry() - entry);
    const seconds = lag === 0 ? 0 : (clock.monotonic() - completeAt) / 1_000;
    return { entry, behind_entries: lag, behind_seconds: seconds, failing: loop.failure() !== null };
  }

  archiveMetrics(registry, () => {
    const { behind_entries: missingEntries = 0, behind_seconds: seconds = 0 } = status() ?? {};
    return { missingEntries, seconds, failures };
  });

  async function archive(signal: AbortSignal): Promise<void> {
    const leaseHolder = lease();
    const chainId = ingest.chainId();
    const identity = ingest.identity();
    const startedAt = clock.monotonic();
    if (leaseHolder !== null && !isHeld) completeAt = startedAt;
    isHeld = leaseHolder !== null;
    if (leaseHolder === null) return;
    // An archive names its log and its chain. The first blocks show the chain.
    if (chainId === null || identity === null) {
      if (!isChecked) await worker.run({ kind: 'check' }, () => {}, signal);
      isChecked = true;
      return;
    }
    const { epoch } = leaseHolder;
    const round = { chainId, identity, host, epoch, base: newestBase() };
    const hear = (news: ArchiveNews): void => {
      if (news.kind === 'archived') entry = news.entry;
    };
    if (await workInEpoch(epoch, { kind: 'round', round }, options, hear, signal)) completeAt = startedAt;
  }

  async function round(signal: AbortSignal): Promise<void> {
    try {
      await archive(signal);
    } catch (error) {
      failures += 1;
      throw operatorErrorOf(error, directory) ?? error;
    }
  }

  const logFailure = failureLog(options, 'archive');
  const everyMs = seconds * 1_000;
  const loop = startLoop({
    clock,
    everyMs,
    waits: { firstMs: 2 * everyMs, maxMs: MAX_WAIT_MS, random: random.number },
    turn: round,
    passes: isForOperator,
    failed: logFailure,
    recovered(count) {
      if (isHeld) log({ event: 'service_resumed', service: 'archive', place: location, failures: count });
    },
  });

  /** Archives the last entries, unless the archive is failing. */
  async function lastRound(): Promise<void> {
    await loop.stop();
    if (loop.failure() !== null || ended.signal.aborted) return;
    try {
      await round(ended.signal);
    } catch (error) {
      if (!isForOperator(error)) throw error;
      if (!ended.signal.aborted) logFailure(error);
    }
  }

  return {
    status,
    async stop() {
      const isDone = new AbortController();
      const last = lastRound().finally(() => isDone.abort());
      await pause(clock, LAST_ROUND_MS, isDone.signal);
      ended.abort();
      await worker.stop();
      await last;
    },
  };
}

/** Refuses settings of an archive that contradict each other. @throws OperatorError */
export function requireArchivable({
  archive,
  archivePublic,
  data,
}: Pick<Settings, 'archive' | 'archivePublic' | 'data'>): void {
  if (archive !== null) objectStoreAt(archive, data);
  if (!archivePublic || archive !== null) return;
  throw new OperatorError(
    '--archive-public is given, but no archive.',
    'Name the archive with --archive, or omit --archive-public.',
  );
}

/** Milliseconds between two looks whether a base is due. */
const LOOK_MS = 5_000;
/** Maximum milliseconds between two attempts to make a base while they fail. */
const MAX_BASE_WAIT_MS = 600_000;
/** Maximum seconds that the archive may be behind when a base begins: a long journal is archived first. */
const MAX_BEHIND_SECONDS = 60;

const HOUR_MS = 3_600_000;

export interface BasesOptions extends Pick<ArchivingOptions, SharedOption> {
  /** Hours between two bases; 0 for bases only on request. */
  hours: number;
  /** The archive as it is written; null while another host does. */
  archive: () => { behind_seconds: number; failing: boolean; entry: number } | null;
  /** Days after which older bases are removed; null to keep all. */
  keepDays: number | null;
}

/** Starts to make bases in the archive of a server. */
export function startBases(options: BasesOptions) {
  const { directory, location, hours, lease, archive, worker, keepDays, clock, random, registry, log } = options;
  /**
   * What this host knows since its lease has the epoch (undefined without the lease): the newest base (undefined until it is
   * read), and the start of the epoch in Unix milliseconds. In other epochs, other hosts may have made bases.
   */
  let known: { epoch?: number | null | undefined; newest?: BaseSummary | null; since: number } = { since: clock.now() };
  let isWanted = false;
  let step: BaseProgress | null = null;

  /** Milliseconds since the newest base. Never negative, even if the clock went back. */
  const age = (): number => Math.abs(clock.now() - (known.newest?.madeAt ?? known.since));
  /** Reports whether the newest base has all entries of the archive, so that another would equal it. */
  const isCurrent = (): boolean => known.newest != null && known.newest.entry >= (archive()?.entry ?? 0);
  const isDue = (): boolean =>
    isWanted || (hours > 0 && !isCurrent() && (known.newest === null || age() >= hours * HOUR_MS));
  const overdueSeconds = (): number =>
    hours === 0 || lease() === null || isCurrent() ? 0 : Math.max(0, Math.floor((age() - hours * HOUR_MS) / 1_000));

  baseMetrics(registry, () => ({
    seconds: known.newest == null ? 0 : Math.floor(age() / 1_000),
    overdue: overdueSeconds(),
  }));

  function hear(news: ArchiveNews, startedAt: number): void {
    if (news.kind === 'newest' || news.kind === 'made') known.newest = news.base;
    if (news.kind === 'step') step = news.step;
    if (news.kind === 'made') {
      const { base, sentParts: sent_parts, sentBytes: sent_bytes } = news;
      const { entry, height } = base;
      const seconds = Math.round((clock.monotonic() - startedAt) / 1_000);
      log({ event: 'archive_base_made', place: location, entry, height, sent_parts, sent_bytes, seconds });
    }
    if (news.kind === 'retained' && news.bases + news.parts > 0) {
      const { bases, parts } = news;
      log({ event: 'archive_bases_removed', place: location, bases, parts });
    }
  }

  /** Looks at the newest base, and makes one if it is due. @returns whether a base was due and couldn't be made yet */
  async function work(stopping: AbortSignal): Promise<boolean> {
    const epoch = lease()?.epoch;
    if (epoch !== known.epoch) known = { epoch, since: clock.now() };
    const state = archive();
    const isReady = state !== null && state.entry > 0 && !state.failing && state.behind_seconds <= MAX_BEHIND_SECONDS;
    if (epoch === undefined || !isReady) return false;
    const startedAt = clock.monotonic();
    const run = (make: boolean): Promise<boolean> =>
      workInEpoch(epoch, { kind: 'base', make, keepDays }, options, (news) => hear(news, startedAt), stopping);
    if (known.newest === undefined && !(await run(false))) return false;
    if (!isDue() || !(await run(true))) return false;
    isWanted = false;
    return isDue();
  }

  let wait = LOOK_MS;

  async function turn(signal: AbortSignal): Promise<number> {
    try {
      // While a base is due but can't be made, the wait doubles.
      wait = (await work(signal)) ? Math.min(2 * wait, MAX_BASE_WAIT_MS) : LOOK_MS;
      return wait;
    } catch (error) {
      // The work also reads the journal, to see the archive's lag.
      throw operatorErrorOf(error, directory) ?? error;
    } finally {
      step = null;
    }
  }

  const loop = startLoop({
    clock,
    everyMs: LOOK_MS,
    waits: { firstMs: 2 * LOOK_MS, maxMs: MAX_BASE_WAIT_MS, random: random.number },
    turn,
    passes: isForOperator,
    failed: failureLog(options, 'bases'),
  });
  return {
    /** Entry of the newest base; null if there is none, or it is unknown yet. */
    newest: (): number | null => known.newest?.entry ?? null,
    state: (): NonNullable<ServerStatus['archive']>['base'] => ({
      entry: known.newest?.entry ?? null,
      height: known.newest?.height ?? null,
      made_at: known.newest == null ? null : Math.floor(known.newest.madeAt / 1_000),
      overdue_seconds: overdueSeconds(),
      failing: loop.failure() !== null,
      making: step && { table: step.table, number: step.number, of: step.total, sent_bytes: step.sentBytes },
    }),
    /** Requests a base now. @returns the reason for a refusal; null if the base is made as soon as the archive has all entries */
    request(): string | null {
      if (lease() === null)
        return 'only the host that delivers chainhooks writes the archive; stackside cluster status names it';
      if (step !== null) return 'a base is being made';
      isWanted = true;
      loop.wake();
      return null;
    },
    async stop(): Promise<void> {
      await Promise.all([loop.stop(), worker.stop()]);
    },
  };
}
