/** The dashboard for Grafana: `bun packaging/grafana/dashboard.ts` writes stackside.json. */
import { join } from 'node:path';

export const dashboardFile = join(import.meta.dir, 'stackside.json');

interface Query {
  expr: string;
  /** Name of a line, with labels as `{{label}}`. */
  legend: string;
}

interface Panel {
  title: string;
  /** One sentence under the title's mark. */
  about: string;
  /** A unit of Grafana. */
  unit: string;
  queries: readonly Query[];
  /** Shows a single number in the colours of these steps; without steps, the panel shows lines over time. */
  steps?: readonly (readonly [from: number | null, color: 'green' | 'orange' | 'red'])[];
  /** Names of values, for numbers that stand for words. */
  words?: Readonly<Record<number, string>>;
}

/** The series of the servers that are chosen above. */
const CHOSEN = 'job="$job", instance=~"$instance"';
const of = (metric: string, labels = ''): string => `${metric}{${CHOSEN}${labels === '' ? '' : `, ${labels}`}}`;
const rate = (metric: string, labels = ''): string => `rate(${of(metric, labels)}[$__rate_interval])`;
const perLabel = (labels: string, expr: string): string => `sum by (${labels}) (${expr})`;
const quantile = (share: number, histogram: string, labels = ''): string =>
  `histogram_quantile(${share}, sum by (${labels === '' ? '' : `${labels}, `}le) (${rate(`${histogram}_bucket`)}))`;
const line = (expr: string, legend: string): Query => ({ expr, legend });
const each = (expr: string): Query => line(expr, '{{instance}}');

const rows: readonly (readonly [title: string, panels: readonly Panel[]])[] = [
  [
    'State',
    [
      {
        title: 'Height',
        about: 'The newest block of the index.',
        unit: 'none',
        steps: [[null, 'green']],
        queries: [each(of('stacks_block_height'))],
      },
      {
        title: 'Age of the newest block',
        about: 'An age that keeps growing means that no blocks arrive.',
        unit: 's',
        steps: [
          [null, 'green'],
          [600, 'orange'],
          [3600, 'red'],
        ],
        queries: [each(of('stackside_tip_age_seconds'))],
      },
      {
        title: 'Behind the node',
        about: 'Blocks that the node has and the index lacks.',
        unit: 'none',
        steps: [
          [null, 'green'],
          [3, 'orange'],
          [100, 'red'],
        ],
        queries: [each(of('stackside_blocks_behind_node'))],
      },
      {
        title: 'Writes',
        about: 'Whether the last write succeeded.',
        unit: 'none',
        steps: [
          [null, 'red'],
          [1, 'green'],
        ],
        words: { 0: 'failing', 1: 'succeed' },
        queries: [each(of('stackside_store_writable'))],
      },
      {
        title: 'Node',
        about: "Whether the node's RPC interface can be reached.",
        unit: 'none',
        steps: [
          [null, 'red'],
          [1, 'green'],
        ],
        words: { 0: 'unreachable', 1: 'reached' },
        queries: [each(of('stackside_node_reachable'))],
      },
      {
        title: 'Interrupted chainhooks',
        about: 'Chainhooks whose receivers failed for too long.',
        unit: 'none',
        steps: [
          [null, 'green'],
          [1, 'red'],
        ],
        queries: [line(`sum(${of('chainhooks_hooks', 'status="interrupted"')}) or vector(0)`, 'interrupted')],
      },
    ],
  ],
  [
    'Events from the node',
    [
      {
        title: 'Events',
        about: 'Events by path and outcome; rejected and failed should stay at 0.',
        unit: 'ops',
        queries: [line(perLabel('event, outcome', rate('stackside_events_total')), '{{event}} {{outcome}}')],
      },
      {
        title: 'Time until an event is on the disk',
        about: 'Half of all events take less than the lower line.',
        unit: 'ms',
        queries: [
          line(quantile(0.5, 'stacks_event_ingestion_timers'), 'median'),
          line(quantile(0.99, 'stacks_event_ingestion_timers'), '99 %'),
        ],
      },
      {
        title: 'Events in hand, and writes that failed',
        about: 'Events that were posted and are not answered yet, and failed writes by reason.',
        unit: 'none',
        queries: [
          line(of('stackside_events_in_flight'), 'in hand {{instance}}'),
          line(`increase(${of('stackside_store_failures_total')}[$__rate_interval])`, 'failed: {{reason}}'),
        ],
      },
      {
        title: 'Mempool',
        about: 'Transactions in the mempool by type.',
        unit: 'none',
        queries: [line(perLabel('type', of('mempool_tx_count')), '{{type}}')],
      },
    ],
  ],
  [
    'Archive',
    [
      {
        title: 'Behind the log',
        about: 'Seconds since the archive last had every entry of the log; 0 while it has, and without an archive.',
        unit: 's',
        queries: [each(of('stackside_archive_behind_seconds'))],
      },
      {
        title: 'Entries that the archive lacks',
        about: 'They are lost with the machine. The first archive of a long log begins with all of them.',
        unit: 'none',
        queries: [each(of('stackside_archive_behind_entries'))],
      },
      {
        title: 'Attempts to archive that failed',
        about: 'Stackside retries each; the log event service_failing has the reason.',
        unit: 'none',
        queries: [each(`increase(${of('stackside_archive_failures_total')}[$__rate_interval])`)],
      },
      {
        title: 'Age of the newest base',
        about: 'A restore from the base replays all later entries. The age is 0 if there is no base.',
        unit: 's',
        queries: [
          line(of('stackside_archive_base_seconds'), '{{instance}}'),
          line(of('stackside_archive_base_overdue_seconds'), 'overdue: {{instance}}'),
        ],
      },
    ],
  ],
  [
    'API',
    [
      {
        title: 'Requests by status',
        about: 'Requests that were answered.',
        unit: 'reqps',
        queries: [line(perLabel('status_code', rate('http_request_duration_seconds_count')), '{{status_code}}')],
      },
      {
        title: 'Busiest routes',
        about: 'The ten routes with the most requests.',
        unit: 'reqps',
        queries: [
          line(
            `topk(10, ${perLabel('method, route', rate('http_request_duration_seconds_count'))})`,
            '{{method}} {{route}}',
          ),
        ],
      },
      {
        title: 'Time of requests',
        about: 'Half of all requests take less than the lowest line.',
        unit: 's',
        queries: [
          line(quantile(0.5, 'http_request_duration_seconds'), 'median'),
          line(quantile(0.9, 'http_request_duration_seconds'), '90 %'),
          line(quantile(0.99, 'http_request_duration_seconds'), '99 %'),
        ],
      },
      {
        title: 'Slowest routes',
        about: 'The ten routes with the longest 99 % time.',
        unit: 's',
        queries: [line(`topk(10, ${quantile(0.99, 'http_request_duration_seconds', 'route')})`, '{{route}}')],
      },
    ],
  ],
  [
    'Chainhooks',
    [
      {
        title: 'Chainhooks by status',
        about: 'A healthy chainhook is enabled and streaming.',
        unit: 'none',
        queries: [line(perLabel('status, enabled', of('chainhooks_hooks')), '{{status}}, enabled: {{enabled}}')],
      },
      {
        title: 'Queue',
        about: 'Deliveries that wait.',
        unit: 'none',
        queries: [each(of('chainhooks_outbox_pending'))],
      },
      {
        title: 'Oldest delivery',
        about: 'If the age grows, a receiver fails.',
        unit: 's',
        queries: [each(of('chainhooks_outbox_oldest_seconds'))],
      },
      {
        title: 'Attempts',
        about: 'Attempts to deliver by their outcome.',
        unit: 'ops',
        queries: [
          line(`sum(${rate('chainhooks_deliveries_succeeded_total')})`, 'succeeded'),
          line(`sum(${rate('chainhooks_deliveries_failed_total')})`, 'failed'),
          line(`sum(${rate('chainhooks_ssrf_blocked_total')})`, 'target not allowed'),
        ],
      },
      {
        title: 'Time of an attempt',
        about: 'Time of receivers to answer, successful or not.',
        unit: 's',
        queries: [
          line(quantile(0.5, 'chainhooks_delivery_seconds'), 'median'),
          line(quantile(0.99, 'chainhooks_delivery_seconds'), '99 %'),
        ],
      },
      {
        title: 'Evaluation',
        about: 'Evaluation is part of the time that a block takes.',
        unit: 's',
        queries: [
          line(quantile(0.5, 'chainhooks_evaluation_seconds'), 'median'),
          line(quantile(0.99, 'chainhooks_evaluation_seconds'), '99 %'),
        ],
      },
    ],
  ],
  [
    'Realtime',
    [
      {
        title: 'Connections',
        about: 'Open connections.',
        unit: 'none',
        queries: [
          line(`sum(${of('websocket_connections')})`, 'WebSocket'),
          line(`sum(${of('socket_io_connections')})`, 'Socket.IO'),
        ],
      },
      {
        title: 'Subscriptions',
        about: 'Subscriptions of all connections by topic.',
        unit: 'none',
        queries: [line(perLabel('topic', of('stackside_subscriptions')), '{{topic}}')],
      },
      {
        title: 'Messages',
        about: 'Messages sent by topic.',
        unit: 'ops',
        queries: [
          line(perLabel('event', rate('websocket_events_sent')), 'WebSocket {{event}}'),
          line(perLabel('event', rate('socket_io_events_sent')), 'Socket.IO {{event}}'),
        ],
      },
      {
        title: 'Connections that were ended',
        about: 'Slow clients are cut off, clients that break a rule are refused; a failed handler is a bug.',
        unit: 'ops',
        queries: ['cut_off', 'refused', 'failed'].map((end) =>
          line(
            `sum(${rate(`websocket_${end}_total`)}) + sum(${rate(`socket_io_${end}_total`)})`,
            end.replace('_', ' '),
          ),
        ),
      },
    ],
  ],
  [
    'Several hosts, and streams',
    [
      {
        title: 'Behind the shared log',
        about: 'Time since a host last had all entries of the log; 0 while it has them. Only with --cluster.',
        unit: 's',
        queries: [each(of('stackside_log_lag_seconds'))],
      },
      {
        title: 'Time of an append to the shared log',
        about: 'Part of the time until the node gets its 200.',
        unit: 's',
        queries: [
          line(quantile(0.5, 'stackside_log_append_seconds'), 'median'),
          line(quantile(0.99, 'stackside_log_append_seconds'), '99 %'),
        ],
      },
      {
        title: 'Conflicts and healed entries',
        about: 'Conflicts are usual if several nodes post; restored entries were missing in the log.',
        unit: 'none',
        queries: [
          line(`increase(${of('stackside_log_conflicts_total')}[$__rate_interval])`, 'conflicts {{instance}}'),
          line(`increase(${of('stackside_log_restored_entries_total')}[$__rate_interval])`, 'healed {{instance}}'),
        ],
      },
      {
        title: 'Host that delivers chainhooks',
        about: '1 for the host that delivers; another one takes over within ten seconds. Only with --cluster.',
        unit: 'none',
        queries: [each(of('stackside_delivery_lease_held'))],
      },
      {
        title: 'Stream of stacks-node-publisher',
        about: 'Messages that were taken, and failures. Only with --snp.',
        unit: 'ops',
        queries: [
          line(rate('stackside_snp_sequence'), 'messages {{instance}}'),
          line(rate('stackside_snp_failures_total'), 'failures {{instance}}'),
        ],
      },
    ],
  ],
  [
    'Process',
    [
      { title: 'Processor', about: 'Cores in use.', unit: 'none', queries: [each(rate('process_cpu_seconds_total'))] },
      {
        title: 'Memory',
        about: 'Resident memory.',
        unit: 'bytes',
        queries: [each(of('process_resident_memory_bytes'))],
      },
      {
        title: 'Files',
        about: 'Sizes in the data directory. A write-ahead log shrinks once nobody holds an old snapshot.',
        unit: 'bytes',
        queries: [line(of('stackside_file_bytes'), '{{file}}')],
      },
      {
        title: 'Open file descriptors, and snapshots that were cut off',
        about: 'Connections and files; requests that read one snapshot for longer than 30 seconds.',
        unit: 'none',
        queries: [
          line(of('process_open_fds'), 'descriptors {{instance}}'),
          line(`increase(${of('stackside_read_timeouts_total')}[$__rate_interval])`, 'cut off'),
        ],
      },
    ],
  ],
];

/** Every query of the dashboard. */
export const queries = (): Query[] => rows.flatMap(([, panels]) => panels.flatMap((panel) => panel.queries));

const DATASOURCE = { type: 'prometheus', uid: '$datasource' };
/** The grid has 24 columns. */
const WIDTH = 24;
const HEIGHTS = { stat: 4, timeseries: 8 } as const;

/** Returns a variable with values from Prometheus. */
const chosen = (name: string, label: string, multi: boolean) => ({
  name,
  type: 'query',
  datasource: DATASOURCE,
  query: { query: `label_values(stacks_block_height${name === 'job' ? '' : '{job="$job"}'}, ${label})`, refId: name },
  refresh: 2,
  multi,
  includeAll: multi,
  current: multi ? { text: 'All', value: '$__all' } : {},
});

function panelOf(panel: Panel, id: number, gridPos: object): object {
  const { title, about, unit, steps, words } = panel;
  const mappings =
    words === undefined
      ? []
      : [
          {
            type: 'value',
            options: Object.fromEntries(Object.entries(words).map(([value, text]) => [value, { text }])),
          },
        ];
  const thresholds = {
    mode: 'absolute',
    steps: (steps ?? [[null, 'green']]).map(([value, color]) => ({ value, color })),
  };
  return {
    id,
    type: steps === undefined ? 'timeseries' : 'stat',
    title,
    description: about,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0, mappings, thresholds }, overrides: [] },
    targets: panel.queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
    })),
  };
}

/** The panels of all rows, each row under its title. */
function panels(): object[] {
  const made: object[] = [];
  let y = 0;
  for (const [title, row] of rows) {
    made.push({
      id: made.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: WIDTH, h: 1 },
      panels: [],
    });
    y += 1;
    const h = row.every(({ steps }) => steps !== undefined) ? HEIGHTS.stat : HEIGHTS.timeseries;
    const inLine = row.length % 3 === 0 ? (h === HEIGHTS.stat ? row.length : 3) : 2;
    const w = WIDTH / inLine;
    for (const [index, panel] of row.entries()) {
      const gridPos = { x: (index % inLine) * w, y: y + Math.floor(index / inLine) * h, w, h };
      made.push(panelOf(panel, made.length + 1, gridPos));
    }
    y += Math.ceil(row.length / inLine) * h;
  }
  return made;
}

/** The dashboard as Grafana imports it. */
export const dashboard = (): string =>
  `${JSON.stringify(
    {
      uid: 'stackside',
      title: 'Stackside',
      tags: ['stacks'],
      schemaVersion: 39,
      editable: true,
      refresh: '30s',
      time: { from: 'now-6h', to: 'now' },
      templating: {
        list: [
          { name: 'datasource', type: 'datasource', query: 'prometheus', current: {} },
          chosen('job', 'job', false),
          chosen('instance', 'instance', true),
        ],
      },
      panels: panels(),
    },
    null,
    2,
  )}\n`;

if (import.meta.main) await Bun.write(dashboardFile, dashboard());
