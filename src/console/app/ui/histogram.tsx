/** How values are spread, on a logarithmic scale: fees reach over many powers of ten. */
import { count, stxText } from '../chain/format.ts';
import type { Bar } from '../chain/histogram.ts';
import { Empty } from './parts.tsx';

/** The range of a bar in words. */
const range = ({ from, to }: Bar): string =>
  to === null ? `${stxText(String(from))} and more` : `${stxText(String(from))} to ${stxText(String(to))}`;

/** @param bars their bounds are in micro-STX */
export function Histogram({ label, bars: shown }: { label: string; bars: readonly Bar[] }) {
  const most = Math.max(...shown.map((bar) => bar.count));
  if (shown.length === 0) return <Empty>Nothing waits.</Empty>;
  return (
    <table class="histogram" aria-label={label}>
      <thead class="sr-only">
        <tr>
          <th scope="col">Fee</th>
          <th scope="col">Transactions</th>
        </tr>
      </thead>
      <tbody>
        {shown.map((bar) => (
          <tr key={bar.from}>
            <th scope="row" class="range">
              {range(bar)}
            </th>
            <td class="share">
              {bar.count === 0 ? null : <span class="bar-fill" style={{ width: `${(88 * bar.count) / most}%` }} />}{' '}
              {count(bar.count)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
