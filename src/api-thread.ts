/** An API thread. It reads separate snapshots, and forwards requests that need the main thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { Registry } from 'prom-client';
import type { Readiness } from './api/operations.ts';
import { systemClock, systemRandom } from './base/clock.ts';
import { messageOfError } from './base/errors.ts';
import { lossyOutputs } from './base/lossy-output.ts';
import { operatorErrorOf } from './base/system-errors.ts';
import { Turns } from './base/turns.ts';
import { startApiService } from './commands/serve/api-service.ts';
import type { FromThread, ThreadStart, ToThread } from './commands/serve/api-threads.ts';
import { noMainThreadParts } from './commands/serve/app.ts';
import { recentLog } from './commands/serve/recent-log.ts';
import { prettyLog } from './commands/terminal/pretty-log.ts';
import { directFetch } from './http/direct-fetch.ts';
import { forwardTo, MAX_PROXY_BODY_BYTES } from './http/forward.ts';
import { listenHttp } from './http/listener.ts';
import { createLog, reportingDropped } from './log.ts';
import { RequestCounts } from './metrics/last-hour.ts';
import { snapshotLog } from './metrics/requests.ts';
import { outputMetrics } from './metrics/server.ts';
import { nodeRpc } from './node/rpc.ts';
import { CommitCount } from './store/ingest/commit-count.ts';
import { openSnapshots } from './store/read/snapshots.ts';

const port = parentPort;
if (port === null) throw new Error('this code runs only in a separate thread');
const say = (message: FromThread): void => port.postMessage(message);

async function start({
  settings,
  port: apiPort,
  shared,
  mainThread,
  internalToken,
  rates,
  requests,
  commits,
  log: form,
}: ThreadStart) {
  const registry = new Registry();
  outputMetrics(registry, lossyOutputs);
  const baseLog = form.pretty
    ? prettyLog({
        level: settings.logLevel,
        colors: form.colors,
        print: (line) => say({ kind: 'said', line }),
        now: systemClock.now,
      })
    : createLog(settings.logLevel);
  const { log: recent, read } = recentLog(baseLog, settings.logLevel, systemClock.now);
  const log = reportingDropped(recent, lossyOutputs);
  const commitCount = new CommitCount(commits);
  const turns = new Turns(systemClock);
  const snapshots = openSnapshots(settings.data, {
    log: snapshotLog(registry, log),
    beforeSnapshot: () => commitCount.await(),
    sharing: { turn: systemClock.turn, commits: () => commitCount.now() },
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
    address: { hostname: settings.apiHost, port: apiPort, shared },
    ...noMainThreadParts,
    mainThread: forwardTo(mainThread, MAX_PROXY_BODY_BYTES),
    clock: systemClock,
    random: systemRandom,
    listen: listenHttp,
    clientLimits: {},
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

function listen({ server, registry, log }: Awaited<ReturnType<typeof start>>): void {
  port?.on('message', async (message: ToThread) => {
    if (message.kind === 'stop') {
      await server.stop();
      say({ kind: 'stopped' });
      return;
    }
    const { id, what } = message;
    say({ kind: 'report', id, report: what === 'log' ? log() : await registry.getMetricsAsJSON() });
  });
}

for (const kind of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(kind, (cause: unknown) =>
    say({ kind: 'crashed', cause: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause) }),
  );
}
try {
  const thread = await start(workerData as ThreadStart);
  listen(thread);
  say({ kind: 'listening', url: thread.server.url });
} catch (error) {
  const operatorError = operatorErrorOf(error, (workerData as ThreadStart).settings.data);
  if (operatorError === null) throw error;
  say({ kind: 'refused', error: messageOfError(operatorError) });
}
