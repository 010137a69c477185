/** A chart over time, drawn as SVG, with its newest values above and all values as a table below. */

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import {
  axisTop,
  type ChartSeries,
  describeChart,
  firstIndexIn,
  newestOf,
  type Range,
  sampleIndexes,
  scaleOf,
  spansOf,
  type TimeScale,
  timeLabel,
  timeTicks,
  valueRange,
  valueTicks,
} from '../chain/chart.ts';
import { exactTime, localTime } from '../chain/format.ts';
import { now } from './clock.ts';
import { Button, type Column, Empty, Table } from './parts.tsx';

/** A series with the name of its colour in the style sheet. */
export interface ColouredSeries extends ChartSeries {
  colour: 'accent' | 'ok' | 'bad' | 'wait';
}

type Shape = 'lines' | 'bars' | 'held';

interface ChartProps {
  label: string;
  /** Unix seconds, ascending. */
  times: readonly number[];
  series: readonly ColouredSeries[];
  format: (value: number) => string;
  scale?: TimeScale;
  /** How values are drawn (default: lines). A held value stays until the next time; a bar shows only its time. */
  shape?: Shape;
  empty: string;
}

const MAX_ROWS = 60;

/** A chart as it is drawn, for the span that its reader chose. */
type DrawnChart = Required<Omit<ChartProps, 'empty'>>;

/** Renders a chart. If it covers days, its reader chooses the span. */
export function Chart({ scale = 'hour', shape = 'lines', empty, ...props }: ChartProps) {
  const [span, setSpan] = useState(Number.POSITIVE_INFINITY);
  const spans = spansOf(props.times);
  const start = spans.some(([, seconds]) => seconds === span) ? firstIndexIn(props.times, span) : 0;
  const times = props.times.slice(start);
  const series = props.series.map((item) => ({ ...item, values: item.values.slice(start) }));
  const drawnScale = start === 0 || scale === 'hour' ? scale : scaleOf(times);
  return (
    <>
      {spans.length === 0 ? null : (
        <div class="panel-body row small">
          {[...spans, ['All', Number.POSITIVE_INFINITY] as const].map(([title, seconds]) => (
            <Button
              text={title}
              key={title}
              class="link"
              aria-pressed={seconds === (start === 0 ? Number.POSITIVE_INFINITY : span)}
              onClick={() => setSpan(seconds)}
            />
          ))}
        </div>
      )}
      {series.every((item) => newestOf(item) === null) ? (
        <Empty>{empty}</Empty>
      ) : (
        <SpanChart {...props} times={times} series={series} scale={drawnScale} shape={shape} />
      )}
    </>
  );
}

function SpanChart(chart: DrawnChart) {
  const { times, series, format, scale } = chart;
  const [pointedIndex, setPointedIndex] = useState<number | null>(null);
  const index = pointedIndex !== null && pointedIndex < times.length ? pointedIndex : null;
  const hiddenMax = clippedMax(series);
  return (
    <figure class="chart">
      <figcaption class="row small">
        {series.map((item) => (
          <span key={item.name}>
            <span class={item.colour}>■</span> {item.name}{' '}
            <strong>{valueText(index === null ? newestOf(item) : (item.values[index] ?? null), format)}</strong>
          </span>
        ))}
        {hiddenMax === null ? null : <span class="quiet">▲ up to {format(hiddenMax)}, above the axis</span>}
        <span class="quiet">{index === null ? newestLabel(times, scale) : timeLabel(times[index] ?? 0, scale)}</span>
      </figcaption>
      <Plot {...chart} index={index} onPoint={setPointedIndex} />
      <ChartTable {...chart} />
    </figure>
  );
}

function newestLabel(times: readonly number[], scale: TimeScale): string {
  const newest = times.at(-1) ?? 0;
  return scale !== 'hour' || now.value - newest < 3_600 ? 'newest' : `newest, ${localTime(newest).slice(0, 16)}`;
}

type PlotProps = DrawnChart & {
  /** Index of the values under the pointer or the keyboard's cursor; null if there is none. */
  index: number | null;
  onPoint: (index: number | null) => void;
};

const HEIGHT = 150;
/** Space around the plot, in pixels; the labels of values are at its left. */
const [TOP, BOTTOM, RIGHT] = [10, 24, 10];
/** Minimum distance between two labels, in pixels. */
const MIN_GAP = { x: 76, y: 34 };
const [HALF_HOUR, HALF_DAY] = [1_800, 43_200];
/** Minimum time span of the chart, so that the first values of a server don't fill it. */
const MIN_SPAN: Readonly<Record<TimeScale, number>> = { hour: 600, days: 6 * 2 * HALF_DAY, years: 0 };
/** Width of a bar in pixels: a share of the distance to the next bar within these bounds. */
const BAR = { share: 0.7, min: 2, max: 28 };

/** Returns the range of the time axis, in Unix seconds, with room for bars: half a day or half an hour at both ends. */
function timeRange(times: readonly number[], scale: TimeScale, shape: Shape): Range {
  const [first, last] = [times[0] ?? 0, times.at(-1) ?? 0];
  const room = scale === 'days' ? HALF_DAY : shape === 'bars' ? HALF_HOUR : 0;
  return [Math.min(first, last - MIN_SPAN[scale]) - room, last + room];
}

interface Point {
  x: number;
  y: number;
}

const round = (value: number): number => Math.round(10 * value) / 10;

function runsOf(points: readonly (Point | null)[]): Point[][] {
  const runs: Point[][] = [[]];
  for (const point of points) {
    if (point === null) runs.push([]);
    else runs.at(-1)?.push(point);
  }
  return runs.filter(({ length }) => length > 0);
}

const lineOf = (run: readonly Point[], shape: Shape): string =>
  run.map(({ x, y }, nth) => (nth === 0 ? `M${x} ${y}` : shape === 'held' ? `H${x}V${y}` : `L${x} ${y}`)).join('');

/** The attributes of a line. Other shapes are filled. */
const STROKE = { fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5 };

interface SeriesProps {
  points: readonly (Point | null)[];
  shape: Shape;
  /** Vertical position of the lowest value, in pixels. */
  base: number;
  colour: string;
}

/** Renders a series as lines with the area below them. A value without neighbours is a point. */
function Lines({ points, shape, base, colour }: SeriesProps) {
  const runs = runsOf(points);
  return (
    <g class={colour}>
      {shape === 'held' ? null : (
        <path opacity="0.12" d={runs.map((run) => `${lineOf(run, shape)}V${base}H${run[0]?.x ?? 0}Z`).join('')} />
      )}
      <path {...STROKE} d={runs.map((run) => lineOf(run, shape)).join('')} />
      {runs.map(([first, second]) =>
        first === undefined || second !== undefined ? null : <circle key={first.x} cx={first.x} cy={first.y} r="2" />,
      )}
    </g>
  );
}

function Bars({ points, base, colour }: SeriesProps) {
  const drawnPoints = points.filter((point) => point !== null);
  const gaps = drawnPoints.map(({ x }, nth) => x - (drawnPoints[nth - 1]?.x ?? Number.NEGATIVE_INFINITY));
  const width = Math.min(BAR.max, Math.max(BAR.min, BAR.share * Math.min(...gaps)));
  return (
    <path
      class={colour}
      d={drawnPoints.map(({ x, y }) => `M${round(x - width / 2)} ${base}V${y}h${round(width)}V${base}Z`).join('')}
    />
  );
}

const MOVES: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowDown: -1,
  ArrowUp: 1,
  PageDown: -10,
  PageUp: 10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** Renders the plot. Its cursor follows the pointer, and the arrow keys. */
function Plot({ index, onPoint, ...chart }: PlotProps) {
  const { label, times, series, format, scale } = chart;
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const { current: element } = frame;
    if (element === null) return undefined;
    const measure = () => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const last = times.length - 1;
  const move = (event: KeyboardEvent) => {
    const step = MOVES[event.key];
    if (event.key === 'Escape') onPoint(null);
    if (step === undefined) return;
    event.preventDefault();
    onPoint(Math.min(last, Math.max(0, (index ?? last) + step)));
  };
  const shownIndex = index ?? last;
  const values = series.map((item) => `${item.name} ${valueText(item.values[shownIndex] ?? null, format)}`).join(', ');
  return (
    <div
      ref={frame}
      class="chart-plot"
      role="slider"
      tabIndex={0}
      aria-label={describeChart(label, series, format)}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={shownIndex}
      aria-valuetext={`${timeLabel(times[shownIndex] ?? 0, scale)}: ${values}`}
      onKeyDown={move}
      onBlur={() => onPoint(null)}
      onPointerMove={({ offsetX }) => onPoint(nearest(offsetX, { ...chart, width }))}
      onPointerLeave={() => onPoint(null)}
    >
      {width === 0 ? null : <Drawing {...chart} width={width} index={index} />}
    </div>
  );
}

const valuesOf = (series: readonly ChartSeries[]): number[] =>
  series.flatMap(({ values }) => values.filter((value) => value !== null));

/** Returns the highest value if the axis doesn't show it; null otherwise. */
function clippedMax(series: readonly ChartSeries[]): number | null {
  const values = valuesOf(series);
  const max = values.reduce((high, value) => Math.max(high, value), 0);
  return max > axisTop(values) ? max : null;
}

const valueText = (value: number | null, format: (value: number) => string): string =>
  value === null ? '–' : format(value);

/** A chart with the width of its drawing, in pixels. */
type Layout = DrawnChart & { width: number };

/** Returns the positions of a plot: its labels, and the functions from values to pixels. */
function positions({ times, series, format, scale, shape, width }: Layout) {
  const values = valuesOf(series);
  const range = valueRange(values, shape !== 'held');
  const base = HEIGHT - BOTTOM;
  const ticks = valueTicks(range, Math.floor((base - TOP) / MIN_GAP.y), values.every(Number.isInteger));
  const left = 12 + 7 * Math.max(3, ...ticks.map((value) => format(value).length));
  const span = timeRange(times, scale, shape);
  const room = width - left - RIGHT;
  const xOf = (time: number) => round(left + (room * (time - span[0])) / (span[1] - span[0] || 1));
  const yOf = (value: number) =>
    round(Math.max(TOP / 2, base - ((base - TOP) * (value - range[0])) / (range[1] - range[0])));
  const timeLabels = timeTicks(span, Math.floor(room / MIN_GAP.x), scale);
  return { base, left, xOf, yOf, ticks, timeLabels, zero: yOf(Math.max(0, range[0])), top: range[1] };
}

/** Returns the index of the values whose time is nearest to a horizontal position, in pixels. */
function nearest(x: number, layout: Layout): number {
  const { xOf } = positions(layout);
  const distances = layout.times.map((time) => Math.abs(xOf(time) - x));
  return distances.lastIndexOf(Math.min(...distances));
}

function Drawing({ index, ...layout }: Layout & { index: number | null }) {
  const { times, series, format, scale, shape, width } = layout;
  const { base, left, xOf, yOf, ticks, timeLabels, zero, top } = positions(layout);
  const Series = shape === 'bars' ? Bars : Lines;
  const lines = series.map(({ colour, values }) => ({
    colour,
    points: values.map((value, nth) => (value === null ? null : { x: xOf(times[nth] ?? 0), y: yOf(value) })),
  }));
  return (
    <svg width={width} height={HEIGHT} aria-hidden="true" focusable="false">
      {ticks.map((value) => (
        <g key={value}>
          <path {...STROKE} class="chart-grid" d={`M${left} ${yOf(value)}H${width - RIGHT}`} />
          <text x={left - 8} y={yOf(value) + 4} text-anchor="end">
            {format(value)}
          </text>
        </g>
      ))}
      {timeLabels.map((time) => (
        <text key={time} x={xOf(time)} y={base + 18} text-anchor="middle">
          {timeLabel(time, scale)}
        </text>
      ))}
      {lines.map(({ colour, points }) => (
        <Series key={colour} colour={colour} points={points} shape={shape} base={zero} />
      ))}
      {series.map(({ colour, values }) => (
        <path
          key={colour}
          class={colour}
          d={values
            .map((value, nth) => (value === null || value <= top ? '' : `M${xOf(times[nth] ?? 0)} 0l4 7h-8Z`))
            .join('')}
        />
      ))}
      {index === null ? null : (
        <g>
          <path {...STROKE} d={`M${xOf(times[index] ?? 0)} ${TOP}V${base}`} />
          {lines.map(({ colour, points }) => {
            const point = points[index] ?? null;
            return point === null ? null : <circle key={colour} class={colour} cx={point.x} cy={point.y} r="3.5" />;
          })}
        </g>
      )}
    </svg>
  );
}

const TIME_COLUMNS: Readonly<Record<TimeScale, readonly [name: string, text: (value: number) => string]>> = {
  hour: ['Time', (seconds) => localTime(seconds).slice(11, 19)],
  days: ['Day', (seconds) => exactTime(seconds).slice(0, 10)],
  years: ['Day', (seconds) => exactTime(seconds).slice(0, 10)],
};

/** Renders the values as a table, but only while the table is open. */
function ChartTable({ label, times, series, format, scale }: DrawnChart) {
  const [open, setOpen] = useState(false);
  const [title, text] = TIME_COLUMNS[scale];
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>As a table</summary>
      {open ? (
        <Table
          label={`${label}, as a table`}
          rows={sampleIndexes(times.length, MAX_ROWS)}
          keyOf={String}
          columns={[
            [title, 'nowrap', (index) => text(times[index] ?? 0)],
            ...series.map(
              ({ name, values }): Column<number> => [
                name,
                'number',
                (index) => valueText(values[index] ?? null, format),
              ],
            ),
          ]}
        />
      ) : null}
    </details>
  );
}
