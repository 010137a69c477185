/** Parses the payloads of a recording, and prints the time. */
import { recordingReader } from '../../src/chain/recording.ts';
import { openInput } from '../../src/commands/data/input.ts';

const recording = recordingReader();
let lines = 0;
const decoder = new TextDecoder();
let bytes = 0;
let ms = 0;
for await (const line of openInput(process.argv[2]!).lines()) {
  const row = recording.read(decoder.decode(line), ++lines);
  if (row === null) continue;
  const start = performance.now();
  JSON.parse(row.text);
  ms += performance.now() - start;
  bytes += row.text.length;
}
process.stdout.write(JSON.stringify({ seconds: ms / 1000, bytes }));
