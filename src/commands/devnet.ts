/** `stackside devnet`: a simulated chain's events, as a recording or posted to an observer. */

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { recordingRow } from '../chain/recording.ts';
import { postEvents } from '../devnet/post.ts';
import { type DevnetOptions, devnetEvents } from '../devnet/scenario.ts';

const MICROSECONDS_PER_MILLISECOND = 1_000;

/** @param file where to; `-` for stdout */
export async function writeDevnet(options: DevnetOptions, file: string): Promise<void> {
  const output: Writable = file === '-' ? process.stdout : createWriteStream(file);
  let id = 0;
  for (const { path, body, time } of devnetEvents(options)) {
    id += 1;
    const row = recordingRow({ id, path, text: body, receivedAt: time * MICROSECONDS_PER_MILLISECOND });
    if (!output.write(`${row}\n`)) await once(output, 'drain');
  }
  if (file === '-') return;
  const finished = once(output, 'finish');
  output.end();
  await finished;
  process.stderr.write(`${file}: ${id} rows\n`);
}

/** @param url where an observer listens, such as `http://127.0.0.1:3700` */
export async function postDevnet(options: DevnetOptions, url: string): Promise<void> {
  const posted = await postEvents(devnetEvents(options), url);
  process.stderr.write(`${posted} events posted to ${url}\n`);
}
