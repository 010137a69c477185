/**
 * Writes a simulated chain as a recording into a pipe. Arguments: the pipe, transactions, transactions of a block,
 * accounts, seed, and how many minutes it may take.
 */
import { openSync, writeSync } from 'node:fs';
import { recordingRow } from '../../src/chain/recording.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';

const [pipe = '', ...numbers] = process.argv.slice(2);
const [transactions = 0, transactionsPerBlock = 0, accounts = 0, seed = 0, minutes = 0] = numbers.map(Number);
const MICROSECONDS_PER_MILLISECOND = 1000;
const ENOUGH_BYTES = 1_000_000;

const output = openSync(pipe, 'w');
const end = performance.now() + minutes * 60_000;
const blocks = Math.ceil(transactions / transactionsPerBlock);
let [id, rows] = [0, ''];

/** A pipe takes as much as it has room for. */
function flush(): void {
  const bytes = Buffer.from(rows);
  for (let written = 0; written < bytes.length; ) written += writeSync(output, bytes, written);
  rows = '';
}

for (const { path, body, time } of devnetEvents({ seed, blocks, transactionsPerBlock, accounts })) {
  id += 1;
  rows += `${recordingRow({ id, path, text: body, receivedAt: time * MICROSECONDS_PER_MILLISECOND })}\n`;
  if (rows.length < ENOUGH_BYTES) continue;
  flush();
  if (performance.now() > end) break;
}
flush();
