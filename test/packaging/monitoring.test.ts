/** The dashboard and the alerts use only metrics and labels that a server declares. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Metric, Registry } from 'prom-client';
import { dashboard, dashboardFile, queries } from '../../packaging/grafana/dashboard.ts';
import { parseMetrics } from '../../src/commands/doctor/facts.ts';
import { Alerts, conditions, type Alert as ServerAlert } from '../../src/metrics/alerts.ts';
import { clusterMetrics, leaseMetrics, verificationMetrics } from '../../src/metrics/cluster.ts';
import { snpMetrics } from '../../src/metrics/events.ts';
import { accountMetrics, archiveMetrics, baseMetrics } from '../../src/metrics/server.ts';
import { serving } from '../support/servers/serving.ts';

const folder = join(import.meta.dir, '../../packaging/prometheus');
const yaml = <T>(name: string): T => Bun.YAML.parse(readFileSync(join(folder, name), 'utf8')) as T;

interface Alert {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; description: string };
}
const alerts = yaml<{ groups: { rules: Alert[] }[] }>('alerts.yml').groups.flatMap(({ rules }) => rules);

/** The labels of each metric that a server declares, by the names under which it serves them. */
const declared = new Map<string, readonly string[]>();

/** Fields that prom-client stores for a metric but doesn't declare in its type. */
interface Declared {
  name: string;
  labelNames: readonly string[];
}

function declare(metric: Metric): void {
  const { name, labelNames } = metric as unknown as Declared;
  const isHistogram = metric.constructor.name === 'Histogram';
  if (!isHistogram) declared.set(name, labelNames);
  else for (const end of ['count', 'sum']) declared.set(`${name}_${end}`, labelNames);
  if (isHistogram) declared.set(`${name}_bucket`, [...labelNames, 'le']);
}

const register = Registry.prototype.registerMetric;
const watched = spyOn(Registry.prototype, 'registerMetric').mockImplementation(function (this: Registry, metric) {
  declare(metric as Metric);
  return register.call(this, metric);
});
beforeAll(async () => {
  await using _server = await serving();
  // A server only has these with --cluster, --archive and --snp. Nothing reads their values here.
  const unread = (): never => {
    throw new Error('read');
  };
  clusterMetrics(new Registry(), 'a host', unread);
  leaseMetrics(new Registry(), unread);
  verificationMetrics(new Registry(), unread);
  accountMetrics(new Registry(), { fetched: 0, waiting: 0 });
  archiveMetrics(new Registry(), unread);
  baseMetrics(new Registry(), unread);
  snpMetrics(new Registry(), { failing: unread, counted: unread });
});
afterAll(() => watched.mockRestore());

/** Prometheus adds these to every series. */
const ADDED = ['job', 'instance'];

interface Query {
  /** Metrics, each with the labels that select it. */
  metrics: { name: string; labels: string[] }[];
  /** Labels that the result is grouped by. */
  groups: string[];
}

/**
 * Returns the metrics and labels that an expression uses. It parses enough PromQL for the expressions in these files.
 */
function askedBy(expr: string): Query {
  const groups = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
  const rest = expr.replace(/\bby \([^)]*\)/g, '').replace(/\[[^\]]*\]/g, '');
  const series = [...rest.matchAll(/\b([a-z][a-z_]*)\b(?!\s*\()(?:\{([^}]*)\})?/g)].filter(([, name]) => name !== 'or');
  return {
    metrics: series.map(([, name = '', chosen = '']) => ({
      name,
      labels: [...chosen.matchAll(/(\w+)\s*(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label),
    })),
    groups,
  };
}

/** Returns the metrics and labels in an expression that no server has. */
function unknownIn(expr: string, shown: readonly string[] = []): string[] {
  const { metrics, groups } = askedBy(expr);
  const labelsOf = (name: string): readonly string[] => [...ADDED, ...(declared.get(name) ?? [])];
  const names = metrics.filter(({ name }) => name !== 'up');
  if (names.length === 0 && metrics.length === 0) return [`no metric in ${expr}`];
  const all = names.flatMap(({ name }) => labelsOf(name));
  return [
    ...names.filter(({ name }) => !declared.has(name)).map(({ name }) => name),
    ...names.flatMap(({ name, labels }) =>
      labels.filter((label) => !labelsOf(name).includes(label)).map((label) => `${name}{${label}}`),
    ),
    ...[...groups, ...shown].filter((label) => ![...ADDED, ...all].includes(label)),
  ];
}

const labelsShown = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, label = '']) => label);

test('finds metrics and labels in an expression that no server has', () => {
  expect(unknownIn('rate(stackside_events_total{event="/new_block"}[5m])', ['outcome'])).toEqual([]);
  expect(unknownIn('sum by (le) (rate(http_request_duration_seconds_bucket{job="$job"}[5m])) or vector(0)')).toEqual(
    [],
  );
  expect(unknownIn('rate(stackside_event_total[5m]) > 1')).toEqual(['stackside_event_total']);
  expect(unknownIn('stackside_events_total{path="/new_block"}')).toEqual(['stackside_events_total{path}']);
  expect(unknownIn('sum by (path) (stackside_events_total)')).toEqual(['path']);
  expect(unknownIn('stackside_events_total', ['path'])).toEqual(['path']);
  expect(unknownIn('http_request_duration_seconds')).toEqual(['http_request_duration_seconds']);
});

test("the dashboard uses existing metrics and labels, and matches its generator's output", () => {
  const list = queries();
  expect(list.length).toBeGreaterThan(30);
  expect(list.flatMap(({ expr, legend }) => unknownIn(expr, labelsShown(legend, /\{\{(\w+)\}\}/g)))).toEqual([]);
  // `bun packaging/grafana/dashboard.ts` writes it.
  expect(JSON.parse(readFileSync(dashboardFile, 'utf8'))).toEqual(JSON.parse(dashboard()));
});

test('alerts use existing metrics and labels, and have a severity and a description', () => {
  expect(alerts.length).toBeGreaterThan(10);
  for (const { expr, labels, annotations } of alerts) {
    const shown = labelsShown(`${annotations.summary} ${annotations.description}`, /\$labels\.(\w+)/g);
    expect(unknownIn(expr, shown)).toEqual([]);
    expect(['critical', 'warning']).toContain(labels.severity);
    expect(annotations.description).toMatch(/\.$/);
    // A plural only follows numbers that are never 1.
    const isCounted = /\{\{ \$value \}\} \w/.test(annotations.summary);
    expect([annotations.summary, isCounted && Number(expr.split(' > ')[1]) < 1]).toEqual([annotations.summary, false]);
  }
});

interface Case {
  name: string;
  input_series: { series: string; values: string }[];
  promql_expr_test: { exp_samples: { labels: string; value: number }[] }[];
}

const cases = yaml<{ tests: Case[] }>('alerts.test.yml').tests;

/** Names of the alerts that fire in a test case. */
const firingIn = ({ promql_expr_test }: Case): string[] =>
  promql_expr_test
    .flatMap(({ exp_samples }) => exp_samples)
    .flatMap(({ labels }) => /alertname="(\w+)"/.exec(labels)?.[1] ?? []);

test('each alert has a test case in which it fires', () => {
  expect(cases.flatMap(firingIn).sort()).toEqual(alerts.map(({ alert }) => alert).sort());
});

test.skipIf(Bun.which('promtool') === null)('promtool accepts the alerts, and each fires only in its test case', () => {
  for (const [command, file] of [
    ['check', 'alerts.yml'],
    ['test', 'alerts.test.yml'],
  ] as const) {
    const { exitCode, stdout, stderr } = Bun.spawnSync(['promtool', command, 'rules', file], { cwd: folder });
    expect([exitCode, stdout.toString() + stderr.toString()]).toEqual([0, expect.stringContaining('SUCCESS')]);
  }
});

const elsewhere = ['StacksideDown', 'StacksideNobodyDelivers'];

test("the server's conditions have the metrics, times and thresholds of the rules file, except those that need all hosts", () => {
  const evaluated = alerts.filter(({ alert }) => !elsewhere.includes(alert));
  expect(evaluated.length).toBe(alerts.length - elsewhere.length);
  expect(
    Object.entries(conditions).map(([alert, { metrics, increase, rate, bound }]) => ({
      alert,
      metrics: new Set(metrics),
      increase,
      rate,
      bound,
    })),
  ).toEqual(
    evaluated.map(({ alert, expr }) => {
      const [, operator, bound] = / (>|==) (\S+)$/.exec(expr) ?? [];
      const [, range = '', unit] = /\[(\d+)([mh])\]/.exec(expr) ?? [];
      const minutes = Number(range) * (unit === 'h' ? 60 : 1);
      return {
        alert,
        metrics: new Set(askedBy(expr).metrics.map(({ name }) => name)),
        increase: expr.includes('increase(') ? minutes : undefined,
        rate: expr.includes('rate(') ? minutes : undefined,
        bound: operator === '>' ? Number(bound) : null,
      };
    }),
  );
  for (const { for: held } of alerts) expect(held ?? '0m').toMatch(/^\d+m$/);
});

/** The values of a series of promtool at a minute: `1x60`, `0+10x60`. */
function valueAt(values: string, minute: number): number {
  const [, first = '', step = '0'] = /^(\d+)(?:\+(\d+))?x60$/.exec(values) ?? [];
  return Number(first) + Number(step) * minute;
}

/** The metrics of a server at a minute; each host reads only its own. */
const seriesAt = ({ input_series }: Case, minute: number) =>
  parseMetrics(
    input_series
      .filter(({ series }) => series.includes('instance="a"'))
      .map(({ series, values }) => `${series} ${valueAt(values, minute)}`)
      .join('\n'),
  );

const firingOf = (states: readonly ServerAlert[]) =>
  states
    .filter(({ state }) => state === 'firing')
    .map(({ name }) => name)
    .sort();

test.each(cases.map((item) => [item.name, item] as const))(
  'the server evaluates the rules as Prometheus does: %s',
  (_, item) => {
    const evaluated = new Alerts();
    let states: ServerAlert[] = [];
    for (let minute = 0; minute <= 45; minute++) states = evaluated.evaluate(minute * 60, seriesAt(item, minute));
    expect(states.filter(({ state }) => state === 'elsewhere').map(({ name }) => name)).toEqual(elsewhere);
    expect(firingOf(states)).toEqual(
      firingIn(item)
        .filter((name) => !elsewhere.includes(name))
        .sort(),
    );
    expect(states.map(({ name }) => name).sort()).toEqual(alerts.map(({ alert }) => alert).sort());
    expect(
      states.flatMap((row) => [...row.summaries, row.description, row.meaning].filter((text) => /\{\{/.test(text))),
    ).toEqual([]);
  },
);

test('alerts that fired end after the server recovered', () => {
  const [healthy, wrong] = cases;
  const evaluated = new Alerts();
  for (let minute = 0; minute <= 45; minute++) evaluated.evaluate(minute * 60, seriesAt(wrong!, minute));
  // Counters stay at their last value.
  const last = new Map(seriesAt(wrong!, 45).map((series) => [series.name + JSON.stringify(series.labels), series]));
  const recovered = new Map(
    seriesAt(healthy!, 0).map((series) => [series.name + JSON.stringify(series.labels), series]),
  );
  const series = [...new Map([...recovered, ...last])].map(([key, value]) =>
    /_(total|bucket|count)$/.test(value.name) ? value : (recovered.get(key) ?? { ...value, value: 0 }),
  );
  const firingAt = (minute: number) => firingOf(evaluated.evaluate(minute * 60, series));
  // The others are about the growth of counters in up to 15 minutes, and in the last hour.
  expect(firingAt(46)).toEqual([
    'StacksideConnectionsFailed',
    'StacksideEventsRefused',
    'StacksideEventsSlow',
    'StacksideLogHealed',
    'StacksideNodeIsNewer',
    'StacksideRequestsFail',
    'StacksideSnapshotsCutOff',
    'StacksideWrongKeys',
  ]);
  for (let minute = 47; minute < 60; minute++) firingAt(minute);
  expect(firingAt(60)).toEqual(['StacksideNodeIsNewer']);
  for (let minute = 61; minute < 105; minute++) firingAt(minute);
  expect(firingAt(105)).toEqual([]);
});

test('a counter that is lower for a moment, because an API thread does not answer, did not start again', () => {
  const evaluated = new Alerts();
  const firingAt = (minute: number, value: number) =>
    firingOf(evaluated.evaluate(minute * 60, [{ name: 'stackside_read_timeouts_total', labels: {}, value }]));
  expect([5, 5, 3, 5].map((value, minute) => firingAt(minute, value))).toEqual([[], [], [], []]);
  expect(firingAt(4, 6)).toEqual(['StacksideSnapshotsCutOff']);
});

test('a counter that was lower at the start of the range, because an API thread did not answer, has not grown', () => {
  const evaluated = new Alerts();
  const counter = (value: number) => [{ name: 'stackside_read_timeouts_total', labels: {}, value }];
  const lower: Readonly<Record<number, number>> = { 2: 3, 3: 4 };
  for (let minute = 0; minute <= 20; minute++)
    expect([minute, firingOf(evaluated.evaluate(minute * 60, counter(lower[minute] ?? 5)))]).toEqual([minute, []]);
  expect(firingOf(evaluated.evaluate(21 * 60, counter(6)))).toEqual(['StacksideSnapshotsCutOff']);
});

test('an alert is pending until its condition has held long enough, and quiet when the condition ends', () => {
  const evaluated = new Alerts();
  const stateAt = (seconds: number, text: string) =>
    evaluated.evaluate(seconds, parseMetrics(text)).find(({ name }) => name === 'StacksideNoBlocks');
  const old = 'stackside_tip_age_seconds 7300';
  expect(stateAt(0, old)).toMatchObject({ state: 'pending', since: 0 });
  expect(stateAt(240, old)?.state).toBe('pending');
  expect(stateAt(300, old)).toMatchObject({
    state: 'firing',
    severity: 'critical',
    summaries: ['The newest block on this server is 2 h 1 min old'],
    meaning: 'The newest block on this server is more than 1 h old',
    measure: 'stackside_tip_age_seconds',
    threshold: 'above 1 h',
    for_seconds: 300,
    values: [{ labels: {}, value: 7_300, text: '2 h 1 min' }],
  });
  expect(stateAt(360, 'stackside_tip_age_seconds 20')).toMatchObject({ state: 'quiet', since: null, summaries: [] });
  expect(stateAt(361, 'stackside_tip_age_seconds 20')?.values).toEqual([{ labels: {}, value: 20, text: '20 s' }]);
  expect(stateAt(420, old)).toMatchObject({ state: 'pending', since: 420 });
});

test('the meaning of a quiet alert has its bound, and no gaps', () => {
  const meanings = Object.fromEntries(new Alerts().evaluate(0, []).map(({ name, meaning }) => [name, meaning]));
  expect(Object.values(meanings).filter((meaning) => /…|\{\{/.test(meaning))).toEqual([]);
  expect(meanings).toMatchObject({
    StacksideBehindNode: 'Stackside on this server is more than 2 blocks behind its node',
    StacksideEventsRefused: 'Stackside on this server answered an event with an error',
    StacksideNodeIsNewer: "The node of this server sends a kind of data that this version of Stackside doesn't know",
    StacksideChainhookInterrupted: 'A chainhook on this server is interrupted',
    StacksideRequestsFail: 'More than 5 % of requests on this server get a 5xx status',
    StacksideLogLarge: 'A WAL file on this server has more than 0.9 GiB',
    StacksideNobodyDelivers: 'No host of this cluster delivers chainhooks',
  });
});

test('alerts leave out rates over no time and shares of no requests', () => {
  const evaluated = new Alerts();
  const requests = (status: number) => `http_request_duration_seconds_count{status_code="${status}"} 5`;
  const series = parseMetrics(['chainhooks_auth_failures_total 3', requests(200), requests(500)].join('\n'));
  const valuesAt = (seconds: number) => {
    const states = evaluated.evaluate(seconds, series);
    return ['StacksideWrongKeys', 'StacksideRequestsFail'].map((alert) =>
      states.find(({ name }) => name === alert)?.values.map(({ text }) => text),
    );
  };
  expect(valuesAt(60)).toEqual([[], []]);
  expect(valuesAt(60)).toEqual([[], []]);
  expect(valuesAt(120)).toEqual([['0 per second'], []]);
});

test('thresholds have the unit of their measure', () => {
  const thresholds = Object.fromEntries(new Alerts().evaluate(0, []).map(({ name, threshold }) => [name, threshold]));
  expect(thresholds).toMatchObject({
    StacksideCannotWrite: 'equal to 0',
    StacksideNoBlocks: 'above 1 h',
    StacksideBehindNode: 'above 2 blocks',
    StacksideEventsRefused: 'above 0',
    StacksideEventsSlow: 'above 20 s',
    StacksideWrongKeys: 'above 1 per second',
    StacksideRequestsFail: 'above 5 %',
    StacksideLogLarge: 'above 1 GB',
    StacksideBaseOverdue: 'above 6 h',
  });
});
