/** Posts the events of a recording as a node does, each once the one before it was answered. Prints what it took. */
import { recordingReader } from '../../src/chain/recording.ts';
import { openInput } from '../../src/commands/data/input.ts';
import { postEvent } from '../../src/devnet/node-event.ts';

const [file, url] = process.argv.slice(2);
const recording = recordingReader();
const decoder = new TextDecoder();
let rows = 0;
let events = 0;
let ms = 0;
for await (const line of openInput(file!).lines()) {
  const row = recording.read(decoder.decode(line), ++rows);
  if (row === null) continue;
  const event = { path: row.path, body: row.text, time: row.receivedAt / 1000 };
  const start = performance.now();
  await postEvent(event, url!);
  ms += performance.now() - start;
  events += 1;
}
process.stdout.write(JSON.stringify({ seconds: ms / 1000, events }));
