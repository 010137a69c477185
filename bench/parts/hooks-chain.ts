/**
 * Takes a recording into a new index with hooks that are live from the start, and prints what they cost. Nothing is sent.
 * Arguments: recording, number of hooks, `miss` or `match`, and the contracts that hooks of `match` take turns in.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordingReader } from '../../src/chain/recording.ts';
import { newCounters, untimedHooks } from '../../src/hooks/counters.ts';
import type { HookDefinition } from '../../src/hooks/definition.ts';
import { hookEvaluator } from '../../src/hooks/evaluation/evaluator.ts';
import type { Filter } from '../../src/hooks/filter-schemas.ts';
import { lifecycle } from '../../src/hooks/lifecycle.ts';
import { openIngest } from '../../src/store/ingest/ingest.ts';

const [file = '', number = '0', kind = 'miss', ...contracts] = process.argv.slice(2);
const hooks = Number(number);
const BATCH = 500;

/** Milliseconds of processor time that this process has used: other programs on the machine don't add to it. */
function processorMilliseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** What the clock itself adds between two readings, in milliseconds. */
function clockMilliseconds(): number {
  const times = Array.from({ length: 1000 }, () => -processorMilliseconds() + processorMilliseconds());
  return times.reduce((sum, time) => sum + time, 0) / times.length;
}
const CLOCK = clockMilliseconds();

const nobody = (index: number): string =>
  `ST${index
    .toString(32)
    .toUpperCase()
    .replace(/[ILOU]/g, 'Z')
    .padStart(39, '0')}`;

/** Of every kind in turn, each of somebody else, who never appears. */
function missing(index: number): Filter {
  const principal = nobody(index);
  const contract = `${principal}.contract`;
  const asset_identifier = `${contract}::token`;
  const kinds: Filter[] = [
    { type: 'contract_log', contract_identifier: contract },
    { type: 'contract_call', contract_identifier: contract, function_name: 'transfer' },
    { type: 'stx_transfer', sender: principal },
    { type: 'stx_transfer', receiver: principal },
    { type: 'ft_transfer', asset_identifier, receiver: principal },
    { type: 'ft_event', asset_identifier },
    { type: 'nft_transfer', asset_identifier, value: index },
    { type: 'balance_change', principal },
  ];
  return kinds[index % kinds.length]!;
}

const definition = (index: number): HookDefinition => {
  const contract_identifier = contracts[index % contracts.length] ?? `${nobody(index)}.contract`;
  const filter: Filter = kind === 'match' ? { type: 'contract_log', contract_identifier } : missing(index);
  return {
    name: `hook ${index}`,
    version: '1',
    chain: 'stacks',
    network: 'testnet',
    filters: { events: [filter] },
    options: { enable_on_registration: true },
    action: { type: 'http_post', url: 'https://receiver.example/hook' },
  };
};

const directory = mkdtempSync(join(tmpdir(), 'stackside-bench-'));
const ingest = openIngest({ directory, chainId: 0x8000_0000, log: () => {} });
const counters = newCounters();
/** Deliveries so far, those of a transaction that isn't committed too: one for each hook that matches a block. */
let made = 0;
const deliveries: typeof ingest.hooks.deliveries = {
  ...ingest.hooks.deliveries,
  add(...delivery) {
    made += 1;
    return ingest.hooks.deliveries.add(...delivery);
  },
};
const evaluator = hookEvaluator({
  store: { ...ingest.hooks, deliveries },
  history: ingest.history,
  network: ingest.network,
  counters,
  timers: untimedHooks,
  log: () => {},
  now: Date.now,
  queued: () => {},
  behind: () => {},
  ended: () => {},
  recovered: () => {},
});
const { register } = lifecycle(ingest.hooks, ingest.history, evaluator, Date.now);
ingest.transaction(() => {
  for (let index = 0; index < hooks; index++) {
    // An earlier revision chooses the uuid itself.
    const given = [crypto.randomUUID(), 'default', definition(index)].slice(-register.length);
    (register as (...given: unknown[]) => unknown)(...given);
  }
});

let inHooks = 0;
let blocks = 0;
/** The changes of the chain without a match, and those with matches after the first that had one. */
const without = { changes: 0, milliseconds: 0 };
const withMatches = { changes: 0, milliseconds: 0, matches: 0 };
let firstMatch: number | null = null;
ingest.follow({
  ...evaluator.follower,
  changed(change) {
    const before = made;
    const start = processorMilliseconds();
    evaluator.follower.changed(change, null);
    const milliseconds = processorMilliseconds() - start - CLOCK;
    inHooks += milliseconds;
    blocks += change.applied.length;
    const matches = made - before;
    if (matches > 0 && firstMatch === null) {
      firstMatch = milliseconds;
      return;
    }
    const kind = matches > 0 ? withMatches : without;
    kind.changes += 1;
    kind.milliseconds += milliseconds;
    withMatches.matches += matches;
  },
});
// As a server does before the first event.
ingest.transaction(() => evaluator.advanceLive());
const recording = recordingReader();
let lines = 0;
const started = processorMilliseconds();
let rows = 0;
for (const line of readFileSync(file, 'utf8').split('\n')) {
  const row = line === '' ? null : recording.read(line, ++lines);
  if (row === null) continue;
  ingest.take(row);
  rows += 1;
  if (rows % BATCH === 0) ingest.commit();
}
ingest.commit();
const seconds = (processorMilliseconds() - started) / 1000;
const { matches } = counters;
/** Milliseconds of a change without a match. */
const perChange = without.milliseconds / without.changes;
/** What a match adds to the time of its change, in milliseconds. */
const perMatch = (withMatches.milliseconds - perChange * withMatches.changes) / withMatches.matches;
ingest.close();
rmSync(directory, { recursive: true, force: true });
process.stdout.write(
  JSON.stringify({ seconds, hookSeconds: inHooks / 1000, blocks, matches, firstMatch, perChange, perMatch }),
);
