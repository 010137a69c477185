/**
 * Archives in operation: servers are killed while their storage fails, and restored data equal theirs.
 * STACKSIDE_RUNS is the number of servers, and STACKSIDE_BINARY names an executable.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerStatus } from '../../src/api/stackside/server.ts';
import { IDENTITY } from '../../src/archive/archive-directory.ts';
import { EXIT } from '../../src/base/errors.ts';
import { postEvents } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import { dataStateOf } from '../../src/store/files/status.ts';
import { archive } from '../support/data/archive.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { journalRows } from '../support/data/tables.ts';
import { casesOf, firstSeed } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';
import { type S3Server, s3Server } from '../support/servers/s3-server.ts';
import { NO_NODE } from '../support/servers/serving.ts';
import { moment } from '../support/time/moment.ts';
import { until } from '../support/time/until.ts';
import { jsonLines, stackside, stacksideIn, startServerIn } from './stackside.ts';

const events = [...devnetEvents({ seed: 2, blocks: 30, transactionsPerBlock: 1, forkEvery: 9, forkDepth: 2 })];
let folder: DataDirectory;
beforeAll(() => {
  folder = dataDirectory();
});
afterAll(() => folder[Symbol.dispose]());

/** Number of times that each server is killed. */
const KILLS = 3;

/** Every third request fails, in a way drawn at random. */
function randomFaults(random: Prng): S3Server['fail'] {
  const faults = [{ status: 503, code: 'SlowDown' }, 'torn', 'unanswered', 'late'] as const;
  return ({ number }) => (number % 3 === 0 ? random.pick(faults) : null);
}

const seeds = Array.from({ length: casesOf(1) }, (_, index) => firstSeed + index);

test.each(seeds)('the archive of a server that is killed again and again has all its data (seed %d)', async (seed) => {
  const random = new Prng(String(seed));
  using s3 = s3Server('bucket');
  s3.fail = randomFaults(random);
  const location = 's3://bucket/archive';
  const data = join(folder.path, `data-${seed}`);
  const args = ['--data', data, '--archive', location, '--node-rpc', NO_NODE, '--log-level', 'silent'];
  const start = () => startServerIn({ ...s3.variables }, 'serve', ...args);
  const run = (...command: string[]) => stacksideIn({ ...s3.variables }, ...command);
  let next = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const server = await start();
    const before = s3.requests.length;
    const count = random.between(5, 30);
    await postEvents(events.slice(next, next + count), server.events);
    next += count;
    // Every life makes as many: it looks at the archive, and writes to it.
    const target = before + random.between(1, 3);
    await until(() => s3.requests.length >= target, 'some requests to the archive');
    await moment(random.below(1_500));
    await server.stop('SIGKILL');
  }
  s3.fail = () => null;
  const restored = join(folder.path, `restored-${seed}`);
  const { code, stderr } = await run('restore', location, '--data', restored);
  if (![...s3.objects.keys()].some((name) => name.endsWith('.zst'))) return expect(code).toBe(EXIT.operator);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  const rows = journalRows(restored);
  expect(rows.length).toBeGreaterThan(0);
  expect(rows).toEqual(journalRows(data).slice(0, rows.length));
  expect(problemsIn(restored, { deep: silentMachine })).toEqual([]);
  // The next server continues the archive.
  const server = await start();
  const isLevel = async () => {
    const { archive } = (await (await fetch(`${server.api}/stackside/v1/status`)).json()) as ServerStatus;
    return archive !== null && archive.entry === journalRows(data).length;
  };
  await until(isLevel, 'the archive of all entries');
  await server.stop();
  const verified = await run('archive', 'verify', location);
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining(' sound\n')]);
  const status = await run('archive', 'status', location, '--json');
  expect(JSON.parse(status.stdout)).toMatchObject({ last_entry: journalRows(data).length, fault: null });
});

describe('the commands', () => {
  let source: DataDirectory;
  let path: string;
  beforeAll(async () => {
    source = ingestOf(events.map(received));
    path = join(folder.path, 'archive');
    await archive(source.path, directoryFiles(path));
  });
  afterAll(() => source[Symbol.dispose]());
  const entries = () => journalRows(source.path).length;

  test('status, list and verify show the contents of an archive', async () => {
    const names = readdirSync(path).filter((name) => name.startsWith('segment-'));
    const status = await stackside('archive', 'status', path);
    expect(status.code).toBe(0);
    expect(status.stdout).toStartWith(
      [
        `archive     ${path}`,
        'chain       testnet (chain 0x80000000)',
        `log         ${dataStateOf(source.path).identity}`,
        'base        none; a restore begins with entry 1',
        `sealed      ${names.length} segments`,
      ].join('\n'),
    );
    expect(status.stdout).toContain(`\nlast entry  ${entries()}, received 20`);
    const list = await stackside('archive', 'list', `${path}/${IDENTITY}`);
    expect(list.stdout.split('\n').slice(0, names.length)).toEqual(names.toSorted());
    expect(list.stdout).toEndWith('\nopen-one.zst\n');
    const json = await stackside('archive', 'list', path, '--json');
    expect(JSON.parse(json.stdout.split('\n')[0] ?? '')).toEqual({
      name: names.toSorted()[0],
      first: 1,
      last: expect.any(Number),
    });
    const verified = await stackside('archive', 'verify', path);
    expect([verified.code, verified.stdout]).toEqual([0, `${path}: ${names.length + 1} objects are sound\n`]);
  });

  test('a gap and a damaged segment are named, and the command exits with 2', async () => {
    const spoiled = join(folder.path, 'spoiled');
    cpSync(path, spoiled, { recursive: true });
    const names = readdirSync(spoiled)
      .filter((name) => name.startsWith('segment-'))
      .sort();
    rmSync(join(spoiled, names[1]!));
    writeFileSync(join(spoiled, names[3]!), 'nothing');
    const status = await stackside('archive', 'status', spoiled);
    expect([status.code, status.stdout]).toEqual([
      EXIT.difference,
      expect.stringContaining(`which come before ${names[2]}`),
    ]);
    const verified = await stackside('archive', 'verify', spoiled);
    expect(verified.code).toBe(EXIT.difference);
    expect(verified.stdout).toMatch(
      new RegExp(
        `^DIFFERS it lacks entries \\d+ to \\d+, which come before ${names[2]}\nDIFFERS ${names[3]} is a damaged segment: `,
      ),
    );
    const json = await stackside('archive', 'verify', spoiled, '--json');
    expect(jsonLines(json.stdout).filter(({ fault }) => fault !== null)).toHaveLength(2);
    const restored = await stackside('restore', spoiled, '--data', join(folder.path, 'from-spoiled'));
    expect(restored.code).toBe(EXIT.operator);
    expect(restored.stderr).toContain(`which come before ${names[2]}`);
  });

  test('status names a damaged object at the end of the archive, and exits with 2 as verify does', async () => {
    const names = readdirSync(path).sort();
    for (const name of ['open-one.zst', names.findLast((object) => object.startsWith('segment-'))!]) {
      const spoiled = join(folder.path, `damaged-${name}`);
      cpSync(path, spoiled, { recursive: true });
      if (name !== 'open-one.zst') rmSync(join(spoiled, 'open-one.zst'));
      writeFileSync(join(spoiled, name), 'nothing');
      for (const command of ['status', 'verify']) {
        const { code, stdout, stderr } = await stackside('archive', command, spoiled);
        expect([code, stdout, stderr]).toEqual([
          EXIT.difference,
          expect.stringContaining(`${name} is a damaged segment`),
          '',
        ]);
      }
    }
  });

  test('an empty directory is reported as no archive', async () => {
    for (const command of ['status', 'list', 'verify']) {
      const { code, stderr } = await stackside('archive', command, folder.path);
      expect([code, stderr]).toEqual([EXIT.operator, expect.stringContaining('No archive found at')]);
    }
  });

  test('a backup brings an archive up to date, and is restored up to an entry, also by the name of its first object', async () => {
    const copy = join(folder.path, 'both');
    cpSync(path, copy, { recursive: true });
    const backup = await stackside('backup', `${copy}/${IDENTITY}`, '--data', source.path);
    expect([backup.code, backup.stdout]).toEqual([0, expect.stringContaining('Archives contain no keys')]);
    const file = (name: string) => join(folder.path, name);
    const whole = await stackside('restore', copy, '--data', file('of-backup'));
    expect(whole.code).toBe(0);
    expect(journalRows(file('of-backup'))).toEqual(journalRows(source.path));
    const named = await stackside('restore', `${copy}/${IDENTITY}`, '--data', file('of-archive'), '--until-entry', '3');
    expect(named.stdout).toMatch(
      /: height 0, entry 4\nEntry 4 gives the log a new identity, [0-9a-f]{32}: archive it .*\n.*Archives contain no keys/,
    );
  });
});
