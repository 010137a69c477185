/**
 * Removes bases of an archive that are old enough, and parts that no base needs any more.
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
import { type BaseManifest, baseAt, basesOf, PARTS, partName } from './base.ts';

const UNNEEDED = 'unneeded.json';
const MAX_LIST_BYTES = 64 * 1024 * 1024;

const Unneeded = Type.Object({
  /** Names of parts that no base needed when this was written. */
  parts: Type.Array(Type.String()),
  /** Names of parts that were removed then: a list may still have them. */
  removed: Type.Array(Type.String()),
});
type Unneeded = Static<typeof Unneeded>;

async function unneededIn(place: Place): Promise<Unneeded> {
  const bytes = await place.read(UNNEEDED, { least: 1, most: MAX_LIST_BYTES });
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

/** Number of bases and parts that were removed. */
export interface Retained {
  bases: number;
  parts: number;
}

const DAY_MS = 86_400_000;

/** The manifests of all bases by their names, the newest first; null where one can't be read. */
async function manifestsOf(place: Place): Promise<Map<string, BaseManifest> | null> {
  const manifests = new Map<string, BaseManifest>();
  for (const named of await basesOf(place)) {
    const base = await baseAt(place, named).catch((error: unknown) => {
      // Whatever this program can't read may need any part.
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
  /** Days after which bases are removed, but for the newest; null for never. */
  keepDays: number | null;
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

/**
 * Removes bases that are old enough, and parts that no base needs. Called after a base was made, by the host that writes the archive.
 * @returns null if nothing is to be removed, or a base can't be read, which keeps everything
 * @throws OperatorError if the place can't be read or written
 */
export async function retain({ place, keepDays, now, signal }: RetentionOptions): Promise<Retained | null> {
  if (keepDays === null) return null;
  const bases = await manifestsOf(place);
  if (bases === null || bases.size === 0) return null;
  let removed = 0;
  const [, ...older] = [...bases];
  for (const [name, { created_at }] of older) {
    if (signal.aborted) return null;
    if (Date.parse(created_at) >= now - keepDays * DAY_MS) continue;
    await place.remove(name);
    bases.delete(name);
    removed += 1;
  }
  return { bases: removed, parts: await removeParts(place, bases, signal) };
}
