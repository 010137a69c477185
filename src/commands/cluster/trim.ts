/** `stackside cluster trim` and `stackside cluster drop`. */
import {
  ArchiveDamagedError,
  chosenTimeline,
  contentsOf,
  linkedFrom,
  requireIdentity,
  sealedSegment,
} from '../../archive/archive.ts';
import { basesOf, type NamedBase } from '../../archive/base.ts';
import { OperatorError } from '../../base/errors.ts';
import { mapAhead } from '../../base/map-ahead.ts';
import { OtherChainError } from '../../cluster/host.ts';
import type { Place } from '../../places/files.ts';
import { placeAt } from '../../places/place.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { readHosts } from '../../store/log/cluster-status.ts';
import type { EngineAccess } from '../../store/log/engine-tables.ts';
import { type Head, sameChain } from '../../store/log/entry.ts';
import { dropHost, trimLog } from '../../store/log/log-trimming.ts';
import { PostgresLog } from '../../store/log/postgres-log.ts';
import { duration, progressLines } from '../cli/progress.ts';
import { onEngine, slowestOf } from './cluster.ts';

type ClusterSettings = SettingsOf<'cluster'>;

/** An entry beyond which nothing is trimmed, and why, as the end of a sentence. */
interface Limit {
  entry: number;
  why: string;
}

/** The newest base of the log's own timeline, as far as the log still has its entry. @throws OperatorError where all are of others */
async function newestBaseOf(
  log: PostgresLog,
  place: Place,
  bases: readonly NamedBase[],
): Promise<NamedBase | undefined> {
  for (const base of bases) {
    const [entry] = await log.read(base.id - 1, 1);
    if (entry?.id === base.id && sameChain(entry.chain, base.chain)) return base;
  }
  const [newest] = bases;
  if (newest !== undefined) throw otherLog(place, newest.id);
  return undefined;
}

/** What limits trimming: the host that is furthest behind, and the newest base. @throws OperatorError where nothing can be trimmed */
async function limitOf(log: PostgresLog, place: Place): Promise<Limit> {
  const slowest = slowestOf(await readHosts(log.access));
  if (slowest === undefined) {
    throw new OperatorError(
      'No host has reported its place in the shared log, so that nothing can be trimmed.',
      'Start a host with --cluster first.',
    );
  }
  const base = await newestBaseOf(log, place, await basesOf(place));
  if (base === undefined) {
    throw new OperatorError(
      `The archive at ${place.location} has no base, with which a later host would begin.`,
      'A host with --archive makes bases, see --archive-base; trim once it has made one.',
    );
  }
  const { name, entry, seconds } = slowest;
  return entry <= base.id
    ? { entry, why: `host ${name} was there when it reported last, ${duration(seconds)} ago` }
    : { entry: base.id, why: 'the newest base of the archive is of that entry' };
}

/**
 * Removes the entries of the log up to a limit, a segment of the archive at a time, each once it was read back and verified.
 * @param trimmed the last entry that was removed before
 * @returns the last one now
 * @throws OperatorError where the archive is damaged or of another log; what was removed before stays so
 */
async function trimSegments(access: EngineAccess, place: Place, trimmed: Head, limit: number): Promise<Head> {
  // The chain values tell whether it is the log's.
  const timeline = await chosenTimeline(place, null);
  const { linked, fault } = linkedFrom(await contentsOf(place, timeline), trimmed.id + 1);
  const wanted = linked.filter(({ range }) => range.last <= limit);
  const progress = progressLines(process.stderr);
  let last = trimmed;
  for await (const { range, before, entries } of mapAhead(wanted, async ({ range, after }) => ({
    range,
    ...(await sealedSegment(place, range, after, timeline)),
  }))) {
    const known = range.first === last.id + 1 ? before : entries[last.id - range.first]!.chain;
    if (!sameChain(known, last.chain)) throw otherLog(place, last.id);
    const next = { id: range.last, chain: range.chain };
    const found = await trimLog(access, next);
    if (found === 'other') throw otherLog(place, next.id);
    // A host that is further behind has reported meanwhile.
    if (found === 'held') return last;
    last = next;
    progress.draw(() => `trimmed up to entry ${next.id}`);
  }
  progress.done();
  if (fault !== null && wanted.length === linked.length) throw new ArchiveDamagedError(place, fault);
  return last;
}

/**
 * Removes the oldest entries of the shared log that an archive and every host have.
 * @throws OperatorError where the archive is no archive of the log, or is damaged; PassingError if the engine fails
 */
export async function trimCluster(settings: ClusterSettings, archive: string): Promise<void> {
  const place = placeAt(archive, null);
  const identity = await requireIdentity(place);
  await onEngine(settings, async (access) => {
    const log = new PostgresLog(access);
    const chain = await log.chain(null);
    if (chain !== null && chain !== identity.chain_id) {
      throw new OtherChainError(chain, identity.chain_id, `the archive at ${place.location}`);
    }
    const { entry: limit, why } = await limitOf(log, place);
    const before = await log.trimmed();
    const last = await trimSegments(access, place, before, limit);
    process.stdout.write(
      last.id === before.id
        ? `Nothing was trimmed: the archive has no sealed segment that ends after entry ${last.id} and no later than entry ${limit}; ${why}.\n`
        : `The log was trimmed from entry ${before.id + 1} to ${last.id}. What comes after entry ${limit} is held back: ${why}.\n`,
    );
  });
}

const otherLog = ({ location }: Place, entry: number): OperatorError =>
  new OperatorError(
    `The archive at ${location} is of another log: entry ${entry} is another one there.`,
    'Nothing was removed that the archive lacks. Name the archive that the hosts of this log write (--archive).',
  );

/** Seconds without a report after which a host counts as stopped; a host that runs reports every few seconds. */
const STOPPED_SECONDS = 60;

/** Forgets a host that is gone. @throws OperatorError where there is none, or it runs */
export async function dropFromCluster(settings: ClusterSettings, name: string): Promise<void> {
  await onEngine(settings, async (access) => {
    const log = new PostgresLog(access);
    await log.requireTables();
    const host = (await readHosts(access)).find((one) => one.name === name);
    if (host === undefined) {
      throw new OperatorError(`No host of the name ${name} has reported.`, 'stackside cluster status lists the hosts.');
    }
    if (host.seconds < STOPPED_SECONDS) {
      throw new OperatorError(
        `Host ${name} reported ${Math.round(host.seconds)} s ago, and would report again.`,
        `Stop it first, and wait until ${STOPPED_SECONDS} s have passed since its last report.`,
      );
    }
    await dropHost(access, name);
    process.stdout.write(
      `Host ${name} is forgotten. If it comes back and lacks entries that were trimmed meanwhile, it begins with the archive.\n`,
    );
  });
}
