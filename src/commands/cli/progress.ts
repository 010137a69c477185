/** Reports the progress of a long command: one line that is redrawn on a terminal, a line every few seconds elsewhere. */
import { systemClock } from '../../base/clock.ts';
import { duration } from '../../base/format.ts';
import type { SecondaryIndexProgress } from '../../store/files/secondary-indexes.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';

export interface Progress {
  rows: number;
  height: number;
  /** Bytes read from the file; `size` is the total, or null if unknown. */
  read: number;
  size: number | null;
}

export interface Output {
  isTTY?: boolean;
  write(text: string): unknown;
}

const TERMINAL_INTERVAL_MS = 200;
const LINE_INTERVAL_MS = 5_000;

/** The time that the rest of the work needs at the rate so far, as the end of a line; empty before there is a rate. */
export const etaText = (seconds: number, done: number, left: number): string =>
  done === 0 ? '' : `, ETA ${duration((seconds * left) / done)}`;

const ERASE = '\r\u001b[K';

/** Draws lines of progress. @param now a monotonic clock, in milliseconds */
export function progressLines(output: Output, now: () => number = systemClock.monotonic) {
  const start = now();
  const interval = output.isTTY === true ? TERMINAL_INTERVAL_MS : LINE_INTERVAL_MS;
  let last = start;
  let drawn = false;

  function write(text: string, time: number): void {
    last = time;
    drawn = output.isTTY === true;
    output.write(drawn ? `${ERASE}${text}` : `${text}\n`);
  }

  function done(): void {
    if (drawn) output.write('\n');
    drawn = false;
  }

  return {
    /** Draws a line, unless another was drawn a moment ago. @param line given the seconds since the start */
    draw(line: (seconds: number) => string): void {
      const time = now();
      if (time - last >= interval) write(line((time - start) / 1000), time);
    },
    /** Draws a line for a step that can't draw another before it ends. */
    begin(text: string): void {
      write(text, now());
    },
    /** Clears the line for other output; on a terminal, the next one is drawn at once. */
    erase(): void {
      if (drawn) output.write(ERASE);
      drawn = false;
      if (output.isTTY === true) last = Number.NEGATIVE_INFINITY;
    },
    done,
    [Symbol.dispose]: done,
  };
}
type ProgressLines = ReturnType<typeof progressLines>;

/** Reports the progress of an import. @param now a monotonic clock, in milliseconds */
export function progressReport(file: string, output: Output, now: () => number = systemClock.monotonic) {
  const lines = progressLines(output, now);
  return {
    update({ rows, height, read, size }: Progress): void {
      lines.draw((seconds) => {
        const part = size === null || size === 0 ? '' : `, ${((read / size) * 100).toFixed(1)}%`;
        const eta = part === '' ? '' : etaText(seconds, read, (size ?? 0) - read);
        return `${file}: ${rows} rows, ${Math.round(rows / seconds)} rows/s, height ${height}${part}${eta}`;
      });
    },
    done: lines.done,
  };
}

/** Bytes of a file above which making its indexes takes long enough for progress lines. */
const LARGE_FILE = 200_000_000;

/** Draws a line for each secondary index that is made at the end of an import. */
export function secondaryIndexReport(lines: ProgressLines = progressLines(process.stderr)) {
  return {
    making({ index, number, total, bytes }: SecondaryIndexProgress): void {
      if (bytes >= LARGE_FILE) lines.begin(`index ${number} of ${total}: ${index}`);
    },
    done: lines.done,
  };
}

/**
 * Makes the secondary indexes at the end of an import. Signals are not handled during this work: no handler could run while
 * SQLite works, and if the process is killed, each index is either complete or missing.
 * @throws SQLiteError
 */
export function makeSecondaryIndexes(ingest: Ingest): void {
  const { making, done } = secondaryIndexReport();
  for (const progress of ingest.makeSecondaryIndexes()) making(progress);
  done();
}
