/** `stackside sql` as analysts run it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, openSync } from 'node:fs';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received, simulatedEvents } from '../support/data/ingest.ts';
import { beginnings } from '../support/events/beginning.ts';
import { until } from '../support/time/until.ts';
import { command, finished, stackside } from './stackside.ts';

let directory: DataDirectory;
beforeAll(() => {
  directory = ingestOf(simulatedEvents({ seed: 1, blocks: 4, accounts: 3, transactionsPerBlock: 1 }));
});
afterAll(() => directory[Symbol.dispose]());

test('a query from stdin with more rows than --max-rows is cut, and the command fails', async () => {
  const child = Bun.spawn([...command, 'sql', '--data', directory.path, '--format', 'csv', '--max-rows', '2'], {
    stdin: Buffer.from('SELECT block_height\nFROM v1_blocks;\n'),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  expect(await finished(child)).toEqual({
    code: 1,
    stdout: 'block_height\r\n1\r\n2\r\n',
    stderr:
      'The result has more rows. Only the first 2 are shown.\n' +
      'Raise --max-rows, or write the whole result with stackside export --query.\n',
  });
});

test('a query of a partial history names its first block on stderr', async () => {
  const events = [...devnetEvents({ seed: 1, blocks: 6, accounts: 3, transactionsPerBlock: 1, forkEvery: 0 })];
  const [beginning] = beginnings(events).filter(({ height }) => height === 4);
  using partial = ingestOf(beginning!.events.map(received));
  const { code, stdout, stderr } = await stackside('sql', 'SELECT 7 AS n', '--data', partial.path, '--format', 'csv');
  expect([code, stdout, stderr]).toEqual([
    0,
    'n\r\n7\r\n',
    'The index starts at block 4: older rows and all balances are missing, and sums that need them are null.\n',
  ]);
});

test.each(['-- the tip\nSELECT 7 AS n', '--the tip\nSELECT 7 AS n', '--\nSELECT 7 AS n'])(
  'the query %j starts with a comment',
  async (query) => {
    const { code, stdout } = await stackside('sql', query, '--data', directory.path, '--format', 'csv');
    expect([code, stdout]).toEqual([0, 'n\r\n7\r\n']);
  },
);

test
  .skipIf(!existsSync('/dev/full'))
  .each([
    { args: ['sql', 'SELECT 7'] },
    { args: ['sql', 'SELECT * FROM v1_blocks', '--format', 'csv'] },
    { args: ['serve', '--help'] },
    { args: ['check'] },
    { args: ['check', '--json'] },
    { args: ['status', '--tables', '--json'] },
    { args: ['export'] },
    { args: ['export', '--table', 'v1_blocks'] },
  ])('with a full disk of stdout, $args names stdout once', async ({ args }) => {
  const child = Bun.spawn([...command, ...args, '--data', directory.path], {
    stdin: 'ignore',
    stdout: openSync('/dev/full', 'w'),
    stderr: 'pipe',
  });
  expect(await new Response(child.stderr).text()).toBe(
    'The disk of stdout is full.\nFree space on the disk, or raise the quota. Then repeat the command; a running server retries by itself.\n',
  );
  expect(await child.exited).toBe(75);
});

test('an export with --output - writes to stdout', async () => {
  const run = (...args: string[]) => stackside('export', '--data', directory.path, ...args);
  const rows = await run('--query', 'SELECT 7 AS n', '--output', '-');
  expect([rows.code, rows.stdout, rows.stderr]).toEqual([0, 'n\r\n7\r\n', 'stdout: 1 row\n']);
  expect((await run('--output', '-')).stdout).toBe((await run()).stdout);
  expect(existsSync('-')).toBe(false);
});

test('stackside sql without a query fails on a terminal and explains how to pass one', async () => {
  let written = '';
  const child = Bun.spawn([...command, 'sql', '--data', directory.path], {
    terminal: {
      data: (_, bytes) => {
        written += new TextDecoder().decode(bytes);
      },
    },
  });
  expect(await child.exited).toBe(1);
  await until(() => written.endsWith('stdin.\r\n'), 'the remedy');
  expect(written).toBe('stackside sql needs a query.\r\nPass the query as an argument, or pipe it to stdin.\r\n');
});
