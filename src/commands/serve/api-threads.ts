/** Starts, watches and stops the API threads from the main thread; and the messages between them. */
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { Clock } from '../../base/clock.ts';
import { type ErrorMessage, errorOfMessage, OperatorError } from '../../base/errors.ts';
import { startThread, type Thread } from '../../base/thread.ts';
import { apiListener, requireFreePort } from '../../http/listener.ts';
import { RateTable } from '../../http/rate-limit.ts';
import type { Settings } from '../../settings/config.ts';
import type { CommitCount } from '../../store/ingest/commit-count.ts';
import { apiThreadUrl } from '../../thread-urls.ts';
import { startApiService } from './api-service.ts';
import type { MainThreadParts } from './app.ts';
import type { Environment } from './environment.ts';
import type { ThreadLog } from './recent-log.ts';
import { crash, type ServerContext } from './server-context.ts';

export type ThreadMetrics = MetricObjectWithValues<MetricValue<string>>[];

export interface ThreadStart {
  settings: Settings;
  port: number;
  /** Whether other threads listen on the same port. */
  shared: boolean;
  /** URL of the main thread for forwarded requests. */
  mainThread: string;
  /** The secret that marks requests of the process's own threads. */
  internalToken: string;
  /** Shared memory with the counts of clients' requests, for their limits. */
  rates: SharedArrayBuffer;
  requests: SharedArrayBuffer;
  commits: SharedArrayBuffer;
  /** Whether the log is for people; the main thread prints it then. */
  log: { pretty: boolean; colors: boolean };
}

interface Reports {
  metrics: ThreadMetrics;
  log: ThreadLog;
}

export type FromThread =
  | { kind: 'listening'; url: string }
  | { kind: 'refused'; error: ErrorMessage }
  | { kind: 'crashed'; cause: string }
  | { kind: 'said'; line: string }
  | { kind: 'report'; id: number; report: Reports[keyof Reports] }
  | { kind: 'stopped' };

export type ToThread = { kind: 'report'; what: keyof Reports; id: number } | { kind: 'stop' };

/** Maximum wait for a thread's answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 2_000;

interface ThreadParts {
  clock: Clock;
  crashed(cause: unknown): void;
  /** Prints the threads' log lines; null if each thread writes its own JSON. */
  lines: Environment['threadLines'];
}

class ApiThread {
  readonly #thread: Thread<ToThread>;
  readonly #listening = Promise.withResolvers<string>();
  readonly #stopped = Promise.withResolvers<void>();
  readonly #clock: Clock;
  /** Functions that wait for a report, by the number of the request. */
  readonly #waiting = new Map<number, (report: Reports[keyof Reports]) => void>();
  #requests = 0;

  constructor(start: ThreadStart, { clock, crashed, lines }: ThreadParts) {
    this.#clock = clock;
    const endWithError = (cause: unknown) => {
      this.#listening.reject(cause);
      crashed(cause);
    };
    const heard = (message: FromThread): void => {
      switch (message.kind) {
        case 'listening':
          this.#listening.resolve(message.url);
          return;
        case 'refused':
          this.#listening.reject(errorOfMessage(message.error));
          return;
        case 'crashed':
          endWithError(message.cause);
          return;
        case 'said':
          lines?.print(message.line);
          return;
        case 'report':
          this.#waiting.get(message.id)?.(message.report);
          return;
        case 'stopped':
          this.#stopped.resolve();
      }
    };
    this.#thread = startThread<FromThread, ToThread>({ module: apiThreadUrl, start, heard, ended: endWithError });
  }

  /** Resolves with the thread's URL. */
  listening(): Promise<string> {
    return this.#listening.promise;
  }

  /** Requests a report. @returns null if it is late */
  async report<What extends keyof Reports>(what: What): Promise<Reports[What] | null> {
    const id = ++this.#requests;
    const { promise, resolve } = Promise.withResolvers<Reports[What] | null>();
    this.#waiting.set(id, resolve as (report: Reports[keyof Reports]) => void);
    // Cancelled after the report, since a timer would keep the process from ending.
    const cancel = this.#clock.after(ANSWER_TIMEOUT_MS, () => resolve(null));
    this.#thread.say({ kind: 'report', what, id });
    try {
      return await promise;
    } finally {
      cancel();
      this.#waiting.delete(id);
    }
  }

  async stop(): Promise<void> {
    this.#thread.say({ kind: 'stop' });
    await this.#stopped.promise;
    await this.#thread.stop();
  }

  kill(): Promise<void> {
    return this.#thread.stop();
  }
}

/** Whether the system distributes the connections of a port among threads. */
const canShare = process.platform === 'linux';

/** With fewer cores, threads would slow the writer down as much as they help readers. */
const CORES_FOR_THREADS = 3;
/** More threads need much memory, so the operator must set them. */
const MAX_AUTOMATIC = 4;

/** The number of API threads that a setting means on a machine. @param cores that the process may use */
export function apiThreadCount(threads: Settings['threads'], cores: number): number {
  if (threads !== 'auto') return threads;
  if (cores < CORES_FOR_THREADS) return 0;
  return canShare ? Math.min(MAX_AUTOMATIC, cores - 1) : 1;
}

/**
 * Starts the threads. All listen on the same port, and the system distributes the connections.
 * @throws OperatorError if they can't listen
 */
async function startApiThreads(
  count: number,
  common: Omit<ThreadStart, 'port' | 'shared' | 'log'>,
  parts: ThreadParts,
) {
  const { settings } = common;
  const { lines } = parts;
  const { apiHost: hostname } = settings;
  if (count > 1 && !canShare) {
    throw new OperatorError(
      `--threads is ${count}, but only Linux can distribute the connections of a port among threads.`,
      'Run with --threads 1, or several processes with --mode read behind a proxy.',
    );
  }
  // Other processes could also share the port. Listening without sharing shows that none uses it.
  requireFreePort(apiListener, { hostname, port: settings.apiPort });
  const log = { pretty: lines !== null, colors: lines?.colors ?? false };
  const start = { ...common, shared: count > 1, log };
  const first = new ApiThread({ ...start, port: settings.apiPort }, parts);
  const threads = [first];
  try {
    const url = await first.listening();
    // The system may have chosen the port. A URL has no port if it is 80.
    const port = settings.apiPort === 0 ? Number(new URL(url).port) : settings.apiPort;
    while (threads.length < count) threads.push(new ApiThread({ ...start, port }, parts));
    await Promise.all(threads.map((thread) => thread.listening()));
    return {
      url,
      metrics: (): Promise<ThreadMetrics[]> =>
        Promise.all(threads.map(async (thread) => (await thread.report('metrics')) ?? [])),
      /** Recent log events of every thread; null for one that doesn't answer in time. */
      logs: (): Promise<(ThreadLog | null)[]> => Promise.all(threads.map((thread) => thread.report('log'))),
      async stop(): Promise<void> {
        await Promise.all(threads.map((thread) => thread.stop()));
      },
    };
  } catch (error) {
    await Promise.all(threads.map((thread) => thread.kill()));
    throw error;
  }
}
export type ApiThreads = Awaited<ReturnType<typeof startApiThreads>>;

/** The main thread's address for forwarded requests. */
const LOOPBACK = { hostname: '127.0.0.1', port: 0, shared: false };

/** Starts the API. @returns its URL, and the threads that answer; null if this thread does */
export async function answerApi(
  { services, environment, observations, ...context }: ServerContext,
  { commits, ...parts }: MainThreadParts & { commits: CommitCount },
): Promise<{ url: string; threads: ApiThreads | null }> {
  const { settings, log } = context;
  const { clock, random, listen, clientLimits, cores } = environment;
  const { apiHost: hostname, apiPort: port } = settings;
  const count = apiThreadCount(settings.threads, cores);
  const address = count === 0 ? { hostname, port, shared: false } : LOOPBACK;
  const internalToken = crypto.randomUUID();
  const rates = RateTable.memory(clock.now());
  const { requests } = observations;
  const service = await startApiService({
    ...context,
    ...parts,
    mainThread: null,
    clock,
    random,
    listen,
    clientLimits,
    address,
    internalToken,
    rates,
    // API threads count the requests that they forward.
    requestCounts: count === 0 ? requests : null,
  });
  const { url } = services.use('API', service);
  if (count === 0) return { url, threads: null };
  const crashed = (cause: unknown) => crash(log, cause);
  const threads = await startApiThreads(
    count,
    { settings, mainThread: url, internalToken, rates, requests: requests.memory, commits: commits.memory },
    { clock, crashed, lines: environment.threadLines },
  );
  return { url: services.use('API threads', threads).url, threads };
}
