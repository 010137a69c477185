/** `stackside simulate`: a simulated chain's events as a recording. */
import { recordingRow } from '../../chain/recording.ts';
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
