/** A chart over time, with its newest values above and all values as a table below. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { usePart } from '../api/use-answer.ts';
import {
  type ChartSeries,
  chartInWords,
  newestOf,
  sampledIndexes,
  stepsOf,
  type TimeScale,
  timeLabel,
} from '../chain/chart.ts';
import { count, exactTime } from '../chain/format.ts';
import { now } from './clock.ts';
import { Empty, Failed, Table } from './parts.tsx';
import { shownTheme } from './theme.ts';

/** A series with the name of its colour in the style sheet. */
export interface DrawnSeries extends ChartSeries {
  colour: 'accent' | 'ok' | 'bad' | 'wait';
}

type Drawn = 'lines' | 'bars' | 'steps' | 'held';

interface ChartProps {
  label: string;
  /** Unix seconds, ascending. */
  times: readonly number[];
  series: readonly DrawnSeries[];
  format: (value: number) => string;
  scale?: TimeScale;
  /**
   * How values are drawn (default: lines). A step shows the value since the previous time or, if held, until the next
   * time. A bar shows only the value at its time.
   */
  drawn?: Drawn;
  /** The steps between labels of the value axis; null if the chart library chooses. */
  steps?: Steps | null;
  /** The text shown if every series is empty. */
  empty: string;
}

/** Maximum rows of the table below a chart. */
const MAX_ROWS = 60;

export function Chart({
  label,
  times,
  series,
  format,
  scale = 'hour',
  drawn = 'lines',
  steps = null,
  empty,
}: ChartProps) {
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
        <span class="quiet">{at === null ? newestLabel(times, scale) : timeLabel(times[at] ?? 0, scale)}</span>
      </figcaption>
      <Plot {...{ label, times, series, format, scale, drawn, steps }} onPoint={setPointed} />
      <ChartTable {...{ label, times, series, format, scale }} />
    </figure>
  );
}

/** Returns the time of the newest values, with its date if it isn't recent. */
function newestLabel(times: readonly number[], scale: TimeScale): string {
  const newest = times.at(-1) ?? 0;
  return scale !== 'hour' || now.value - newest < OLD ? 'newest' : `newest, ${exactTime(newest).slice(0, 16)} UTC`;
}

/** Age in seconds above which the newest values aren't recent. */
const OLD = 3_600;

type PlotProps = Required<Omit<ChartProps, 'empty'>> & { onPoint: (index: number | null) => void };

/** Renders the plot. The first plot loads the chart library. */
function Plot({ label, times, series, format, scale, drawn, steps, onPoint }: PlotProps) {
  const library = usePart('uplot', () => import('uplot'));
  const Library = library.data?.default;
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const lines = [times, ...series.map(({ values }) => (drawn === 'steps' ? stepsOf(values) : values))];
  // The clock renders pages each second, usually with the same values. Equal values keep the same object.
  const serialized = JSON.stringify(lines);
  const data = useMemo(() => JSON.parse(serialized) as uPlot.AlignedData, [serialized]);
  const latest = useRef({ data, format });
  latest.current = { data, format };
  const shownIn = shownTheme.value;
  const colours = series.map(({ colour }) => colour).join();
  // A plot uses the colours of the theme, so another theme needs a new plot.
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
      drawn,
      steps,
      onPoint,
    });
    const made = new Library(options, latest.current.data, element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: options.height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [Library, shownIn, colours, scale, drawn, steps]);
  useEffect(() => plot.current?.setData(data), [data]);
  if (library.error !== null) return <Failed message={library.error.message} retry={library.retry} />;
  return <div ref={frame} class="chart-plot" role="img" aria-label={chartInWords(label, series, format)} />;
}

const DAY = { name: 'Day', text: (seconds: number) => exactTime(seconds).slice(0, 10) };

/** The first column of a chart's table. */
const ALONG: Readonly<Record<TimeScale, { name: string; text: (place: number) => string }>> = {
  hour: { name: 'Time', text: (seconds) => exactTime(seconds).slice(11, 19) },
  days: DAY,
  years: DAY,
  numbers: { name: 'Number', text: count },
};

type TableProps = Required<Pick<ChartProps, 'label' | 'times' | 'series' | 'format' | 'scale'>>;

/** Renders the values as a table, but only while the table is open. */
function ChartTable({ label, times, series, format, scale }: TableProps) {
  const [open, setOpen] = useState(false);
  return (
    <details class="chart-table" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>As a table</summary>
      {open ? (
        <Table
          label={`${label}, as a table`}
          rows={sampledIndexes(times.length, MAX_ROWS)}
          keyOf={String}
          empty=""
          columns={[
            {
              name: ALONG[scale].name,
              class: 'nowrap',
              cell: (place) => ALONG[scale].text(times[place] ?? 0),
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

interface PlotLook {
  Library: typeof uPlot;
  element: HTMLElement;
  /** Names of colours, one per series. */
  colours: readonly string[];
  names: readonly string[];
  format: (value: number) => string;
  scale: TimeScale;
  drawn: Drawn;
  /** The steps between labels of the value axis; null if the library chooses. */
  steps: Steps | null;
  /** Called with the index of the value under the pointer; null if the pointer has left. */
  onPoint: (index: number | null) => void;
}

const HEIGHT = 150;
/** Height of the time axis, in pixels. */
const LABELS = 28;
const HALF_DAY = 43_200;
/** Minimum time span of the chart, so that the first values of a server don't fill it. */
const MIN_SPAN: Readonly<Record<TimeScale, number>> = { hour: 600, days: 6 * 2 * HALF_DAY, years: 0, numbers: 1 };
/** Steps between labels: whole numbers, or seconds that divide minutes and hours. */
export type Steps = 'whole' | 'seconds';
const wholeSteps = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((first) => first * 10 ** power)).flat();
const STEPS: Readonly<Record<Steps, number[]>> = {
  whole: wholeSteps,
  seconds: [1, 2, 5, 10, 20, 30, ...[60, 3_600].flatMap((unit) => [1, 2, 5, 10, 20, 30].map((some) => some * unit))],
};
/** Minimum distance between two labels, in pixels. */
const BETWEEN = { x: 60, y: 32 };

/**
 * Returns the colour of a CSS custom property in the current theme. The property contains the colours of both themes.
 */
function colourOf(element: HTMLElement, name: string): string {
  const before = element.style.color;
  element.style.color = `var(--${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = before;
  return color;
}

const withAlpha = (colour: string, alpha: number): string =>
  `color-mix(in srgb, ${colour} ${alpha * 100}%, transparent)`;

/**
 * Returns the range of the time axis, in Unix seconds. A chart of days has half a day more at both ends, for its bars.
 */
function timesAround(times: ArrayLike<number>, scale: TimeScale): [number, number] {
  const [first = 0, last = 0] = [times[0], times[times.length - 1]];
  const room = scale === 'days' ? HALF_DAY : 0;
  return [Math.min(first, last - MIN_SPAN[scale]) - room, last + room];
}

/** Reports whether a series has a value without neighbours. Such a value isn't part of a line, so it needs a point. */
const hasLonely = (values: ArrayLike<number | null | undefined>): boolean =>
  Array.from(values).some((value, at, all) => value != null && all[at - 1] == null && all[at + 1] == null);

/** How the library draws values. The width of a bar is the minimum time between two values, but at least two pixels. */
const PATHS: Readonly<Record<Drawn, (library: typeof uPlot) => uPlot.Series.PathBuilder | undefined>> = {
  lines: () => undefined,
  bars: ({ paths }) => paths.bars?.({ size: [0.7, 28, 2] }),
  steps: ({ paths }) => paths.stepped?.({ align: -1 }),
  held: ({ paths }) => paths.stepped?.({ align: 1 }),
};

function plotOptions(look: PlotLook): uPlot.Options {
  const { Library, element, colours, names, format, scale, drawn, steps, onPoint } = look;
  const font = `12px ${getComputedStyle(element).fontFamily}`;
  const [quiet, line] = [colourOf(element, 'ink-3'), colourOf(element, 'line')];
  const axis = { stroke: quiet, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const paths = PATHS[drawn](Library);
  const isBars = drawn === 'bars';
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    tzDate: (seconds) => Library.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    padding: [8, 8, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      x: { time: scale !== 'numbers', range: ({ data: [times] }) => timesAround(times, scale) },
      y: { range: (_, least, most) => [Math.min(0, least * 1.1), most > 0 ? most * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        space: BETWEEN.x,
        size: LABELS,
        values: (_, splits) => splits.map((seconds) => timeLabel(seconds, scale)),
      },
      {
        ...axis,
        space: BETWEEN.y,
        ...(steps === null ? {} : { incrs: STEPS[steps] }),
        values: (_, splits) => splits.map(format),
        size: (_, labels) => 14 + 7 * Math.max(4, ...(labels ?? []).map(({ length }) => length)),
      },
    ],
    series: [
      {},
      ...colours.map((name, index) => {
        const colour = colourOf(element, name);
        return {
          label: names[index] ?? '',
          stroke: colour,
          width: isBars ? 0 : 1.5,
          fill: isBars ? colour : withAlpha(colour, 0.12),
          points: {
            show: ({ data }: uPlot, place: number) => !isBars && hasLonely(data[place] ?? []),
            size: 4,
            fill: colour,
          },
          ...(paths === undefined ? {} : { paths }),
        };
      }),
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
  };
}
