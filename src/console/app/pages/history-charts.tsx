/** Charts of the server's last hour. */
import type { Answer } from '../api/api.ts';
import { useGet } from '../api/use-answer.ts';
import { type Steps, withGaps } from '../chain/chart.ts';
import { bytes, count } from '../chain/format.ts';
import { Chart, type DrawnSeries } from '../ui/chart.tsx';
import { every } from '../ui/clock.ts';
import { DataPanel } from '../ui/parts.tsx';

type History = Answer<'/stackside/v1/history'>;

/** Seconds between reads of the history: the server adds a value to it as often. */
const EVERY = 10;
const NOTHING_YET = 'The first values appear ten seconds after the start.';

const short = (value: number): string => String(Number(value.toPrecision(3)));
const rate = (value: number): string => `${short(value)}/s`;
const milliseconds = (value: number): string => `${short(value)} ms`;

const NO_DELIVERIES = 'Nothing was delivered in the last hour.';

/** Returns the numbers of attempts; empty if the whole hour had no attempt, so that the chart shows its text. */
const whereAttempted = ({ delivery_ms: times }: History, values: readonly number[]): readonly number[] =>
  times.every((time) => time === null) ? [] : values;

interface HistoryChart {
  title: string;
  format: (value: number) => string;
  steps?: Steps;
  series: (history: History) => DrawnSeries[];
  /** The text shown if no value was measured. */
  empty?: string;
}

const ofServer: readonly HistoryChart[] = [
  {
    title: 'Events from the node',
    format: rate,
    series: ({ events_per_second: values }) => [{ name: 'Events', colour: 'accent', values }],
  },
  {
    title: 'Requests to the API',
    format: rate,
    series: ({ requests_per_second: values }) => [{ name: 'Requests', colour: 'ok', values }],
  },
  {
    title: 'Request duration',
    format: milliseconds,
    series: ({ request_ms: values }) => [{ name: 'Mean', colour: 'ok', values }],
    empty: 'No request arrived in the last hour.',
  },
  {
    title: 'Processor',
    format: (value) => `${short(100 * value)} %`,
    series: ({ cpu_share: values }) => [{ name: 'Share of one processor', colour: 'wait', values }],
  },
  {
    title: 'Memory',
    format: bytes,
    series: ({ memory_bytes: values }) => [{ name: 'Resident', colour: 'wait', values }],
  },
];

const ofDeliveries: readonly HistoryChart[] = [
  {
    title: 'Delivery duration',
    format: milliseconds,
    series: (history) => [
      { name: 'Mean', colour: 'accent', values: history.delivery_ms },
      { name: 'Slowest', colour: 'wait', values: history.slowest_delivery_ms },
    ],
    empty: NO_DELIVERIES,
  },
  {
    title: 'Delivery attempts',
    format: count,
    steps: 'whole',
    series: (history) => [
      { name: 'Succeeded', colour: 'ok', values: whereAttempted(history, history.deliveries_succeeded) },
      { name: 'Failed', colour: 'bad', values: whereAttempted(history, history.deliveries_failed) },
    ],
    empty: NO_DELIVERIES,
  },
];

function Charts({ charts }: { charts: readonly HistoryChart[] }) {
  const history = useGet('/stackside/v1/history', {}, every(EVERY));
  return (
    <div class="grid">
      {charts.map(({ title, format, steps = 'any', series, empty = NOTHING_YET }) => (
        <DataPanel key={title} title={title} loaded={history}>
          {(found) => (
            <Chart
              label={`${title} in the last hour`}
              {...withGaps(found.times, series(found), found.interval_seconds)}
              format={format}
              steps={steps}
              empty={found.times.length === 0 ? NOTHING_YET : empty}
            />
          )}
        </DataPanel>
      ))}
    </div>
  );
}

/** Renders charts of events, requests, processor and memory. */
export const ServerCharts = () => <Charts charts={ofServer} />;

/** Renders charts of the duration and the results of deliveries. */
export const DeliveryCharts = () => <Charts charts={ofDeliveries} />;
