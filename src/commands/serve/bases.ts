/**
 * Makes bases of the archive while the server runs, at intervals and on request, on a separate thread: it may read one
 * snapshot of the index for minutes, while rounds continue. After a failure or a restart, it finds the uploaded parts by their content.
 */

import type { ServerStatus } from '../../api/stackside/server.ts';
import type { BaseProgress } from '../../archive/base-writer.ts';
import { OperatorError } from '../../base/errors.ts';
import { startLoop } from '../../base/service.ts';
import { operatorErrorOf } from '../../base/system-errors.ts';
import { baseMetrics } from '../../metrics/archive.ts';
import type { ArchiveNews, BaseSummary } from './archive-client.ts';
import type { ArchivingOptions } from './archiving.ts';

/** Milliseconds between two looks whether a base is due. */
const LOOK_MS = 5_000;
/** Maximum milliseconds between two attempts while they fail. */
const MAX_WAIT_MS = 600_000;
/** Seconds that the archive may be behind when a base begins: one of a long journal is made first. */
const MAX_BEHIND_SECONDS = 60;

const HOUR_MS = 3_600_000;

type Shared = 'directory' | 'location' | 'lease' | 'worker' | 'clock' | 'random' | 'registry' | 'log';

export interface BasesOptions extends Pick<ArchivingOptions, Shared> {
  /** Hours between two bases; 0 for bases only on request. */
  hours: number;
  /** The archive as it is written; null while another host does. */
  archive: () => { behind_seconds: number; failing: boolean; entry: number } | null;
  /** Days after which older bases are removed; null to keep all. */
  keepDays: number | null;
}

/** Begins to make bases. */
export function startBases(options: BasesOptions) {
  const { directory, location, hours, lease, archive, worker, keepDays, clock, random, registry, log } = options;
  /** The newest base; undefined if unknown: at the start, and after another host wrote. */
  let newest: BaseSummary | null | undefined;
  /** Since when this host has written the archive without a base, in Unix milliseconds. */
  let since = clock.now();
  let epoch: number | null | undefined;
  /** Last entry in the archive at the last look. */
  let archived = 0;
  let isWanted = false;
  let step: BaseProgress | null = null;

  /** Milliseconds since the newest base. Never negative, even if the clock went back. */
  const age = (): number => Math.abs(clock.now() - (newest?.madeAt ?? since));
  /** Reports whether the newest base has all entries of the archive, so that another would equal it. */
  const isCurrent = (): boolean => newest != null && newest.entry >= archived;
  const isDue = (): boolean => isWanted || (hours > 0 && !isCurrent() && (newest === null || age() >= hours * HOUR_MS));
  const overdueSeconds = (): number =>
    hours === 0 || lease() === null || isCurrent() ? 0 : Math.max(0, Math.floor((age() - hours * HOUR_MS) / 1_000));

  baseMetrics(registry, () => ({
    entry: newest?.entry ?? 0,
    seconds: newest == null ? 0 : Math.floor(age() / 1_000),
    overdue: overdueSeconds(),
  }));

  function hear(news: ArchiveNews, started: number): void {
    if (news.kind === 'step') {
      step = news.step;
      return;
    }
    if (news.kind === 'retained') {
      const { bases, parts } = news;
      if (bases + parts > 0) log({ event: 'archive_bases_removed', place: location, bases, parts });
      return;
    }
    if (news.kind === 'archived') return;
    newest = news.base;
    if (news.kind === 'newest') return;
    const { entry, height } = news.base;
    const seconds = Math.round((clock.monotonic() - started) / 1_000);
    const { sentParts, sentBytes } = news;
    log({
      event: 'archive_base_made',
      place: location,
      entry,
      height,
      sent_parts: sentParts,
      sent_bytes: sentBytes,
      seconds,
    });
  }

  /** Looks at the newest base, and makes one if it is due. @returns whether a base was due and couldn't be made yet */
  async function work(stopping: AbortSignal): Promise<boolean> {
    const held = lease();
    const state = archive();
    if (held?.epoch !== epoch) [newest, epoch, since] = [undefined, held?.epoch, clock.now()];
    if (held === null || state === null || state.entry === 0) return false;
    if (state.failing || state.behind_seconds > MAX_BEHIND_SECONDS) return false;
    archived = state.entry;
    const ending = new AbortController();
    const started = clock.monotonic();
    const tell = (news: ArchiveNews): void => {
      hear(news, started);
      // If another host has the lease now, this host must stop writing.
      if (lease()?.epoch !== epoch) ending.abort();
    };
    const signal = AbortSignal.any([ending.signal, stopping]);
    if (newest === undefined) await worker.run({ kind: 'base', make: false, keepDays }, tell, signal);
    if (!isDue() || signal.aborted) return false;
    await worker.run({ kind: 'base', make: true, keepDays }, tell, signal);
    if (signal.aborted) return false;
    isWanted = false;
    return isDue();
  }

  let wait = LOOK_MS;

  async function turn(signal: AbortSignal): Promise<number> {
    try {
      // While a base is due but can't be made, the wait doubles.
      wait = (await work(signal)) ? Math.min(2 * wait, MAX_WAIT_MS) : LOOK_MS;
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
    waits: { firstMs: 2 * LOOK_MS, mostMs: MAX_WAIT_MS, random: random.number },
    turn,
    passes: (error) => error instanceof OperatorError,
    failed({ message: reason, remedy, cause }) {
      const why = { reason, remedy, ...(cause === undefined ? {} : { cause }) };
      log({ event: 'service_failing', service: 'bases', place: location, ...why });
    },
  });
  return {
    /** Entry of the newest base; null if there is none, or it is unknown yet. */
    newest: (): number | null => newest?.entry ?? null,
    state: (): NonNullable<ServerStatus['archive']>['base'] => ({
      entry: newest?.entry ?? null,
      height: newest?.height ?? null,
      made_at: newest == null ? null : Math.floor(newest.madeAt / 1_000),
      overdue_seconds: overdueSeconds(),
      failing: loop.failure() !== null,
      making:
        step === null ? null : { table: step.table, number: step.number, of: step.of, sent_bytes: step.sentBytes },
    }),
    /** Requests a base now. @returns the reason for a refusal; null if the base is made as soon as the archive has all entries */
    request(): string | null {
      if (lease() === null) return 'another host writes the archive';
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
