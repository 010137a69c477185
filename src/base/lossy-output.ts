/** stdout and stderr of a server. Writes may fail: the disk is full, or nobody reads the pipe. */
import { writeSync } from 'node:fs';
import { hasCode } from './errors.ts';

/** How often and how long (in milliseconds) to wait for the reader of a full pipe. */
const [WAITS, WAIT_MS] = [20, 5];
const NOTHING = new Uint8Array();

/** Writes to a file descriptor, and waits while its pipe is full; tests replace it. */
export interface DescriptorWriter {
  /** Writes some of the bytes. @returns the number of written bytes */
  write(bytes: Uint8Array): number;
  wait(): void;
}

/** Returns the writer to a file descriptor. */
export const writerTo = (descriptor: number): DescriptorWriter => ({
  write: (bytes) => writeSync(descriptor, bytes),
  wait: () => Bun.sleepSync(WAIT_MS),
});

/**
 * Writes texts to a file descriptor synchronously. A text that can't be written is dropped and counted, so that a
 * failure of the log never affects the logged work. A partly written text is completed when writes work again.
 */
export class LossyOutput {
  /** Number of texts dropped since the start. */
  dropped = 0;
  /** Whether the last text was written. */
  works = true;
  readonly #writer: DescriptorWriter;
  /** The rest of a partly written text. */
  #rest: Uint8Array = NOTHING;

  /** @param to a file descriptor, such as 2 for stderr */
  constructor(to: number | DescriptorWriter) {
    this.#writer = typeof to === 'number' ? writerTo(to) : to;
  }

  write(text: string): void {
    const bytes = Buffer.from(text);
    this.#rest = this.#writeSome(this.#rest);
    if (this.#rest.length > 0) {
      this.dropped += 1;
      return;
    }
    const rest = this.#writeSome(bytes);
    if (rest.length === bytes.length && rest.length > 0) this.dropped += 1;
    else this.#rest = rest;
  }

  /** Writes as many bytes as possible. @returns the rest */
  #writeSome(bytes: Uint8Array): Uint8Array {
    let rest = bytes;
    let waits = this.works ? WAITS : 0;
    while (rest.length > 0) {
      try {
        rest = rest.subarray(this.#writer.write(rest));
        this.works = true;
      } catch (error) {
        if (!hasCode(error, 'EAGAIN') || waits-- === 0) {
          this.works = false;
          return rest;
        }
        this.#writer.wait();
      }
    }
    return rest;
  }
}

export interface LossyOutputs {
  stdout: LossyOutput;
  stderr: LossyOutput;
}

/** The outputs of this thread. Each thread has separate outputs and counts of dropped texts. */
export const lossyOutputs: LossyOutputs = { stdout: new LossyOutput(1), stderr: new LossyOutput(2) };

/** Returns the number of texts that both outputs dropped since the start. */
export const droppedBy = ({ stdout, stderr }: LossyOutputs): number => stdout.dropped + stderr.dropped;
