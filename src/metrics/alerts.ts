/**
 * The alerts for Prometheus (packaging/prometheus/alerts.yml), evaluated in the server itself: by the same rules, over values
 * of its own metrics that it keeps for an hour. Of PromQL, it knows what these rules use.
 */
import rulesText from '../../packaging/prometheus/alerts.yml' with { type: 'text' };
import type { Clock } from '../base/clock.ts';

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: 'critical' | 'warning' };
  annotations: { summary: string; description: string };
}

const { groups } = Bun.YAML.parse(rulesText) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

/** A value of a metric, by its name and labels. */
interface Series {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** All values at a time, in seconds. */
interface Reading {
  at: number;
  series: readonly Series[];
}

/** A value of an expression with its labels. */
interface Found {
  labels: Readonly<Record<string, string>>;
  value: number;
}

type Evaluate = (readings: readonly Reading[]) => Found[];

const TOKEN = /\s*(\d+(?:\.\d+)?(?:e\d+)?(?![a-z\d])|\d+[smh]|[a-zA-Z_]\w*|"[^"]*"|=~|!~|!=|==|>=|<=|[><={}()[\],/+])/y;

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };

/** Seconds of a duration: `5m`. */
const secondsOf = (text: string): number => Number(text.slice(0, -1)) * (SECONDS[text.at(-1) ?? ''] ?? Number.NaN);

/** The key of labels, so that equal ones meet. */
const keyOf = (labels: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));

const chosen = (labels: Readonly<Record<string, string>>, names: readonly string[]) =>
  Object.fromEntries(names.flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]] as const])));

/** Values by the labels of a grouping. */
const grouped = (found: readonly Found[], names: readonly string[]) =>
  [...Map.groupBy(found, ({ labels }) => keyOf(chosen(labels, names))).values()].map((members) => ({
    labels: chosen(members[0]?.labels ?? {}, names),
    members,
  }));

/** Values of both sides with equal labels. */
const joined = (a: readonly Found[], b: readonly Found[], of: (a: number, b: number) => number): Found[] => {
  const others = new Map(b.map(({ labels, value }) => [keyOf(labels), value]));
  return a.flatMap(({ labels, value }) => {
    const other = others.get(keyOf(labels));
    return other === undefined ? [] : [{ labels, value: of(value, other) }];
  });
};

/** A quantile of the buckets of a histogram, as Prometheus interpolates it. */
function quantileOf(share: number, buckets: readonly Found[]): number {
  const sorted = buckets
    .map(({ labels, value }) => ({ le: labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le), value }))
    .sort((a, b) => a.le - b.le);
  const rank = share * (sorted.at(-1)?.value ?? 0);
  const at = sorted.findIndex(({ value }) => value >= rank);
  const [below, found] = [sorted[at - 1], sorted[at]];
  if (found === undefined || rank === 0) return Number.NaN;
  if (found.le === Number.POSITIVE_INFINITY) return below?.le ?? Number.NaN;
  const [low, before] = [below?.le ?? 0, below?.value ?? 0];
  return low + ((found.le - low) * (rank - before)) / (found.value - before);
}

/** Reads an expression of the rules. @throws Error for what it doesn't know, which the tests would meet */
function parsed(expr: string): { evaluate: Evaluate; names: Set<string>; acrossHosts: boolean } {
  const tokens = [...expr.matchAll(new RegExp(TOKEN.source, 'gy'))].map(([, token = '']) => token);
  const names = new Set<string>();
  let acrossHosts = false;
  let at = 0;
  const next = (): string => tokens[at++] ?? '';
  const take = (token: string): void => {
    const got = next();
    if (got !== token) throw new Error(`${expr}: ${token} expected, and not ${got}`);
  };
  const isNext = (token: string): boolean => {
    if (tokens[at] !== token) return false;
    at += 1;
    return true;
  };

  /** A metric with its conditions on labels. @returns its series in a reading */
  function selector(name: string): (reading: Reading) => readonly Series[] {
    names.add(name);
    const conditions: { label: string; meets: (value: string) => boolean }[] = [];
    if (isNext('{')) {
      while (!isNext('}')) {
        const [label, operator, text] = [next(), next(), next().slice(1, -1)];
        const pattern = new RegExp(`^(?:${text})$`);
        if (operator !== '=' && operator !== '=~') throw new Error(`${expr}: ${operator} is not known`);
        conditions.push({ label, meets: (value) => (operator === '=' ? value === text : pattern.test(value)) });
        isNext(',');
      }
    }
    return ({ series }) =>
      series.filter(
        (one) => one.name === name && conditions.every(({ label, meets }) => meets(one.labels[label] ?? '')),
      );
  }

  /** `increase` or `rate` of counters over a range. */
  function overRange(isRate: boolean): Evaluate {
    take('(');
    const select = selector(next());
    take('[');
    const range = secondsOf(next());
    take(']');
    take(')');
    return (readings) => {
      const newest = readings.at(-1)?.at ?? 0;
      const points = new Map<string, { labels: Series['labels']; values: { at: number; value: number }[] }>();
      for (const reading of readings) {
        if (reading.at < newest - range) continue;
        for (const { labels, value } of select(reading)) {
          const point = points.get(keyOf(labels)) ?? { labels, values: [] };
          point.values.push({ at: reading.at, value });
          points.set(keyOf(labels), point);
        }
      }
      return [...points.values()].flatMap(({ labels, values }) => {
        const seconds = (values.at(-1)?.at ?? 0) - (values[0]?.at ?? 0);
        if (seconds === 0) return [];
        // A counter that fell began anew.
        const grown = values.slice(1).reduce((sum, { value }, before) => {
          const earlier = values[before]?.value ?? 0;
          return sum + (value < earlier ? value : value - earlier);
        }, 0);
        return [{ labels, value: isRate ? grown / seconds : grown }];
      });
    };
  }

  /** `sum` or `max` by labels. */
  function aggregate(of: (values: readonly number[]) => number): Evaluate {
    take('by');
    take('(');
    const by: string[] = [];
    while (!isNext(')')) {
      by.push(next());
      isNext(',');
    }
    if (!by.includes('instance')) acrossHosts = true;
    take('(');
    const inner = sum();
    take(')');
    return (readings) =>
      grouped(inner(readings), by).map(({ labels, members }) => ({
        labels,
        value: of(members.map((one) => one.value)),
      }));
  }

  function quantile(): Evaluate {
    take('(');
    const share = Number(next());
    take(',');
    const inner = sum();
    take(')');
    return (readings) => {
      const found = inner(readings);
      const others = [...new Set(found.flatMap(({ labels }) => Object.keys(labels)))].filter((name) => name !== 'le');
      return grouped(found, others).map(({ labels, members }) => ({ labels, value: quantileOf(share, members) }));
    };
  }

  function term(): Evaluate {
    const token = next();
    if (token === 'increase' || token === 'rate') return overRange(token === 'rate');
    if (token === 'sum') return aggregate((values) => values.reduce((all, value) => all + value, 0));
    if (token === 'max') return aggregate((values) => Math.max(...values));
    if (token === 'histogram_quantile') return quantile();
    const select = selector(token);
    return (readings) => {
      const newest = readings.at(-1);
      return newest === undefined ? [] : select(newest).map(({ labels, value }) => ({ labels, value }));
    };
  }

  function sum(): Evaluate {
    let left = term();
    for (;;) {
      const operator = tokens[at];
      if (operator !== '+' && operator !== '/') return left;
      at += 1;
      const [before, right] = [left, term()];
      const of = operator === '+' ? (a: number, b: number) => a + b : (a: number, b: number) => a / b;
      left = (readings) => joined(before(readings), right(readings), of);
    }
  }

  const left = sum();
  const operator = next();
  const bound = Number(next());
  if ((operator !== '>' && operator !== '==') || Number.isNaN(bound) || at !== tokens.length)
    throw new Error(`${expr}: a comparison with a number is expected`);
  const meets = (value: number) => (operator === '>' ? value > bound : value === bound);
  return { evaluate: (readings) => left(readings).filter(({ value }) => meets(value)), names, acrossHosts };
}

/** Rules with their expressions. `elsewhere`: only Prometheus, which sees all hosts and their absence, can evaluate it. */
const read = rules.map((rule) => {
  const { evaluate, names, acrossHosts } = parsed(rule.expr);
  return { rule, evaluate, names, elsewhere: acrossHosts || names.has('up') };
});
const wanted = new Set(read.flatMap(({ names }) => [...names]));

/** Reads Prometheus' text format, as far as the rules ask for it. */
export function seriesIn(text: string): Series[] {
  const found: Series[] = [];
  for (const [, name = '', labels = '', value = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
    if (!wanted.has(name)) continue;
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]);
    found.push({ name, labels: Object.fromEntries(pairs), value: Number(value) });
  }
  return found;
}

/** Seconds in the largest unit that fits. */
function spanOf(seconds: number): string {
  const unit = Object.entries({ d: 86_400, h: 3_600, min: 60 }).find(([, size]) => seconds >= size);
  return unit === undefined ? `${Math.round(seconds)} s` : `${Math.floor(seconds / unit[1])} ${unit[0]}`;
}

const WRITTEN: Readonly<Record<string, (value: number) => string>> = {
  humanizeDuration: spanOf,
  humanizePercentage: (value) => `${Number((100 * value).toPrecision(3))} %`,
  humanize1024: (value) => `${(value / 2 ** 30).toFixed(1)} Gi`,
};

/** A text of a rule with its values; this server is the instance. */
const filled = (text: string, { labels, value }: Found): string =>
  text
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => labels[name] ?? 'this server')
    .replaceAll(/\{\{ \$value(?: \| (\w+))? \}\}/g, (_, how?: string) => (WRITTEN[how ?? ''] ?? String)(value))
    .replace(/^\w/, (first) => first.toUpperCase());

/** An alert: whether it would fire now. */
export interface Alert {
  name: string;
  severity: 'critical' | 'warning';
  /** `pending`: its condition holds, but not for long enough. `elsewhere`: only Prometheus can tell. */
  state: 'firing' | 'pending' | 'quiet' | 'elsewhere';
  /** Unix seconds since which the condition holds; null while it doesn't. */
  since: number | null;
  /** What is wrong, for each series; empty while nothing is. */
  summaries: string[];
  /** What to do. */
  description: string;
}

/** Seconds for which readings are kept: the longest range of the rules. */
const KEPT_SECONDS = 3_600;

/** Evaluates the rules over the metrics of this process. */
export class Alerts {
  readonly #readings: Reading[] = [];
  /** Unix seconds since which the condition of each rule and labels holds. */
  #since = new Map<string, number>();

  /** Adds all values at a time, in Unix seconds, and evaluates the rules. @returns the alerts, worst first */
  add(at: number, series: readonly Series[]): Alert[] {
    this.#readings.push({ at, series });
    while ((this.#readings[0]?.at ?? at) < at - KEPT_SECONDS) this.#readings.shift();
    const since = new Map<string, number>();
    const alerts = read.map(({ rule, evaluate, elsewhere }): Alert => {
      const found = (elsewhere ? [] : evaluate(this.#readings)).map((one) => {
        const key = `${rule.alert} ${keyOf(one.labels)}`;
        const from = this.#since.get(key) ?? at;
        since.set(key, from);
        return { ...one, from };
      });
      const from = found.length === 0 ? null : Math.min(...found.map((one) => one.from));
      const holds = from === null ? 'quiet' : at - from >= secondsOf(rule.for ?? '0s') ? 'firing' : 'pending';
      return {
        name: rule.alert,
        severity: rule.labels.severity,
        state: elsewhere ? 'elsewhere' : holds,
        since: from,
        summaries: found.map((one) => filled(rule.annotations.summary, one)),
        description: rule.annotations.description,
      };
    });
    this.#since = since;
    return alerts.sort((a, b) => ORDER[a.state] - ORDER[b.state]);
  }
}

const ORDER: Readonly<Record<Alert['state'], number>> = { firing: 0, pending: 1, quiet: 2, elsewhere: 3 };

const EVERY_MS = 60_000;

/**
 * Evaluates the alerts each minute.
 * @param metrics reads all metrics in Prometheus' text format
 * @param failed is told why they can't be read
 * @returns the last alerts with their time in Unix seconds, null before the first, and a function that ends the evaluation
 */
export function watchAlerts(
  clock: Pick<Clock, 'now' | 'every'>,
  metrics: () => Promise<string>,
  failed: (cause: unknown) => void,
): { last: () => { at: number; alerts: readonly Alert[] } | null; stop: () => void } {
  const alerts = new Alerts();
  let last: { at: number; alerts: readonly Alert[] } | null = null;
  const look = async () => {
    const series = seriesIn(await metrics());
    const at = Math.floor(clock.now() / 1_000);
    last = { at, alerts: alerts.add(at, series) };
  };
  return { last: () => last, stop: clock.every(EVERY_MS, () => void look().catch(failed)) };
}
