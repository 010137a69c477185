/**
 * Threads of this process, and streams of values from a thread. The thread waits if the main thread is slow, so that few
 * values are in memory.
 */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { type ErrorMessage, errorOfMessage, hasCode, messageOfError, OperatorError, TemporaryError } from './errors.ts';
import type { Service } from './service.ts';

interface ThreadOptions<From> {
  module: URL;
  start: unknown;
  /** Called with each message from the thread. */
  heard(message: From): void;
  /** Called once if the thread ends before it is stopped. @param cause the uncaught error, or the exit code */
  ended(cause: unknown): void;
}

export interface Thread<To> extends Service {
  say(message: To): void;
  /** Ends the thread at once. */
  stop(): Promise<void>;
}

/** File descriptors that must be free before a thread starts: more than it needs, since clients may connect meanwhile. */
const FREE_DESCRIPTORS = 64;

/** Checks that a thread can start: without a file descriptor for it, the runtime ends the process. @throws TemporaryError */
function requireDescriptors(): void {
  const descriptors: number[] = [];
  try {
    while (descriptors.length < FREE_DESCRIPTORS) descriptors.push(openSync(devNull, 'r'));
  } catch (cause) {
    if (!hasCode(cause, 'EMFILE') && !hasCode(cause, 'ENFILE')) throw cause;
    throw new TemporaryError(
      "A thread can't start: too many files and connections are open.",
      'Raise the limit of open files (ulimit -n, LimitNOFILE of systemd), or let a proxy limit the connections of clients.',
      { cause },
    );
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

/**
 * Starts a thread.
 * @typeParam From messages of the thread
 * @typeParam To messages to the thread
 * @throws TemporaryError if too few file descriptors are free
 */
export function startThread<From, To>({ module, start, heard, ended }: ThreadOptions<From>): Thread<To> {
  let isOver = false;
  const finish = (cause: unknown): void => {
    if (!isOver) ended(cause);
    isOver = true;
  };
  requireDescriptors();
  const worker = new Worker(module, { workerData: start });
  worker.on('message', heard).on('error', finish).on('exit', finish);
  return {
    say: (message) => worker.postMessage(message),
    async stop() {
      isOver = true;
      await worker.terminate();
    },
  };
}

/** A message from a thread that streams. */
type FromStream<T, End> =
  | { kind: 'value'; value: T }
  | { kind: 'end'; end: End }
  /** An OperatorError of the thread. */
  | { kind: 'refused'; error: ErrorMessage };

/**
 * Sends the values of a generator to the main thread. Called by the module of a thread.
 * @param capacity maximum number of values that the main thread hasn't read; the generator pauses then
 * @param generate gets the thread's data at its start
 */
export async function sendStream<Start, T, End>(
  capacity: number,
  generate: (start: Start) => Generator<T, End> | AsyncGenerator<T, End>,
): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error('a thread that streams needs a main thread');
  const say = (message: FromStream<T, End>): void => port.postMessage(message);
  let waiting = 0;
  let resume = (): void => {};
  port.on('message', () => {
    waiting -= 1;
    resume();
  });
  try {
    const values = generate(workerData as Start);
    for (;;) {
      while (waiting === capacity) {
        await new Promise<void>((resolve) => {
          resume = resolve;
        });
      }
      const { done, value } = await values.next();
      if (done === true) {
        say({ kind: 'end', end: value });
        break;
      }
      waiting += 1;
      say({ kind: 'value', value });
    }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    say({ kind: 'refused', error: messageOfError(error) });
  }
  port.close();
}

interface StreamOptions {
  /** The module of the thread, which calls {@link sendStream}. */
  module: URL;
  start: unknown;
  /** Makes the error for a thread that ends before its stream. @param cause the uncaught error, or the exit code */
  lost(cause: unknown): Error;
}

/** Starts a thread, and reads the values that it sends. */
export function startStream<T, End = void>({ module, start, lost }: StreamOptions) {
  const messages: FromStream<T, End>[] = [];
  let failure: Error | null = null;
  let wake = (): void => {};
  const thread = startThread<FromStream<T, End>, null>({
    module,
    start,
    heard(message) {
      messages.push(message);
      wake();
    },
    ended(cause) {
      failure = lost(cause);
      wake();
    },
  });

  /** @throws the error of `lost` */
  async function nextMessage(): Promise<FromStream<T, End>> {
    for (;;) {
      const message = messages.shift();
      if (message !== undefined) return message;
      if (failure !== null) throw failure;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  return {
    /** Returns the next value, or the end. @throws OperatorError of the thread, the error of `lost` */
    async next(): Promise<IteratorResult<T, End>> {
      const message = await nextMessage();
      if (message.kind === 'refused') throw errorOfMessage(message.error);
      if (message.kind === 'end') return { done: true, value: message.end };
      thread.say(null);
      return { done: false, value: message.value };
    },
    /** Ends the thread at once. */
    stop: (): Promise<void> => thread.stop(),
  };
}
