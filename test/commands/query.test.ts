/** `stackside sql`: output formats and limits. */
import { afterAll, expect, spyOn, test } from 'bun:test';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../../src/base/clock.ts';
import { createProgram } from '../../src/commands/program.ts';
import { type Encode, encoderOf } from '../../src/commands/query/formats.ts';
import type { Format } from '../../src/commands/query/options.ts';
import { type QueryStart, queryStream, runQuery } from '../../src/commands/query/run.ts';
import { ingestOf } from '../support/data/ingest.ts';
import { manualClock } from '../support/time/manual-clock.ts';

const directory = ingestOf([], { views: true });
afterAll(() => directory[Symbol.dispose]());

const columns = ['n', 'text', 'n'].map((name) => ({ name, form: 'mixed' as const }));
type Rows = Parameters<Encode>[1];
const encode = (format: Format, rows: Rows, printable = false): string =>
  [...encoderOf(format, printable)(columns, rows)].map(String).join('');

const rows: Rows = [
  [9007199254740993n, 'a "quoted", text\n', new Uint8Array([0xab])],
  [null, '=1+1', 1.5],
  [-7n, '-12', '\u001b[2J'],
];

test('CSV quotes values if necessary, prints bytes as hex and escapes formulas', () => {
  const lines = ['n,text,n', '9007199254740993,"a ""quoted"", text\n",0xab', ",'=1+1,1.5", '-7,-12,\u001b[2J', ''];
  expect(encode('csv', rows)).toBe(lines.join('\r\n'));
});

test('JSON keeps every digit, and both columns with the same name', () => {
  const objects = [
    '{"n":9007199254740993,"text":"a \\"quoted\\", text\\n","n:3":"0xab"}',
    '{"n":null,"text":"=1+1","n:3":1.5}',
    '{"n":-7,"text":"-12","n:3":"\\u001b[2J"}',
  ];
  expect(encode('ndjson', rows)).toBe(objects.map((object) => `${object}\n`).join(''));
  expect(encode('json', rows)).toBe(`[\n${objects.join(',\n')}\n]\n`);
  expect(encode('json', [])).toBe('[]\n');
});

test('a table has the widths of its first rows, and one line per row', () => {
  const many = Array.from({ length: 500 }, (_, i) => [BigInt(i), 'x', null]);
  const lines = encode('table', [[1n, 'long\ntext', null], ...many]).split('\n');
  expect(lines.slice(0, 4)).toEqual(['n    text       n', '---  ---------  -', '  1  long text', '  0  x']);
  expect(lines.length).toBe(504);
  expect(encode('table', [[1n, 'x'.repeat(100), null]])).toContain(`${'x'.repeat(83)}…`);
});

test('the columns of a table are aligned by the width that a terminal shows', () => {
  const names = ['絵文字と漢字', '👩‍👩‍👧 family', 'é', '\u001b[31mred', 'plain'];
  const [, , ...lines] = encode(
    'table',
    names.map((name) => [1n, name, 'end']),
    true,
  )
    .trimEnd()
    .split('\n');
  const ends = lines.map((line) => Bun.stringWidth(line.slice(0, line.indexOf('end'))));
  expect(ends).toEqual(names.map(() => 17));
  const wide = encode('table', [[1n, '漢'.repeat(100), null]]);
  expect(wide).toContain(`  ${'漢'.repeat(41)}…\n`);
  expect(encode('table', [[1n, '👍🏽'.repeat(100), null]])).toContain(`  ${'👍🏽'.repeat(41)}…\n`);
});

test('control characters are replaced on a terminal', () => {
  expect(encode('csv', rows, true)).toContain('?[2J');
  expect(encode('table', rows, true)).toContain('?[2J');
});

const start = (sql: string, others: Partial<QueryStart> = {}): QueryStart => ({
  directory: directory.path,
  source: { sql },
  format: 'csv',
  printable: false,
  maxRows: 10_000,
  ...others,
});
const ENDLESS = 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c';

/** Runs a query, and joins its output. */
async function outputOf(start: QueryStart) {
  const parts: Uint8Array[] = [];
  const end = await runQuery(start, { seconds: null, bytes: null }, async (part) => void parts.push(part));
  return { text: Buffer.concat(parts).toString(), end };
}

test('a query runs on a thread and returns its output in parts', async () => {
  const { text, end } = await outputOf(start(`${ENDLESS} LIMIT 30000`, { maxRows: 30_000 }));
  expect(text.split('\r\n').length).toBe(30_002);
  expect(end).toEqual({ rows: 30_000, cut: false, blocks: null, historyFrom: null });
});

/** A stream that fails with its nth write. */
function failingAt(nth: number): Writable {
  let writes = 0;
  return new Writable({
    write(_bytes, _encoding, taken) {
      writes += 1;
      // A disk fails some time after the write began.
      setImmediate(() => taken(writes === nth ? new Error('full') : null));
    },
  });
}

test('a stream of a query reads it to its end, or ends its thread if a write fails', async () => {
  const terminate = spyOn(Worker.prototype, 'terminate');
  try {
    for (const nth of [1, 2, 3, 4, 5, 6]) {
      terminate.mockClear();
      // The result has four parts.
      const { stream, result } = queryStream(start(`${ENDLESS} LIMIT 30000`, { maxRows: null }));
      const written = pipeline(stream, failingAt(nth)).then(() => 'written', String);
      expect([nth, await written]).toEqual([nth, nth > 4 ? 'written' : 'Error: full']);
      expect(terminate).toHaveBeenCalledTimes(1);
      if (nth > 4) expect(result()).toEqual({ rows: 30_000, cut: false, blocks: null, historyFrom: null });
    }
  } finally {
    terminate.mockRestore();
  }
});

test('a result stops at the row limit and is marked as cut', async () => {
  const { text, end } = await outputOf(start(ENDLESS, { maxRows: 3 }));
  expect(text).toBe('n\r\n1\r\n2\r\n3\r\n');
  expect(end).toEqual({ rows: 3, cut: true, blocks: null, historyFrom: null });
});

test("the main thread reports the thread's errors", async () => {
  await expect(outputOf(start('SELEC'))).rejects.toThrow('near "SELEC": syntax error');
  await expect(outputOf(start('SELECT 1', { directory: '/nowhere' }))).rejects.toThrow('No index found');
});

test('a query is cancelled after its time limit and above its memory limit', async () => {
  const { every, tick } = manualClock();
  let memory = 0;
  let timeIsUp = () => {};
  const after = (_: number, call: () => void) => {
    timeIsUp = call;
    return () => {};
  };
  const machine = { clock: { ...systemClock, every, after }, memory: () => memory };
  const limits = { seconds: 60, bytes: 200_000_000 };
  // The test doesn't read the first part, so the thread waits.
  const runPart = (reach: () => void) => {
    const take = () => {
      reach();
      return new Promise<void>(() => {});
    };
    return runQuery(start(ENDLESS, { maxRows: 100_000 }), limits, take, machine);
  };
  await expect(runPart(() => timeIsUp())).rejects.toThrow('The query took longer than 60 seconds and was cancelled.');
  const greedy = runPart(() => {
    tick();
    memory = 200_000_001;
    tick();
  });
  await expect(greedy).rejects.toThrow('The query needs more than 200 MB of memory and was cancelled.');
});

test('a time too long for a timer is rejected', async () => {
  const run = (...args: string[]) => createProgram().parseAsync(['node', 'stackside', ...args]);
  await expect(run('sql', '--timeout', '3000000', 'SELECT 1')).rejects.toMatchObject({
    remedy: 'It must be a whole number from 1 to 86400.',
  });
  await expect(run('hooks', 'listen', '--delay', '3000000000')).rejects.toMatchObject({
    remedy: 'It must be a whole number from 0 to 86400000.',
  });
});
