/** Starts, watches and stops the API's threads from the main thread. */
import { Worker } from 'node:worker_threads';
import { apiThreadUrl } from '../api-thread-url.ts';
import type { Clock } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { listenHttp } from '../http/listener.ts';
import type { RequestCounts } from '../metrics/request-counts.ts';
import type { Settings } from '../settings/config.ts';
import type { CommitCount } from '../store/ingest/commit-count.ts';
import type { Environment } from './environment.ts';
import type { FromThread, ThreadMetrics, ThreadStart, ToThread } from './thread-messages.ts';

export interface ApiThreads {
  url: string;
  /** The metrics of every thread. */
  metrics(): Promise<ThreadMetrics[]>;
  stop(): Promise<void>;
}

export interface ApiThreadsOptions {
  settings: Settings;
  /** The URL at which the main thread answers requests that threads pass on. */
  mainThread: string;
  /** The secret by which the main thread recognises requests from its own threads. */
  passage: string;
  clock: Clock;
  /** Where the threads count their requests. */
  requests: RequestCounts;
  /** Where the process that writes counts its commits. */
  commits: CommitCount;
  /** Prints the threads' log lines; null where each thread writes its own JSON. */
  lines: Environment['threadLines'];
  /** Called when a thread ends by itself. */
  crashed(cause: unknown): void;
}

/** Time after which a thread that has not sent its metrics is left out. */
const METRICS_TIMEOUT_MS = 2_000;

class ApiThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, (metrics: ThreadMetrics) => void>();
  readonly #listening = Promise.withResolvers<string>();
  readonly #stopped = Promise.withResolvers<void>();
  readonly #clock: Clock;
  #asked = 0;

  constructor(start: ThreadStart, { clock, crashed, lines }: Pick<ApiThreadsOptions, 'clock' | 'crashed' | 'lines'>) {
    this.#clock = clock;
    this.#worker = new Worker(apiThreadUrl, { workerData: start });
    const ended = (cause: unknown) => {
      this.#listening.reject(cause);
      crashed(cause);
    };
    this.#worker.on('error', ended);
    this.#worker.on('message', (message: FromThread) => {
      switch (message.kind) {
        case 'listening':
          this.#listening.resolve(message.url);
          return;
        case 'refused':
          this.#listening.reject(new OperatorError(message.problem, message.remedy));
          return;
        case 'crashed':
          ended(message.cause);
          return;
        case 'said':
          lines?.print(message.line);
          return;
        case 'metrics':
          this.#waiting.get(message.id)?.(message.metrics);
          return;
        case 'stopped':
          this.#stopped.resolve();
      }
    });
  }

  #say(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  /** Resolves to the URL at which the thread listens. */
  listening(): Promise<string> {
    return this.#listening.promise;
  }

  async metrics(): Promise<ThreadMetrics> {
    const id = ++this.#asked;
    const { promise, resolve } = Promise.withResolvers<ThreadMetrics>();
    this.#waiting.set(id, resolve);
    // A timer that outlives the answer would keep the process from its end.
    const inTime = this.#clock.after(METRICS_TIMEOUT_MS, () => resolve([]));
    this.#say({ kind: 'collect', id });
    try {
      return await promise;
    } finally {
      inTime();
      this.#waiting.delete(id);
    }
  }

  async stop(): Promise<void> {
    this.#say({ kind: 'stop' });
    await this.#stopped.promise;
    await this.#worker.terminate();
  }

  /** Ends the thread at once. */
  async kill(): Promise<void> {
    await this.#worker.terminate();
  }
}

/** The answer before the threads listen. */
const notYet = (): Response => Response.error();

/**
 * Starts the threads; each listens on the same port, among which the system shares out the connections.
 * @throws OperatorError where they can't listen
 */
export async function startApiThreads({
  settings,
  mainThread,
  passage,
  clock,
  requests: { memory: requests },
  commits: { memory: commits },
  lines,
  crashed,
}: ApiThreadsOptions): Promise<ApiThreads> {
  const { apiHost: hostname, threads: count } = settings;
  if (count > 1 && process.platform !== 'linux') {
    throw new OperatorError(
      `--threads is ${count}, but only Linux can distribute the connections of a port among threads.`,
      'Run with --threads 1, or several processes with --mode read behind a proxy.',
    );
  }
  // The threads share the port with whoever shares it too: that nobody else has it is seen by not sharing it.
  const probe = listenHttp({
    what: 'The API',
    hostname,
    port: settings.apiPort,
    bodyLimit: 0,
    idleSeconds: 1,
    fetch: notYet,
    refuse: notYet,
    log: () => {},
  });
  const { port = settings.apiPort } = probe;
  await probe.stop(true);
  const log = { pretty: lines !== null, colors: lines?.colors ?? false };
  const threads = Array.from(
    { length: count },
    () =>
      new ApiThread(
        { settings, port, shared: count > 1, mainThread, passage, requests, commits, log },
        { clock, crashed, lines },
      ),
  );
  try {
    const [url = ''] = await Promise.all(threads.map((thread) => thread.listening()));
    return {
      url,
      metrics: () => Promise.all(threads.map((thread) => thread.metrics())),
      async stop() {
        await Promise.all(threads.map((thread) => thread.stop()));
      },
    };
  } catch (error) {
    await Promise.all(threads.map((thread) => thread.kill()));
    throw error;
  }
}
