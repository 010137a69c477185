/**
 * Makes a base of an index in an archive:
 *
 * 1. Send the rows of each table in parts, except those that the archive has (`sendTables`).
 * 2. Wait until the archive has the entry of the base (`isArchived`).
 * 3. Create the manifest (`createManifest`).
 *
 * So an interrupted base leaves only parts, and the next base reuses them.
 *
 * Also removes old bases (`retain`), and a part if no base needs it in two consecutive runs, with a new base between them.
 * `unneeded.json` lists the parts that no base needed in the first run. A host that makes a base sends these parts again, as if
 * the archive lacked them. Before it writes the manifest, it checks that the archive still has all other parts. So neither a
 * stale list nor a host that lost its lease leaves a base without its parts.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type Clock, pause } from '../base/clock.ts';
import { OperatorError, TemporaryError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { strictText } from '../codec/utf8.ts';
import { compressPart, type ObjectStore } from '../storage/object-store.ts';
import { type BaseSnapshot, type BaseState, type BaseTable, lastAt } from '../store/base/snapshot.ts';
import type { JournalReads } from '../store/files/journal.ts';
import { sameChain } from '../store/log/entry.ts';
import { compareEntry } from './archive.ts';
import {
  BASE_FORMAT,
  type BaseManifest,
  type BasePart,
  type BaseTableParts,
  baseName,
  listBases,
  PART,
  PARTS,
  type PartSize,
  packManifest,
  partName,
  partsOfRows,
  readManifest,
  readManifestIfSound,
} from './base.ts';

/** Maximum bytes of parts to read per millisecond, which leaves disk and network capacity to other work. */
const BYTES_PER_MS = 80_000;
/** Milliseconds between two checks whether the archive has the entry of the base. */
const LOOK_MS = 1_000;

export type BaseEvent =
  | {
      event: 'archive_base_made';
      place: string;
      entry: number;
      height: number;
      sent_parts: number;
      sent_bytes: number;
      seconds: number;
    }
  | { event: 'archive_bases_removed'; place: string; bases: number; parts: number };

export interface NewBase {
  name: string;
  manifest: BaseManifest;
  /** Number of parts that were sent, and the bytes of their objects. */
  sentParts: number;
  sentBytes: number;
  /** Number of parts that were reused from an earlier base without reading their rows. */
  reusedParts: number;
}

export interface BaseProgress {
  /** The current table, its number, and the number of tables. */
  table: string;
  number: number;
  total: number;
  sentBytes: number;
}

export interface BaseWriterOptions {
  store: ObjectStore;
  snapshot: BaseSnapshot;
  journal: Pick<JournalReads, 'chainAt' | 'read' | 'missing'>;
  program: string;
  clock: Clock;
  report: (progress: BaseProgress) => void;
  /** Stops early, after the current write. */
  signal: AbortSignal;
  /** Sizes of parts; tests use smaller parts. */
  size?: PartSize;
}

/**
 * Returns the newest base with reusable parts: it has this log and schema, its tip is still canonical, and no block was
 * completed since.
 */
async function findEarlierBase(
  { store, snapshot, journal }: BaseWriterOptions,
  state: BaseState,
): Promise<BaseManifest | null> {
  for (const named of await listBases(store)) {
    // Rows contain numbers of principals, which are valid only within one log.
    const chainValue = journal.chainAt(named.id);
    if (chainValue === null || !sameChain(chainValue, named.chain)) continue;
    const base = await readManifestIfSound(store, named);
    if (base === null || base.schema !== state.schema || base.completions !== state.completions) continue;
    if (snapshot.isCanonical(base.height, Uint8Array.fromHex(base.index_block_hash))) return base;
  }
  return null;
}

/**
 * Returns the parts that an earlier base completed for its canonical blocks, up to the first that the archive may lack. It
 * omits the last part, which may grow.
 */
function reusable(
  earlier: BaseManifest | null,
  { name, grows }: BaseTable,
  has: (part: string) => boolean,
): BasePart[] {
  if (earlier === null || grows === null) return [];
  const parts = earlier.tables.find((table) => table.name === name)?.parts.slice(0, -1) ?? [];
  const end = lastAt(grows.column, earlier.height);
  const first = parts.findIndex(({ sha256, to }) => to === undefined || to > end || !has(partName(sha256)));
  return first < 0 ? parts : parts.slice(0, first);
}

const partNames = ({ tables }: BaseManifest): string[] =>
  tables.flatMap(({ parts }) => parts.map(({ sha256 }) => partName(sha256)));

/** Returns a part that the archive lacks; undefined if it has all of them. */
async function missingPart(store: ObjectStore, parts: Iterable<string>): Promise<string | undefined> {
  const stored = new Set(await store.list(PARTS));
  return [...parts].find((name) => !stored.has(name));
}

/** Sends the parts of a new base. The base relies on the parts that the archive had before. */
async function partSender(store: ObjectStore) {
  const stored = await reliableParts(store);
  const reliedOn = new Set<string>();
  const counts = { sentParts: 0, sentBytes: 0, reusedParts: 0 };
  return {
    counts,
    isStored: (name: string): boolean => stored.has(name),

    /** Adds parts of an earlier base, whose rows aren't read. */
    reuse(parts: readonly BasePart[]): void {
      for (const { sha256 } of parts) reliedOn.add(partName(sha256));
      counts.reusedParts += parts.length;
    },

    /** Sends a part, unless the archive certainly has it. */
    async send({ sha256 }: BasePart, content: Buffer): Promise<void> {
      const name = partName(sha256);
      if (stored.has(name)) {
        reliedOn.add(name);
        return;
      }
      const packed = await compressPart(content);
      if (!(await store.create(name, packed))) reliedOn.add(name);
      stored.add(name);
      counts.sentParts += 1;
      counts.sentBytes += packed.length;
    },

    /** @throws TemporaryError if the archive lacks a part that the base relies on: another host removed it in the meantime */
    async requireParts(): Promise<void> {
      const missing = await missingPart(store, reliedOn);
      if (missing === undefined) return;
      throw new TemporaryError(
        `The archive at ${store.location} lacks ${missing}, which it had at the start of the base.`,
        'Stackside starts another base, which uploads it again.',
      );
    },
  };
}

type PartSender = Awaited<ReturnType<typeof partSender>>;

/** Sends the rows of all tables. @returns the parts of each table; null if the signal stopped it */
async function sendTables(
  { snapshot, clock, report, signal, size = PART }: BaseWriterOptions,
  earlier: BaseManifest | null,
  sender: PartSender,
): Promise<BaseTableParts[] | null> {
  const tables: BaseTableParts[] = [];
  for (const [index, table] of snapshot.tables.entries()) {
    const parts = reusable(earlier, table, sender.isStored);
    sender.reuse(parts);
    const reusedBytes = parts.reduce((sum, { bytes }) => sum + bytes, 0);
    const newRows = snapshot.rows(table, parts.at(-1)?.to ?? null);
    for (const { content, ...part } of partsOfRows(newRows, reusedBytes, size)) {
      await sender.send(part, content);
      parts.push(part);
      const { sentBytes } = sender.counts;
      report({ table: table.name, number: index + 1, total: snapshot.tables.length, sentBytes });
      await pause(clock, part.bytes / BYTES_PER_MS, signal);
      if (signal.aborted) return null;
    }
    tables.push({ name: table.name, columns: table.columns.map((column) => column.name), parts });
  }
  return tables;
}

/** Waits until the archive has the entry of the base. @returns false if the signal stopped the wait */
async function isArchived({ store, clock, signal }: BaseWriterOptions, { position }: BaseState): Promise<boolean> {
  while (!signal.aborted) {
    if ((await compareEntry(store, position)) === 'this') return true;
    await pause(clock, LOOK_MS, signal);
  }
  return false;
}

function toManifest(
  { journal, program, clock }: BaseWriterOptions,
  state: BaseState,
  tables: BaseTableParts[],
): BaseManifest {
  const entry = journal.read(state.position.id);
  if (entry === undefined) throw journal.missing(state.position.id);
  const { schema, position, chainId, tip, highest, completions } = state;
  return {
    format: BASE_FORMAT,
    program,
    created_at: new Date(clock.now()).toISOString(),
    schema,
    chain_id: chainId,
    position: position.id,
    chain: position.chain.toHex(),
    received_at: entry.receivedAt,
    height: tip.height,
    index_block_hash: tip.indexBlockHash.toHex(),
    highest,
    completions,
    tables,
  };
}

/**
 * Creates the manifest of a base, if the archive has all its parts before and after that.
 * @returns false if the signal stopped it
 * @throws TemporaryError if another host removed a part
 */
async function createManifest(
  { store, signal }: BaseWriterOptions,
  name: string,
  manifest: BaseManifest,
  sender: PartSender,
): Promise<boolean> {
  await sender.requireParts();
  if (signal.aborted) return false;
  await store.create(name, await packManifest(manifest));
  try {
    await sender.requireParts();
  } catch (error) {
    // Another host removed a part between the two checks, so this host has lost its lease.
    await store.remove(name);
    throw error;
  }
  return true;
}

/**
 * Makes a base.
 * @param state of the snapshot
 * @returns null if the archive already has the base and its parts, or the signal stopped it
 * @throws OperatorError if the store or the index can't be read, or the store can't be written
 */
export async function makeBase(options: BaseWriterOptions, state: BaseState): Promise<NewBase | null> {
  const { store } = options;
  const earlier = await findEarlierBase(options, state);
  const isSame = earlier?.position === state.position.id;
  if (isSame && (await missingPart(store, partNames(earlier))) === undefined) return null;
  const sender = await partSender(store);
  const tables = await sendTables(options, earlier, sender);
  if (tables === null || !(await isArchived(options, state))) return null;
  const [name, manifest] = [baseName(state.position), toManifest(options, state, tables)];
  return (await createManifest(options, name, manifest, sender)) ? { name, manifest, ...sender.counts } : null;
}

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
async function reliableParts(store: ObjectStore): Promise<Set<string>> {
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
  const needed = new Set([...bases.values()].flatMap(partNames));
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
