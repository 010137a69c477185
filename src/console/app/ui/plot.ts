/** How charts are drawn: the options of uPlot, in the colours and type of the page. */
import type uPlot from 'uplot';
import { type TimeScale, timeLabel } from '../chain/chart.ts';

interface PlotLook {
  Library: typeof uPlot;
  element: HTMLElement;
  /** Names of colours, one for each series. */
  colours: readonly string[];
  names: readonly string[];
  format: (value: number) => string;
  scale: TimeScale;
  bars: boolean;
  /** The steps between labels; null for any. */
  steps: Steps | null;
  /** Told over which value the pointer is; null where it is over none. */
  onPoint: (index: number | null) => void;
}

const HEIGHT = 150;
/** The height of the labels below. */
const LABELS = 28;
const HALF_DAY = 43_200;
/** The least that the width stands for, so that the first values of a server don't fill it. */
const LEAST_SPAN: Readonly<Record<TimeScale, number>> = { hour: 600, days: 6 * 2 * HALF_DAY };
/** Whole numbers, or seconds as people count them. */
export type Steps = 'whole' | 'seconds';
const wholeSteps = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((first) => first * 10 ** power)).flat();
const STEPS: Readonly<Record<Steps, number[]>> = {
  whole: wholeSteps,
  seconds: [1, 2, 5, 10, 20, 30, ...[60, 3_600].flatMap((unit) => [1, 2, 5, 10, 20, 30].map((some) => some * unit))],
};
/** Pixels between two labels, at least. */
const BETWEEN = { x: 60, y: 32 };

/** The colour of a custom property in the theme that is shown: the property itself has those of both. */
function colourOf(element: HTMLElement, name: string): string {
  const before = element.style.color;
  element.style.color = `var(--${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = before;
  return color;
}

const withAlpha = (colour: string, alpha: number): string =>
  `color-mix(in srgb, ${colour} ${alpha * 100}%, transparent)`;

/** The times at both sides of a drawing; days have room for their bars. */
function timesAround(times: ArrayLike<number>, scale: TimeScale): [number, number] {
  const [first = 0, last = 0] = [times[0], times[times.length - 1]];
  const room = scale === 'days' ? HALF_DAY : 0;
  return [Math.min(first, last - LEAST_SPAN[scale]) - room, last + room];
}

/** Whether a value stands between two that are missing, so that no line shows it. */
const hasLonely = (values: ArrayLike<number | null | undefined>): boolean =>
  Array.from(values).some((value, at, all) => value != null && all[at - 1] == null && all[at + 1] == null);

/** The options of a chart. */
export function plotOptions(look: PlotLook): uPlot.Options {
  const { Library, element, colours, names, format, scale, bars, steps, onPoint } = look;
  const font = `12px ${getComputedStyle(element).fontFamily}`;
  const [quiet, line] = [colourOf(element, 'ink-3'), colourOf(element, 'line')];
  const axis = { stroke: quiet, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const paths = bars ? Library.paths.bars?.({ size: [0.7, 28] }) : undefined;
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    tzDate: (seconds) => Library.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    padding: [8, 8, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      x: { range: ({ data: [times] }) => timesAround(times, scale) },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] },
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
          width: bars ? 0 : 1.5,
          fill: bars ? colour : withAlpha(colour, 0.12),
          points: {
            show: ({ data }: uPlot, place: number) => hasLonely(data[place] ?? []),
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
