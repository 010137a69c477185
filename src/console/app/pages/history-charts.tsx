/** Charts of the server's last hour. */
import type { Answer } from '../api/api.ts';
import { useGet } from '../api/use-answer.ts';
import { withGaps } from '../chain/chart.ts';
import { bytes, count, milliseconds } from '../chain/format.ts';
import { Chart, type ColouredSeries } from '../ui/chart.tsx';
import { every } from '../ui/clock.ts';
import { DataPanel } from '../ui/parts.tsx';

type History = Answer<'/stackside/v1/history'>;

/** Seconds between reads of the history. The server adds values at the same interval. */
const HISTORY_EVERY = 10;
const NOTHING_YET = 'The first values appear ten seconds after the start.';

const short = (value: number): string => String(Number(value.toPrecision(3)));
const rate = (value: number): string => `${short(value)}/s`;

const NO_DELIVERIES = 'Nothing was delivered in the last hour.';

interface HistoryChart {
  title: string;
  format: (value: number) => string;
  series: readonly (readonly [name: string, colour: ColouredSeries['colour'], member: Member])[];
  empty?: string;
}

type Member = Exclude<keyof History, 'times' | 'interval_seconds'>;

const SERVER_CHARTS: readonly HistoryChart[] = [
  { title: 'Events from the node', format: rate, series: [['Events', 'accent', 'events_per_second']] },
  { title: 'Requests to the API', format: rate, series: [['Requests', 'ok', 'requests_per_second']] },
  {
    title: 'Request duration',
    format: milliseconds,
    series: [['Mean', 'ok', 'request_ms']],
    empty: 'No request arrived in the last hour.',
  },
  {
    title: 'Processor',
    format: (value) => `${short(100 * value)} %`,
    series: [['Share of one processor', 'wait', 'cpu_share']],
  },
  { title: 'Memory', format: bytes, series: [['Resident', 'wait', 'memory_bytes']] },
];

const DELIVERY_CHARTS: readonly HistoryChart[] = [
  {
    title: 'Delivery duration',
    format: milliseconds,
    series: [
      ['Mean', 'accent', 'delivery_ms'],
      ['Slowest', 'wait', 'slowest_delivery_ms'],
    ],
    empty: NO_DELIVERIES,
  },
  {
    title: 'Delivery attempts',
    format: count,
    series: [
      ['Succeeded', 'ok', 'deliveries_succeeded'],
      ['Failed', 'bad', 'deliveries_failed'],
    ],
    empty: NO_DELIVERIES,
  },
];

/** Returns the values of a member. The numbers of deliveries are empty if the hour had none, so that the chart shows its text. */
const valuesOf = (history: History, member: Member): readonly (number | null)[] =>
  member.startsWith('deliveries_') && history.delivery_ms.every((time) => time === null) ? [] : history[member];

function Charts({ charts }: { charts: readonly HistoryChart[] }) {
  const loaded = useGet('/stackside/v1/history', {}, every(HISTORY_EVERY));
  const drawnSeries = (history: History, series: HistoryChart['series']) =>
    series.map(([name, colour, member]) => ({ name, colour, values: valuesOf(history, member) }));
  return (
    <div class="grid">
      {charts.map(({ title, format, series, empty = NOTHING_YET }) => (
        <DataPanel key={title} title={title} loaded={loaded}>
          {(history) => (
            <Chart
              label={`${title} in the last hour`}
              {...withGaps(history.times, drawnSeries(history, series), history.interval_seconds)}
              format={format}
              empty={history.times.length === 0 ? NOTHING_YET : empty}
            />
          )}
        </DataPanel>
      ))}
    </div>
  );
}

/** Renders charts of events, requests, processor and memory. */
export const ServerCharts = () => <Charts charts={SERVER_CHARTS} />;

/** Renders charts of the duration and the results of deliveries. */
export const DeliveryCharts = () => <Charts charts={DELIVERY_CHARTS} />;
