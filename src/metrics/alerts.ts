/**
 * The alerts for Prometheus (packaging/prometheus/alerts.yml), evaluated in the server over its metrics of the last hour.
 * The texts and the times come from that file. The conditions are code, and test/packaging/monitoring.test.ts compares
 * them with the file.
 */
import rulesText from '../../packaging/prometheus/alerts.yml' with { type: 'text' };
import { MAX_TIP_AGE_SECONDS } from '../api/server-state.ts';
import type { AlertsState } from '../api/stackside/system.ts';
import type { Clock } from '../base/clock.ts';
import { bytes, count, duration, percent, plural } from '../base/format.ts';
import { type Service, startLoop } from '../base/service.ts';

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: 'critical' | 'warning' };
  annotations: { summary: string; description: string };
}

const { groups } = Bun.YAML.parse(rulesText) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

interface LabeledValue {
  labels: Readonly<Record<string, string>>;
  value: number;
}

export interface Series extends LabeledValue {
  name: string;
}

/** The values at a time in Unix seconds, by metric and labels. */
interface Reading {
  time: number;
  series: ReadonlyMap<string, Series>;
}

interface Condition {
  metrics: readonly string[];
  /** The condition is true for values above this; null if it is true for 0. */
  bound: number | null;
  /** Minutes over which the growth of counters is measured: in total, or per second. */
  increase?: number;
  rate?: number;
  /** Selects or combines the values. */
  select?: (values: readonly LabeledValue[]) => LabeledValue[];
  /** Writes a value with its unit. */
  format?: (value: number) => string;
}

const isZero = (metric: string): Condition => ({ metrics: [metric], bound: null });

const above = (bound: number, metric: string, how: Partial<Condition> = {}): Condition => ({
  metrics: [metric],
  bound,
  ...how,
});

const having = (label: string, pattern: RegExp) => (values: readonly LabeledValue[]) =>
  values.filter(({ labels }) => pattern.test(labels[label] ?? ''));

const sum = (values: readonly LabeledValue[]): number => values.reduce((all, { value }) => all + value, 0);

const total = (values: readonly LabeledValue[]): LabeledValue[] =>
  values.length === 0 ? [] : [{ labels: {}, value: sum(values) }];

/** Returns the share of requests with a 5xx status; no value if no request had one. */
function failedShare(rates: readonly LabeledValue[]): LabeledValue[] {
  const failed = having('status_code', /^5/)(rates);
  const all = sum(rates);
  return failed.length === 0 || all === 0 ? [] : [{ labels: {}, value: sum(failed) / all }];
}

/** Returns the 0.99 quantile of a histogram, interpolated as in Prometheus. @param rates of its buckets */
function quantile99(rates: readonly LabeledValue[]): LabeledValue[] {
  const buckets = [...Map.groupBy(rates, ({ labels }) => labels.le)]
    .map(([le, values]) => ({ le: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le), rate: sum(values) }))
    .sort((a, b) => a.le - b.le);
  const rank = 0.99 * (buckets.at(-1)?.rate ?? 0);
  const index = buckets.findIndex(({ rate }) => rate >= rank);
  const [below, bucket] = [buckets[index - 1] ?? { le: 0, rate: 0 }, buckets[index]];
  if (bucket === undefined || rank === 0) return [];
  const width = bucket.le === Number.POSITIVE_INFINITY ? 0 : bucket.le - below.le;
  return [{ labels: {}, value: below.le + (width * (rank - below.rate)) / (bucket.rate - below.rate) }];
}

const rounded = (value: number): number => Number(value.toPrecision(4));
const number = (value: number): string => count(rounded(value));
const milliseconds = (value: number): string =>
  value < 1_000 ? `${rounded(value)} ms` : `${rounded(value / 1_000)} s`;
const blocks = (value: number): string => plural(value, 'block');
const share = (value: number): string => percent(value, 1);
const perSecond = (value: number): string => `${rounded(value)} per second`;

/** The conditions by alert. Alerts without a condition need Prometheus, which sees all hosts and notices missing ones. */
export const conditions: Readonly<Record<string, Condition>> = {
  StacksideCannotWrite: isZero('stackside_store_writable'),
  StacksideNoBlocks: above(MAX_TIP_AGE_SECONDS, 'stackside_tip_age_seconds', { format: duration }),
  StacksideBehindNode: above(2, 'stackside_blocks_behind_node', { format: blocks }),
  StacksideNodeUnreachable: isZero('stackside_node_reachable'),
  StacksideEventsRefused: above(0, 'stackside_events_total', {
    increase: 10,
    select: having('outcome', /^(rejected|failed)$/),
  }),
  StacksideNodeIsNewer: above(0, 'stackside_unknown_kinds_total', { increase: 60 }),
  StacksideEventsSlow: above(20_000, 'stacks_event_ingestion_timers_bucket', {
    rate: 10,
    select: quantile99,
    format: milliseconds,
  }),
  StacksideChainhookInterrupted: above(0, 'chainhooks_hooks', {
    select: (values) => total(having('status', /^interrupted$/)(values)),
  }),
  StacksideSecretsUnreadable: above(0, 'chainhooks_secrets_unreadable'),
  StacksideDeliveriesLate: above(3_600, 'chainhooks_outbox_oldest_seconds', { format: duration }),
  StacksideWrongKeys: above(1, 'chainhooks_auth_failures_total', { rate: 5, format: perSecond }),
  StacksideRequestsFail: above(0.05, 'http_request_duration_seconds_count', {
    rate: 5,
    select: failedShare,
    format: share,
  }),
  StacksideSnapshotsCutOff: above(0, 'stackside_read_timeouts_total', { increase: 15 }),
  StacksideLogLarge: above(1e9, 'stackside_file_bytes', { select: having('file', /-wal$/), format: bytes }),
  StacksideConnectionsFailed: {
    metrics: ['websocket_failed_total', 'socket_io_failed_total'],
    increase: 15,
    select: total,
    bound: 0,
  },
  StacksideArchiveBehind: above(300, 'stackside_archive_behind_seconds', { format: duration }),
  StacksideBaseOverdue: above(21_600, 'stackside_archive_base_overdue_seconds', { format: duration }),
  StacksideLogUnreachable: isZero('stackside_log_reachable'),
  StacksideHostLags: above(60, 'stackside_log_lag_seconds', { format: duration }),
  StacksideLogHealed: above(0, 'stackside_log_restored_entries_total', { increase: 15 }),
  StacksideLogCorrupt: above(0, 'stackside_log_corrupt_entries'),
  StacksideStreamDown: isZero('stackside_snp_connected'),
};

const metricsOf = (list: readonly Condition[]): Set<string> => new Set(list.flatMap(({ metrics }) => metrics));
const metricNames = metricsOf(Object.values(conditions));
const counterNames = metricsOf(
  Object.values(conditions).filter(({ increase, rate }) => increase !== undefined || rate !== undefined),
);

/** Returns the values of a condition. @param readings the stored readings, oldest first */
function valuesOf({ metrics, increase, rate, select }: Condition, readings: readonly Reading[]): LabeledValue[] {
  const newest = readings.at(-1) ?? { time: 0, series: new Map<string, Series>() };
  const minutes = increase ?? rate;
  const inRange = readings.filter(({ time }) => time >= newest.time - 60 * (minutes ?? 0));
  const values = [...newest.series].flatMap(([key, { name, labels, value }]) => {
    if (!metrics.includes(name)) return [];
    if (minutes === undefined) return [{ labels, value }];
    const first = inRange.find(({ series }) => series.has(key)) ?? newest;
    const seconds = newest.time - first.time;
    // As in Prometheus, one point has no growth. Two turns can have the same second, or the clock was set back.
    if (seconds <= 0) return [];
    const growth = value - (first.series.get(key)?.value ?? 0);
    return [{ labels, value: rate === undefined ? growth : growth / seconds }];
  });
  return select?.(values) ?? values;
}

const FORMATS: Readonly<Record<string, (value: number) => string>> = {
  humanizeDuration: duration,
  humanizePercentage: (value) => percent(value, 1),
  humanize1024: (value) => `${(value / 2 ** 30).toFixed(1)} Gi`,
};

/** Returns a text of a rule with its labels and its value. This server is the instance. */
const fillIn = (
  text: string,
  labels: LabeledValue['labels'],
  value: (format: (value: number) => string) => string,
): string =>
  text
    .replaceAll('{{ $labels.instance }}', 'this server')
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => labels[name] ?? '…')
    .replaceAll(/\{\{ \$value(?: \| (\w+))? \}\}/g, (_, format = '') => value(FORMATS[format] ?? String))
    .replace(/^\w/, (first) => first.toUpperCase());

/** Words for labels that have no value yet. A text without the other labels is complete. */
const LABEL_WORDS = { what: 'data', file: 'a WAL file', job: 'this cluster' };
const OTHER_LABELS = / \(?\{\{ \$labels\.(?:event|outcome) \}\}\)?/g;

/** Returns a text of a rule for any value above a bound. */
const meaningOf = (text: string, bound: number | null): string =>
  fillIn(text.replaceAll(OTHER_LABELS, ''), LABEL_WORDS, (format) =>
    bound === null || bound === 0 ? 'some' : `more than ${format(bound)}`,
  );

/** Maximum number of present values in an alert. */
const MAX_VALUES = 5;

export type Alert = AlertsState['alerts'][number];

/** Seconds for which readings are stored: the longest range of the conditions. */
const MAX_RANGE_SECONDS = 3_600;

/** Evaluates the alerts over the metrics of this process. */
export class Alerts {
  /** Oldest first. */
  readonly #readings: Reading[] = [];
  /** The highest values of counters, by metric and labels. */
  readonly #counters = new Map<string, number>();
  /** Start of the time for which each condition has been true, in Unix seconds, by alert and labels. */
  #since = new Map<string, number>();

  /** Stores all values at a time, in Unix seconds, and evaluates the alerts. @returns the alerts, worst first */
  evaluate(time: number, series: readonly Series[]): Alert[] {
    this.#store(time, series);
    const since = new Map<string, number>();
    const alerts = rules.map((rule) => this.#evaluateRule(rule, time, since));
    this.#since = since;
    return alerts.sort((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state));
  }

  #store(time: number, series: readonly Series[]): void {
    const values = new Map<string, Series>();
    for (const item of series) {
      if (!metricNames.has(item.name)) continue;
      const key = item.name + JSON.stringify(item.labels);
      values.set(key, { ...item, value: this.#withoutGap(key, item) });
    }
    this.#readings.push({ time, series: values });
    while ((this.#readings[0]?.time ?? time) < time - MAX_RANGE_SECONDS) this.#readings.shift();
  }

  /** Returns a value; for a counter its highest value, since it is lower while an API thread doesn't answer. */
  #withoutGap(key: string, { name, value }: Series): number {
    if (!counterNames.has(name)) return value;
    const highest = Math.max(value, this.#counters.get(key) ?? value);
    this.#counters.set(key, highest);
    return highest;
  }

  /** @param since gets the start of the condition for each value that meets it */
  #evaluateRule(rule: Rule, time: number, since: Map<string, number>): Alert {
    const { alert: name, expr, for: holding = '0m', labels, annotations } = rule;
    const condition = conditions[name];
    const described = {
      name,
      severity: labels.severity,
      description: meaningOf(annotations.description, null),
      meaning: meaningOf(annotations.summary, condition?.bound ?? null),
      for_seconds: 60 * Number.parseInt(holding, 10),
    };
    if (condition === undefined) {
      return {
        ...described,
        state: 'elsewhere',
        since: null,
        summaries: [],
        measure: null,
        threshold: null,
        values: [],
      };
    }
    const { bound, format = number } = condition;
    const values = valuesOf(condition, this.#readings);
    const firing = values.filter(({ value }) => (bound === null ? value === 0 : value > bound));
    const starts = firing.map((entry) => {
      const key = name + JSON.stringify(entry.labels);
      const start = this.#since.get(key) ?? time;
      since.set(key, start);
      return start;
    });
    const start = starts.length === 0 ? null : Math.min(...starts);
    return {
      ...described,
      state: stateAfter(start === null ? null : time - start, described.for_seconds),
      since: start,
      summaries: firing.map(({ labels, value }) => fillIn(annotations.summary, labels, (format) => format(value))),
      measure: expr.replace(/ (?:>|==) \S+$/, ''),
      threshold: bound === null ? 'equal to 0' : `above ${format(bound)}`,
      values: values
        .map(({ labels, value }) => ({ labels, value, text: format(value) }))
        .sort((a, b) => b.value - a.value)
        .slice(0, MAX_VALUES),
    };
  }
}

/** @param seconds since the condition holds; null if it doesn't @param forSeconds after which the alert fires */
function stateAfter(seconds: number | null, forSeconds: number): Alert['state'] {
  if (seconds === null) return 'quiet';
  return seconds >= forSeconds ? 'firing' : 'pending';
}

const STATES: readonly Alert['state'][] = ['firing', 'pending', 'quiet', 'elsewhere'];

const EVERY_MS = 60_000;

/**
 * Evaluates the alerts every minute.
 * @param metrics reads all metrics
 * @param failed called with the error if they can't be read
 * @returns the last alerts with their time in Unix seconds; null before the first evaluation
 */
export function watchAlerts(
  clock: Clock,
  metrics: () => Promise<readonly Series[]>,
  failed: (cause: unknown) => void,
): Service & { last: () => { at: number; alerts: readonly Alert[] } | null } {
  const alerts = new Alerts();
  let last: { at: number; alerts: readonly Alert[] } | null = null;
  async function turn(): Promise<void> {
    const series = await metrics();
    const time = Math.floor(clock.now() / 1_000);
    last = { at: time, alerts: alerts.evaluate(time, series) };
  }
  const passes = (error: unknown) => error instanceof Error;
  const { stop } = startLoop({ clock, everyMs: EVERY_MS, turn, passes, failed });
  return { last: () => last, stop };
}
