/** Runs an API thread. It reads separate snapshots, and forwards requests that need the main thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Registry } from 'prom-client';
import type { Readiness } from '../../api/operations.ts';
import { systemClock } from '../../base/clock.ts';
import { DiskFullError } from '../../base/errors.ts';
import { lossyOutputs } from '../../base/lossy-output.ts';
import { operatorErrorOf } from '../../base/system-errors.ts';
import { Turns } from '../../base/turns.ts';
import { directFetch } from '../../http/direct-fetch.ts';
import { forwardTo } from '../../http/forward.ts';
import type { ApiServer } from '../../http/server.ts';
import { MAX_PROXY_BODY_BYTES } from '../../http/upstream.ts';
import { createLog, reportingDropped } from '../../log.ts';
import { RequestCounts } from '../../metrics/last-hour.ts';
import { snapshotLog } from '../../metrics/requests.ts';
import { outputMetrics } from '../../metrics/server.ts';
import { nodeRpc } from '../../node/rpc.ts';
import { CommitCount } from '../../store/ingest/commit-count.ts';
import { openSnapshots } from '../../store/read/snapshots.ts';
import { prettyLog } from '../terminal/pretty-log.ts';
import { startApiService } from './api-service.ts';
import type { FromThread, ThreadStart, ToThread } from './api-threads.ts';
import { recentLog, type ThreadLog } from './recent-log.ts';

/** Runs the API in this thread until the main thread stops it. */
export async function runApiThread(): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error('this code runs only in a separate thread');
  const say = (message: FromThread): void => port.postMessage(message);
  for (const kind of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(kind, (cause: unknown) =>
      say({ kind: 'crashed', cause: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause) }),
    );
  }
  try {
    const started = await start(workerData as ThreadStart, say);
    listenTo(port, started, say);
    say({ kind: 'listening', url: started.server.url });
  } catch (error) {
    const operatorError = operatorErrorOf(error, (workerData as ThreadStart).settings.data);
    if (operatorError === null) throw error;
    const isFull = operatorError instanceof DiskFullError;
    say({ kind: 'refused', problem: operatorError.message, remedy: operatorError.remedy, isFull });
  }
}

async function start(
  { settings, port, shared, mainThread, internalToken, rates, requests, commits, log: form }: ThreadStart,
  say: (message: FromThread) => void,
) {
  const registry = new Registry();
  outputMetrics(registry, lossyOutputs);
  const printed = form.pretty
    ? prettyLog({
        level: settings.logLevel,
        colors: form.colors,
        print: (line) => say({ kind: 'said', line }),
        now: systemClock.now,
      })
    : createLog(settings.logLevel);
  const { log: recent, read } = recentLog(printed, settings.logLevel, systemClock.now);
  const log = reportingDropped(recent, lossyOutputs);
  const committed = new CommitCount(commits);
  const turns = new Turns(systemClock);
  const snapshots = openSnapshots(settings.data, {
    log: snapshotLog(registry, log),
    before: () => committed.await(),
    sharing: { turn: systemClock.turn, commits: () => committed.now() },
    turns,
  });
  const node = nodeRpc(settings.nodeRpc);
  const server = await startApiService({
    settings,
    snapshots,
    turns,
    node,
    registry,
    log,
    operations: {
      // Only the main thread can check whether it can write.
      readiness: async () => (await (await directFetch(`${mainThread}/ready`)).json()) as Readiness,
      // The main thread answers the metrics of all threads together.
      metrics: async () => (await directFetch(`${mainThread}/metrics`)).text(),
    },
    address: { hostname: settings.apiHost, port, shared },
    mainThread: forwardTo(mainThread, MAX_PROXY_BODY_BYTES),
    internalToken,
    rates,
    requestCounts: new RequestCounts(requests),
  });
  const stop = async () => {
    await server.stop();
    snapshots.close();
  };
  return { server: { ...server, stop }, registry, log: read };
}

interface Running {
  server: ApiServer;
  registry: Registry;
  log: () => ThreadLog;
}

function listenTo(port: MessagePort, { server, registry, log }: Running, say: (message: FromThread) => void): void {
  port.on('message', async (message: ToThread) => {
    if (message.kind === 'stop') {
      await server.stop();
      say({ kind: 'stopped' });
      return;
    }
    const { id, what } = message;
    say({ kind: 'report', id, report: what === 'log' ? log() : await registry.getMetricsAsJSON() });
  });
}
