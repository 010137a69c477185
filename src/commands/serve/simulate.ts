/** `stackside simulate`: a simulated chain's events, as a recording or posted to an observer. */
import { plural } from '../../base/format.ts';
import { recordingRow } from '../../chain/recording.ts';
import { EventNotAcceptedError, type NodeEvent, postEvents } from '../../devnet/node-event.ts';
import { type DevnetOptions, devnetEvents } from '../../devnet/scenario.ts';
import { printLines, writeLines } from '../cli/output.ts';

function* rowsOf(options: DevnetOptions): Generator<string> {
  let id = 0;
  for (const { path, body, time } of devnetEvents(options)) {
    id += 1;
    yield recordingRow({ id, path, text: body, receivedAt: time * 1_000 });
  }
}

/** Writes the events as a recording. @param file is replaced if it exists; `-` for stdout */
export async function writeDevnet(options: DevnetOptions, file: string): Promise<void> {
  if (file === '-') await printLines(rowsOf(options));
  else await writeLines(file, rowsOf(options), true);
}

function waitingText(url: string, cause: unknown): string {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return cause instanceof EventNotAcceptedError
    ? `${url} did not accept an event, which is posted again until it does: ${reason}`
    : `No observer answers at ${url} yet; waiting, and posting again until one does (${reason})`;
}

/** Posts the events to an observer. @param url of the observer, such as `http://127.0.0.1:3700` */
export async function postDevnet(options: DevnetOptions, url: string): Promise<void> {
  let lastRefused: NodeEvent | null = null;
  const count = await postEvents(devnetEvents(options), url, {
    onRetry(event, cause) {
      if (event === lastRefused) return;
      lastRefused = event;
      process.stderr.write(`${waitingText(url, cause)}\n`);
    },
  });
  process.stderr.write(`${plural(count, 'event')} posted to ${url}\n`);
}
