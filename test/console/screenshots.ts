/**
 * Takes the console's screenshots for the README: `bun test/console/screenshots.ts`. They show a simulated chain with a
 * fixed seed, and the clocks of server and browser show its last block's time, so that the screenshots are the same
 * each time.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { demo, type Steered } from '../demo/demo.ts';
import { until } from '../support/time/until.ts';
import { closeBrowser, drawn, loaded, visitAfresh } from './browser.ts';
import { listed } from './pages.ts';

const folder = join(import.meta.dir, '../../docs/images');

const CHAIN = { seed: '7', pastBlocks: '160' };

interface Picture {
  name: string;
  path: (chain: Chain) => string;
  look: { viewport: { width: number; height: number }; colorScheme: 'light' | 'dark' };
  /** Text to type into the search. */
  searched?: string;
}

/** Objects of the chain for the pictures. */
interface Chain {
  /** The id of a transfer of tokens by a contract. */
  call: string;
  /** The account that made it. */
  sender: string;
}

const WIDE = { width: 1280, height: 900 };
const HIGH = { width: 1280, height: 965 };
const LOW = { width: 1280, height: 560 };
const NARROW = { width: 375, height: 812 };

const pictures: readonly Picture[] = [
  { name: 'overview-light', path: () => '/', look: { viewport: HIGH, colorScheme: 'light' } },
  {
    name: 'transaction-dark',
    path: ({ call }) => `/transactions/${call}`,
    look: { viewport: WIDE, colorScheme: 'dark' },
  },
  {
    name: 'account-narrow',
    path: ({ sender }) => `/principals/${sender}`,
    look: { viewport: NARROW, colorScheme: 'light' },
  },
  {
    name: 'search-light',
    path: () => '/contracts?order=calls',
    look: { viewport: LOW, colorScheme: 'light' },
    searched: 'token',
  },
];

/** The clock of the server, which is set once the chain is there. */
let now = Date.UTC(2025, 0);
await using server = await demo(CHAIN, { clock: { ...systemClock, now: () => now } });
await until(async () => (await server.json<Steered>('/stackside/v1/devnet')).tip.height >= Number(CHAIN.pastBlocks));
now = ((await server.json<Steered>('/stackside/v1/devnet')).tip.time + 2) * 1000;
// The console compares the chain's clock with the time of the last event.
await server.steer('mine');

const results = await listed(server, '/extended/v3/transactions?limit=50');
const call = results.find(
  (transaction) => transaction.status === 'success' && transaction.contract_call?.function_name === 'transfer',
);
if (call === undefined) throw new Error('the newest transactions of the chain have no transfer of tokens');
const chain: Chain = { call: call.tx_id, sender: call.sender.address };

mkdirSync(folder, { recursive: true });
for (const { name, path, look, searched } of pictures) {
  await using visited = await visitAfresh('about:blank', look);
  const { page } = visited;
  await page.clock.setFixedTime(now);
  await page.goto(server.api + path(chain));
  await loaded(page);
  await drawn(page);
  if (searched !== undefined) {
    await page.getByRole('banner').getByRole('combobox').fill(searched);
    await page.getByRole('option').first().waitFor();
  }
  const file = join(folder, `${name}.png`);
  await page.screenshot({ path: file });
  process.stdout.write(`${file} ${Math.round(Bun.file(file).size / 1000)} kB\n`);
}
await closeBrowser();
