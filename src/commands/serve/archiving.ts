/** Archives the log while the server runs: a round every few seconds, on a separate thread. Retries until it succeeds. */

import type { Registry } from 'prom-client';
import type { ServerStatus } from '../../api/stackside/server.ts';
import { type Clock, pause, type RandomSource } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { startLoop } from '../../base/service.ts';
import { operatorErrorOf } from '../../base/system-errors.ts';
import type { Log } from '../../log.ts';
import { archiveMetrics } from '../../metrics/archive.ts';
import type { Settings } from '../../settings/config.ts';
import { objectStoreAt } from '../../storage/location.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import type { ArchiveNews, ArchiveWorker } from './archive-client.ts';

/** Milliseconds for the last round of a server that stops. Then the round is cancelled. */
const LAST_ROUND_MS = 2_000;
/** Maximum milliseconds between two attempts while the archive fails. */
const MAX_WAIT_MS = 60_000;

/** The lease of this host; without a shared log, there is none to hold. */
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

/** The archive of a server. */
export interface Archiving {
  /** Null while another host archives. */
  status: () => Omit<NonNullable<ServerStatus['archive']>, 'base'> | null;
  stop: () => Promise<void>;
}

/** Begins to archive. */
export function startArchiving(options: ArchivingOptions): Archiving {
  const { directory, location, seconds, host, lease, newestBase, worker, ingest, clock, random, registry, log } =
    options;
  /** Aborted when the last round has had its time. */
  const ended = new AbortController();
  let isHeld = false;
  /** The last entry in the archive, if known. */
  let entry = 0;
  /** Monotonic time, in milliseconds, when the archive last had every entry, or this host started to write it. */
  let levelAt = clock.monotonic();
  let failures = 0;

  function status(): ReturnType<Archiving['status']> {
    if (!isHeld) return null;
    const behind = Math.max(0, ingest.lastEntry() - entry);
    const seconds = behind === 0 ? 0 : (clock.monotonic() - levelAt) / 1_000;
    return { entry, behind_entries: behind, behind_seconds: seconds, failing: loop.failure() !== null };
  }

  archiveMetrics(registry, () => {
    const { entry: last = 0, behind_entries: behind = 0, behind_seconds: since = 0 } = status() ?? {};
    return { entry: last, behind, seconds: since, failures };
  });

  async function archive(signal: AbortSignal): Promise<void> {
    const leaseHolder = lease();
    const chainId = ingest.chainId();
    const identity = ingest.identity();
    const began = clock.monotonic();
    if (leaseHolder !== null && !isHeld) levelAt = began;
    isHeld = leaseHolder !== null;
    // An archive names its log and its chain. The first blocks show the chain.
    if (leaseHolder === null || chainId === null || identity === null) return;
    const { epoch } = leaseHolder;
    const ending = new AbortController();
    const tell = (news: ArchiveNews): void => {
      if (news.kind === 'archived') entry = news.entry;
      if (lease()?.epoch !== epoch) ending.abort();
    };
    const round = { chainId, identity, host, epoch, base: newestBase() };
    await worker.run({ kind: 'round', round }, tell, AbortSignal.any([ending.signal, signal]));
    if (!ending.signal.aborted && !signal.aborted) levelAt = began;
  }

  async function round(signal: AbortSignal): Promise<void> {
    try {
      await archive(signal);
    } catch (error) {
      failures += 1;
      throw operatorErrorOf(error, directory) ?? error;
    }
  }

  function failed({ message: reason, remedy, cause }: OperatorError): void {
    log({
      event: 'service_failing',
      service: 'archive',
      place: location,
      reason,
      remedy,
      ...(cause === undefined ? {} : { cause }),
    });
  }

  const everyMs = seconds * 1_000;
  const loop = startLoop({
    clock,
    everyMs,
    waits: { firstMs: 2 * everyMs, mostMs: MAX_WAIT_MS, random: random.number },
    turn: round,
    passes: (error) => error instanceof OperatorError,
    failed,
    recovered(inARow) {
      if (isHeld) log({ event: 'service_resumed', service: 'archive', place: location, failures: inARow });
    },
  });

  /** Archives the last entries, unless the archive is failing. */
  async function lastRound(): Promise<void> {
    await loop.stop();
    if (loop.failure() !== null || ended.signal.aborted) return;
    try {
      await round(ended.signal);
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      if (!ended.signal.aborted) failed(error);
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
