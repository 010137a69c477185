/** Example state of a server that has run for an hour: the state of this process would differ each time. */
import type { HostsState } from '../../../src/api/stackside/server.ts';
import type { InspectionsState, SystemApi } from '../../../src/api/stackside/system.ts';

const INSPECTED: InspectionsState = {
  check: {
    state: 'running',
    started_at: 1_700_028_000,
    ended_at: null,
    progress: { number: 2, of: 60, name: 'schema of the index file', detail: '' },
    problem: null,
    findings: [{ name: 'integrity of the index file', problems: [] }],
  },
  tables: null,
};
const HASH = `0x${'01'.repeat(32)}`;

/** State of a cluster host. */
const exampleHost: NonNullable<HostsState['host']> = {
  name: 'a',
  entry: 1_204_515,
  head: 1_204_515,
  lag_seconds: 0,
  reachable: true,
  conflicts: 381,
  healed: 0,
  deliveries: { held: true, holder: 'a', epoch: 7 },
};

/** A cluster with one host that is behind. Its PostgreSQL replicates to only one standby. */
export const exampleHosts: HostsState = {
  host: exampleHost,
  log: {
    chain_id: 1,
    head: { entry: 1_204_515, chain: HASH },
    log_bytes: 412_000_000,
    hosts: [
      { name: 'a', entry: 1_204_515, behind: 0, lag_seconds: 0, version: 'stackside v1.0.0', seen_seconds_ago: 1.2 },
      {
        name: 'b',
        entry: 1_204_301,
        behind: 214,
        lag_seconds: 31.5,
        version: 'stackside v1.0.0',
        seen_seconds_ago: 3.4,
      },
    ],
    leases: [{ name: 'deliveries', holder: 'a', epoch: 7, seconds_left: 8.5 }],
    engine: {
      server: '10.0.1.1:5432',
      version: '15.4',
      synchronous_standby_names: '',
      standbys: [{ name: 'db2', state: 'streaming', sync: 'async' }],
    },
    warnings: [
      'PostgreSQL does not replicate synchronously (synchronous_standby_names is empty): acknowledged events that no host has yet are lost with the disk of its server, unless that disk is itself replicated.',
    ],
  },
  problem: null,
};

/** The operator's view of this server. */
export const exampleSystem: SystemApi = {
  refreshTokens: async () => null,
  requestBase: () => ({
    entry: 182_400,
    height: 152_210,
    made_at: 1_760_000_000,
    overdue_seconds: 0,
    failing: false,
    making: null,
  }),
  alerts: () => ({
    evaluated_at: 1_700_028_000,
    alerts: [
      {
        name: 'StacksideNoBlocks',
        severity: 'critical',
        state: 'firing',
        since: 1_700_027_000,
        summaries: ['The newest block on this server is 2 h 1 min old'],
        description: 'No blocks arrive. Check the node, its events_observer and rejected events in the log.',
        meaning: 'The newest block on this server is more than 1 h old',
        measure: 'stackside_tip_age_seconds',
        threshold: 'above 1 h',
        for_seconds: 300,
        values: [{ labels: {}, value: 7_300, text: '2 h 1 min' }],
      },
    ],
  }),
  queries: { run: async () => Buffer.from('{"columns":["block_height","tx_count"],"rows":[[140,6]],"cut":false}') },
  hosts: async () => exampleHosts,
  state: () => ({
    settings: [
      {
        group: 'Data',
        name: 'data',
        value: '/srv/stacks',
        help: 'Data directory',
        source: 'flag',
        source_name: '--data',
      },
    ],
    listeners: [{ name: 'API and console', url: 'http://127.0.0.1:3999' }],
    threads: 0,
    data: { directory: '/srv/stacks', files: [{ name: 'index.db', bytes: 19_000_000 }], free_bytes: 80_000_000_000 },
    journal: { entries: 420, oldest_at: 1_700_000_000, newest_at: 1_700_028_000 },
    durability: 'Each event is synced to the journal before the node gets its answer.',
    value_indexes: [
      {
        of: 'logs',
        contract_id: 'SP000000000000000000002Q6VF78.pox-4',
        field: 'data.amount',
        state: 'making',
        from_height: 96,
      },
    ],
  }),
  log: async () => ({
    recent: [
      {
        at: 1_700_028_000,
        thread: 0,
        event: 'block_applied',
        level: 'info',
        fields: '{"height":140,"transactions":6}',
      },
    ],
  }),
  inspections: { state: () => INSPECTED, start: () => true, cancel: () => true },
};
