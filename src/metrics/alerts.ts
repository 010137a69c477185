/**
 * The alerts for Prometheus (packaging/prometheus/alerts.yml), evaluated in the server over its metrics of the last
 * hour. The texts and the times come from that file. The conditions are code, and test/packaging/monitoring.test.ts
 * compares them with the expressions in the file.
 */
import rulesText from '../../packaging/prometheus/alerts.yml' with { type: 'text' };
import { MAX_TIP_AGE_SECONDS } from '../api/server-state.ts';
import type { AlertsState } from '../api/stackside/system.ts';
import type { Clock } from '../base/clock.ts';
import { bytes, count, duration, percent, plural } from '../base/format.ts';
import { type Service, startLoop } from '../base/service.ts';

interface Rule {
  alert: string;
  for?: string;
  labels: { severity: 'critical' | 'warning' };
  annotations: { summary: string; description: string };
}

/** A condition of an alert: selects the values of a measure that are beyond a threshold. */
interface Condition extends Measure {
  measure: Measure;
  /** In words: `above 1 h`. */
  threshold: string;
  /** Writes a value of the measure with its unit. */
  format: (value: number) => string;
}

const { groups } = Bun.YAML.parse(rulesText) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

interface LabeledValue {
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** A value of a metric, by its name and labels. */
interface Series extends LabeledValue {
  name: string;
}

/** All values at a time, in seconds. */
interface Sample {
  time: number;
  series: readonly Series[];
}

interface Measure {
  promql: string;
  /** @param readings the stored readings, oldest first */
  values(readings: readonly Sample[]): LabeledValue[];
}

/** Returns the key of labels; equal labels have equal keys. */
const keyOf = (labels: LabeledValue['labels']): string =>
  JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Selects the series of a metric: all, or those with a label that matches a pattern as a whole. */
interface Selector {
  promql: string;
  in(reading: Sample): Series[];
}

function selector(metric: string, [label, pattern]: readonly [string, string] | [] = []): Selector {
  if (label === undefined) return { promql: metric, in: ({ series }) => series.filter(({ name }) => name === metric) };
  const exact = new RegExp(`^(?:${pattern})$`);
  return {
    promql: `${metric}{${label}=~"${pattern}"}`,
    in: ({ series }) => series.filter(({ name, labels }) => name === metric && exact.test(labels[label] ?? '')),
  };
}

/** Returns the newest values of a metric. */
function newest(...args: Parameters<typeof selector>): Measure {
  const selected = selector(...args);
  return {
    promql: selected.promql,
    values: (readings) => readings.slice(-1).flatMap(selected.in),
  };
}

/** Returns the growth of counters over a number of minutes: an `increase`, or a `rate` per second. */
function grown(kind: 'increase' | 'rate', minutes: number, ...args: Parameters<typeof selector>): Measure {
  const selected = selector(...args);
  return {
    promql: `${kind}(${selected.promql}[${minutes}m])`,
    values(readings) {
      const since = (readings.at(-1)?.time ?? 0) - 60 * minutes;
      const points = readings
        .filter(({ time }) => time >= since)
        .flatMap((reading) => selected.in(reading).map((series) => ({ ...series, time: reading.time })));
      return [...Map.groupBy(points, ({ labels }) => keyOf(labels)).values()].flatMap((values) => {
        const [first, last] = [values[0], values.at(-1)];
        // As in Prometheus, one point has no growth. Two turns can have the same second, or the clock was set back.
        if (first === undefined || last === undefined || last.time <= first.time) return [];
        // A counter that fell was reset.
        const growth = values.slice(1).reduce((sum, { value }, index) => {
          const earlier = values[index]?.value ?? 0;
          return sum + (value < earlier ? value : value - earlier);
        }, 0);
        return [{ labels: first.labels, value: kind === 'rate' ? growth / (last.time - first.time) : growth }];
      });
    },
  };
}

/** Returns the sums of a measure by labels. Prometheus also groups by the labels that it adds. */
function sums({ promql, values }: Measure, by: readonly string[] = []): Measure {
  const pickLabels = ({ labels }: LabeledValue) =>
    Object.fromEntries(by.flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]] as const])));
  return {
    promql: `sum by (${['job', 'instance', ...by].join(', ')}) (${promql})`,
    values: (readings) =>
      [...Map.groupBy(values(readings), (labeledValue) => keyOf(pickLabels(labeledValue))).values()].map((members) => ({
        labels: members[0] === undefined ? {} : pickLabels(members[0]),
        value: members.reduce((sum, { value }) => sum + value, 0),
      })),
  };
}

/** Combines the values of two measures that have equal labels. Nothing is divided by zero. */
const combine = (a: Measure, operator: '+' | '/', b: Measure): Measure => ({
  promql: `${a.promql} ${operator} ${b.promql}`,
  values(readings) {
    const others = new Map(b.values(readings).map(({ labels, value }) => [keyOf(labels), value]));
    return a.values(readings).flatMap(({ labels, value }) => {
      const other = others.get(keyOf(labels));
      if (other === undefined || (operator === '/' && other === 0)) return [];
      return [{ labels, value: operator === '+' ? value + other : value / other }];
    });
  },
});

/** Returns the 0.99 quantile of a histogram, interpolated as in Prometheus. The measure has the rates of the buckets by `le`. */
const quantile99 = ({ promql, values }: Measure): Measure => ({
  promql: `histogram_quantile(0.99, ${promql})`,
  values(readings) {
    const buckets = values(readings)
      .map(({ labels, value }) => ({ le: labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le), value }))
      .sort((a, b) => a.le - b.le);
    const rank = 0.99 * (buckets.at(-1)?.value ?? 0);
    const index = buckets.findIndex(({ value }) => value >= rank);
    const [below, bucket] = [buckets[index - 1], buckets[index]];
    if (bucket === undefined || rank === 0) return [];
    const [low, rankBelow] = [below?.le ?? 0, below?.value ?? 0];
    const share = (rank - rankBelow) / (bucket.value - rankBelow);
    return [{ labels: {}, value: bucket.le === Number.POSITIVE_INFINITY ? low : low + (bucket.le - low) * share }];
  },
});

const rounded = (value: number): number => Number(value.toPrecision(4));
const number = (value: number): string => count(rounded(value));
const seconds = duration;
const milliseconds = (value: number): string =>
  value < 1_000 ? `${rounded(value)} ms` : `${rounded(value / 1_000)} s`;
const blocks = (value: number): string => plural(value, 'block');
const share = (value: number): string => percent(value, 1);
const rate = (value: number): string => `${rounded(value)} per second`;

/** Returns the values of a measure that are above a bound. @param format writes a value with its unit */
const above = (bound: number, measure: Measure, format = number): Condition => ({
  promql: `${measure.promql} > ${bound}`,
  values: (readings) => measure.values(readings).filter(({ value }) => value > bound),
  measure,
  threshold: `above ${format(bound)}`,
  format,
});

function isZero(metric: string): Condition {
  const measure = newest(metric);
  return {
    promql: `${metric} == 0`,
    values: (readings) => measure.values(readings).filter(({ value }) => value === 0),
    measure,
    threshold: 'equal to 0',
    format: number,
  };
}

const REQUESTS = 'http_request_duration_seconds_count';

/**
 * The conditions by alert. Alerts without a condition need Prometheus, which sees all hosts and notices missing ones.
 */
export const conditions: Readonly<Record<string, Condition>> = {
  StacksideCannotWrite: isZero('stackside_store_writable'),
  StacksideNoBlocks: above(MAX_TIP_AGE_SECONDS, newest('stackside_tip_age_seconds'), seconds),
  StacksideBehindNode: above(2, newest('stackside_blocks_behind_node'), blocks),
  StacksideNodeUnreachable: isZero('stackside_node_reachable'),
  StacksideEventsRefused: above(
    0,
    sums(grown('increase', 10, 'stackside_events_total', ['outcome', 'rejected|failed']), ['event', 'outcome']),
  ),
  StacksideNodeIsNewer: above(0, sums(grown('increase', 60, 'stackside_unknown_kinds_total'), ['what'])),
  StacksideEventsSlow: above(
    20_000,
    quantile99(sums(grown('rate', 10, 'stacks_event_ingestion_timers_bucket'), ['le'])),
    milliseconds,
  ),
  StacksideChainhookInterrupted: above(0, sums(newest('chainhooks_hooks', ['status', 'interrupted']))),
  StacksideSecretsUnreadable: above(0, newest('chainhooks_secrets_unreadable')),
  StacksideDeliveriesLate: above(3_600, newest('chainhooks_outbox_oldest_seconds'), seconds),
  StacksideWrongKeys: above(1, grown('rate', 5, 'chainhooks_auth_failures_total'), rate),
  StacksideRequestsFail: above(
    0.05,
    combine(sums(grown('rate', 5, REQUESTS, ['status_code', '5..'])), '/', sums(grown('rate', 5, REQUESTS))),
    share,
  ),
  StacksideSnapshotsCutOff: above(0, grown('increase', 15, 'stackside_read_timeouts_total')),
  StacksideLogLarge: above(1e9, newest('stackside_file_bytes', ['file', '.*-wal']), bytes),
  StacksideConnectionsFailed: above(
    0,
    combine(grown('increase', 15, 'websocket_failed_total'), '+', grown('increase', 15, 'socket_io_failed_total')),
  ),
  StacksideArchiveBehind: above(300, newest('stackside_archive_behind_seconds'), seconds),
  StacksideBaseOverdue: above(21_600, newest('stackside_archive_base_overdue_seconds'), seconds),
  StacksideLogUnreachable: isZero('stackside_log_reachable'),
  StacksideHostLags: above(60, newest('stackside_log_lag_seconds'), seconds),
  StacksideLogHealed: above(0, grown('increase', 15, 'stackside_log_restored_entries_total')),
  StacksideLogCorrupt: above(0, newest('stackside_log_corrupt_entries')),
  StacksideStreamDown: isZero('stackside_snp_connected'),
};

/** The metrics that the conditions read, and other words of the conditions. */
const metricNames = new Set(Object.values(conditions).flatMap(({ promql }) => promql.match(/\w+/g) ?? []));

/** Reads the metrics that the conditions need from Prometheus' text format. */
export function seriesIn(text: string): Series[] {
  const series: Series[] = [];
  for (const [, name = '', labels = '', value = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
    if (!metricNames.has(name)) continue;
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]);
    series.push({ name, labels: Object.fromEntries(pairs), value: Number(value) });
  }
  return series;
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };

/** Returns the seconds of a duration such as `5m`. */
const parseDuration = (text: string): number => Number(text.slice(0, -1)) * (SECONDS[text.at(-1) ?? ''] ?? Number.NaN);

const FORMATS: Readonly<Record<string, (value: number) => string>> = {
  humanizeDuration: duration,
  humanizePercentage: (value) => percent(value, 1),
  humanize1024: (value) => `${(value / 2 ** 30).toFixed(1)} Gi`,
};

/** Returns a text of a rule with its values filled in. This server is the instance. */
const fillIn = (text: string, { labels, value }: LabeledValue): string =>
  text
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => labels[name] ?? 'this server')
    .replaceAll(/\{\{ \$value(?: \| (\w+))? \}\}/g, (_, how?: string) => (FORMATS[how ?? ''] ?? String)(value))
    .replace(/^\w/, (first) => first.toUpperCase());

/** Returns a text of a rule without its values. */
const general = (text: string): string =>
  text
    .replaceAll('{{ $labels.instance }}', 'this server')
    .replaceAll(/\{\{.*?\}\}/g, '…')
    .replace(/^\w/, (first) => first.toUpperCase());

/** Maximum number of present values in an alert. */
const MAX_VALUES = 5;

export type Alert = AlertsState['alerts'][number];

/** Seconds for which readings are stored: the longest range of the conditions. */
const MAX_RANGE_SECONDS = 3_600;

/** Evaluates the alerts over the metrics of this process. */
export class Alerts {
  readonly #readings: Sample[] = [];
  /** Start of the time for which each condition has been true, in Unix seconds, by alert and labels. */
  #since = new Map<string, number>();

  /** Adds all values at a time, in Unix seconds, and evaluates the alerts. @returns the alerts, worst first */
  add(time: number, series: readonly Series[]): Alert[] {
    this.#readings.push({ time, series });
    while ((this.#readings[0]?.time ?? time) < time - MAX_RANGE_SECONDS) this.#readings.shift();
    const since = new Map<string, number>();
    const alerts = rules.map((rule): Alert => {
      const condition = conditions[rule.alert];
      const firing = (condition?.values(this.#readings) ?? []).map((entry) => {
        const key = `${rule.alert} ${keyOf(entry.labels)}`;
        const from = this.#since.get(key) ?? time;
        since.set(key, from);
        return { ...entry, from };
      });
      const from = firing.length === 0 ? null : Math.min(...firing.map((entry) => entry.from));
      const forSeconds = parseDuration(rule.for ?? '0s');
      const values = condition?.measure.values(this.#readings) ?? [];
      return {
        name: rule.alert,
        severity: rule.labels.severity,
        state: condition === undefined ? 'elsewhere' : stateAfter(from === null ? null : time - from, forSeconds),
        since: from,
        summaries: firing.map((entry) => fillIn(rule.annotations.summary, entry)),
        description: general(rule.annotations.description),
        meaning: general(rule.annotations.summary),
        measure: condition?.measure.promql ?? null,
        threshold: condition?.threshold ?? null,
        for_seconds: forSeconds,
        values: values
          .map(({ labels, value }) => ({ labels, value, text: condition?.format(value) ?? String(value) }))
          .sort((a, b) => b.value - a.value)
          .slice(0, MAX_VALUES),
      };
    });
    this.#since = since;
    return alerts.sort((a, b) => ORDER[a.state] - ORDER[b.state]);
  }
}

/** @param seconds since the condition holds; null if it doesn't @param forSeconds after which the alert fires */
function stateAfter(seconds: number | null, forSeconds: number): Alert['state'] {
  if (seconds === null) return 'quiet';
  return seconds >= forSeconds ? 'firing' : 'pending';
}

const ORDER: Readonly<Record<Alert['state'], number>> = { firing: 0, pending: 1, quiet: 2, elsewhere: 3 };

const EVERY_MS = 60_000;

/**
 * Evaluates the alerts every minute.
 * @param metrics reads all metrics in Prometheus' text format
 * @param failed called with the error if they can't be read
 * @returns the last alerts with their time in Unix seconds; null before the first evaluation
 */
export function watchAlerts(
  clock: Clock,
  metrics: () => Promise<string>,
  failed: (cause: unknown) => void,
): Service & { last: () => { at: number; alerts: readonly Alert[] } | null } {
  const alerts = new Alerts();
  let last: { at: number; alerts: readonly Alert[] } | null = null;
  async function turn(): Promise<void> {
    const series = seriesIn(await metrics());
    const time = Math.floor(clock.now() / 1_000);
    last = { at: time, alerts: alerts.add(time, series) };
  }
  const passes = (error: unknown) => error instanceof Error;
  const { stop } = startLoop({ clock, everyMs: EVERY_MS, turn, passes, failed });
  return { last: () => last, stop };
}
