/** What a run is made from, as fast-check draws and shrinks it. */
import fc from 'fast-check';
import { faults } from '../faults/fault-store.ts';
import type { Operation } from './operator.ts';
import type { Mood } from './receivers.ts';

/** What befalls the server, so many milliseconds after what befell it before. */
export type Disturbance = { after: number } & (
  | { befalls: 'restart' }
  /** The process ends after so many calls of SQLite; of what was not synced, a part is kept. */
  | { befalls: 'crash'; calls: number; kept: number }
  | { befalls: 'fault'; calls: number; fault: number }
  | { befalls: 'full_disk'; milliseconds: number }
  | { befalls: 'mood'; path: number; mood: Mood }
  | { befalls: 'operation'; operation: Operation }
);

export interface Case {
  seed: number;
  stream: number;
  disturbances: Disturbance[];
}

/** Chains that cases take turns with: to make one takes as long as to run it. */
const STREAMS = 64;
const MOST_DISTURBANCES = 14;

const hook = fc.nat(5);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ operate: fc.constant('register' as const), filters: fc.nat(3) }),
  fc.record({ operate: fc.constant('disable' as const), hook }),
  fc.record({
    operate: fc.constant('enable' as const),
    hook,
    from: fc.constantFrom('tip' as const, 'last_evaluated' as const, undefined),
  }),
  fc.record({ operate: fc.constantFrom('remove', 'move', 'redeliver', 'backfill', 'evaluate' as const), hook }),
);

const after = fc.nat(1_200);
const disturbance: fc.Arbitrary<Disturbance> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ after, befalls: fc.constant('restart' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      after,
      befalls: fc.constant('crash' as const),
      calls: fc.nat(300),
      kept: fc.constantFrom(1, 1, 0, 0.2, 0.5, 0.8),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      after,
      befalls: fc.constant('fault' as const),
      calls: fc.nat(300),
      fault: fc.nat(faults.length - 1),
    }),
  },
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
  { weight: 6, arbitrary: fc.record({ after, befalls: fc.constant('operation' as const), operation }) },
);

export const cases = (): fc.Arbitrary<Case> =>
  fc.record({
    seed: fc.nat(1_000_000_000),
    stream: fc.nat(STREAMS - 1),
    disturbances: fc.array(disturbance, { maxLength: MOST_DISTURBANCES, size: 'max' }),
  });
