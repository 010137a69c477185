/**
 * Removes old bases of an archive, and parts that no base needs any more.
 *
 * Stackside removes a part if no base needs it in two consecutive runs, with a new base between them. `unneeded.json` lists the
 * parts that no base needed in the first run. A host that makes a base sends these parts again, as if the archive lacked them.
 * Before it writes the manifest, it checks that the archive still has all other parts. So neither a stale list nor a host that
 * lost its lease leaves a base without its parts.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { OperatorError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { strictText } from '../codec/utf8.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { type BaseManifest, listBases, PARTS, partName, readManifest } from './base.ts';

const UNNEEDED = 'unneeded.json';
const MAX_LIST_BYTES = 64 * 1024 * 1024;

const Unneeded = Type.Object({
  /** Names of parts that no base needed when this was written. */
  parts: Type.Array(Type.String()),
  /** Names of parts that were removed then. A stale list may still contain them. */
  removed: Type.Array(Type.String()),
});
type Unneeded = Static<typeof Unneeded>;

async function readUnneeded(store: ObjectStore): Promise<Unneeded> {
  const bytes = await store.read(UNNEEDED, { min: 1, max: MAX_LIST_BYTES });
  const list = bytes === null ? null : parsedJson(strictText(bytes) ?? '');
  // If the object is missing or damaged, every unneeded part counts as unneeded for the first time.
  return Value.Check(Unneeded, list) ? list : { parts: [], removed: [] };
}

/** Returns the names of the parts that a new base may rely on. */
export async function reliableParts(store: ObjectStore): Promise<Set<string>> {
  const names = new Set(await store.list(PARTS));
  const { parts, removed } = await readUnneeded(store);
  for (const name of [...parts, ...removed]) names.delete(name);
  return names;
}

/** Number of bases and parts that were removed. */
export interface RetentionResult {
  bases: number;
  parts: number;
}

const DAY_MS = 86_400_000;

/** Returns the manifests of all bases by name, newest first; null if one can't be read. */
async function readManifests(store: ObjectStore): Promise<Map<string, BaseManifest> | null> {
  const manifests = new Map<string, BaseManifest>();
  for (const named of await listBases(store)) {
    const base = await readManifest(store, named).catch((error: unknown) => {
      // A base that this program can't read may need any part.
      if (error instanceof OperatorError) return undefined;
      throw error;
    });
    if (base === undefined) return null;
    if (base !== null) manifests.set(named.name, base);
  }
  return manifests;
}

interface RetentionOptions {
  store: ObjectStore;
  /** Days after which bases are removed, except the newest; null to keep all. */
  keepDays: number | null;
  /** Current time, in Unix milliseconds. */
  now: number;
  /** Stops early, for example when this host lost its lease. */
  signal: AbortSignal;
}

/** Removes the parts that no base needed in this run and in the run before. @returns number of removed parts */
async function removeParts(
  store: ObjectStore,
  bases: ReadonlyMap<string, BaseManifest>,
  signal: AbortSignal,
): Promise<number> {
  const needed = new Set(
    [...bases.values()].flatMap(({ tables }) =>
      tables.flatMap(({ parts }) => parts.map(({ sha256 }) => partName(sha256))),
    ),
  );
  const unneeded = (await store.list(PARTS)).filter((name) => !needed.has(name));
  const previous = new Set((await readUnneeded(store)).parts);
  const removed = unneeded.filter((name) => previous.has(name));
  const parts = unneeded.filter((name) => !previous.has(name));
  // A base that another host made in the meantime may need any of these parts.
  const current = await listBases(store);
  if (signal.aborted || current.some(({ name }) => !bases.has(name))) return 0;
  await store.write(UNNEEDED, Buffer.from(`${JSON.stringify({ parts, removed } satisfies Unneeded)}\n`));
  for (const name of removed) {
    if (signal.aborted) break;
    await store.remove(name);
  }
  return removed.length;
}

/**
 * Removes old bases, and parts that no base needs. The host that writes the archive calls it after it made a base.
 * @returns null if all bases are kept, there is no base, a base can't be read, or the signal stopped it
 * @throws OperatorError if the store can't be read or written
 */
export async function retain({ store, keepDays, now, signal }: RetentionOptions): Promise<RetentionResult | null> {
  if (keepDays === null) return null;
  const bases = await readManifests(store);
  if (bases === null || bases.size === 0) return null;
  let removed = 0;
  const [, ...older] = [...bases];
  for (const [name, { created_at }] of older) {
    if (signal.aborted) return null;
    if (Date.parse(created_at) >= now - keepDays * DAY_MS) continue;
    await store.remove(name);
    bases.delete(name);
    removed += 1;
  }
  return { bases: removed, parts: await removeParts(store, bases, signal) };
}
