/**
 * Imports a recording into a new index with hooks that are live from the start, and prints their cost. Nothing is sent.
 * Arguments: recording, number of hooks, `miss` or `match`, and the contracts that the hooks of `match` watch in turn.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { recordingReader } from '../../src/chain/recording.ts';
import type { HookDefinition } from '../../src/hooks/definition/definition.ts';
import type { Filter } from '../../src/hooks/definition/filter-schemas.ts';
import type { HookCommands } from '../../src/hooks/machine.ts';
import { type HookMachine, hookMachine } from '../../src/hooks/machine.ts';
import { commandsOf } from '../../src/store/ingest/commands.ts';
import { openIngest } from '../../src/store/ingest/ingest.ts';
import type { MachineParts } from '../../src/store/ingest/state-machine.ts';

const [file = '', number = '0', kind = 'miss', ...contracts] = process.argv.slice(2);
const hooks = Number(number);
const BATCH = 500;

/** Returns this process's processor time in milliseconds, which other programs don't increase. */
function processorMilliseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The cost of reading the clock, in milliseconds. */
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

/** Returns filters of every kind in turn, for principals that never appear. */
function missingFilter(index: number): Filter {
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
  const filter: Filter = kind === 'match' ? { type: 'contract_log', contract_identifier } : missingFilter(index);
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
/** Deliveries so far, including uncommitted ones: one per hook and matching block. */
let queued = 0;
let inHooks = 0;
let blocks = 0;
/** Changes of the chain without a match, and changes with matches after the first match. */
const withoutMatches = { changes: 0, milliseconds: 0 };
const withMatches = { changes: 0, milliseconds: 0, matches: 0 };
let firstMatch: number | null = null;
let matchesOfFirst = 0;

/** Chainhooks, and the time that they take for each change of the chain. */
function measuredMachine(parts: MachineParts): HookMachine {
  const { deliveries } = parts.store;
  const counted: typeof deliveries = {
    ...deliveries,
    add(...delivery) {
      queued += 1;
      return deliveries.add(...delivery);
    },
  };
  const machine = hookMachine({ ...parts, store: { ...parts.store, deliveries: counted } }, () => {});
  const changed = machine.follower.changed.bind(machine.follower);
  machine.follower.changed = (change, at) => {
    const queuedBefore = queued;
    const start = processorMilliseconds();
    changed(change, at);
    const milliseconds = processorMilliseconds() - start - CLOCK;
    inHooks += milliseconds;
    blocks += change.applied.length;
    const matches = queued - queuedBefore;
    if (matches > 0 && firstMatch === null) {
      firstMatch = milliseconds;
      matchesOfFirst = matches;
      return;
    }
    const kind = matches > 0 ? withMatches : withoutMatches;
    kind.changes += 1;
    kind.milliseconds += milliseconds;
    withMatches.matches += matches;
  };
  return machine;
}

const ingest = openIngest({ directory, chainId: 0x8000_0000, log: () => {}, machine: measuredMachine });
const commands = commandsOf<HookCommands>(ingest.commander(systemClock));
for (let index = 0; index < hooks; index++) {
  const hook = { uuid: crypto.randomUUID(), consumer: 'default', definition: definition(index) };
  await commands.run('hook.register', hook);
}
const recording = recordingReader();
let lines = 0;
const started = processorMilliseconds();
let rows = 0;
for (const line of readFileSync(file, 'utf8').split('\n')) {
  const row = line === '' ? null : recording.read(line, ++lines);
  if (row === null) continue;
  ingest.apply(row);
  rows += 1;
  if (rows % BATCH === 0) ingest.commit();
}
ingest.commit();
const seconds = (processorMilliseconds() - started) / 1000;
const matches = withMatches.matches + matchesOfFirst;
/** Returns the milliseconds of a change without a match. */
const perChange = withoutMatches.milliseconds / withoutMatches.changes;
/** Returns the milliseconds that a match adds to its change. */
const perMatch = (withMatches.milliseconds - perChange * withMatches.changes) / withMatches.matches;
ingest.close();
rmSync(directory, { recursive: true, force: true });
process.stdout.write(
  JSON.stringify({ seconds, hookSeconds: inHooks / 1000, blocks, matches, firstMatch, perChange, perMatch }),
);
