/**
 * Writes a simulated chain as a recording into a pipe. Arguments: the pipe, transactions, transactions per block, accounts,
 * seed, and the time limit in minutes.
 */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { systemClock } from '../../src/base/clock.ts';
import { recordingRow } from '../../src/chain/recording.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';

const [pipe = '', ...numbers] = process.argv.slice(2);
const [transactions = 0, transactionsPerBlock = 0, accounts = 0, seed = 0, minutes = 0] = numbers.map(Number);
const MICROSECONDS_PER_MILLISECOND = 1000;
/** Bytes per write: small enough that the reader of the pipe seldom waits. */
const ENOUGH_BYTES = 100_000;
/** The most bytes that wait for the reader of the pipe. */
const MAX_BYTES = 32_000_000;

const output = createWriteStream(pipe, { highWaterMark: MAX_BYTES });
const end = performance.now() + minutes * 60_000;
const blocks = Math.ceil(transactions / transactionsPerBlock);
let [id, rows] = [0, ''];

for (const { path, body, time } of devnetEvents({ seed, blocks, transactionsPerBlock, accounts })) {
  id += 1;
  rows += `${recordingRow({ id, path, text: body, receivedAt: time * MICROSECONDS_PER_MILLISECOND })}\n`;
  if (rows.length < ENOUGH_BYTES) continue;
  const hasRoom = output.write(rows);
  rows = '';
  await (hasRoom ? systemClock.turn() : once(output, 'drain'));
  if (performance.now() > end) break;
}
output.end(rows);
await finished(output);
