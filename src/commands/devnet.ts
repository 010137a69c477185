/** `stackside devnet`: a simulated chain's events, as a recording or posted to an observer. */
import { recordingRow } from '../chain/recording.ts';
import { postEvents } from '../devnet/post.ts';
import { type DevnetOptions, devnetEvents } from '../devnet/scenario.ts';
import { printLines, writeLines } from './output.ts';

const MICROSECONDS_PER_MILLISECOND = 1_000;

function* rowsOf(options: DevnetOptions): Generator<string> {
  let id = 0;
  for (const { path, body, time } of devnetEvents(options)) {
    id += 1;
    yield recordingRow({ id, path, text: body, receivedAt: time * MICROSECONDS_PER_MILLISECOND });
  }
}

/** @param file where to; `-` for stdout */
export async function writeDevnet(options: DevnetOptions, file: string): Promise<void> {
  if (file === '-') await printLines(rowsOf(options));
  else await writeLines(file, rowsOf(options), true);
}

/** @param url where an observer listens, such as `http://127.0.0.1:3700` */
export async function postDevnet(options: DevnetOptions, url: string): Promise<void> {
  const posted = await postEvents(devnetEvents(options), url);
  process.stderr.write(`${posted} events posted to ${url}\n`);
}
