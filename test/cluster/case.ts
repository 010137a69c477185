/** The case of a run with several hosts, as fast-check draws and shrinks it. */
import fc from 'fast-check';
import { faults } from '../faults/fault-store.ts';

/** A disturbance of a host or of the log. `after` is the time since the one before, in milliseconds. */
export type Disturbance = { after: number; host: number } & (
  | { befalls: 'restart' }
  | { befalls: 'crash'; kept: number }
  /** The process ends after a number of SQLite calls. */
  | { befalls: 'crash_at_call'; calls: number; kept: number }
  /** The process ends after a number of steps of the world, so possibly at any await. */
  | { befalls: 'crash_between'; steps: number; kept: number }
  | { befalls: 'fault'; calls: number; fault: number }
  | { befalls: 'failed_commit'; fault: number }
  | { befalls: 'full_disk'; milliseconds: number }
  /** No host can reach the log. */
  | { befalls: 'log_away'; milliseconds: number }
  /** Another server of the log takes over. It lacks a number of entries that every host has. */
  | { befalls: 'fail_over'; entries: number }
  /** The engine ends the lease, and its holder doesn't notice. */
  | { befalls: 'lease_lost' }
);

export interface Case {
  seed: number;
  /** Hosts with a node each; the last one of them may come late, with nothing. */
  hosts: number;
  late: boolean;
  stream: number;
  /** Whether hooks are delivered. Otherwise, commands of every kind reach the hosts, including those of deliverers. */
  delivering: boolean;
  /** Calls of the log in a hundred that are disturbed. */
  lostInHundred: number;
  disturbances: Disturbance[];
}

/** Chains that cases take turns with. */
const STREAMS = 16;
const MAX_HOSTS = 3;
const MAX_DISTURBANCES = 10;

const after = fc.nat(400);
const host = fc.nat(MAX_HOSTS - 1);
const kept = fc.constantFrom(1, 0, 0.5);
const calls = fc.nat(300);
const fault = fc.nat(faults.length - 1);
const kind = <B extends string, M extends object>(befalls: B, model: { [K in keyof M]: fc.Arbitrary<M[K]> }) =>
  fc.record({ after, host, befalls: fc.constant(befalls), ...model }) as unknown as fc.Arbitrary<Disturbance>;

const disturbance: fc.Arbitrary<Disturbance> = fc.oneof(
  { weight: 2, arbitrary: kind('restart', {}) },
  { weight: 2, arbitrary: kind('crash', { kept }) },
  { weight: 4, arbitrary: kind('crash_at_call', { calls, kept }) },
  { weight: 5, arbitrary: kind('crash_between', { steps: fc.nat(150), kept }) },
  { weight: 3, arbitrary: kind('fault', { calls, fault }) },
  { weight: 3, arbitrary: kind('failed_commit', { fault }) },
  { weight: 1, arbitrary: kind('full_disk', { milliseconds: fc.nat(1_500) }) },
  { weight: 2, arbitrary: kind('log_away', { milliseconds: fc.nat(1_500) }) },
  { weight: 3, arbitrary: kind('fail_over', { entries: fc.integer({ min: 1, max: 12 }) }) },
  { weight: 2, arbitrary: kind('lease_lost', {}) },
);

export const cases: fc.Arbitrary<Case> = fc.record({
  disturbances: fc.array(disturbance, { maxLength: MAX_DISTURBANCES, size: 'max' }),
  lostInHundred: fc.constantFrom(0, 3, 12),
  hosts: fc.integer({ min: 2, max: MAX_HOSTS }),
  late: fc.boolean(),
  delivering: fc.boolean(),
  stream: fc.nat(STREAMS - 1),
  seed: fc.noShrink(fc.nat(1_000_000_000)),
});
