/**
 * Starts a restore from a base: chooses the base, copies its entries into the journal and loads its rows into a new index. The
 * chain values verify the entries up to the base's own value. Each step continues after an interruption.
 */

import { OperatorError } from '../base/errors.ts';
import { mapAhead } from '../base/turns.ts';
import type { ObjectStoreReads } from '../storage/object-store.ts';
import { type BaseLoader, BaseRowError, openBaseLoader } from '../store/base/loader.ts';
import type { BaseTable } from '../store/base/snapshot.ts';
import { SCHEMA_VERSION } from '../store/files/database.ts';
import { type Journal, openJournal } from '../store/files/journal.ts';
import type { SecondaryIndexProgress } from '../store/files/secondary-indexes.ts';
import { compressed, sameChain } from '../store/log/entry.ts';
import { ArchiveDamagedError, restorableEntries } from './archive.ts';
import {
  type BaseManifest,
  listBases,
  type NamedBase,
  partName,
  readManifest,
  readRows,
  requirePublicRows,
  type StoredPart,
} from './base.ts';

/** The base that a restore starts from: the base of an entry, none, or if null, the newest base that fits. */
export type BaseChoice = number | 'none' | null;

export interface ChosenBase extends BaseManifest {
  name: string;
}

/** Returns why a base before the end of the restore can't be used, as the end of a sentence; null if it can. */
async function unfitReason(
  base: BaseManifest,
  { chainId, findLastUpTo }: Pick<ChoosingOptions, 'chainId' | 'findLastUpTo'>,
): Promise<string | null> {
  if (base.chain_id !== chainId) return 'it belongs to another chain than the archive';
  if (base.schema !== SCHEMA_VERSION) return `its schema is ${base.schema}, and this program's ${SCHEMA_VERSION}`;
  const last = await findLastUpTo(base);
  return base.position > last ? `the entries end with entry ${last}` : null;
}

export interface ChoosingOptions {
  store: ObjectStoreReads;
  chainId: number;
  choice: BaseChoice;
  /** Whether a base comes after the end of the restore. */
  isAfter: (base: BaseManifest) => boolean;
  /** Returns the last of the entries that follow each other from entry 1, as far as a base needs them. */
  findLastUpTo: (base: BaseManifest) => Promise<number>;
  /** Called with each skipped base and the reason, as the end of a sentence. */
  skipped: (name: string, reason: string) => void;
}

const OTHER_BASE =
  'Give an older base with --base, or --base none to begin with entry 1; stackside archive list shows the bases.';

/** Returns the base that an interrupted restore or the user chose. @throws OperatorError if it is gone */
export async function readBase(store: ObjectStoreReads, named: NamedBase): Promise<ChosenBase> {
  const base = await readManifest(store, named);
  if (base !== null) return { ...base, name: named.name };
  throw new OperatorError(`The archive at ${store.location} lacks ${named.name}.`, OTHER_BASE);
}

/**
 * Chooses the base of a restore.
 * @returns null if the restore starts with entry 1
 * @throws ArchiveDamagedError if the base is damaged; OperatorError if the base of the given entry doesn't exist or doesn't fit
 */
export async function chooseBase(options: ChoosingOptions): Promise<ChosenBase | null> {
  const { store, choice, isAfter, skipped } = options;
  if (choice === 'none') return null;
  const bases = await listBases(store);
  for (const named of bases.filter(({ id }) => choice === null || id === choice)) {
    const base = await readBase(store, named);
    if (choice === null && isAfter(base)) continue;
    const reason = isAfter(base) ? 'it comes after the end of the restore' : await unfitReason(base, options);
    if (choice !== null && reason !== null) {
      throw new OperatorError(`${base.name} of the archive at ${store.location} can't be used: ${reason}.`, OTHER_BASE);
    }
    if (reason === null) return base;
    skipped(named.name, reason);
  }
  if (choice === null) return null;
  throw new OperatorError(`The archive at ${store.location} doesn't contain a base for entry ${choice}.`, OTHER_BASE);
}

export interface FillingOptions {
  /** Directory for the new files. */
  staging: string;
  store: ObjectStoreReads;
  base: ChosenBase;
  /** Whether the archive is public, so that it must omit private commands. */
  isPublic: boolean;
  report: (entry: number) => void;
  turn: () => Promise<void>;
}

/**
 * Fills the journal up to the entry of the base.
 * @throws ArchiveDamagedError if the base and the segments have different logs; PrivateContentError
 */
export async function fillJournal(options: FillingOptions): Promise<void> {
  const { staging, store, base } = options;
  const journal = openJournal(staging);
  try {
    if (journal.lastId() < base.position) await appendEntries(journal, options);
    const chainValue = journal.chainAt(base.position);
    if (chainValue === null) {
      throw new ArchiveDamagedError(store, `entry ${base.position}, the last one of ${base.name}, is missing`);
    }
    if (sameChain(chainValue, Uint8Array.fromHex(base.chain))) return;
    throw new ArchiveDamagedError(
      store,
      `${base.name} belongs to another log: entry ${base.position} of its segments has another chain value`,
    );
  } finally {
    journal.rollback();
    journal.close();
  }
}

/** Appends the archive's entries to a journal, up to the entry of the base. */
async function appendEntries(journal: Journal, { store, base, isPublic, report, turn }: FillingOptions): Promise<void> {
  for await (const entries of restorableEntries(store, journal.head(), isPublic)) {
    journal.begin();
    for (const { text, ...entry } of entries.filter(({ id }) => id <= base.position)) {
      journal.append(entry, compressed(text));
    }
    journal.commit();
    report(journal.lastId());
    await turn();
    if (journal.lastId() >= base.position) return;
  }
}

interface TablePart extends StoredPart {
  table: BaseTable;
}

/** Returns the parts in loading order. @throws ArchiveDamagedError if the base has other tables than the program */
function partsOf(store: ObjectStoreReads, { name, tables }: ChosenBase, baseTables: readonly BaseTable[]): TablePart[] {
  const shape = (table: { name: string; columns: readonly string[] }): string =>
    `${table.name}(${table.columns.join(', ')})`;
  const expected = baseTables.map((table) =>
    shape({ name: table.name, columns: table.columns.map((column) => column.name) }),
  );
  const actual = tables.map(shape);
  const other =
    actual.find((text, index) => text !== expected[index]) ?? (actual.length === expected.length ? null : 'fewer');
  if (other !== null) {
    throw new ArchiveDamagedError(store, `${name} is a damaged base: its tables don't match schema ${SCHEMA_VERSION}`);
  }
  return tables.flatMap((stored, index) => stored.parts.map((part) => ({ stored, table: baseTables[index]!, part })));
}

export interface LoadingOptions extends Pick<FillingOptions, 'staging' | 'store' | 'base' | 'isPublic' | 'turn'> {
  /** Called with the number of loaded parts and the total. */
  report: (part: number, total: number) => void;
  /** Called before each index is made. */
  making: (progress: SecondaryIndexProgress) => void;
}

function load(store: ObjectStoreReads, loader: BaseLoader, { table, part }: TablePart, rows: readonly unknown[]): void {
  try {
    loader.load(table, rows);
  } catch (cause) {
    if (!(cause instanceof BaseRowError)) throw cause;
    const name = partName(part.sha256);
    throw new ArchiveDamagedError(store, `${name} is a damaged part of a base: ${cause.message}`, { cause });
  }
}

/** Loads the rows of a base into a new index. @throws ArchiveDamagedError that names the part or the base; PrivateContentError */
export async function loadBase(options: LoadingOptions): Promise<void> {
  const { staging, store, base, isPublic, report, making, turn } = options;
  const loader = openBaseLoader(staging);
  if (loader === null) return;
  try {
    const parts = partsOf(store, base, loader.tables);
    const remaining = parts.slice(loader.loaded());
    const results = mapAhead(remaining, async (item) => ({ ...item, rows: await readRows(store, item.part) }));
    for await (const { rows, ...item } of results) {
      if (isPublic) requirePublicRows(store, item, rows);
      load(store, loader, item, rows);
      report(loader.loaded(), parts.length);
      await turn();
    }
    const { id, chain, chainId } = loader.state();
    if (id !== base.position || chain.toHex() !== base.chain || chainId !== base.chain_id) {
      throw new ArchiveDamagedError(store, `${base.name} is a damaged base: its rows belong to entry ${id}`);
    }
    for (const progress of loader.finish()) making(progress);
  } finally {
    loader[Symbol.dispose]();
  }
}
