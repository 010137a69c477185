/** What the operator sees of a server that has run for an hour: this process would show something else each time. */
import type { InspectionsState } from '../../src/api/stackside/inspections.ts';
import type { SystemApi } from '../../src/api/stackside/system.ts';

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

/** What the operator sees of such a server. */
export const exampleSystem: SystemApi = {
  journal: () => ({
    chain: new Uint8Array(32),
    last: 1,
    lacksUpTo: null,
    *entries() {
      yield {
        id: 1,
        receivedAt: 1_700_000_000_000_000,
        path: '/stackerdb_chunks',
        payload: Bun.zstdCompressSync('{}'),
        chain: new Uint8Array(32).fill(1),
      };
    },
  }),
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
    data: {
      directory: '/srv/stacks',
      files: [{ name: 'index.db', bytes: 19_000_000 }],
      free_bytes: 80_000_000_000,
    },
    journal: { entries: 420, missing: 0, oldest_at: 1_700_000_000, newest_at: 1_700_028_000 },
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
    kinds: [{ event: 'block_applied', level: 'info', count: 140, last_at: 1_700_028_000 }],
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
  inspections: {
    state: () => INSPECTED,
    start: () => true,
    cancel: () => true,
    async *digests({ at }) {
      yield { stand: { entry: at, chain: HASH, chain_asked: HASH, schema: 6 } };
      yield { table: { name: 'blocks', rows: 2, range_rows: 1, ranges: ['00'.repeat(16), '01'.repeat(16)] } };
    },
  },
};
