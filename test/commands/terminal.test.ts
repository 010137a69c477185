/** The output of a server on a terminal, and for programs. */
import { describe, expect, test } from 'bun:test';
import type { Readiness } from '../../src/api/operations.ts';
import { systemClock } from '../../src/base/clock.ts';
import { realEnvironment } from '../../src/commands/serve/environment.ts';
import {
  browserUrl,
  devnetPage,
  devnetPresenter,
  type Presenter,
  type ServerInfo,
  servePresenter,
} from '../../src/commands/terminal/presenter.ts';
import { hasColors, prettyLine } from '../../src/commands/terminal/pretty-log.ts';
import type { Level, LogEvent } from '../../src/log.ts';
import { observerToml } from '../../src/node/node-config.ts';
import { manualClock } from '../support/time/manual-clock.ts';

const ERASE = '\r\u001b[K';

/** Returns an output that records the text written to it. */
function output(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, written, write: (text: string) => written.push(text) };
}

test.each([
  [true, {}, true],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [true, { TERM: 'dumb' }, false],
  [false, {}, false],
])('colors of the log on a terminal (%p) with the variables %p: %p', (isTTY, variables, colors) => {
  expect(hasColors(output(isTTY), variables)).toBe(colors);
});

describe('a log for people', () => {
  const time = Date.UTC(2026, 0, 1, 12, 30, 5);
  const line = (event: LogEvent, colored = false) => prettyLine(event, time, colored);

  test('contains the time, the level, the event and its values', () => {
    expect(line({ event: 'block_applied', height: 7, transactions: 2 })).toBe(
      '12:30:05 info  block_applied height=7 transactions=2',
    );
    expect(line({ event: 'event_failed', path: '/new_block', reason: 'no parent' }, true)).toBe(
      '12:30:05 \u001b[31merror\u001b[0m event_failed path=/new_block reason="no parent"',
    );
  });

  test('escapes control characters and shows the stack of an error', () => {
    expect(line({ event: 'node_data_unread', what: 'drop_reason', reason: '\u001b[2J\nx' })).toEndWith(
      'reason="\\u001b[2J\\nx"',
    );
    const cause = new Error('broken\u001b[2J\u009b');
    cause.stack = `${cause.message}\n    at here`;
    expect(line({ event: 'crashed', cause })).toBe('12:30:05 error crashed\n    broken?[2J?\n        at here');
  });
});

const state = (overrides: Partial<Readiness>): Readiness => ({
  ready: true,
  state: 'live',
  reason: null,
  next: 'Nothing to do.',
  observer: null,
  seconds_left: null,
  height: 1234,
  node_height: null,
  tip_age_seconds: 12,
  ...overrides,
});

test('wildcard addresses are printed as loopback addresses', () => {
  expect(['http://0.0.0.0:1', 'http://[::]:1', 'http://127.0.0.1:1'].map(browserUrl)).toEqual([
    'http://127.0.0.1:1',
    'http://[::1]:1',
    'http://127.0.0.1:1',
  ]);
});

/** Returns a server that gives these responses. */
function serverInfo(overrides: Partial<ServerInfo> = {}): ServerInfo {
  return {
    api: 'http://127.0.0.1:3999',
    events: 'http://0.0.0.0:3700',
    node: 'http://127.0.0.1:20443',
    signInPath: () => '/sign-in?token=x',
    readiness: async () => state({}),
    chainId: async () => 0x8000_0000,
    failed: null,
    stop: async () => {},
    ...overrides,
  };
}

interface Setup {
  logFormat?: 'pretty' | 'json' | null;
  logLevel?: Level;
  stdoutIsTTY?: boolean;
  stderrIsTTY?: boolean;
  make?: typeof servePresenter;
}

/** Returns a presenter, and all of its output. */
function present({ logFormat = null, logLevel = 'info', stdoutIsTTY = true, stderrIsTTY = true, make }: Setup = {}) {
  const [stdout, stderr, time] = [output(stdoutIsTTY), output(stderrIsTTY), manualClock()];
  const logged: LogEvent[] = [];
  const clock = { ...systemClock, now: time.now, monotonic: time.now };
  const environment = { ...realEnvironment, clock, createLog: () => (event: LogEvent) => void logged.push(event) };
  const settings = { logLevel, logFormat, data: '/srv' };
  const presenter: Presenter = (make ?? servePresenter)({ settings, environment, stdout, stderr, variables: {} });
  return { presenter, out: stdout.written, err: stderr.written, time, logged };
}

const READY_LINE = '{"ready":true,"api":"http://127.0.0.1:3999","events":"http://0.0.0.0:3700"}\n';
const APPLIED: LogEvent = { event: 'block_applied', height: 101, transactions: 3 };

describe('serve', () => {
  test.each<Setup>([{ stderrIsTTY: false }, { logFormat: 'json' }, { stderrIsTTY: false, stdoutIsTTY: false }])(
    'prints JSON: %p',
    async (overrides) => {
      const { presenter, out, err, logged } = present(overrides);
      await presenter.ready(serverInfo());
      presenter.log(APPLIED);
      presenter.environment.createLog('info')(APPLIED);
      expect({ out, err, logged }).toEqual({ out: [READY_LINE], err: [], logged: [APPLIED, APPLIED] });
      expect(presenter.environment.threadLines).toBeNull();
    },
  );

  test('prints readable log lines if --log-format is pretty, and the ready line for programs', async () => {
    const { presenter, out, err } = present({ logFormat: 'pretty', stderrIsTTY: false, stdoutIsTTY: false });
    await presenter.ready(serverInfo());
    presenter.environment.createLog('info')(APPLIED);
    presenter.environment.threadLines?.print('a line of a thread');
    expect([out, err]).toEqual([
      [READY_LINE],
      ['00:00:00 info  block_applied height=101 transactions=3\n', 'a line of a thread\n'],
    ]);
  });

  test('on a terminal, prints a banner with the addresses, the state and the next step, then log lines', async () => {
    const { presenter, out, err } = present();
    const readiness = state({
      ready: false,
      state: 'waiting_for_the_node',
      reason: 'No event has arrived.',
      next: 'Start the node.',
      observer: observerToml('127.0.0.1:3700'),
      height: null,
    });
    presenter.log({ event: 'state_degraded', state: 'waiting_for_the_node', reason: null, next: 'In the banner.' });
    await presenter.ready(serverInfo({ readiness: async () => readiness, chainId: async () => null }));
    const [page = ''] = err;
    expect(page).toContain('\n  Console     http://127.0.0.1:3999/sign-in?token=x\n');
    expect(page).toContain('\n  Events      http://0.0.0.0:3700\n  Network     decided by the first block\n');
    expect(page).toContain("\n  Node's RPC  no node answers at http://127.0.0.1:20443\n  Data        /srv\n");
    expect(page).toContain('\n\nWaiting for the node: No event has arrived.\nStart the node.\n');
    expect(page).toEndWith(
      '\n\n    [[events_observer]]\n    endpoint = "127.0.0.1:3700"\n    events_keys = ["*"]\n    timeout_ms = 60000\n\n',
    );
    presenter.log(APPLIED);
    expect(err.slice(1)).toEqual(['00:00:00 \u001b[36minfo \u001b[0m block_applied height=101 transactions=3\n']);
    expect(out).toEqual([]);
  });

  test('prints a state change with the reason, the next step and the observer section', () => {
    const time = Date.UTC(2026, 0, 1, 12, 30, 5);
    const change = { state: 'stuck', reason: 'Block 7 is missing.', next: 'Fill it.' } as const;
    expect(prettyLine({ event: 'state_degraded', ...change }, time, false)).toBe(
      '12:30:05 warn  Stuck: Block 7 is missing.\n    Fill it.',
    );
    expect(
      prettyLine({ event: 'state_changed', state: 'live', reason: null, next: 'Nothing to do.' }, time, false),
    ).toBe('12:30:05 info  Live\n    Nothing to do.');
    expect(prettyLine({ event: 'state_degraded', ...change, observer: '[[a]]\nb = 1\n' }, time, false)).toEndWith(
      '\n    Fill it.\n\n    [[a]]\n    b = 1\n',
    );
  });

  test('omits the observer section once a block has arrived, and prints the ready line if stdout is not a terminal', async () => {
    const { presenter, out, err } = present({ stdoutIsTTY: false });
    await presenter.ready(serverInfo({ signInPath: () => '/' }));
    expect(err[0]).not.toContain('events_observer');
    expect(err[0]).toContain('  Console     http://127.0.0.1:3999/\n  API ');
    expect(err[0]).toContain('testnet, chain id 0x80000000 (addresses of test networks)');
    expect(out).toEqual([READY_LINE]);
  });
});

const make: typeof servePresenter = (options) => devnetPresenter(options, { interval: 5, pastBlocks: 100 });

test('demo shows the progress of its history, then a banner with two commands, then each block', async () => {
  const { presenter, out, err, time } = present({ make, logLevel: 'error' });
  time.tick(1_000);
  presenter.log({ event: 'block_applied', height: 99, transactions: 3 });
  await presenter.ready(serverInfo());
  const page = `${devnetPage({ api: 'http://127.0.0.1:3999', interval: 5, accounts: [], contracts: [] })}\n`;
  expect(err).toEqual([`${ERASE}Simulating the first 100 blocks: 99`, ERASE, page]);
  const [, , first = ''] = err;
  expect(first.split('\n')[0]).toBe(
    'Stackside serves a simulated Stacks chain with a new block every 5 seconds. Ctrl-C stops it.',
  );
  expect(first.match(/curl http:\/\/127\.0\.0\.1:3999\/\S+/g)).toHaveLength(2);
  presenter.log(APPLIED);
  presenter.log({ event: 'node_data_unread', what: 'drop_reason', reason: 'below the log level' });
  presenter.log({ event: 'block_reverted', height: 101, index_block_hash: '0x' });
  expect(err.slice(3)).toEqual([
    expect.stringContaining(' block_applied height=101 transactions=3\n'),
    expect.stringContaining(' block_reverted height=101 index_block_hash=0x\n'),
  ]);
  expect(out).toEqual([]);
});

test('devnet --watch shows the changed contracts and a summary, in place of the blocks that are mined again', async () => {
  const { presenter, err, time } = present({ make });
  await presenter.ready(serverInfo());
  err.splice(0);
  const reverted: LogEvent = { event: 'block_reverted', height: 101, index_block_hash: '0x' };
  presenter.log({ event: 'deployment_started', changed: ['vault'] });
  for (const event of [reverted, APPLIED, APPLIED]) presenter.log(event);
  time.tick(3_000);
  presenter.log({ event: 'contracts_deployed', contracts: ['token', 'vault'], mined: 12, dropped: 0 });
  presenter.log({ event: 'deployment_started', changed: [] });
  presenter.log({ event: 'contracts_refused', problem: 'vault.clar:1:1: wrong', remedy: 'Correct it.' });
  presenter.log(reverted);
  expect(err).toEqual([
    `${ERASE}Deploying vault, and mining the later blocks again`,
    ERASE,
    expect.stringMatching(/ contracts_deployed contracts=\["vault"\] mined=12 dropped=0 seconds=3\n$/),
    `${ERASE}Deploying the contracts, and mining the later blocks again`,
    ERASE,
    expect.stringContaining('contracts_refused'),
    expect.stringContaining('block_reverted height=101'),
  ]);
});

test('demo shows its progress again after a log line', () => {
  const { presenter, err, time } = present({ make });
  const progress = (height: number) => presenter.log({ event: 'block_applied', height, transactions: 3 });
  time.tick(1_000);
  progress(1);
  presenter.log({ event: 'node_data_unread', what: 'drop_reason', reason: 'odd' });
  progress(2);
  expect(err).toEqual([
    `${ERASE}Simulating the first 100 blocks: 1`,
    ERASE,
    expect.stringContaining('node_data_unread what=drop_reason reason=odd\n'),
    `${ERASE}Simulating the first 100 blocks: 2`,
  ]);
});
