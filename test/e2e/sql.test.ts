/** `stackside sql` as analysts run it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { until } from '../support/time/until.ts';
import { command } from './stackside.ts';

let directory: DataDirectory;
beforeAll(() => {
  directory = ingestOf([...devnetEvents({ seed: 1, blocks: 4, accounts: 3, transactionsPerBlock: 1 })].map(received));
});
afterAll(() => directory[Symbol.dispose]());

/** A query that never ends once it has given rows for several parts of output. */
const STUCK = `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n, hex(zeroblob(99)) FROM c WHERE n < 2000`;

test('a query from stdin, cut after the most rows', async () => {
  const child = Bun.spawn([...command, 'sql', '--data', directory.path, '--format', 'csv', '--max-rows', '2'], {
    stdin: Buffer.from('SELECT block_height\nFROM v1_blocks;\n'),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  expect(await new Response(child.stdout).text()).toBe('block_height\r\n1\r\n2\r\n');
  expect(await new Response(child.stderr).text()).toBe(
    'The result has more than 2 rows, and the others are left out.\n' +
      'Raise --max-rows, or write the whole result with stackside export --query.\n',
  );
  expect(await child.exited).toBe(1);
});

test('a prompt, at which Ctrl-C gives up a query on which SQLite still works', async () => {
  let written = '';
  const decoder = new TextDecoder();
  const child = Bun.spawn([...command, 'sql', '--data', directory.path], {
    env: { ...process.env, TERM: 'xterm' },
    terminal: {
      cols: 200,
      rows: 24,
      data: (_, bytes) => {
        written += decoder.decode(bytes, { stream: true });
      },
    },
  });
  /** Types a text once a prompt is there, and waits for what it brings. */
  async function typed(text: string, brings: (answer: string) => boolean): Promise<void> {
    await until(() => written.includes('sql> '), 'a prompt');
    written = '';
    child.terminal?.write(text);
    await until(() => brings(written), text);
  }
  await typed('.format ndjson\r', (answer) => answer.includes('ndjson'));
  await typed(`${STUCK};\r`, (answer) => answer.includes('"n":600,'));
  child.terminal?.write('\u0003');
  await typed('select 6 * 7\r as answer;\r', (answer) => answer.includes('{"answer":42}'));
  await typed('\u0004', () => true);
  expect(await child.exited).toBe(0);
});
