/** Charts as SVG: small, without scripts or fonts, and readable on a light and on a dark page. */

const WIDTH = 760;
const LABELS = 250;
const RIGHT = 110;
const ROW = 20;
const TOP = 56;
const PLOT_HEIGHT = 220;

/** Of both themes: text and lines follow the page, series have colours that stand out on either. */
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #57606a; }
  .title { font-weight: 600; font-size: 14px; fill: #24292f; }
  .line { stroke: #8c959f; stroke-opacity: 0.4; }
  .s0 { fill: #2f81f7; } .s1 { fill: #db6d28; }
  .p0 { stroke: #2f81f7; } .p1 { stroke: #db6d28; }
  polyline { fill: none; stroke-width: 2; }
  @media (prefers-color-scheme: dark) { text { fill: #9da7b3; } .title { fill: #e6edf3; } }
`;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const at = (value: number): string => String(Math.round(value * 10) / 10);

const text = (x: number, y: number, words: string, anchor = 'start', kind = ''): string =>
  `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}"${kind === '' ? '' : ` class="${kind}"`}>${escaped(words)}</text>`;

const line = (x1: number, y1: number, x2: number, y2: number): string =>
  `<line class="line" x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}"/>`;

function svg(title: string, height: number, parts: readonly string[]): string {
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${at(height)}" width="${WIDTH}" role="img" aria-label="${escaped(title)}">`;
  return [head, `<style>${STYLE}</style>`, text(0, 16, title, 'start', 'title'), ...parts, '</svg>', ''].join('\n');
}

/** The names of the series, below the title. */
const legend = (series: readonly string[]): string[] =>
  series.length < 2
    ? []
    : series.flatMap((name, index) => [
        `<rect class="s${index}" x="${at(index * 260)}" y="28" width="10" height="10"/>`,
        text(index * 260 + 16, 37, name),
      ]);

export interface BarChart {
  title: string;
  /** One name for each bar of a row. */
  series: readonly string[];
  rows: readonly { label: string; values: readonly number[] }[];
  shown: (value: number) => string;
  /** Whether bars begin at 1 and grow by factors: to the right what is more, to the left what is less. */
  factors?: boolean;
}

/** Bars from left to right, one row of them below the other. */
export function barChart({ title, series, rows, shown, factors = false }: BarChart): string {
  const scaled = (value: number): number => (factors ? Math.log(value) : value);
  const all = rows.flatMap(({ values }) => values.map(scaled));
  const [least, most] = [Math.min(0, ...all), Math.max(...all, Number.EPSILON)];
  const left = LABELS + (least < 0 ? RIGHT : 0);
  const unit = (WIDTH - left - RIGHT) / (most - least);
  const x = (value: number): number => left + (scaled(value) - least) * unit;
  const zero = left - least * unit;
  let y = TOP;
  const parts: string[] = [];
  for (const { label, values } of rows) {
    const thickness = (ROW - 6) / values.length;
    parts.push(text(0, y + 11, label));
    for (const [index, value] of values.entries()) {
      const [from, to] = [Math.min(zero, x(value)), Math.max(zero, x(value))];
      const top = y + index * thickness;
      parts.push(
        `<rect class="s${index}" x="${at(from)}" y="${at(top)}" width="${at(to - from)}" height="${at(thickness)}"/>`,
      );
    }
    const isLess = values.length === 1 && scaled(values[0]!) < 0;
    const end = isLess ? x(values[0]!) - 4 : Math.max(zero, ...values.map(x)) + 4;
    parts.push(text(end, y + 11, values.map(shown).join(' / '), isLess ? 'end' : 'start'));
    y += ROW;
  }
  return svg(title, y + 4, [...legend(series), line(zero, TOP - 6, zero, y), ...parts]);
}

export interface LineChart {
  title: string;
  series: readonly { name: string; points: readonly (readonly [x: number, y: number])[] }[];
  shownX: (value: number) => string;
  shownY: (value: number) => string;
}

const TICKS = 4;

/** A step of 1, 2 or 5 times a power of ten, of which {@link TICKS} and a few reach the value. */
function stepTo(value: number): number {
  const rough = value / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough)!;
}

const ticksTo = (value: number): number[] => {
  const step = stepTo(value);
  return Array.from({ length: Math.ceil(value / step) + 1 }, (_, index) => index * step);
};

/** Lines over one axis, both axes from 0. */
export function lineChart({ title, series, shownX, shownY }: LineChart): string {
  const points = series.flatMap((one) => one.points);
  const [ticksX, ticksY] = [
    ticksTo(Math.max(...points.map(([x]) => x))),
    ticksTo(Math.max(...points.map(([, y]) => y))),
  ];
  const [left, right, top, bottom] = [70, WIDTH - 40, TOP, TOP + PLOT_HEIGHT];
  const x = (value: number): number => left + (value / ticksX.at(-1)!) * (right - left);
  const y = (value: number): number => bottom - (value / ticksY.at(-1)!) * (bottom - top);
  return svg(title, bottom + 28, [
    ...legend(series.map(({ name }) => name)),
    ...ticksY.flatMap((tick) => [
      line(left, y(tick), right, y(tick)),
      text(left - 8, y(tick) + 4, shownY(tick), 'end'),
    ]),
    ...ticksX.map((tick) => text(x(tick), bottom + 18, shownX(tick), 'middle')),
    ...series.map(
      (one, index) =>
        `<polyline class="p${index}" points="${one.points.map(([a, b]) => `${at(x(a))},${at(y(b))}`).join(' ')}"/>`,
    ),
  ]);
}
