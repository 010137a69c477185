/**
 * Takes a screenshot of every console page in every theme and width, for a person to look through: `bun
 * test/console/all-pages.ts [directory]`. One set shows a demo whose node responds. The other shows a server whose node
 * is down, with forks, old data and failing chainhooks.
 */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postEvents } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { demo } from '../demo/demo.ts';
import { exampleHosts } from '../support/generate/example-system.ts';
import { serving } from '../support/servers/serving.ts';
import { until } from '../support/time/until.ts';
import { closeBrowser, drawn, follow, type Look, loaded, look, overflow, visit } from './browser.ts';
import { CONTRACT, deployed, failed, hostileBlock, sent } from './hostile-chain.ts';
import { listed, pathsOfOddities, pathsOfPages, waitingHook } from './pages.ts';

/** Widths in CSS pixels: 320 also stands for a window of 640 at a zoom of 200 %. */
const WIDTHS = [320, 390, 900, 1440];

const LOOKS: readonly (Look & { name: string })[] = (['light', 'dark'] as const).flatMap((colorScheme) =>
  WIDTHS.map((width) => ({ name: `${width}-${colorScheme}`, viewport: { width, height: 900 }, colorScheme })),
);

const directory = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'stackside-pages-'));

/** Takes screenshots of some pages of a server. @param set the directory for them */
async function picture(set: string, api: string, paths: Readonly<Record<string, string>>): Promise<void> {
  const folder = join(directory, set);
  mkdirSync(folder, { recursive: true });
  await using visited = await visit(api);
  const { page } = visited;
  // None of these servers shares a log.
  await page.route('**/stackside/v1/hosts', (route) => route.fulfill({ json: exampleHosts }));
  for (const [name, path] of Object.entries(paths)) {
    await follow(page, path);
    await loaded(page);
    for (const view of LOOKS) {
      await look(page, view);
      await loaded(page);
      await drawn(page);
      const cut = await overflow(page);
      if (cut > 0) process.stdout.write(`${name} is cut off by ${cut} px at ${view.name}\n`);
      await page.screenshot({ path: join(folder, `${name.replaceAll(' ', '-')}-${view.name}.png`), fullPage: true });
    }
  }
  process.stdout.write(`${folder}: ${Object.keys(paths).length} pages in ${LOOKS.length} looks\n`);
}

/** The pages of a demo. */
async function ofDemo(): Promise<void> {
  await using server = await demo({ pastBlocks: '160' });
  await server.steer('mine', { count: 3 });
  await server.steer('fork', { depth: 2 });
  const hook = await waitingHook(server);
  const pending = (await listed(server, '/extended/v3/mempool/transactions?limit=1'))[0]?.tx_id ?? '';
  const paths = await pathsOfPages(server, { hook, pending });
  await picture('demo', server.api, {
    ...paths,
    'a form for a call': `${paths.contract}?tab=call`,
    ...(await pathsOfOddities(server, hook)),
  });
}

/** The pages of a server with an unreachable node. */
async function ofStale(): Promise<void> {
  await using server = await serving({ hookAccess: 'open', hookTargets: '127.0.0.0/8' });
  const events = [...devnetEvents({ seed: 11, blocks: 90, forkEvery: 9 })];
  const half = Math.floor(events.length / 2);
  await postEvents(events.slice(0, half), server.events);
  const hook = await waitingHook(server);
  await server.get(`/chainhooks/me/${hook}/enabled`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ enabled: true }),
  });
  await postEvents(events.slice(half), server.events);
  await until(async () => 'a delivery' in (await pathsOfOddities(server, hook)));
  const pending = (await listed(server, '/extended/v3/mempool/transactions?limit=1'))[0]?.tx_id ?? '';
  await picture('stale', server.api, {
    ...(await pathsOfPages(server, { hook, pending })),
    ...(await pathsOfOddities(server, hook)),
  });
}

/** Pages of a chain that attacks its readers, and of a server without a block. */
async function ofHostile(): Promise<void> {
  await using empty = await serving();
  await picture('empty', empty.api, { overview: '/', transactions: '/transactions', mempool: '/mempool' });
  await using server = await serving();
  await postEvents([{ ...hostileBlock.event, body: hostileBlock.event.text, time: 0 }], server.events);
  await picture('hostile', server.api, {
    deployment: `/transactions/${deployed.id}`,
    transfer: `/transactions/${sent.id}`,
    failure: `/transactions/${failed.id}`,
    contract: `/contracts/${CONTRACT}`,
    logs: `/contracts/${CONTRACT}?tab=logs`,
  });
}

await ofDemo();
await ofStale();
await ofHostile();
await closeBrowser();
