/**
 * Posts the events of a recording as a node does, each once the one before it was answered. Prints what it took. Arguments: the
 * recording, the URL, and milliseconds between two events.
 */
import { recordingReader } from '../../src/chain/recording.ts';
import { openInput } from '../../src/commands/data/input.ts';
import { postEvent } from '../../src/devnet/node-event.ts';

const [file, url, pause = '0'] = process.argv.slice(2);
const recording = recordingReader();
const decoder = new TextDecoder();
let rows = 0;
const times: number[] = [];
for await (const line of openInput(file!).lines()) {
  const row = recording.read(decoder.decode(line), ++rows);
  if (row === null) continue;
  const event = { path: row.path, body: row.text, time: row.receivedAt / 1000 };
  if (pause !== '0') await Bun.sleep(Number(pause));
  const start = performance.now();
  await postEvent(event, url!);
  times.push(performance.now() - start);
}
const ms = times.reduce((sum, time) => sum + time, 0);
times.sort((a, b) => a - b);
const quantile = (share: number): number => times[Math.floor(share * (times.length - 1))] ?? 0;
const quantiles = { medianMs: quantile(0.5), p99Ms: quantile(0.99), mostMs: quantile(1) };
process.stdout.write(JSON.stringify({ seconds: ms / 1000, events: times.length, ...quantiles }));
