/** Posts a simulated chain's events as fast as the server accepts them. Makes them first, prints a line, and waits for one. */
import { postEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';

const [url, seed, skipped, blocks, transactions] = process.argv.slice(2);
const events = [
  ...devnetEvents({ seed: Number(seed), blocks: Number(blocks), transactionsPerBlock: Number(transactions) }),
];
const firstBlock = events.findIndex(
  ({ path, body }) => path === '/new_block' && JSON.parse(body).block_height === Number(skipped),
);
for (const event of events.slice(0, firstBlock + 1)) await postEvent(event, url ?? '');
process.stdout.write('ready\n');
for await (const _ of process.stdin) break;
const start = performance.now();
let posted = 0;
process.on('SIGTERM', () => {
  process.stdout.write(`${JSON.stringify({ perSecond: (posted * 1000) / (performance.now() - start) })}\n`);
  process.exit(0);
});
for (const event of events.slice(firstBlock + 1)) {
  await postEvent(event, url ?? '');
  posted += 1;
}
process.stdout.write(`${JSON.stringify({ perSecond: (posted * 1000) / (performance.now() - start), ended: true })}\n`);
process.exit(0);
