/** Tables of one host compared with those of another, at one entry of the journal. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { cpSync } from 'node:fs';
import { systemClock } from '../../src/base/clock.ts';
import { OperatorError } from '../../src/base/errors.ts';
import type { OwnProcess } from '../../src/commands/cli/this-program.ts';
import { compareWith, type Other, otherAt } from '../../src/commands/data/check-against.ts';
import { inspections } from '../../src/commands/serve/inspections.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readAdminKey } from '../../src/hooks/access/keys.ts';
import type { CheckResult } from '../../src/store/check/checks.ts';
import { firstDifference, MOST_RANGES, tableDigester } from '../../src/store/check/row-digests.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, received } from '../support/data/ingest.ts';
import { serving } from '../support/servers/serving.ts';

const events = [...devnetEvents({ seed: 21, blocks: 5, accounts: 4, transactionsPerBlock: 1, forkEvery: 3 })].map(
  received,
);
const whole = ingestOf(events);
const chunk = (of: string) => ({ path: '/stackerdb_chunks', text: `{"of":"${of}"}`, receivedAt: 1 });
const watch = { at: () => {}, found: () => {}, leftOut: () => {} };
const server = await serving({}, whole.path);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  whole[Symbol.dispose]();
});

function copyOf({ path }: { path: string }): DataDirectory {
  const copy = dataDirectory();
  cpSync(path, copy.path, { recursive: true });
  return copy;
}

const optionsOf = ({ path: directory }: DataDirectory) => ({
  directory,
  wait: 0,
  clock: systemClock,
  reading: () => {},
});

const compared = (ours: DataDirectory, against: string, key: string | null = null) =>
  compareWith(otherAt(against, key, optionsOf(ours)), optionsOf(ours), watch);

/** What an index that can't be compared is refused with. */
async function refusal(comparing: Promise<unknown>): Promise<OperatorError> {
  const error = await comparing.catch((thrown: unknown) => thrown);
  if (error instanceof OperatorError) return error;
  throw new Error('it is no error for the operator', { cause: error });
}

const differing = (results: readonly CheckResult[]) => results.filter(({ problems }) => problems.length > 0);

function change(directory: DataDirectory, ...statements: string[]): void {
  using db = new Database(indexPath(directory.path));
  for (const statement of statements) expect(db.run(statement).changes).toBe(1);
}

test('two data directories of one journal are equal; rows that differ are named by table, number and key', async () => {
  using other = copyOf(whole);
  const results = await compared(whole, other.path);
  expect(differing(results)).toEqual([]);
  const names = results.map(({ name }) => name);
  expect(names[0]).toMatch(/^journals up to entry \d+$/);
  expect(names).toContain('table transactions');
  expect(names).not.toContain('table changes');
  change(
    other,
    'UPDATE blocks SET size = size + 1 WHERE height = 3',
    'DELETE FROM blocks WHERE height = 5',
    'UPDATE totals SET stx_holders = stx_holders + 1',
    'DELETE FROM anchor_burn_blocks WHERE ordinal = (SELECT max(ordinal) FROM anchor_burn_blocks)',
  );
  const found = differing(await compared(whole, other.path));
  expect(found).toEqual([
    {
      name: 'table anchor_burn_blocks',
      problems: [expect.stringMatching(/^row (\d+) differs: ordinal \1; \1 rows here, \d+ there$/)],
    },
    { name: 'table blocks', problems: ['row 3 differs: height 3; 5 rows here, 4 there'] },
    { name: 'table totals', problems: [expect.stringMatching(/^row 1 differs: /)] },
  ]);
  expect(differing(await compared(other, whole.path))[0]?.problems).toEqual([
    expect.stringMatching(/^rows are missing from row \d+ on; \d+ rows here, \d+ there$/),
  ]);
});

test('a server digests its tables for whoever has its key, and for nobody else', async () => {
  using other = copyOf(whole);
  change(other, 'UPDATE blocks SET size = size + 1 WHERE height = 3');
  const key = readAdminKey(whole.path);
  const results = await compared(other, server.api, key);
  expect(differing(results)).toEqual([{ name: 'table blocks', problems: ['row 3 differs: height 3'] }]);
  expect(results.map(({ name }) => name)).toContain('table transactions');
  expect((await refusal(compared(other, server.api))).message).toBe(`${server.api} does not accept the key.`);
  expect((await server.get('/stackside/v1/digests?at=0')).status).toBe(401);
});

test('data at different entries is not compared, and the error says which is ahead', async () => {
  using ahead = copyOf(whole);
  {
    using opened = openAt(ahead.path);
    opened.ingest.receive(chunk('a node'));
  }
  const at = entriesOf(whole);
  const here = await refusal(compared(ahead, whole.path));
  expect(here.message).toStartWith(`This data is at entry ${at + 1}, and ${whole.path} at entry ${at}: `);
  expect(here.exitCode).toBe(75);
  const there = await refusal(compared(whole, ahead.path));
  expect(there.message).toStartWith(`${ahead.path} is at entry ${at + 1}, and this data at entry ${at}: `);
});

function entriesOf({ path }: DataDirectory): number {
  using db = new Database(indexPath(path), { readonly: true });
  return db.query<{ id: number }, []>('SELECT journal_id AS id FROM progress').get()!.id;
}

/** Two copies that get further events between the tries to find both at one entry. */
function moving() {
  const [ours, theirs] = [copyOf(whole), copyOf(whole)];
  const asked: number[] = [];
  const real = otherAt(theirs.path, null, optionsOf(ours));
  return {
    ours,
    asked,
    /** @param come how many events come to both once the other is asked for an entry */
    other: (come: (at: number) => number): Other => ({
      ...real,
      async at(id) {
        const at = entriesOf(ours);
        asked.push(id - entriesOf(whole));
        for (const { path } of [ours, theirs]) {
          using opened = openAt(path);
          for (let more = 0; more < come(id - at); more++) opened.ingest.receive(chunk(`${at} ${more}`));
        }
        return real.at(id);
      },
    }),
    [Symbol.dispose]() {
      for (const each of [ours, theirs]) each[Symbol.dispose]();
    },
  };
}

test('while events come, both wait for one that comes soon; once they cease, the last one does', async () => {
  using calm = moving();
  expect(
    differing(
      await compareWith(
        calm.other(() => (calm.asked.length === 1 ? 1 : 0)),
        optionsOf(calm.ours),
        watch,
      ),
    ),
  ).toEqual([]);
  expect(calm.asked).toEqual([0, 5, 1]);
  // The first answer comes late by three events; then they come until the one that is waited for is there.
  using busy = moving();
  const come = (ahead: number) => (busy.asked.length === 1 ? 3 : ahead);
  expect(differing(await compareWith(busy.other(come), optionsOf(busy.ours), watch))).toEqual([]);
  expect(busy.asked).toEqual([0, 11]);
});

test('digests count as an inspection: one runs at a time, and it can be cancelled', async () => {
  const ended = Promise.withResolvers<{ code: number | null; errors: string }>();
  const begun = Promise.withResolvers<void>();
  const process: OwnProcess = {
    lines: (async function* () {
      yield JSON.stringify({ at: { number: 1, of: 2, name: 'blocks', detail: '' } });
      begun.resolve();
      await ended.promise;
    })(),
    ended: ended.promise,
    kill: () => ended.resolve({ code: null, errors: '' }),
  };
  const asked: (readonly string[])[] = [];
  const start = (args: readonly string[]) => {
    asked.push(args);
    return process;
  };
  const inspected = inspections({ directory: '/data', clock: systemClock, start });
  const digested = inspected.digests({ at: 7, wait: 2 })!;
  expect((await digested.next()).value).toBe('alive');
  expect(asked).toEqual([['check', '--digests', '7', '--wait', '2', '--data', '/data']]);
  const rest = digested.next();
  await begun.promise;
  expect([inspected.digests({ at: 7, wait: 2 }), inspected.start('check')]).toEqual([null, false]);
  expect(inspected.cancel()).toBe(true);
  await expect(rest).rejects.toThrow('The digests were cancelled.');
  expect(inspected.cancel()).toBe(false);
});

test('journals that diverged are reported, with the first entry that differs', async () => {
  using ours = copyOf(whole);
  using theirs = copyOf(whole);
  for (const [directory, of] of [
    [ours, 'one'],
    [theirs, 'another'],
  ] as const) {
    using opened = openAt(directory.path);
    for (const text of [of, 'both']) opened.ingest.receive(chunk(text));
  }
  const at = entriesOf(whole);
  const expected = [
    { name: `journals up to entry ${at + 2}`, problems: [`entry ${at + 1} is the first that is known to differ`] },
  ];
  expect(await compared(ours, theirs.path)).toEqual(expected);
});

test('digests say in which rows two tables differ, however long they are', () => {
  const digestOf = (rows: number, changed = -1) => {
    const digester = tableDigester();
    for (let row = 0; row < rows; row++) digester.add([BigInt(row), row === changed ? null : 'text']);
    return digester.digest();
  };
  const rows = 5 * MOST_RANGES + 3;
  const digest = digestOf(rows);
  expect([digest.rows, digest.rangeRows, digest.ranges.length]).toEqual([rows, 8, Math.ceil(rows / 8)]);
  expect(firstDifference(digest, digestOf(rows))).toBeNull();
  expect(firstDifference(digest, digestOf(rows, 20))).toEqual({ first: 17, last: 24 });
  expect(firstDifference(digest, digestOf(rows - 1))).toEqual({ first: rows - 2, last: rows });
  // A table of fewer rows has shorter ranges.
  expect(firstDifference(digestOf(MOST_RANGES), digest)).toEqual({ first: MOST_RANGES + 1, last: MOST_RANGES + 8 });
  expect(firstDifference(digest, digestOf(MOST_RANGES, 3))).toEqual({ first: 1, last: 8 });
  expect(firstDifference(digestOf(0), digestOf(0))).toBeNull();
  expect(firstDifference(digestOf(0), digestOf(1))).toEqual({ first: 1, last: 1 });
});

test.each([
  [409, 'inspects its index at the moment.', 'Repeat the command once that is done'],
  [418, 'refuses to digest its tables, with status 418.', 'Check the URL'],
])('a server that answers %i is named, with what to do', async (status, problem, remedy) => {
  using other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('', { status }) });
  const refused = await refusal(compared(whole, other.url.href));
  expect(refused.message).toEndWith(problem);
  expect(refused.message).toStartWith('http://127.0.0.1');
  expect(refused.remedy).toStartWith(remedy);
});
