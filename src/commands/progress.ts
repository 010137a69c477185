/** Reports the progress of an import: one line that is redrawn on a terminal, a line every few seconds elsewhere. */
import { systemClock } from '../base/clock.ts';

export interface Progress {
  rows: number;
  height: number;
  /** Bytes of the file read, and its size where that is known. */
  read: number;
  size: number | null;
}

interface Output {
  isTTY?: boolean;
  write(text: string): unknown;
}

const TERMINAL_INTERVAL_MS = 200;
const LINE_INTERVAL_MS = 5_000;

function duration(seconds: number): string {
  const whole = Math.round(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}

/** Reports the progress of an import on stderr. @param now a monotonic clock, in milliseconds */
export function progressReport(file: string, output: Output, now: () => number = systemClock.monotonic) {
  const start = now();
  const interval = output.isTTY === true ? TERMINAL_INTERVAL_MS : LINE_INTERVAL_MS;
  let last = start;
  let drawn = false;
  return {
    update({ rows, height, read, size }: Progress): void {
      const time = now();
      if (time - last < interval) return;
      last = time;
      const seconds = (time - start) / 1000;
      const share = size === null || size === 0 ? null : read / size;
      const left = share === null || share === 0 ? '' : `, ETA ${duration((seconds / share) * (1 - share))}`;
      const part = share === null ? '' : `, ${(share * 100).toFixed(1)}%`;
      const line = `${file}: ${rows} rows, ${Math.round(rows / seconds)} rows/s, height ${height}${part}${left}`;
      drawn = output.isTTY === true;
      output.write(drawn ? `\r\u001b[K${line}` : `${line}\n`);
    },
    /** Leaves the line as it is. */
    done(): void {
      if (drawn) output.write('\n');
    },
  };
}
