/** The state of a server as a function of its readings: the first state whose condition holds, and its texts. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  type EventSource,
  findServerStatus,
  type ServerStatus,
  type StateReadings,
  serverStates,
  stateWords,
} from '../../src/api/server-state.ts';
import { assertProperty, Seen } from '../support/property.ts';

const WRONG = { problem: 'The configuration has no observer', remedy: 'Add this section to it', section: '[[x]]' };
const PORT = { kind: 'port', endpoint: '127.0.0.1:3700', config: 'unknown' } satisfies EventSource;

/** The readings of a server that is up to date. */
const LIVE: StateReadings = {
  writeFailure: null,
  readFailure: null,
  wrongChain: null,
  source: PORT,
  nodeFailure: 'no node answers at http://127.0.0.1:20443',
  nodeHeight: 5_000,
  height: 5_000,
  historyStart: null,
  refusal: null,
  filling: null,
  archiveFailure: null,
  preparation: null,
  isHost: false,
  log: null,
  logFailure: null,
  secondsSinceStart: 1_000,
  secondsSinceEvent: 1,
  secondsSinceMove: 1,
  tipAge: 10,
  secondsBehind: null,
  nodeBlocksSinceStart: 0,
  blocksPerSecond: null,
};

const EMPTY = { height: null, secondsSinceEvent: null, secondsSinceStart: 10 };
const GAP = { problem: 'blocks 160–171 are missing', remedy: 'Give --node-auth-file.' };
const FILLED = { refusal: GAP, filling: { failure: null } };

const NO_EVENT = 'The node is at block 5,000, and no event has arrived yet.';
const NOTHING_SENT = 'The node is at block 5,000 but sends nothing.';
const NO_NODE = 'No event has arrived, and no node answers at http://127.0.0.1:20443.';
const IS_CONFIGURED = 'Is this section in its configuration, and was the node restarted since?';
const STARTED_AT_4900 = 'Starting at block 4,900. The index is at block 4,920, and the node is at block 5,000.';
const CHECK_OBSERVER =
  'After a downtime, the node may wait for three times its timeout_ms before it sends again. If it still sends nothing, check that it has the observer section in its configuration, and that it was restarted since.';
const START_NODE = 'Start the node, or name the address of its RPC interface with --node-rpc.';
const CHECK_POSTGRES =
  "Check the cluster's PostgreSQL with stackside cluster status: it must run, accept the login and have a standby. If the primary is lost, promote a standby. Stackside continues by itself.";
const CHECK_ARCHIVE = 'Check the archive of --from. Stackside retries automatically.';
const CHECK_WRITER = 'Check the state of the server that writes to this directory.';
const OLD_TIP = 'The newest block is 2 hours old.';

/** Situations, each with its state and texts. A server isn't ready by default. */
const texts: readonly [
  readings: Partial<StateReadings>,
  state: ServerStatus['state'],
  reason: string | null,
  next: string,
  ready?: boolean,
][] = [
  [{}, 'live', null, 'Nothing to do.', true],
  [
    { writeFailure: { problem: 'disk is full', remedy: 'Free space.' } },
    'cannot_write',
    'Nothing can be written: disk is full.',
    'Free space. The server retries, and the node sends its events again.',
  ],
  [
    { log: { reason: "The cluster's log has accepted nothing for 2 minutes: no answer", isReachable: false } },
    'cannot_write',
    "The cluster's log has accepted nothing for 2 minutes: no answer.",
    CHECK_POSTGRES,
  ],
  [
    { readFailure: { problem: 'f/index.db was made by an unreleased Stackside.', remedy: 'Rebuild the index.' } },
    'cannot_read',
    'f/index.db was made by an unreleased Stackside.',
    'Rebuild the index.',
  ],
  [
    { wrongChain: { problem: 'the block is of chain 0x1', remedy: 'Use a node of chain 0x80000000' } },
    'wrong_chain',
    'The block is of chain 0x1.',
    'Use a node of chain 0x80000000.',
  ],
  [
    { ...EMPTY, nodeHeight: null },
    'waiting_for_the_node',
    NO_NODE,
    "Start the node, with this section in its configuration. If the node's RPC has another address, name it with --node-rpc.",
  ],
  [
    EMPTY,
    'waiting_for_the_first_event',
    NO_EVENT,
    "Add this section to the node's configuration, and restart the node.",
  ],
  [{ ...EMPTY, nodeBlocksSinceStart: 3 }, 'waiting_for_the_first_event', NOTHING_SENT, IS_CONFIGURED],
  [{ ...EMPTY, secondsSinceStart: 120 }, 'waiting_for_the_first_event', NOTHING_SENT, IS_CONFIGURED],
  [
    { ...EMPTY, source: { ...PORT, config: WRONG } },
    'waiting_for_the_first_event',
    'The node is at block 5,000, and no event has arrived yet. The configuration has no observer.',
    'Add this section to it.',
  ],
  [
    { ...EMPTY, source: { ...PORT, config: 'right' } },
    'waiting_for_the_first_event',
    NO_EVENT,
    'Wait for the next block of the node. Restart the node if its configuration changed since its last start.',
  ],
  [
    { ...EMPTY, source: { ...PORT, config: 'right' }, nodeBlocksSinceStart: 3 },
    'waiting_for_the_first_event',
    NOTHING_SENT,
    'Its configuration has the section. Was the node restarted since, and does the endpoint in it lead to 127.0.0.1:3700?',
  ],
  [
    { ...EMPTY, nodeHeight: null, source: { ...PORT, config: 'right' } },
    'waiting_for_the_node',
    NO_NODE,
    'Start the node. If its RPC has another address, name it with --node-rpc.',
  ],
  [
    { ...EMPTY, source: { kind: 'stream', failure: null } },
    'waiting_for_the_first_event',
    'No message has arrived from stacks-node-publisher yet.',
    'Check that stacks-node-publisher receives events from its node.',
  ],
  [{ ...EMPTY, source: null }, 'waiting_for_the_first_event', 'No block is indexed yet.', CHECK_WRITER],
  [
    { ...EMPTY, source: null, isHost: true },
    'waiting_for_the_first_event',
    'No block is indexed yet.',
    'Check that another host of the cluster gets events: stackside cluster status, and the state of each host.',
  ],
  [{ height: null }, 'starting', 'Starting at block 5,001.', 'Wait for the first block.'],
  [{ height: 4_920, historyStart: 4_900, blocksPerSecond: 4 }, 'starting', STARTED_AT_4900, 'Wait.', true],
  [{ height: 4_920, historyStart: 4_900, ...FILLED }, 'starting', STARTED_AT_4900, 'Wait.'],
  [{ height: 159, refusal: GAP }, 'stuck', 'Blocks 160–171 are missing.', 'Give --node-auth-file.'],
  [
    { height: 159, refusal: GAP, filling: { failure: 'the node answers 401' } },
    'stuck',
    "Blocks 160–171 are missing. The gap can't be filled: the node answers 401.",
    "Check --node-rpc and the node's auth token, or the archive of --from. If the node can't return a block, give an archive that has it with --from; if the data was restored to an earlier point, use a new --data directory. Stackside retries automatically.",
  ],
  [
    { height: 4_000, blocksPerSecond: 20 },
    'catching_up',
    'The index is at block 4,000, and the node is at block 5,000, 50 seconds left.',
    'Wait.',
  ],
  [
    { height: 4_000, ...FILLED },
    'catching_up',
    'The index is at block 4,000, and the node is at block 5,000. Blocks 160–171 are missing. Stackside fills the gap.',
    'Wait.',
  ],
  [
    { height: 4_000, blocksPerSecond: 20, logFailure: 'PostgreSQL at db:5432: no answer' },
    'catching_up',
    'The index is at block 4,000, and the node is at block 5,000. Events wait: PostgreSQL at db:5432: no answer.',
    CHECK_POSTGRES,
  ],
  [
    { height: 4_997, secondsSinceMove: 90, logFailure: 'no answer' },
    'catching_up',
    'The index is at block 4,997, and the node is at block 5,000. Events wait: no answer.',
    CHECK_POSTGRES,
  ],
  [
    { log: { reason: 'This host is at entry 1.', isReachable: true } },
    'catching_up',
    'This host is at entry 1.',
    'Wait.',
  ],
  [
    { height: 4_999, secondsBehind: 600, secondsSinceMove: 700 },
    'stale',
    'The index is at block 4,999, and the node is at block 5,000. No block has arrived for 10 minutes.',
    CHECK_OBSERVER,
  ],
  [
    { height: 4_000, secondsBehind: 90, secondsSinceMove: 90 },
    'stale',
    'The index is at block 4,000, and the node is at block 5,000. No block has arrived for 1 minute 30 seconds.',
    CHECK_OBSERVER,
  ],
  [
    { nodeHeight: null, secondsSinceEvent: 1_800 },
    'stale',
    'No event has arrived for 30 minutes, and no node answers at http://127.0.0.1:20443.',
    START_NODE,
  ],
  [
    { nodeHeight: null, secondsSinceEvent: 60, archiveFailure: 'No archive found at /archive.' },
    'stale',
    "No event has arrived for 1 minute, and no node answers at http://127.0.0.1:20443. The archive can't be followed: No archive found at /archive.",
    CHECK_ARCHIVE,
    true,
  ],
  [
    { nodeHeight: null, secondsSinceEvent: 1_800, archiveFailure: 'No archive found at /archive.' },
    'stale',
    "No event has arrived for 30 minutes, and no node answers at http://127.0.0.1:20443. The archive can't be followed: No archive found at /archive.",
    CHECK_ARCHIVE,
  ],
  [
    { source: { kind: 'stream', failure: 'Redis is away' } },
    'stale',
    'No events arrive: Redis is away.',
    'Check --snp and its Redis.',
  ],
  [{ tipAge: 7_200 }, 'stale', OLD_TIP, 'Check that the node is synced and has peers.', true],
  [{ tipAge: 7_200, nodeHeight: null }, 'stale', OLD_TIP, START_NODE, true],
  [{ tipAge: 7_200, source: null }, 'stale', OLD_TIP, CHECK_WRITER, true],
];

describe('texts of the states', () => {
  test.each(texts)('%p', (readings, state, reason, next, ready = false) => {
    expect(findServerStatus({ ...LIVE, ...readings })).toMatchObject({ state, ready, reason, next });
  });

  test('cover every state', () => {
    expect([...new Set(texts.map(([, state]) => state))].sort()).toEqual([...serverStates].sort());
  });

  test('include the observer section only while the node has to be configured', () => {
    const withSection = texts.filter(([readings]) => findServerStatus({ ...LIVE, ...readings }).observer !== null);
    expect(new Set(withSection.map(([, state]) => state))).toEqual(
      new Set(['waiting_for_the_node', 'waiting_for_the_first_event']),
    );
    expect(findServerStatus({ ...LIVE, ...EMPTY }).observer).toContain('endpoint = "127.0.0.1:3700"');
  });
});

test.each([
  [{ height: 4_998 }, 'live'],
  [{ height: 4_997 }, 'catching_up'],
  [{ height: 4_997, secondsSinceMove: 60 }, 'catching_up'],
  [{ height: 4_997, secondsSinceMove: 61 }, 'stale'],
  [{ height: 4_999, secondsBehind: 599 }, 'live'],
  [{ tipAge: 3_600 }, 'live'],
  [{ tipAge: 3_601 }, 'stale'],
  [{ tipAge: null }, 'live'],
  [{ nodeHeight: null, secondsSinceEvent: 1_799 }, 'live'],
  [{ height: 4_998, logFailure: 'no answer' }, 'live'],
  [{ nodeHeight: null, secondsSinceEvent: 59, archiveFailure: 'away' }, 'live'],
  [{ secondsSinceEvent: 60, archiveFailure: 'away' }, 'live'],
  [{ ...EMPTY, secondsSinceEvent: 1 }, 'starting'],
  [{ height: 4_999, historyStart: 4_900 }, 'live'],
  [{ height: 4_000, historyStart: 3_901 }, 'starting'],
  [{ height: 4_000, historyStart: 3_900 }, 'catching_up'],
  [{ height: 4_000, ...FILLED, nodeHeight: null }, 'stuck'],
  [{ height: 4_000, ...FILLED, secondsSinceMove: 61 }, 'stuck'],
] as [Partial<StateReadings>, ServerStatus['state']][])('the bounds of the conditions: %p is %p', (readings, state) => {
  expect(findServerStatus({ ...LIVE, ...readings }).state).toBe(state);
});

describe('with random readings', () => {
  const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 2 });
  const height = fc.integer({ min: 0, max: 300 });
  const seconds = fc.integer({ min: 0, max: 4_000 });
  const text = fc.constantFrom('a reason', 'Another reason.');
  const obstacle = fc.record({ problem: text, remedy: text });
  const readings: fc.Arbitrary<StateReadings> = fc.record({
    writeFailure: orNull(obstacle),
    readFailure: orNull(obstacle),
    wrongChain: orNull(obstacle),
    source: orNull(
      fc.oneof(fc.constant(PORT), fc.record({ kind: fc.constant('stream' as const), failure: orNull(text) })),
    ),
    nodeFailure: text,
    nodeHeight: orNull(height),
    height: orNull(height),
    historyStart: orNull(height),
    refusal: orNull(obstacle),
    filling: orNull(fc.record({ failure: orNull(text) })),
    archiveFailure: orNull(text),
    preparation: fc.constant(null),
    isHost: fc.boolean(),
    logFailure: orNull(text),
    log: orNull(fc.record({ reason: text, isReachable: fc.boolean() })),
    secondsSinceStart: seconds,
    secondsSinceEvent: orNull(seconds),
    secondsSinceMove: seconds,
    tipAge: orNull(fc.integer({ min: 0, max: 8_000 })),
    secondsBehind: orNull(seconds),
    nodeBlocksSinceStart: fc.integer({ min: 0, max: 5 }),
    blocksPerSecond: orNull(fc.double({ min: 0.01, max: 100, noNaN: true })),
  });

  /** Readings without the obstacles that earlier states are about. */
  const cures: Readonly<Partial<Record<ServerStatus['state'], Partial<StateReadings>>>> = {
    cannot_write: { writeFailure: null, log: null },
    cannot_read: { readFailure: null },
    wrong_chain: { wrongChain: null },
  };
  const order = (state: ServerStatus['state']): number => serverStates.indexOf(state);

  test('exactly one state with a next step applies, and only live, a start without a gap or an old tip is ready', () => {
    assertProperty(
      fc.property(readings, (reading) => {
        const { state, ready, reason, next, secondsLeft, observer } = findServerStatus(reading);
        expect(serverStates).toContain(state);
        expect(next).toMatch(/^[A-Z].*[.?!]$/s);
        expect(reason === null).toBe(state === 'live');
        if (reason !== null) expect(reason).toMatch(/^[A-Z].*[.?!]$/s);
        expect(ready).toBe(
          state === 'live' ||
            (state === 'starting' && reading.height !== null && reading.refusal === null) ||
            (state === 'stale' && reason!.startsWith('The newest block is ')) ||
            (state === 'stale' &&
              next === CHECK_ARCHIVE &&
              (reading.secondsSinceEvent ?? reading.secondsSinceStart) < 1_800),
        );
        expect(secondsLeft === null || secondsLeft > 0).toBe(true);
        if (observer !== null) expect([reading.height, reading.source]).toEqual([null, PORT]);
      }),
      { cases: 500, always: 'the state is decided in every case' },
    );
  });

  test('an obstacle decides the state unless an earlier state applies, and fixing it leads to a later state', () => {
    const seen = new Seen({ cannot_write: 20, cannot_read: 20, wrong_chain: 20, later: 20 });
    assertProperty(
      fc.property(readings, (reading) => {
        const { state } = findServerStatus(reading);
        seen.add(state === 'cannot_write' || state === 'cannot_read' || state === 'wrong_chain' ? state : 'later');
        for (const [earlier, cure] of Object.entries(cures) as [ServerStatus['state'], Partial<StateReadings>][]) {
          const cured = findServerStatus({ ...reading, ...cure }).state;
          if (state === earlier) expect(order(cured)).toBeGreaterThan(order(state));
          else if (order(state) < order(earlier)) expect(cured).toBe(state);
        }
        if (reading.refusal !== null && reading.filling === null) {
          expect(order(state)).toBeLessThanOrEqual(order('stuck'));
        }
        const isBehind = reading.nodeHeight !== null && reading.nodeHeight - (reading.height ?? 0) > 2;
        if (isBehind || (reading.tipAge ?? 0) > 3_600) expect(state).not.toBe('live');
      }),
      { cases: 500, seen },
    );
  });
});

test('the display name of a state replaces underscores by blanks', () => {
  expect(stateWords('waiting_for_the_first_event')).toBe('waiting for the first event');
});
