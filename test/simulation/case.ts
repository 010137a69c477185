/** The case of a run, as fast-check draws and shrinks it. */
import fc from 'fast-check';
import { faults } from '../faults/fault-store.ts';
import type { ClientPlan, Manner } from './clients.ts';
import type { Operation } from './operator.ts';
import type { Mood } from './receivers.ts';

/** When a disturbance happens. Most calls belong to other events, so blocks have a separate moment. */
export type Moment = 'now' | 'next_block';

/** A disturbance of the server, the given milliseconds after the previous one. */
export type Disturbance = { after: number } & (
  | { befalls: 'restart' }
  /** Stops the server, rebuilds its index from the journal, and starts the server. */
  | { befalls: 'rebuild' }
  /** Rebuilds the index while the server runs. The server then switches to it. */
  | { befalls: 'rebuild_beside' }
  /** Stops the server, changes the key of signing secrets, and starts the server. */
  | { befalls: 'key'; key: 'gone' | 'other' | 'damaged' }
  /** The process ends after a number of SQLite calls. Part of the unsynced data survives. */
  | { befalls: 'crash'; at: Moment; calls: number; kept: number }
  /** The process ends after a number of steps of the world, so possibly at any await. */
  | { befalls: 'crash_between'; steps: number; kept: number }
  /** The process ends when a delivery arrives. */
  | { befalls: 'crash_at_delivery'; kept: number }
  | { befalls: 'fault'; at: Moment; calls: number; fault: number }
  /** The commit of the index fails. */
  | { befalls: 'failed_commit'; at: Moment; fault: number }
  | { befalls: 'full_disk'; milliseconds: number }
  /** The archive rejects all requests. */
  | { befalls: 'archive_down'; milliseconds: number }
  /** The operator requests a snapshot in the archive. */
  | { befalls: 'base' }
  /** The server loses its machine, and restores the archive without the given number of last entries. */
  | { befalls: 'lost_machine'; back: number }
  | { befalls: 'mood'; path: number; mood: Mood }
  /** Another process holds a snapshot, as a backup does. */
  | { befalls: 'held_snapshot'; milliseconds: number }
  /** A request takes so long, and holds its snapshot for as long as it may. */
  | { befalls: 'long_request'; milliseconds: number }
  | { befalls: 'operation'; operation: Operation }
);

export interface Case {
  seed: number;
  /** Whether the server is a host of a cluster. */
  shared?: boolean;
  /** Whether the server archives its log. */
  archived?: boolean;
  stream: number;
  /** How much of the stream comes, in quarters. */
  quarters: number;
  /** Bytes above which the server empties a write-ahead log. */
  walLimitBytes: number;
  clients: ClientPlan[];
  /** Number of clients that read the API all the time. */
  readers: number;
  disturbances: Disturbance[];
}

/** Number of different chains. Making a chain takes as long as running it, so cases share them. */
const STREAMS = 64;
const MAX_DISTURBANCES = 14;
const MEGABYTE = 1024 * 1024;
const MAX_CLIENTS = 3;
const MAX_READERS = 2;

const hook = fc.nat(5);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ operate: fc.constant('register' as const), filters: fc.nat(3) }),
  fc.record({ operate: fc.constant('disable' as const), hook }),
  fc.record({
    operate: fc.constant('enable' as const),
    hook,
    from: fc.constantFrom('tip' as const, 'last_evaluated' as const, undefined),
  }),
  fc.record({ operate: fc.constant('pause' as const), hook, milliseconds: fc.nat(2_000) }),
  fc.record({
    operate: fc.constant('secret' as const),
    change: fc.constantFrom('new' as const, 'new' as const, 'none' as const),
  }),
  fc.record({ operate: fc.constantFrom('remove', 'move', 'redeliver', 'backfill', 'evaluate' as const), hook }),
);

/** Time between disturbances, sometimes so long that old data expires. */
const after = fc.oneof(
  { weight: 29, arbitrary: fc.nat(1_200) },
  { weight: 1, arbitrary: fc.integer({ min: 30_000, max: 150_000 }) },
);
const at = fc.constantFrom<Moment>('now', 'next_block');
const kept = fc.constantFrom(1, 0, 0, 0.2, 0.5, 0.8);
/** Number of entries to lose; 0 restores the end. */
const back = fc.oneof(fc.constant(0), fc.nat(12));
const fault = fc.nat(faults.length - 1);
const disturbance: fc.Arbitrary<Disturbance> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      after,
      befalls: fc.constantFrom('restart' as const, 'restart' as const, 'rebuild' as const, 'rebuild_beside' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      after,
      befalls: fc.constant('key' as const),
      key: fc.constantFrom('gone' as const, 'other' as const, 'damaged' as const),
    }),
  },
  { weight: 6, arbitrary: fc.record({ after, befalls: fc.constant('crash' as const), at, calls: fc.nat(300), kept }) },
  { weight: 4, arbitrary: fc.record({ after, befalls: fc.constant('fault' as const), at, calls: fc.nat(300), fault }) },
  {
    weight: 4,
    arbitrary: fc.record({ after, befalls: fc.constant('crash_between' as const), steps: fc.nat(300), kept }),
  },
  { weight: 3, arbitrary: fc.record({ after, befalls: fc.constant('crash_at_delivery' as const), kept }) },
  { weight: 4, arbitrary: fc.record({ after, befalls: fc.constant('failed_commit' as const), at, fault }) },
  {
    weight: 1,
    arbitrary: fc.record({ after, befalls: fc.constant('full_disk' as const), milliseconds: fc.nat(3_000) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      after,
      befalls: fc.constant('mood' as const),
      path: fc.nat(5),
      mood: fc.constantFrom<Mood>('well', 'moody', 'down', 'gone'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ after, befalls: fc.constant('held_snapshot' as const), milliseconds: fc.nat(3_000) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ after, befalls: fc.constant('long_request' as const), milliseconds: fc.nat(300_000) }),
  },
  { weight: 8, arbitrary: fc.record({ after, befalls: fc.constant('operation' as const), operation }) },
);

/** Disturbances of a server that archives its log. */
const archiveDisturbance: fc.Arbitrary<Disturbance> = fc.oneof(
  { weight: 5, arbitrary: disturbance },
  { weight: 1, arbitrary: fc.record({ after, befalls: fc.constant('lost_machine' as const), back }) },
  { weight: 1, arbitrary: fc.record({ after, befalls: fc.constant('base' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ after, befalls: fc.constant('archive_down' as const), milliseconds: fc.nat(3_000) }),
  },
);

const client: fc.Arbitrary<ClientPlan> = fc.record({
  after: fc.nat(2_000),
  protocol: fc.constantFrom('rpc' as const, 'rpc' as const, 'socketIo' as const),
  manner: fc.constantFrom<Manner>('steady', 'slow', 'silent', 'restless'),
  account: fc.nat(5),
});

export const anyChain = { quarters: fc.integer({ min: 1, max: 4 }), stream: fc.nat(STREAMS - 1) };

/** Generates cases in the order in which failures shrink: disturbances first, the chain last. A different seed makes a different world. */
export const cases = (chain = anyChain, archived = false): fc.Arbitrary<Case> =>
  fc.record({
    disturbances: fc.array(archived ? archiveDisturbance : disturbance, { maxLength: MAX_DISTURBANCES, size: 'max' }),
    clients: fc.array(client, { maxLength: MAX_CLIENTS, size: 'max' }),
    readers: fc.nat(MAX_READERS),
    archived: fc.constant(archived),
    walLimitBytes: fc.constantFrom(64 * MEGABYTE, MEGABYTE, MEGABYTE / 4),
    ...chain,
    seed: fc.noShrink(fc.nat(1_000_000_000)),
  });
