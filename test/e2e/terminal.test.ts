/** The first minute of a server in a real terminal. */
import { expect, test } from 'bun:test';
import { dataDirectory } from '../support/data/data-directory.ts';
import { until } from '../support/time/until.ts';
import { command } from './stackside.ts';

/** Runs a server in a terminal until a condition is true, then stops it. @returns the complete output */
async function inTerminal(args: readonly string[], holds: (written: string) => boolean, variables = {}) {
  let written = '';
  const decoder = new TextDecoder();
  const child = Bun.spawn([...command, ...args, '--api-port', '0', '--event-port', '0'], {
    env: { ...process.env, TERM: 'xterm', NO_COLOR: '', ...variables },
    terminal: {
      cols: 60,
      rows: 24,
      data: (_, bytes) => {
        written += decoder.decode(bytes, { stream: true });
      },
    },
  });
  await until(() => holds(written), 'the text');
  child.kill('SIGTERM');
  return { code: await child.exited, written };
}

const CONTROLS = '\u001b';

test("demo: prints its purpose, the console's URL, two commands, and blocks", async () => {
  const { code, written } = await inTerminal(['demo', '--block-time', '1', '--past-blocks', '1'], (text) =>
    /block_applied .*\r\n/.test(text),
  );
  expect(code).toBe(0);
  expect(written).toContain('Stackside serves a simulated Stacks chain with a new block every second.');
  const address = /Console {2}(http:\/\/127\.0\.0\.1:\d+)\r\n/.exec(written)?.[1];
  expect(written.match(/curl (http:\/\/127\.0\.0\.1:\d+)\/\S+\r\n/g)).toEqual([
    expect.stringContaining(`${address}/`),
    expect.stringContaining(`${address}/`),
  ]);
  expect(written).not.toContain('{');
});

test('serve: prints a banner on a terminal, without control characters if TERM is dumb, and JSON on request', async () => {
  using directory = dataDirectory();
  const args = ['serve', '--data', directory.path, '--node-rpc', 'http://127.0.0.1:1'];
  const waits = (text: string) => text.includes('timeout_ms');
  const { code, written } = await inTerminal(args, waits);
  expect([code, written.includes(CONTROLS)]).toEqual([0, true]);
  expect(written).toMatch(/Console +http:\/\/127\.0\.0\.1:\d+\/stackside\/v1\/session\/sign-in\?token=/);
  expect(written).toContain('[[events_observer]]');
  const plain = await inTerminal(args, waits, { TERM: 'dumb' });
  expect([plain.code, plain.written.includes(CONTROLS)]).toEqual([0, false]);
  const json = await inTerminal([...args, '--log-format', 'json'], (text) => text.includes('"ready":true'));
  expect([json.code, json.written.includes('Console')]).toEqual([0, false]);
});
