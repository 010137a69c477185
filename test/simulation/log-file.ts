/** The file for a server's stderr, on a disk that may be full, whose writes sometimes fail. */
import { expect } from 'bun:test';
import { LossyOutput } from '../../src/base/lossy-output.ts';
import type { Prng } from '../../src/devnet/prng.ts';
import { createLog, type Log } from '../../src/log.ts';

const codes = ['ENOSPC', 'EIO', 'EPIPE', 'EAGAIN', 'EBADF'] as const;
/** Percentage of writes that fail, and of writes that are partial. */
const [FAILING, PARTIAL] = [4, 4];

export class LogFile {
  readonly output: LossyOutput;
  /** The log of the process, as it is outside of tests. */
  readonly log: Log;
  #text = '';
  #lines = 0;
  #isCalm = false;

  /** @param isFull whether the disk is full now */
  constructor(prng: Prng, isFull: () => boolean) {
    const write = (bytes: Uint8Array): number => {
      const drawn = this.#isCalm ? 100 : prng.below(100);
      const code = isFull() ? 'ENOSPC' : drawn < FAILING ? codes[prng.below(codes.length)] : undefined;
      if (code !== undefined) throw Object.assign(new Error(`a fault: ${code}`), { code });
      const written = drawn < FAILING + PARTIAL ? bytes.subarray(0, 1 + prng.below(bytes.length)) : bytes;
      this.#text += Buffer.from(written).toString('latin1');
      return written.length;
    };
    this.output = new LossyOutput({ write, wait: () => {} });
    const log = createLog('debug', this.output);
    this.log = (event) => {
      this.#lines += 1;
      log(event);
    };
  }

  calm(): void {
    this.#isCalm = true;
  }

  /** Checks that each line was written completely, or was dropped and counted in the log. */
  holdsItsLaws(): void {
    const lines = this.#text.split('\n');
    const unfinished = lines.pop() === '' ? 0 : 1;
    const read = lines.map((line) => JSON.parse(Buffer.from(line, 'latin1').toString()));
    expect({ lines: lines.length + unfinished + this.output.dropped }).toEqual({ lines: this.#lines });
    const reported = read
      .filter(({ msg }) => msg === 'log_lines_dropped')
      .reduce((sum: number, line) => sum + line.lines, 0);
    expect(this.output.dropped).toBeGreaterThanOrEqual(reported);
    if (this.#isCalm && this.output.works) expect(reported).toBe(this.output.dropped);
  }
}
