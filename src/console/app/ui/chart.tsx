/** A chart over time, with its newest values and the same as a table. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { usePart } from '../api/use-part.ts';
import { type ChartSeries, chartInWords, newestOf, sampledPlaces, type TimeScale, timeLabel } from '../chain/chart.ts';
import { exactTime } from '../chain/format.ts';
import { Empty, Failed, Table } from './parts.tsx';
import { plotOptions, type Steps } from './plot.ts';
import { shownTheme } from './theme.ts';

/** A series with the name of its colour in the style sheet. */
export interface DrawnSeries extends ChartSeries {
  colour: 'accent' | 'ok' | 'bad' | 'wait';
}

interface ChartProps {
  label: string;
  /** Unix seconds, ascending. */
  times: readonly number[];
  series: readonly DrawnSeries[];
  format: (value: number) => string;
  scale?: TimeScale;
  /** Whether each value is a bar. */
  bars?: boolean;
  /** What the values are counted in, for their labels; anything if not given. */
  steps?: Steps | null;
  /** What is said where there is no value. */
  empty: string;
}

/** Rows of the table beside a chart. */
const MOST_ROWS = 60;

export function Chart({ label, times, series, format, scale = 'hour', bars = false, steps = null, empty }: ChartProps) {
  const [pointed, setPointed] = useState<number | null>(null);
  if (series.every((one) => newestOf(one) === null)) return <Empty>{empty}</Empty>;
  const at = pointed !== null && pointed < times.length ? pointed : null;
  const shown = (one: DrawnSeries): string => {
    const value = at === null ? newestOf(one) : (one.values[at] ?? null);
    return value === null ? '–' : format(value);
  };
  return (
    <figure class="chart">
      <figcaption>
        {series.map((one) => (
          <span key={one.name} class="chart-value">
            <span class={`swatch ${one.colour}`} />
            {one.name} <strong>{shown(one)}</strong>
          </span>
        ))}
        <span class="quiet">{at === null ? 'newest' : timeLabel(times[at] ?? 0, scale)}</span>
      </figcaption>
      <Plot {...{ label, times, series, format, scale, bars, steps }} onPoint={setPointed} />
      <ChartTable {...{ label, times, series, format, scale }} />
    </figure>
  );
}

type PlotProps = Required<Omit<ChartProps, 'empty'>> & { onPoint: (index: number | null) => void };

/** The drawing itself. The library is loaded with the first one. */
function Plot({ label, times, series, format, scale, bars, steps, onPoint }: PlotProps) {
  const library = usePart('uplot', () => import('uplot'));
  const Library = library.data?.default;
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const lines = [times, ...series.map(({ values }) => values)];
  // Pages are rendered each second, mostly with the same values.
  const same = JSON.stringify(lines);
  const data = useMemo(() => JSON.parse(same) as uPlot.AlignedData, [same]);
  const latest = useRef({ data, format });
  latest.current = { data, format };
  const shownIn = shownTheme.value;
  const colours = series.map(({ colour }) => colour).join();
  // A drawing has the colours of its theme: it is made anew for another.
  useEffect(() => {
    const { current: element } = frame;
    if (element === null || Library === undefined) return undefined;
    const options = plotOptions({
      Library,
      element,
      colours: series.map(({ colour }) => colour),
      names: series.map(({ name }) => name),
      format: (value) => latest.current.format(value),
      scale,
      bars,
      steps,
      onPoint,
    });
    const drawn = new Library(options, latest.current.data, element);
    plot.current = drawn;
    const observer = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height: options.height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      drawn.destroy();
      plot.current = null;
    };
  }, [Library, shownIn, colours, scale, bars, steps]);
  useEffect(() => plot.current?.setData(data), [data]);
  if (library.error !== null) return <Failed message={library.error.message} retry={library.retry} />;
  return <div ref={frame} class="chart-plot" role="img" aria-label={chartInWords(label, series, format)} />;
}

type TableProps = Required<Pick<ChartProps, 'label' | 'times' | 'series' | 'format' | 'scale'>>;

/** The values as text, which are made once they are asked for. */
function ChartTable({ label, times, series, format, scale }: TableProps) {
  const [open, setOpen] = useState(false);
  return (
    <details class="chart-table" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>As a table</summary>
      {open ? (
        <Table
          label={`${label}, as a table`}
          rows={sampledPlaces(times.length, MOST_ROWS)}
          keyOf={String}
          empty=""
          columns={[
            {
              name: scale === 'hour' ? 'Time' : 'Day',
              class: 'nowrap',
              cell: (place) => exactTime(times[place] ?? 0).slice(...(scale === 'hour' ? [11, 19] : [0, 10])),
            },
            ...series.map(({ name, values }) => ({
              name,
              class: 'number',
              cell: (place: number) => {
                const value = values[place] ?? null;
                return value === null ? '–' : format(value);
              },
            })),
          ]}
        />
      ) : null}
    </details>
  );
}
