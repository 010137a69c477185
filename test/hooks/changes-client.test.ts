/** The example client of docs/changes.md, killed and restarted over a chain with forks. */
import { Database, SQLiteError } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectory } from '../support/data/data-directory.ts';
import { simulatedEvents } from '../support/data/ingest.ts';
import { until } from '../support/time/until.ts';
import { hookServer } from './server.ts';

const directory = dataDirectory();
afterAll(() => directory[Symbol.dispose]());

const page = readFileSync(join(import.meta.dir, '../../docs/changes.md'), 'utf8');

test('a client that is killed stores each transfer of the canonical chain exactly once', async () => {
  const [, code] = /^```js follow\.js\n([\s\S]*?)^```$/m.exec(page)!;
  expect(code!.trim().split('\n').length).toBeLessThanOrEqual(35);
  const script = join(directory.path, 'follow.js');
  const file = join(directory.path, 'transfers.db');
  writeFileSync(script, code!);
  await using server = await hookServer();
  const spawning = { stdout: 'ignore', stderr: 'inherit', cwd: directory.path } as const;
  const world = { accounts: 8, transactionsPerBlock: 4, forkEvery: 5, forkDepth: 2 };
  const events = simulatedEvents({ seed: 3, blocks: 24, ...world });
  const readStored = (sql: string): string[] => {
    try {
      using db = new Database(file, { readonly: true });
      return db
        .query<{ text: string }, []>(sql)
        .all()
        .map(({ text }) => text);
    } catch (error) {
      if (!(error instanceof SQLiteError)) throw error;
      // The client hasn't made its tables yet.
      return [];
    }
  };
  const isAt = async (): Promise<boolean> => {
    const { body } = await server.request('GET', '/stackside/v1/changes?after=tip');
    return readStored('SELECT cursor AS text FROM place')[0] === body.next;
  };
  for (const part of [events.slice(0, 40), events.slice(40, 70), events.slice(70)]) {
    const client = Bun.spawn([process.execPath, script, server.url, file], spawning);
    server.feed(part);
    await until(isAt, 'the end of the chain');
    client.kill('SIGKILL');
    await client.exited;
  }
  const filters = encodeURIComponent('{"events":[{"type":"stx_transfer"}]}');
  const list = `/stackside/v1/changes?from_height=1&include=transactions&limit=500&filters=${filters}`;
  const { body } = await server.request('GET', list);
  const expected = body.results.flatMap(({ block }: { block: { transactions: never[] } }) =>
    block.transactions.map(({ transaction_identifier: { hash } }) => hash),
  );
  expect(expected.length).toBeGreaterThan(20);
  expect(readStored('SELECT tx_id AS text FROM transfers ORDER BY rowid')).toEqual(expected);
  const { body: whole } = await server.request('GET', '/stackside/v1/changes?limit=500');
  expect(whole.results.some(({ change }: { change: string }) => change === 'rollback')).toBe(true);
});
