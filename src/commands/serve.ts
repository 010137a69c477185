/** `stackside serve`: takes the node's events and answers the API, until it is told to stop. */
import { createApp } from '../api/app.ts';
import { startApi } from '../api/server.ts';
import type { Settings } from '../config.ts';
import { createLog } from '../log.ts';
import { startReceiver } from '../node/receiver.ts';
import { openIngest } from '../store/ingest.ts';
import { openSnapshots } from '../store/snapshots.ts';
import { serverVersion } from '../version.ts';
import { importOldNames } from './old-names.ts';

export interface Running {
  /** Null where this process doesn't answer the API. */
  api: string | null;
  /** Null where it takes no events. */
  events: string | null;
  /** Finishes what was begun, then closes the data. */
  stop(): Promise<void>;
}

/** Starts what the mode asks for. */
export async function startServing(settings: Settings): Promise<Running> {
  const log = createLog(settings.logLevel);
  const closing: (() => Promise<void> | void)[] = [];
  let events: string | null = null;
  let api: string | null = null;
  if (settings.mode !== 'read') {
    await importOldNames(settings, log);
    const ingest = openIngest({
      directory: settings.data,
      journal: settings.journal,
      chainId: settings.chainId,
      log,
    });
    closing.unshift(() => ingest.close());
    const receiver = startReceiver({
      hostname: settings.eventHost,
      port: settings.eventPort,
      bodyLimit: settings.eventBodyLimit,
      receive: ingest.receive,
      log,
    });
    closing.unshift(() => receiver.stop());
    events = receiver.url;
  }
  if (settings.mode !== 'write') {
    const snapshots = openSnapshots(settings.data);
    closing.unshift(() => snapshots.close());
    const deprecation = { enabled: settings.deprecated, sunset: settings.sunset };
    const app = createApp({ snapshots, version: serverVersion, log, deprecation });
    const server = await startApi({ app, hostname: settings.apiHost, port: settings.apiPort });
    closing.unshift(() => server.stop());
    api = server.url;
  }
  log({ event: 'started', version: serverVersion, mode: settings.mode, data: settings.data });
  return {
    api,
    events,
    async stop() {
      for (const close of closing) await close();
    },
  };
}

/** Prints the line that says where it listens, and resolves when a signal has stopped it. */
export async function serveUntilSignal(settings: Settings, running: Running): Promise<void> {
  process.stdout.write(`${JSON.stringify({ ready: true, api: running.api, events: running.events })}\n`);
  const signal = await new Promise<string>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => resolve(name));
  });
  createLog(settings.logLevel)({ event: 'stopping', signal });
  await running.stop();
}
