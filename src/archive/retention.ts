/**
 * Removes bases and parts of an archive that are not needed any more, and segments, where the operator wants that.
 *
 * A part is removed once no base needed it twice in a row, with a new base between: `unneeded.json` has those of the first time. Whoever
 * makes a base sends them again, as if they were not there, and finds before its manifest is written that all other parts still are. So
 * neither a list that is too old nor a host that lost its lease leaves a base without its parts.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { OperatorError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { strictText } from '../codec/utf8.ts';
import type { Place } from '../places/files.ts';
import { contentsOf, linkedFrom, sealedSegment, timelinesIn, trimmedName } from './archive.ts';
import { type BaseManifest, baseAt, basesOf, PARTS, partName } from './base.ts';
import { type SealedRange, segmentName } from './segment.ts';

const UNNEEDED = 'unneeded.json';
const LONGEST_UNNEEDED = 64 * 1024 * 1024;

const Unneeded = Type.Object({
  /** Names of parts that no base needed when this was written. */
  parts: Type.Array(Type.String()),
  /** Names of parts that were removed then: a list may still have them. */
  removed: Type.Array(Type.String()),
});
type Unneeded = Static<typeof Unneeded>;

async function unneededIn(place: Place): Promise<Unneeded> {
  const bytes = await place.read(UNNEEDED, { least: 1, most: LONGEST_UNNEEDED });
  const found = bytes === null ? null : parsedJson(strictText(bytes) ?? '');
  // Without it, or where it is damaged, every part is unneeded for the first time.
  return Value.Check(Unneeded, found) ? found : { parts: [], removed: [] };
}

/** The parts of an archive on which a new base may rely. */
export async function reliableParts(place: Place): Promise<Set<string>> {
  const names = new Set(await place.list(PARTS));
  const { parts, removed } = await unneededIn(place);
  for (const name of [...parts, ...removed]) names.delete(name);
  return names;
}

/** How long what is kept. */
export interface ArchiveKeep {
  /** Days after which bases are removed, but for the newest; null for never. */
  days: number | null;
  /** Days after which segments are removed that no base needs; null for never. */
  segmentDays: number | null;
}

export interface Retained {
  /** Number of bases and parts that were removed. */
  bases: number;
  parts: number;
  /** The last entry that the archive lacks now; 0 where it has all. */
  upTo: number;
  /** Number of segments that were removed. */
  segments: number;
}

const DAY_MS = 86_400_000;

/** The manifests of all bases by their names, the newest first; null where one can't be read. */
async function manifestsOf(place: Place): Promise<Map<string, BaseManifest> | null> {
  const manifests = new Map<string, BaseManifest>();
  for (const named of await basesOf(place)) {
    const base = await baseAt(place, named).catch((error: unknown) => {
      // Whatever this program can't read may need any part and any segment.
      if (error instanceof OperatorError) return undefined;
      throw error;
    });
    if (base === undefined) return null;
    if (base !== null) manifests.set(named.name, base);
  }
  return manifests;
}

interface RetentionOptions {
  place: Place;
  keep: ArchiveKeep;
  /** Unix milliseconds. */
  now: number;
  /** Ends it early, as when this host lost its lease. */
  signal: AbortSignal;
}

/** Removes the parts that no base needed now and the last time. @returns how many */
async function removeParts(
  place: Place,
  bases: ReadonlyMap<string, BaseManifest>,
  signal: AbortSignal,
): Promise<number> {
  const needed = new Set(
    [...bases.values()].flatMap(({ tables }) =>
      tables.flatMap(({ parts }) => parts.map(({ sha256 }) => partName(sha256))),
    ),
  );
  const unneeded = (await place.list(PARTS)).filter((name) => !needed.has(name));
  const before = new Set((await unneededIn(place)).parts);
  const removed = unneeded.filter((name) => before.has(name));
  const parts = unneeded.filter((name) => !before.has(name));
  // A base that another host made meanwhile may need any of them.
  const now = await basesOf(place);
  if (signal.aborted || now.some(({ name }) => !bases.has(name))) return 0;
  await place.write(UNNEEDED, Buffer.from(`${JSON.stringify({ parts, removed } satisfies Unneeded)}\n`));
  for (const name of removed) {
    if (signal.aborted) break;
    await place.remove(name);
  }
  return removed.length;
}

/** The number of segments at the beginning whose last entries were received before a time, as far as clocks run forward. */
async function olderThan(place: Place, segments: readonly SealedRange[], time: number): Promise<number> {
  let [least, most] = [0, segments.length];
  while (least < most) {
    const middle = (least + most) >> 1;
    const { entries } = await sealedSegment(place, segments[middle]!, null);
    if (entries.at(-1)!.receivedAt < time) least = middle + 1;
    else most = middle;
  }
  return least;
}

/** Removes segments that no base needs. @returns how many, and the last entry that the archive lacks */
async function removeSegments(
  { place, now, signal }: RetentionOptions,
  days: number,
  bases: readonly BaseManifest[],
): Promise<Pick<Retained, 'segments' | 'upTo'>> {
  const contents = await contentsOf(place);
  const { segments, trimmed } = contents;
  const { timelines, faults } = await timelinesIn(place);
  // Other timelines share its first segments.
  if (timelines.length > 1 || faults.length > 0) return { segments: 0, upTo: trimmed.id };
  const needs = Math.min(...bases.map((base) => base.needs));
  const { linked } = linkedFrom(contents, trimmed.id + 1);
  const needless = linked.map(({ range }) => range).filter(({ last }) => last < needs);
  const old = needless.slice(0, await olderThan(place, needless, (now - days * DAY_MS) * 1_000));
  const end = old.at(-1);
  // What the archive begins with is said before anything is removed.
  if (end !== undefined) await place.create(trimmedName({ id: end.last, chain: end.chain }), Buffer.from('{}\n'));
  const upTo = end?.last ?? trimmed.id;
  const removed = segments.filter(({ last }) => last <= upTo);
  for (const range of removed) {
    if (signal.aborted) break;
    await place.remove(segmentName(range));
  }
  return { segments: removed.length, upTo };
}

/**
 * Removes what an archive need not keep. Called after a base was made, by the host that writes the archive.
 * @returns null where a base can't be read, which keeps everything
 * @throws OperatorError where the place can't be read or written
 */
export async function retain(options: RetentionOptions): Promise<Retained | null> {
  const { place, keep, now, signal } = options;
  const bases = await manifestsOf(place);
  if (bases === null || bases.size === 0) return null;
  let [removed, parts] = [0, 0];
  if (keep.days !== null) {
    const [, ...older] = [...bases];
    for (const [name, { created_at }] of older) {
      if (signal.aborted) return null;
      if (Date.parse(created_at) >= now - keep.days * DAY_MS) continue;
      await place.remove(name);
      bases.delete(name);
      removed += 1;
    }
    parts = await removeParts(place, bases, signal);
  }
  const segments =
    keep.segmentDays === null || signal.aborted
      ? { segments: 0, upTo: 0 }
      : await removeSegments(options, keep.segmentDays, [...bases.values()]);
  return { bases: removed, parts, ...segments };
}
