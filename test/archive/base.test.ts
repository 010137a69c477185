/** Snapshots: restoring from one, reusing parts in the next one, and rejecting damaged ones. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  type BaseManifest,
  listBases,
  PARTS,
  packManifest,
  partName,
  partsOfRows,
  readManifest,
  readRows,
} from '../../src/archive/base.ts';
import type { ArchiveRestoreOptions } from '../../src/archive/restore.ts';
import { SEGMENTS } from '../../src/archive/segment.ts';
import { lazy } from '../../src/base/cache.ts';
import { OperatorError } from '../../src/base/errors.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import { compressPart, hashOfPart, type ObjectStore } from '../../src/storage/object-store.ts';
import { openBaseLoader } from '../../src/store/base/loader.ts';
import {
  type BaseSnapshot,
  lastAt,
  type RowLine,
  rowStatements,
  snapshotForBase,
} from '../../src/store/base/snapshot.ts';
import { growingTables, journaledTables, localTables, rowsOf, type Value } from '../../src/store/check/tables.ts';
import { openToRead } from '../../src/store/files/connection.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { archive, baseIn, faultsIn, noting, refusal, restoredFrom } from '../support/data/archive.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { entryOf, ingestOf, openAt, received, simulatedEvents } from '../support/data/ingest.ts';
import { keepToEnd } from '../support/data/keep-to-end.ts';
import { sendCommand } from '../support/data/random-commands.ts';
import { journalRows, wholeIndex } from '../support/data/tables.ts';
import { forks, grown } from '../support/events/forked-chain.ts';
import { assertProperty, assertSeeds, character, Seen } from '../support/property.ts';

const { keep, folder } = keepToEnd();

/** Returns the rows of all tables that depend only on the journal, in order, as texts. */
function orderedRows(directory: string): Record<string, string[]> {
  using db = openToRead(indexPath(directory), true);
  const text = (value: Value): string => (value instanceof Uint8Array ? value.toHex() : `${typeof value} ${value}`);
  return Object.fromEntries(
    journaledTables(db).map((table) => [table.name, [...rowsOf(db, table)].map((row) => row.map(text).join())]),
  );
}

/** Returns the rows of a table that only grows, up to a height. */
function rowsUpTo(snapshot: BaseSnapshot, name: string, height: number): RowLine[] {
  const table = snapshot.tables.find((item) => item.name === name)!;
  const end = lastAt(growingTables[name]!, height);
  return [...snapshot.rows(table, null)].filter(({ at }) => at! <= end);
}

test('a base contains every table that is computed from the log', () => {
  using directory = ingestOf([]);
  using db = new Database(indexPath(directory.path), { readonly: true });
  const rows = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  using snapshot = snapshotForBase(directory.path, false);
  const names = snapshot.tables.map(({ name }) => name);
  expect([...names, ...Object.keys(localTables)].sort()).toEqual(rows.map(({ name }) => name).sort());
  expect(names).toEqual(expect.arrayContaining(Object.keys(growingTables)));
  expect(snapshot.state).toBeNull();
});

const world = fc.record({ forks: forks(), seed: fc.nat(2 ** 31) });

/** Applies events with random commands between them, and calls `at` in two places. */
async function grownWith(
  { forks: generated, seed }: { forks: Parameters<typeof grown>[0]; seed: number },
  directory: string,
  onStop: (nth: number) => Promise<void>,
): Promise<void> {
  const prng = new Prng(`bases/${seed}`);
  const events: NodeEvent[] = grown(generated).events;
  const stops = [prng.below(events.length), prng.below(events.length)].sort((a, b) => a - b);
  using open = openAt(directory);
  for (const [index, event] of events.entries()) {
    open.ingest.receive(received(event));
    for (let number = prng.below(3); number > 0; number--) await sendCommand(open.ingest, prng);
    for (const [nth, stop] of stops.entries()) if (stop === index) await onStop(nth);
  }
}

test('a restore from a base equals a replay, and rows of canonical blocks never change', () => {
  const seen = new Seen({ restored: 2, 'with hooks': 1, 'taken over': 1, 'fork since': 0, canonical: 1 });
  return assertSeeds(
    fc.asyncProperty(fc.noShrink(world), async (chosen) => {
      const source = keep(dataDirectory());
      const path = folder();
      const store = directoryFiles(path);
      let earlier: { snapshot: BaseSnapshot; height: number; hash: Uint8Array } | null = null;
      let isMade = false;
      await grownWith(chosen, source, async () => {
        const snapshot = snapshotForBase(source, false);
        if (snapshot.state === null) return snapshot[Symbol.dispose]();
        await archive(source, store);
        const base = await baseIn(source, store);
        isMade = true;
        if (base !== null && base.reusedParts > 0) {
          seen.add('taken over');
          // Another host, which has no earlier snapshot, makes the same parts.
          const other = directoryFiles(folder());
          await archive(source, other);
          expect((await baseIn(source, other))?.manifest.tables).toEqual(base.manifest.tables);
        }
        if (earlier !== null) return snapshot[Symbol.dispose]();
        const { height, indexBlockHash } = snapshot.state.tip;
        earlier = { snapshot, height, hash: indexBlockHash };
      });
      if (!isMade || earlier === null) return;
      await archive(source, store);
      const into = folder();
      await restoredFrom(store, into);
      expect(orderedRows(into)).toEqual(orderedRows(source));
      expect(wholeIndex(into)).toEqual(wholeIndex(source));
      seen.add('restored');
      if (wholeIndex(into).hooks!.length > 0) seen.add('with hooks');
      const { snapshot, height, hash } = earlier as { snapshot: BaseSnapshot; height: number; hash: Uint8Array };
      using before = snapshot;
      using after = snapshotForBase(source, false);
      if (!after.isCanonical(height, hash)) return seen.add('fork since');
      seen.add('canonical');
      for (const name of Object.keys(growingTables)) {
        expect(rowsUpTo(after, name, height)).toEqual(rowsUpTo(before, name, height));
      }
    }),
    { seen, cases: 3 },
  );
});

const events = simulatedEvents({ seed: 8, blocks: 30, transactionsPerBlock: 4, forkEvery: 9, forkDepth: 2 });
const BASE_AT = 60;
const source = keep(ingestOf(events));
const rows = journalRows(source);
const early = keep(ingestOf(events.slice(0, BASE_AT - entryOf(0))));
const original = folder();
await archive(early, directoryFiles(original));
const first = (await baseIn(early, directoryFiles(original)))!;
await archive(source, directoryFiles(original));
const expected = { tables: wholeIndex(source), rows: orderedRows(source) };

/** Returns a copy of the archive that a test can damage. */
function copy(): { path: string; store: ObjectStore } {
  const path = folder();
  cpSync(original, path, { recursive: true });
  return { path, store: directoryFiles(path) };
}

async function restoreStore(store: ObjectStore, options: Partial<ArchiveRestoreOptions> = {}): Promise<string> {
  const into = folder();
  await restoredFrom(store, into, options);
  expect(wholeIndex(into)).toEqual(expected.tables);
  expect(orderedRows(into)).toEqual(expected.rows);
  return into;
}

describe('a restore', () => {
  test('starts from the base, and its journal has all entries', async () => {
    const { store, names: seen } = noting(directoryFiles(original), 'read');
    const into = await restoreStore(store);
    expect(new Set(seen).size).toBeGreaterThan(first.sentParts);
    expect(journalRows(into)).toEqual(rows);
  });

  test('continues in a server: blocks from before the base are reverted', async () => {
    const fork = simulatedEvents({ seed: 8, blocks: 34, transactionsPerBlock: 4, forkEvery: 9, forkDepth: 2 });
    const [first, second] = [await restoreStore(directoryFiles(original)), keep(ingestOf(events))];
    for (const directory of [first, second]) {
      using open = openAt(directory);
      for (const event of fork.slice(events.length)) open.ingest.apply(event);
      open.ingest.commit();
    }
    expect(wholeIndex(first)).toEqual(wholeIndex(second));
  });

  test('has the same journal without a base and with a given base', async () => {
    for (const options of [{ base: 'none' }, { base: BASE_AT }] as const) {
      const into = await restoreStore(directoryFiles(original), options);
      expect(journalRows(into)).toEqual(rows);
    }
  });

  test('starts with entry 1 if it ends before the base', async () => {
    const until = { entry: first.manifest.position - 1 };
    const into = folder();
    expect(await restoredFrom(directoryFiles(original), into, { until })).toBe(until.entry + 1);
    expect(journalRows(into).length).toBe(until.entry + 1);
    const path = folder();
    await restoredFrom(directoryFiles(original), path, { until: { entry: first.manifest.position } });
    // A restore to a given entry gives the journal a new identity, which adds one entry.
    const { progress: _, ...reached } = wholeIndex(path);
    const { progress: __, ...expected } = wholeIndex(early);
    expect(reached).toEqual(expected);
    const beyond = restoredFrom(directoryFiles(original), folder(), { until, base: BASE_AT });
    expect(await refusal(beyond)).toContain("can't be used: it comes after the end of the restore");
    for (const earlier of [{ height: 1 }, { time: rows[2]!.receivedAt }] as const) {
      const short = folder();
      expect(await restoredFrom(directoryFiles(original), short, { until: earlier })).toBeLessThan(BASE_AT);
    }
  });

  test('is rejected if a segment from before the base is missing', async () => {
    const { path, store } = copy();
    const [, second] = await store.list('segment-');
    rmSync(join(path, second!));
    expect(await refusal(restoredFrom(store, folder()))).toContain('lacks entries');
  });

  test('continues with the same base after it was stopped at any request', async () => {
    const { store } = copy();
    const into = folder();
    for (let limit = 1; ; limit += 7) {
      let reads = 0;
      const stopping: ObjectStore = {
        ...store,
        async read(name, bounds) {
          if (++reads > limit && !name.startsWith('archive')) throw new OperatorError('The place is away.', '');
          return store.read(name, bounds);
        },
      };
      const isDone = await restoredFrom(stopping, into).then(
        () => true,
        (error: unknown) => {
          expect((error as OperatorError).message).toBe('The place is away.');
          return false;
        },
      );
      if (isDone) break;
      if (limit === 8) expect(await baseIn(source, store)).not.toBeNull();
    }
    expect(orderedRows(into)).toEqual(expected.rows);
    expect(openJournalReader(into).lastId()).toBe(rows.length);
  });
});

test('does not list the parts of a base to read entries', async () => {
  const { store, names } = noting(directoryFiles(original), 'list');
  await restoredFrom(store, folder(), { base: 'none' });
  expect(names).toContain(SEGMENTS);
  for (const parts of ['', PARTS]) expect(names).not.toContain(parts);
});

test('an interrupted upload of a base continues where it stopped, and sends no part twice', async () => {
  const path = folder();
  const store = directoryFiles(path);
  await archive(source, store);
  let creates = 0;
  const created: string[] = [];
  for (let limit = 5; ; limit += 40) {
    creates = 0;
    const stopping: ObjectStore = {
      ...store,
      async create(name, bytes) {
        if (++creates > limit) throw new OperatorError('The place is full.', '');
        created.push(name);
        return store.create(name, bytes);
      },
    };
    const base = await baseIn(source, stopping).catch((error: OperatorError) => error.message);
    if (base !== 'The place is full.') break;
    expect(await listBases(store)).toEqual([]);
  }
  expect(new Set(created).size).toBe(created.length);
  expect(await baseIn(source, store)).toBeNull();
  await restoreStore(store);
});

test('a base waits until the archive has its entry', async () => {
  const { path, store } = copy();
  const requested: string[] = [];
  const late: ObjectStore = {
    ...store,
    async list(beginning) {
      requested.push(beginning);
      if (requested.filter((name) => name === SEGMENTS).length > 2) await archive(source, store);
      return store.list(beginning);
    },
  };
  for (const name of readdirSync(path)) if (name.startsWith('open-')) rmSync(join(path, name));
  expect((await baseIn(source, late))?.manifest.position).toBe(rows.length);
  expect(requested.filter((name) => name === SEGMENTS).length).toBeGreaterThan(2);
  const ending = AbortSignal.abort();
  expect(await baseIn(early, directoryFiles(folder()), { signal: ending })).toBeNull();
});

describe('a restore rejects and names', () => {
  /** A copy of the archive whose manifest tests replace. */
  const edited = lazy(copy);

  /** Restores the edited copy after changing the original manifest. */
  async function edit(change: (manifest: BaseManifest) => void): Promise<string> {
    const { path, store } = edited();
    const manifest = structuredClone(first.manifest);
    change(manifest);
    writeFileSync(join(path, first.name), await packManifest(manifest));
    return refusal(restoredFrom(store, folder()));
  }
  const parts = first.manifest.tables.flatMap((table) => table.parts.map(({ sha256 }) => partName(sha256)));

  test('a missing part', async () => {
    const { path, store } = copy();
    expect(await faultsIn(store)).toEqual([]);
    rmSync(join(path, parts[4]!));
    expect(await faultsIn(store)).toEqual([`${parts[4]}, a part of a base, is missing`]);
    expect(await refusal(restoredFrom(store, folder()))).toContain(`${parts[4]}, a part of a base, is missing`);
    await restoreStore(store, { base: 'none' });
  });

  test('another base for an unfinished restore, which continues with the first', async () => {
    const { path, store } = copy();
    rmSync(join(path, parts[4]!));
    const into = folder();
    const missing = `${parts[4]}, a part of a base, is missing`;
    expect(await refusal(restoredFrom(store, into))).toContain(missing);
    expect(await refusal(restoredFrom(store, into, { base: 'none' }))).toBe(
      `${into} contains an unfinished restore of another archive, from another base, or to another entry.`,
    );
    expect(await refusal(restoredFrom(store, into, { base: BASE_AT }))).toContain(missing);
    cpSync(join(original, parts[4]!), join(path, parts[4]!));
    await restoredFrom(store, into);
    expect(wholeIndex(into)).toEqual(wholeIndex(source));
  });

  test('a part that is damaged or replaced by another', async () => {
    const { path, store } = copy();
    const bytes = readFileSync(join(path, parts[5]!));
    bytes[bytes.length - 3]! ^= 1;
    writeFileSync(join(path, parts[5]!), bytes);
    expect(await refusal(restoredFrom(store, folder()))).toContain(`${parts[5]} is a damaged part of a base: `);
    renameSync(join(path, parts[6]!), join(path, parts[5]!));
    expect(await refusal(restoredFrom(store, folder()))).toMatch(
      new RegExp(
        `${parts[5]} is a damaged part of a base: (its hash is wrong|it is too large)|${parts[5]} has \\d+ bytes`,
      ),
    );
  });

  test('a damaged manifest, one of a newer format, or one of another entry', async () => {
    const { path, store } = copy();
    writeFileSync(join(path, first.name), 'nothing');
    expect(await refusal(restoredFrom(store, folder()))).toContain(`${first.name} is a damaged part of a base`);
    await restoreStore(store, { base: 'none' });
    expect(await edit((manifest) => Object.assign(manifest, { format: 2 }))).toContain('has format 2');
    expect(await edit((manifest) => Object.assign(manifest, { position: 3 }))).toContain('it is the base of entry 3');
  });

  test('a base of another log', async () => {
    const { path, store } = copy();
    const other = structuredClone(first.manifest);
    other.chain = 'ab'.repeat(32);
    const name = first.name.replace(first.manifest.chain, other.chain);
    writeFileSync(join(path, name), await packManifest(other));
    rmSync(join(path, first.name));
    expect(await refusal(restoredFrom(store, folder()))).toContain(`${name} belongs to another log: entry`);
    expect(await faultsIn(store)).toEqual([
      `${name} belongs to another log: entry ${other.position} of its segments has another chain value`,
    ]);
  });

  test('a base that lacks a table or has an unknown one', async () => {
    const tables = "its tables don't match schema";
    expect(await edit((manifest) => manifest.tables.pop())).toContain(tables);
    expect(await edit((manifest) => Object.assign(manifest.tables[0]!, { name: 'sqlite_schema' }))).toContain(tables);
    expect(await edit((manifest) => manifest.tables[0]!.columns.reverse())).toContain(tables);
    expect(await edit((manifest) => manifest.tables.push(structuredClone(manifest.tables[0]!)))).toContain(tables);
  });

  test('rows that no index can contain', async () => {
    async function withRows(name: string, lines: string[]): Promise<string> {
      const content = Buffer.from(`${lines.join('\n')}\n`);
      const sha256 = hashOfPart(content);
      writeFileSync(join(edited().path, partName(sha256)), await compressPart(content));
      const message = await edit(({ tables }) => {
        const table = tables.find((item) => item.name === name)!;
        table.parts = [{ sha256, bytes: content.length, rows: lines.length }];
      });
      return message.replace(/^The archive at \S+ is damaged: /, '').replace(partName(sha256), 'PART');
    }
    const no = 'PART is a damaged part of a base: ';
    for (const [fault, ...lines] of [
      ["its rows don't match the base", '[1,"a"]', 'x'],
      ["its rows don't match", '[1,"a"],[2,"b"]', '[3,"c"]'],
      ["row 1 isn't a list of the 2 values of assets", '{"id":1}'],
      ["row 1 isn't a list of the 2 values of assets", '[1]'],
      ['row 1 has no value for assets.id', '[1.5,"a"]'],
      ['row 1 has no value for assets.id', '["9223372036854775808","a"]'],
      ['row 1 has no value for assets.id', '[null,"a"]'],
      ['row 1 has no value for assets.identifier', '[1,null]'],
      ['row 1 has no value for assets.identifier', '[1,[]]'],
      ['its rows are none of assets', '[1,"a"]', '[1,"b"]'],
    ] as const)
      expect(await withRows('assets', [...lines])).toContain(no + fault);
    const drops = await withRows('early_drops', ['["0",1,null,1]']);
    expect(drops).toContain(`${no}row 1 has no value for early_drops.tx_id`);
    const progress = (id: number) => `[${id},1,5,"00",0,0,0,0,0,null,0,0,"",null,0,null,null,null,null,null]`;
    expect(await withRows('progress', [progress(1), progress(2)])).toContain(`${no}progress has one row`);
    expect(await withRows('progress', [progress(2)])).toContain(`${no}its rows are none of progress`);
    expect(await withRows('progress', [progress(1)])).toContain('its rows belong to entry 5');
  });

  test('an entry without a base', async () => {
    expect(await refusal(restoredFrom(directoryFiles(original), folder(), { base: 3 }))).toContain(
      "doesn't contain a base for entry 3",
    );
  });
});

test('a base of another schema, or made with another setting, is skipped with a message', async () => {
  const { path, store } = copy();
  const reasons: string[] = [];
  const manifest = { ...structuredClone(first.manifest), schema: 99 };
  writeFileSync(join(path, first.name), await packManifest(manifest));
  const options = { skipped: (name: string, why: string) => reasons.push(`${name}: ${why}`) };
  expect(journalRows(await restoreStore(store, options))).toEqual(rows);
  writeFileSync(join(path, first.name), await packManifest({ ...first.manifest, chain_id: 1 }));
  await restoreStore(store, options);
  expect(reasons[0]).toMatch(new RegExp(`^${first.name}: its schema is 99, and this program's \\d+$`));
  expect(reasons[1]).toBe(`${first.name}: it belongs to another chain than the archive`);
});

const integer = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 53n - 1n, 0n),
  fc.integer().map(BigInt),
);
const text = fc.oneof(
  fc.string({ unit: character, maxLength: 20 }),
  fc.constantFrom('\0', 'a\0b', '\n', '],[', '\ufeff', '\u2028'),
);
const blob = fc.uint8Array({ maxLength: 20 });
const body = fc.record({
  position: integer,
  anchor_mode: integer,
  cost_runtime: integer,
  vm_error: fc.option(text),
  result: blob,
  function_args: fc.option(blob),
  genesis_parent_burn_block_time: fc.option(integer),
  contract_interface: fc.option(text),
});
const FIXED = 'cost_read_count, cost_read_length, cost_write_count, cost_write_length, post_conditions, raw';

test('a base preserves values of every type', () => {
  assertProperty(
    fc.property(
      fc.uniqueArray(body, { selector: ({ position }) => position, minLength: 1, maxLength: 20 }),
      (bodies) => {
        using origin = ingestOf([]);
        using into = dataDirectory();
        {
          using db = new Database(indexPath(origin.path), { strict: true });
          for (const row of bodies) {
            const names = Object.keys(row);
            db.query(
              `INSERT INTO transaction_bodies (${names.join(', ')}, ${FIXED})
             VALUES (${names.map((name) => `$${name}`).join(', ')}, 0, 0, 0, 0, x'', x'00')`,
            ).run(row as never);
          }
        }
        using snapshot = snapshotForBase(origin.path, false);
        using loader = openBaseLoader(into.path)!;
        const table = loader.tables.find(({ name }) => name === 'transaction_bodies')!;
        const size = { min: 1, target: 50, max: 300, share: 1 };
        for (const { content } of partsOfRows(snapshot.rows(table, null), 0, size)) {
          const lines = content.toString().trimEnd().split('\n');
          loader.load(
            table,
            lines.map((line) => JSON.parse(line)),
          );
        }
        expect(wholeIndex(into.path).transaction_bodies).toEqual(wholeIndex(origin.path).transaction_bodies);
      },
    ),
    { cases: 5, always: 'every case has rows' },
  );
});

test('the cost of a part depends on its rows: no table is scanned for it, and only principals are sorted', () => {
  using snapshot = snapshotForBase(early, false);
  using db = new Database(indexPath(early), { readonly: true });
  const plan = (sql: string): string =>
    db
      .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail)
      .join('; ');
  for (const table of snapshot.tables) {
    const statements = rowStatements(table, false);
    expect(plan(statements.all)).toMatch(/^SCAN t(?: USING (?:COVERING )?INDEX sqlite_autoindex_\w+)?$/);
    if (table.grows === null) continue;
    if (table.grows.isFirst)
      expect(plan(statements.after)).toMatch(/^SEARCH t USING (INTEGER )?PRIMARY KEY \(\w+>\?\)$/);
    else {
      expect(plan(statements.between)).toMatch(
        /^SCAN p(?: USING COVERING INDEX \w+)?; SEARCH t USING PRIMARY KEY \(principal_id=\?(?: AND \w+>\? AND \w+<\?)?\); USE TEMP B-TREE FOR ORDER BY$/,
      );
    }
  }
});

test('an added row changes few parts, because rows decide where a part ends', () => {
  const size = { min: 500, target: 1_000, max: 8_000, share: 1 };
  const lines = Array.from({ length: 4_000 }, (_, index) => ({
    at: null,
    line: `[${index},"${hashOfPart(Buffer.from(`${index}`))}"]`,
  }));
  const hashes = (rows: typeof lines): string[] => [...partsOfRows(rows, 0, size)].map(({ sha256 }) => sha256);
  const whole = hashes(lines);
  expect(whole.length).toBeGreaterThan(100);
  const earlier = new Set(whole);
  for (const index of [0, 2_000, 3_999]) {
    const more = [...lines.slice(0, index), { at: null, line: '[-1,"more"]' }, ...lines.slice(index)];
    expect(hashes(more).filter((hash) => !earlier.has(hash)).length).toBeLessThanOrEqual(3);
  }
  for (const { bytes } of partsOfRows(lines, 0, size)) expect(bytes).toBeLessThan(size.max + 100);
});

test('a growing table sends few parts again, and a long one has few parts', () => {
  const size = { min: 1_000, target: 3_000, max: 20_000, share: 1 / 50 };
  const line = (at: number): RowLine => ({ at, line: `[${at},"é${hashOfPart(Buffer.from(`${at}`))}"]` });
  const lines = Array.from({ length: 20_000 }, (_, index) => line(index));
  const rows = (count: number, from = 0): RowLine[] => lines.slice(from, count);
  const bytesOf = (parts: readonly { bytes: number }[]): number => parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const whole = [...partsOfRows(lines, 0, size)];
  // Parts grow with the table until they have the maximum size. From then on, their number grows.
  expect(whole.length).toBeLessThan((4 * size.max) / size.min + bytesOf(whole) / size.max + 100);
  for (let count = 3_000; count < 19_000; count += 997) {
    const before = [...partsOfRows(rows(count), 0, size)];
    const after = [...partsOfRows(rows(Math.ceil(1.01 * count)), 0, size)];
    const earlier = new Set(before.map(({ sha256 }) => sha256));
    const sent = after.filter(({ sha256 }) => !earlier.has(sha256));
    expect(bytesOf(sent) / bytesOf(after)).toBeLessThan(0.04);
    // Reused parts count as rows that were read. The remaining rows are divided the same way.
    const reused = before.slice(0, -1);
    const rest = [...partsOfRows(rows(count, reused.at(-1)!.to! + 1), bytesOf(reused), size)];
    expect([...reused, ...rest]).toEqual(before);
  }
});

test('reads back every row of a part', async () => {
  const store = directoryFiles(original);
  const [named] = await listBases(store);
  const manifest = (await readManifest(store, named!))!;
  const tables = wholeIndex(early);
  for (const { name, parts } of manifest.tables) {
    let count = 0;
    for (const part of parts) count += (await readRows(store, part)).length;
    expect({ name, count }).toEqual({ name, count: tables[name]!.length });
  }
  expect(existsSync(join(original, first.name))).toBe(true);
});
