/** `stackside export` of rows: another implementation reads the files back, and exports continue each other. */
import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { clarityJson } from '../../src/codec/clarity-text.ts';
import { fromHex } from '../../src/codec/hex.ts';
import { utf8Bytes } from '../../src/codec/utf8.ts';
import { exportRows } from '../../src/commands/data/export.ts';
import { createProgram } from '../../src/commands/program.ts';
import { type Encode, encoderOf, inLargeParts, parquet } from '../../src/commands/query/formats.ts';
import type { ExportFormat, ExportOptions } from '../../src/commands/query/options.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { HeightSpan } from '../../src/store/model/block.ts';
import { openForQueries, type SqlValue, withForms } from '../../src/store/sql/result.ts';
import { blocksOf, viewNamed, viewResult } from '../../src/store/sql/view-rows.ts';
import { views } from '../../src/store/views/views.ts';
import { ingestOf, received, simulatedEvents } from '../support/data/ingest.ts';
import { beginnings } from '../support/events/beginning.ts';

const options = { seed: 2, blocks: 24, accounts: 8, transactionsPerBlock: 4 };
const directory = ingestOf(simulatedEvents(options), { views: true });
const db = new Database(indexPath(directory.path), { readonly: true });
const printed: string[] = [];
const stderr = spyOn(process.stderr, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
afterAll(() => {
  stderr.mockRestore();
  db.close();
  directory[Symbol.dispose]();
});

const pathOf = (name: string): string => join(directory.path, name);

/** Exports to a file. @returns the file's content, and the printed text */
async function exportTo(name: string, options: Omit<ExportOptions, 'overwrite' | 'output'>, from = directory) {
  printed.length = 0;
  await exportRows(from.path, { ...options, output: pathOf(name), overwrite: false });
  return { bytes: readFileSync(pathOf(name)), printed: printed.join('') };
}

const compressors = { ZSTD: (bytes: Uint8Array) => Bun.zstdDecompressSync(bytes as Uint8Array<ArrayBuffer>) };

/** The rows and columns of a Parquet file. */
async function parquetRows(bytes: Uint8Array) {
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  const metadata = parquetMetadata(file);
  return { metadata, rows: (await parquetReadObjects({ file, compressors })) as Record<string, unknown>[] };
}

/** A row of a view as a Parquet file has it. */
const typed = (row: Record<string, unknown>, columns: (typeof views)[number]['columns']) =>
  Object.fromEntries(
    Object.entries(columns)
      .filter(([, { type, isDerived = false }]) => type !== 'bytes' && !isDerived)
      .flatMap(([name, { type, isClarity = false }]) => {
        const value = row[name];
        const json = isClarity ? [[`${name}_json`, value === null ? null : clarityJson(fromHex(String(value)))]] : [];
        if (value === null) return [[name, null], ...json];
        if (type === 'integer') return [[name, BigInt(value as number)]];
        if (type === 'boolean') return [[name, value === 1]];
        return [[name, type === 'time' ? new Date(String(value)) : value], ...json];
      }),
  );

/** The output of a view, without the thread that a command runs it on. */
function outputOf(encode: Encode, name: string, heights: HeightSpan = { from: null, to: null }): Buffer<ArrayBuffer> {
  using connection = openForQueries(directory.path);
  const view = viewNamed(name);
  const result = viewResult(connection, view, view.range === null ? null : blocksOf(connection, heights));
  return Buffer.concat([...inLargeParts(encode(result.columns, result.rows()))]);
}

test('a Parquet file of each view contains its rows with their types', async () => {
  for (const { name, columns } of views) {
    const expected = db.query<Record<string, unknown>, []>(`SELECT * FROM ${name}`).all();
    const { rows } = await parquetRows(outputOf(parquet, name));
    const sortRows = (list: object[]) =>
      list.map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))).sort();
    expect(sortRows(rows)).toEqual(sortRows(expected.map((row) => typed(row, columns))));
  }
});

test('a Clarity value is also exported as JSON', () => {
  const [head, ...lines] = outputOf(encoderOf('ndjson', false), 'v1_contract_logs').toString().trim().split('\n');
  const rows = [head ?? '', ...lines].map((line) => JSON.parse(line));
  expect(rows.length).toBeGreaterThan(5);
  for (const { value, value_json } of rows) expect(value_json).toBe(clarityJson(fromHex(value)));
  const value = clarity.tuple({
    list: clarity.list([clarity.uint(2n ** 128n - 1n), clarity.uint(0)]),
    '"quoted"': clarity.utf8('é "x"\n'),
    results: clarity.list([clarity.ok(clarity.bool(true)), clarity.err(clarity.int(-5))]),
    nothing: clarity.none(),
    something: clarity.some(clarity.buffer(utf8Bytes('a'))),
    who: clarity.principal('ST000000000000000000002AMW42H.pox-4'),
  });
  expect(JSON.parse(clarityJson(value) ?? '')).toEqual({
    list: ['340282366920938463463374607431768211455', '0'],
    '"quoted"': 'é "x"\n',
    results: [{ ok: true }, { err: '-5' }],
    nothing: null,
    something: '0x61',
    who: 'ST000000000000000000002AMW42H.pox-4',
  });
  expect(clarityJson(Uint8Array.of(0xff))).toBe(null);
});

test('two exports by height contain the same rows as one full export, for each view with blocks', () => {
  const csv = encoderOf('csv', false);
  const ranged = views.filter(({ range }) => range !== null);
  expect(ranged.length).toBeGreaterThan(7);
  for (const { name, order } of ranged) {
    const lines = (from: number | null, to: number | null) =>
      outputOf(csv, name, { from, to }).toString().split('\r\n');
    const [head, ...parts] = [...lines(null, 12).slice(0, -1), ...lines(13, null).slice(1, -1)];
    const [wholeHead, ...whole] = lines(null, null).slice(0, -1);
    expect([name, head]).toEqual([name, wholeHead]);
    expect([name, order.length > 0 ? parts : parts.sort()]).toEqual([name, order.length > 0 ? whole : whole.sort()]);
  }
});

test('an export prints its blocks and the height to continue from', async () => {
  const first = await exportTo('first.csv', { table: 'v1_events', toHeight: 12 });
  expect(first.printed).toMatch(/ rows of blocks 1 to 12 \(0x[0-9a-f]{64}\); continue with --from-height 13\n$/);
  expect(first.bytes).toEqual(outputOf(encoderOf('csv', false), 'v1_events', { from: 0, to: 12 }));
  const second = await exportTo('second.parquet', { table: 'v1_events', fromHeight: 13 });
  expect(second.printed).toContain(' of blocks 13 to 24 (0x');
  expect(second.bytes).toEqual(outputOf(parquet, 'v1_events', { from: 13, to: 24 }));
});

describe('a partial history', () => {
  const [beginning] = beginnings([...devnetEvents({ ...options, forkEvery: 0 })]).filter(({ height }) => height === 13);
  const partial = ingestOf(beginning!.events.map(received), { views: true });
  afterAll(() => partial[Symbol.dispose]());

  test('is named after an export', async () => {
    expect((await exportTo('partial.csv', { table: 'v1_balances' }, partial)).printed).toBe(
      `${pathOf('partial.csv')}: 0 rows\nThe index starts at block 13: older rows and all balances are missing, and sums that need them are null.\n`,
    );
  });

  test('an export of older blocks names the first block', async () => {
    const exporting = exportTo('older.csv', { table: 'v1_events', toHeight: 12 }, partial);
    await expect(exporting).rejects.toMatchObject({
      message: 'The index has none of these blocks: it starts at height 13.',
      remedy: 'Give higher heights.',
    });
  });
});

test('heights of a view without a range name the views that have one', async () => {
  const exporting = exportTo('refused.csv', { table: 'v1_nfts', fromHeight: 5 });
  await expect(exporting).rejects.toMatchObject({
    message: "--from-height and --to-height don't apply to v1_nfts.",
    remedy: expect.stringMatching(/^Omit them\. They apply to v1_blocks, .*v1_events, .*v1_miner_rewards\.$/),
  });
});

test('the file extension selects format and compression, unless --format is given', async () => {
  const { bytes, printed } = await exportTo('named.ndjson.zst', { query: 'SELECT 1 AS one' });
  expect(printed).toEndWith(': 1 row\n');
  expect(Bun.zstdDecompressSync(bytes).toString()).toBe('{"one":1}\n');
  expect((await exportTo('named', { query: 'SELECT 1 AS one' })).bytes.toString()).toBe('one\r\n1\r\n');
  const other = await exportTo('one.txt', { query: 'SELECT 1 AS one', format: 'ndjson' });
  expect(other.bytes.toString()).toBe('{"one":1}\n');
});

test.each<[file: string, options: { format?: ExportFormat }, problem: string]>([
  ['events.xlsx', {}, `events.xlsx" doesn't end with a known format.`],
  ['events.txt.gz', {}, `events.txt.gz" doesn't end with a known format.`],
  ['events.parquet.zst', {}, 'Parquet files are compressed already'],
  ['events.gz', { format: 'parquet' }, 'Parquet files are compressed already'],
])('an export to %s with %j is rejected', async (file, options, problem) => {
  const exporting = exportTo(file, { query: 'SELECT 1', ...options });
  await expect(exporting).rejects.toMatchObject({
    message: expect.stringContaining(problem),
    remedy: expect.stringContaining('--format'),
  });
  expect(existsSync(pathOf(file))).toBe(false);
});

test("a query's column types come from the values in its result", async () => {
  const query = `
    SELECT n, iif(n > 60, n / 2.0, NULL) AS late, iif(n = 70, 'x', n) AS mixed, NULL AS empty, x'0a' AS same, 'text' AS same
      FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 70) SELECT n FROM c);`;
  const { metadata, rows } = await parquetRows((await exportTo('query.parquet', { query })).bytes);
  expect(metadata.schema.slice(1).map(({ type }) => type)).toEqual([
    ...(['INT64', 'DOUBLE', 'BYTE_ARRAY', 'BYTE_ARRAY', 'BYTE_ARRAY', 'BYTE_ARRAY'] as const),
  ]);
  const [first, last] = [rows[0], rows.at(-1)].map((row): Record<string, unknown> => ({ ...row, same: null }));
  expect(first).toEqual({ n: 1n, late: null, mixed: '1', empty: null, same: null, 'same:6': 'text' });
  expect(last).toEqual({ n: 70n, late: 35, mixed: 'x', empty: null, same: null, 'same:6': 'text' });
});

test('a query is rejected if its values change type on the second run', () => {
  using connection = openForQueries(directory.path);
  const { columns, rows } = withForms(connection, "SELECT iif(cache_size = 7, 'seven', 1) AS n FROM pragma_cache_size");
  expect([...rows()]).toEqual([[1n]]);
  connection.run('PRAGMA cache_size = 7');
  expect(() => [...parquet(columns, rows())]).toThrow('its column n had values of other types the second time');
});

test('a row group ends at its row limit or its byte limit', async () => {
  const texts: SqlValue[][] = ['a', 'b', 'x'.repeat(50), 'c', 'd', 'e'].map((text) => [text]);
  const parts = [...parquet([{ name: 'text', form: 'text' }], texts, { rows: 3, bytes: 50 })];
  const { metadata, rows } = await parquetRows(Buffer.concat(parts));
  expect(metadata.row_groups.map(({ num_rows }) => num_rows)).toEqual([3n, 3n]);
  expect(rows.map(({ text }) => [text])).toEqual(texts);
  const large = [...parquet([{ name: 'text', form: 'text' }], texts.slice(2), { rows: 3, bytes: 50 })];
  expect((await parquetRows(Buffer.concat(large))).metadata.row_groups.map(({ num_rows }) => num_rows)).toEqual([
    1n,
    3n,
  ]);
});

test.each<[string, Omit<ExportOptions, 'overwrite' | 'output'>, string]>([
  ['an unknown view', { table: 'nothing' }, 'Unknown view nothing.'],
  ['a view without its prefix', { table: 'events' }, 'Unknown view events. Did you mean v1_events?'],
  ['heights of what has none', { table: 'v1_balances', toHeight: 1 }, "don't apply to v1_balances"],
  [
    'heights from high to low',
    { table: 'v1_blocks', fromHeight: 9, toHeight: 8 },
    '--from-height 9 is above --to-height 8.',
  ],
  ['heights above the tip', { table: 'v1_blocks', fromHeight: 25 }, 'none of these blocks: it ends at height 24.'],
  [
    'a query that fails while it runs',
    { query: 'SELECT abs(height - 9223372036854775807 - 2) FROM blocks' },
    'integer overflow',
  ],
])('%s: the export fails and writes nothing', async (_, options, problem) => {
  await expect(exportTo('refused.csv', options)).rejects.toThrow(problem);
  expect([existsSync(pathOf('refused.csv')), existsSync(pathOf('refused.csv.partial'))]).toEqual([false, false]);
});

test.skipIf(!existsSync('/dev/full'))(
  'an export to a full disk ends its thread, wherever the write fails',
  async () => {
    const terminate = spyOn(Worker.prototype, 'terminate');
    try {
      // A row has about 1 kB, and a part 64 kB: exports of one part and of many.
      for (const rows of [1, 60, 70, 140, 500, 2_000]) {
        const query = `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT hex(zeroblob(500)) FROM c LIMIT ${rows}`;
        terminate.mockClear();
        const exporting = exportRows(directory.path, { query, output: '/dev/full', overwrite: false });
        await expect(exporting).rejects.toThrow('The disk of /dev/full is full.');
        expect([rows, terminate.mock.calls.length]).toEqual([rows, 1]);
      }
    } finally {
      terminate.mockRestore();
    }
  },
);

test.each([
  ['export', '--output', 'It must be a file, or - for stdout.'],
  ['simulate', '--out', 'It must be a file, or - for stdout.'],
  ['hooks listen', '--secret-file', 'It must be a file.'],
])('%s %s rejects an empty path', async (name, option, remedy) => {
  const run = createProgram().parseAsync(['node', 'stackside', ...name.split(' '), option, '']);
  await expect(run).rejects.toMatchObject({ message: `${option} is "".`, remedy });
});

test('a journal export rejects the options for rows, and --table rejects --query', async () => {
  const run = (...args: string[]) =>
    createProgram().parseAsync(['node', 'stackside', 'export', '--data', directory.path, ...args]);
  await expect(run('--format', 'csv')).rejects.toThrow('Without --table or --query, the journal is exported');
  await expect(run('--to-height', '5')).rejects.toThrow('Without --table or --query, the journal is exported');
  await expect(run('--output', pathOf('events.parquet'))).rejects.toThrow('a .parquet file is for rows');
  await expect(run('--output', pathOf('events.csv.gz'))).rejects.toThrow('a .csv file is for rows');
  await expect(run('--table', 'v1_blocks', '--query', 'SELECT 1')).rejects.toThrow('cannot be used with option');
});
