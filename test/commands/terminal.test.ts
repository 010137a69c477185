/** The output of a server on a terminal, and for programs. */
import { describe, expect, test } from 'bun:test';
import type { Readiness } from '../../src/api/operations.ts';
import { systemClock } from '../../src/base/clock.ts';
import { realEnvironment } from '../../src/commands/serve/environment.ts';
import { browserUrl, demoPage, statusLine } from '../../src/commands/terminal/pages.ts';
import {
  BlockRate,
  demoPresenter,
  type Presenter,
  type Running,
  servePresenter,
} from '../../src/commands/terminal/presenter.ts';
import { prettyLine } from '../../src/commands/terminal/pretty-log.ts';
import { abilitiesOf, openScreen } from '../../src/commands/terminal/screen.ts';
import type { Level, LogEvent } from '../../src/log.ts';
import { manualClock } from '../support/time/manual-clock.ts';
import { until } from '../support/time/until.ts';

const ERASE = '\r\u001b[K';

/** An output that keeps what is written. */
function output(isTTY: boolean, columns = 80) {
  const written: string[] = [];
  return { isTTY, columns, written, write: (text: string) => written.push(text) };
}

describe('a screen', () => {
  test('draws its last line again, below lines that stay', () => {
    const out = output(true);
    const screen = openScreen(out, true);
    screen.print('first');
    screen.status('a', 'one');
    screen.status('a', 'two');
    screen.print('second');
    screen.end();
    expect(out.written).toEqual(['first\n', `${ERASE}one`, `${ERASE}two`, `${ERASE}second\n${ERASE}two`, '\n']);
  });

  test('cuts a line that a narrow terminal would wrap, but not where no width is known', () => {
    const out = output(true, 10);
    const screen = openScreen(out, true);
    screen.status('a', '123456789');
    screen.status('a', '1234567890');
    out.columns = 2;
    screen.status('a', '12');
    out.columns = 0;
    screen.status('a', 'whole');
    expect(out.written).toEqual([`${ERASE}123456789`, `${ERASE}12345678…`, `${ERASE}…`, `${ERASE}whole`]);
  });

  test("that can't draw a line again prints a status when it is of another kind", () => {
    const out = output(true);
    const screen = openScreen(out, false);
    for (const [kind, text] of [
      ['empty', 'a'],
      ['empty', 'b'],
      ['ready', 'c'],
    ] as const)
      screen.status(kind, text);
    screen.print('x');
    screen.end();
    expect(out.written).toEqual(['a\n', 'c\n', 'x\n']);
  });

  test.each([
    [true, {}, true, true],
    [true, { NO_COLOR: '1' }, true, false],
    [true, { NO_COLOR: '' }, true, true],
    [true, { TERM: 'dumb' }, false, false],
    [false, {}, false, false],
  ])('a terminal (%p) with %p', (isTTY, variables, inPlace, colors) => {
    expect(abilitiesOf(output(isTTY), variables)).toEqual({ inPlace, colors });
  });
});

describe('a log for people', () => {
  const at = Date.UTC(2026, 0, 1, 12, 30, 5);
  const line = (event: LogEvent, colored = false) => prettyLine(event, at, colored);

  test('has the time, the level, the event and its values', () => {
    expect(line({ event: 'block_applied', height: 7, transactions: 2 })).toBe(
      '12:30:05 info  block_applied height=7 transactions=2',
    );
    expect(line({ event: 'event_failed', path: '/new_block', reason: 'no parent' }, true)).toBe(
      '12:30:05 \u001b[31merror\u001b[0m event_failed path=/new_block reason="no parent"',
    );
  });

  test('lets no text draw on the terminal, and shows the stack of an error', () => {
    expect(line({ event: 'drop_reason_unknown', reason: '\u001b[2J\nx' })).toEndWith('reason="\\u001b[2J\\nx"');
    const cause = new Error('broken\u001b[2J\u009b');
    cause.stack = `${cause.message}\n    at here`;
    expect(line({ event: 'crashed', cause })).toBe('12:30:05 error crashed\n    broken?[2J?\n        at here');
  });
});

const state = (given: Partial<Readiness>): Readiness => ({
  ready: given.state === 'ready',
  state: 'ready',
  reason: null,
  height: 1234,
  node_height: null,
  tip_age_seconds: 12,
  ...given,
});

test.each<[Partial<Readiness>, number | null, string]>([
  [{ state: 'empty', height: null }, null, "Waiting for the node's first block · the node's RPC does not answer"],
  [
    { state: 'empty', height: null, node_height: 5 },
    null,
    "Waiting for the node's first block · the node's RPC answers, at height 5",
  ],
  [{ state: 'behind', node_height: 5_678 }, null, 'Height 1,234 of 5,678 (21.7%)'],
  [{ state: 'behind', node_height: 5_678 }, 120, 'Height 1,234 of 5,678 (21.7%) · 120 blocks/s · ETA 00:00:37'],
  [{ state: 'behind', node_height: 5_678 }, 0, 'Height 1,234 of 5,678 (21.7%)'],
  [{ state: 'behind', reason: 'This host is behind.' }, 120, 'Not ready. This host is behind.'],
  [{ state: 'behind', reason: 'This host is behind.', node_height: 1_234 }, 120, 'Not ready. This host is behind.'],
  [
    { state: 'stale', tip_age_seconds: 90_000 },
    2.25,
    "Height 1,234 · 2.3 blocks/s · newest block 1 day 1 hour old · the node's RPC does not answer",
  ],
  [{ node_height: 1_235 }, 1, 'Height 1,234 · newest block 12 seconds old · in step with the node'],
  [{}, 1, "Height 1,234 · newest block 12 seconds old · the node's RPC does not answer"],
  [
    { state: 'failing', reason: 'Nothing can be written: disk is full.' },
    1,
    'Not ready. Nothing can be written: disk is full.',
  ],
])('the status of %p at %p blocks a second', (given, rate, text) => {
  expect(statusLine(state(given), rate).text).toBe(text);
});

test('a rate looks back ten seconds', () => {
  const rate = new BlockRate();
  expect([rate.at(0, 100), rate.at(1_000, 150), rate.at(2_000, 250)]).toEqual([null, 50, 75]);
  // Nothing came since.
  for (let time = 3_000; time < 12_000; time += 1_000) rate.at(time, 250);
  expect(rate.at(12_000, 250)).toBe(0);
});

test('addresses that no browser asks are shown as the loopback', () => {
  expect(['http://0.0.0.0:1', 'http://[::]:1', 'http://127.0.0.1:1'].map(browserUrl)).toEqual([
    'http://127.0.0.1:1',
    'http://[::1]:1',
    'http://127.0.0.1:1',
  ]);
});

/** A server with the answers that it is given. */
function running(given: Partial<Running> & { states?: Readiness[] } = {}): Running {
  const states = given.states ?? [state({})];
  return {
    api: 'http://127.0.0.1:3999',
    events: 'http://0.0.0.0:3700',
    signInPath: () => '/sign-in?token=x',
    readiness: async () => (states.length > 1 ? states.shift()! : states[0]!),
    chainId: async () => 0x8000_0000,
    failed: null,
    stop: async () => {},
    ...given,
  };
}

interface Given {
  logFormat?: 'pretty' | 'json' | null;
  logLevel?: Level;
  stdoutIsTTY?: boolean;
  stderrIsTTY?: boolean;
  make?: typeof servePresenter;
}

/** A presenter with everything that it writes. */
function presented({ logFormat = null, logLevel = 'info', stdoutIsTTY = true, stderrIsTTY = true, make }: Given = {}) {
  const [stdout, stderr, time] = [output(stdoutIsTTY), output(stderrIsTTY, 200), manualClock()];
  const logged: LogEvent[] = [];
  const clock = { ...systemClock, now: time.now, monotonic: time.now, every: time.every };
  const environment = { ...realEnvironment, clock, createLog: () => (event: LogEvent) => void logged.push(event) };
  const settings = { logLevel, logFormat, nodeRpc: 'http://127.0.0.1:20443', data: '/srv' };
  const presenter: Presenter = (make ?? servePresenter)({ settings, environment, stdout, stderr, variables: {} });
  return { presenter, out: stdout.written, err: stderr.written, time, logged };
}

const READY_LINE = '{"ready":true,"api":"http://127.0.0.1:3999","events":"http://0.0.0.0:3700"}\n';
const APPLIED: LogEvent = { event: 'block_applied', height: 101, transactions: 3 };

describe('serve', () => {
  test.each<Given>([{ stderrIsTTY: false }, { logFormat: 'json' }, { stderrIsTTY: false, stdoutIsTTY: false }])(
    'speaks JSON: %p',
    async (given) => {
      const { presenter, out, err, logged } = presented(given);
      await presenter.ready(running());
      presenter.log(APPLIED);
      presenter.environment.createLog('info')(APPLIED);
      presenter.end();
      expect({ out, err, logged }).toEqual({ out: [READY_LINE], err: [], logged: [APPLIED, APPLIED] });
      expect(presenter.environment.threadLines).toBeNull();
    },
  );

  test('writes lines for people where it is set to, and the line that programs wait for', async () => {
    const { presenter, out, err } = presented({ logFormat: 'pretty', stderrIsTTY: false, stdoutIsTTY: false });
    await presenter.ready(running());
    presenter.environment.createLog('info')(APPLIED);
    presenter.environment.threadLines?.print('a line of a thread');
    expect([out, err]).toEqual([
      [READY_LINE],
      ['00:00:00 info  block_applied height=101 transactions=3\n', 'a line of a thread\n'],
    ]);
  });

  test('shows on a terminal where it listens, what the node needs, and how far it is', async () => {
    const { presenter, out, err, time } = presented();
    const states = [
      state({ state: 'empty', height: null }),
      state({ state: 'empty', height: null }),
      state({ state: 'behind', height: 10, node_height: 50 }),
      state({ state: 'behind', height: 20, node_height: 50 }),
    ];
    let chainId: number | null = null;
    await presenter.ready(running({ states, chainId: async () => chainId }));
    const [page = ''] = err;
    expect(page).toContain('\n  Console     http://127.0.0.1:3999/sign-in?token=x\n');
    expect(page).toContain('\n  Events      http://0.0.0.0:3700\n  Network     decided by the first block\n');
    expect(page).toContain("\n  Node's RPC  http://127.0.0.1:20443 does not answer\n  Data        /srv\n");
    expect(page).toEndWith(
      '\n\n    [[events_observer]]\n    endpoint = "127.0.0.1:3700"\n    events_keys = ["*"]\n    timeout_ms = 60000\n\n',
    );
    expect(err.at(-1)).toStartWith(`${ERASE}Waiting for the node's first block`);
    chainId = 1;
    time.tick(1_000);
    await until(() => err.at(-1)?.includes('Height 10') === true);
    expect(err.at(-2)).toContain('The first block has decided the network: mainnet, chain id 0x00000001.\n');
    time.tick(1_000);
    await until(() => err.at(-1)?.includes('Height 20') === true);
    expect(err.at(-1)).toContain('Height 20 of 50 (40.0%) · 10 blocks/s · ETA 00:00:03');
    // Blocks are the status; what needs attention stands above.
    const before = err.length;
    presenter.log(APPLIED);
    presenter.log({ event: 'drop_reason_unknown', reason: 'odd' });
    expect(err.slice(before).join('')).toContain(`drop_reason_unknown reason=odd\n${ERASE}Height 20 of 50`);
    presenter.end();
    time.tick(1_000);
    expect([err.at(-1), out]).toEqual(['\n', []]);
  });

  test('shows no status any more once it has ended, though a look was under way', async () => {
    const { presenter, err, time } = presented();
    const late = Promise.withResolvers<Readiness>();
    const answers = [async () => state({}), async () => state({}), () => late.promise];
    await presenter.ready(running({ readiness: () => answers.shift()!() }));
    time.tick(1_000);
    presenter.end();
    const before = err.length;
    late.resolve(state({ height: 5_000 }));
    await late.promise;
    await systemClock.turn();
    expect(err.slice(before)).toEqual([]);
    // What is logged while the server stops is still shown.
    presenter.log({ event: 'drop_reason_unknown', reason: 'odd' });
    expect(err.at(-1)).toEndWith('drop_reason_unknown reason=odd\n');
  });

  test('says nothing of the configuration once there is a block, and tells programs behind stdout that it listens', async () => {
    const { presenter, out, err } = presented({ stdoutIsTTY: false });
    await presenter.ready(running({ signInPath: () => '/' }));
    expect(err[0]).not.toContain('events_observer');
    expect(err[0]).toContain('  Console     http://127.0.0.1:3999/\n  API ');
    expect(err[0]).toContain('testnet, chain id 0x80000000 (addresses of test networks)');
    expect(out).toEqual([READY_LINE]);
  });
});

test('demo shows its page, two commands to paste, and each block as it comes', async () => {
  const make: typeof servePresenter = (options) => demoPresenter(options, { interval: 5, history: 100 });
  const { presenter, out, err } = presented({ make, logLevel: 'error' });
  presenter.log({ event: 'block_applied', height: 99, transactions: 3 });
  await presenter.ready(running());
  const page = `${demoPage({ api: 'http://127.0.0.1:3999', interval: 5, accounts: [] })}\n`;
  expect(err).toEqual([`${ERASE}Simulating the first 100 blocks: 99`, ERASE, page]);
  const [, , first = ''] = err;
  expect(first.split('\n')[0]).toBe(
    'Stackside serves a simulated Stacks chain with a new block every 5 seconds. Ctrl-C ends it.',
  );
  expect(first.match(/curl http:\/\/127\.0\.0\.1:3999\/\S+/g)).toHaveLength(2);
  presenter.log(APPLIED);
  presenter.log({ event: 'block_reverted', height: 101, index_block_hash: '0x' });
  expect(err.slice(3).join('')).toBe(`00:00:00  block 101  3 transactions\n00:00:00  block 101  replaced by a fork\n`);
  expect(out).toEqual([]);
});
