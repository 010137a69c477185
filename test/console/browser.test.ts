/** The console in a real browser, over a simulated chain and over a chain with hostile texts. */
import { afterAll, beforeAll, expect } from 'bun:test';
import type { Page, Route, WebSocketRoute } from 'playwright-core';
import type { ServerStatus } from '../../src/api/stackside/server.ts';
import { parseBitcoinAddress, poxTuple, stacksOfBitcoin } from '../../src/codec/bitcoin-address.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import { type NodeEvent, postEvents } from '../../src/devnet/node-event.ts';
import { answerRpc } from '../../src/devnet/rpc.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { beginnings } from '../support/events/beginning.ts';
import { alice, announcement, block, bob, hashOf, type MadeBlock, transfer } from '../support/events/handmade.ts';
import { bonds, burnBlock, keyOf, poxBlock, stacked, u } from '../support/events/pox.ts';
import { exampleHosts, exampleSystem } from '../support/generate/example-system.ts';
import { isFullRun } from '../support/property.ts';
import { type Serving, serving } from '../support/servers/serving.ts';
import { served } from '../support/servers/simulated-rpc.ts';
import { until } from '../support/time/until.ts';
import {
  brokenAmounts,
  browserTest,
  endBrowser,
  expectAccessible,
  expectFits,
  follow,
  hasBrowser,
  loaded,
  look,
  NARROW,
  openPage,
  openPageAfresh,
  overflow,
  WIDE,
} from './browser.ts';
import { clicksTo, thingsToFind } from './clicks.ts';
import { CONTRACT, deployed, failed, hostileBlock, MEMO, sent } from './hostile-chain.ts';
import { answerOf, collectionOf, listed, pathsOfPages, waitingHook } from './pages.ts';

const BLOCKS = 45;

/** Chainhooks are managed without a key, and may deliver to this machine, as in a demo. */
const OPEN = { hookAccess: 'open', hookTargets: '127.0.0.0/8' };

let server: Serving;
/** The id of a chainhook, once there is one. */
let hook: string | null = null;
let hostile: Serving;
/** The events of the chain that aren't posted yet. */
let upcoming: Iterator<NodeEvent>;

/** A transaction that no block contains. */
const waiting = transfer(alice, 7, 1_500);

/** A handmade event, as a node would post it. */
const posted = (event: ReceivedEvent): NodeEvent => ({ ...event, body: event.text, time: 0 });

/** Posts events up to a given one. */
async function postUpTo(server: Serving, isLast: (event: NodeEvent) => boolean): Promise<void> {
  for (let next = upcoming.next(); next.done !== true; next = upcoming.next()) {
    await postEvents([next.value], server.events);
    if (isLast(next.value)) return;
  }
}

/** Posts events up to the block at a height. */
const postBlocks = (server: Serving, height: number): Promise<void> =>
  postUpTo(server, ({ path, body }) => path === '/new_block' && JSON.parse(body).block_height >= height);

async function tipHeight(): Promise<number> {
  const { chain_tip: tip } = await answerOf<{ chain_tip: { block_height: number } }>(server, '/extended');
  return tip.block_height;
}

beforeAll(async () => {
  if (!hasBrowser) return;
  server = await serving(OPEN);
  upcoming = devnetEvents({ seed: 9, blocks: Number.POSITIVE_INFINITY, forkEvery: 0 })[Symbol.iterator]();
  await postBlocks(server, BLOCKS);
  // Contents of the next block.
  await postUpTo(server, ({ path }) => path === '/new_mempool_tx');
  await postEvents([posted(announcement([waiting]))], server.events);
  hostile = await serving();
  await postEvents([posted(hostileBlock.event)], hostile.events);
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await hostile?.[Symbol.asyncDispose]();
});

/** Tables that pages show, by name. A page that guesses the wrong kind of token would omit its table. */
const TABLES: Readonly<Record<string, string>> = {
  token: 'Holders',
  'transfers of a token': 'Transfers',
  'a collection': 'Tokens, newest first',
  contracts: 'Contracts',
  'called contracts': 'Contracts',
  'fungible tokens': 'Fungible tokens',
  collections: 'Collections',
  'holders of STX': 'Holders of STX',
  calls: 'Calls of transfer',
  deployments: 'Contracts of the same deployer',
  hosts: 'Hosts',
  alerts: 'Alerts',
  'moves of a token': 'Transfers of coin',
};

/** Titles of the panels that show a table without a link to its data, unless the page has one for all. */
const withoutSource = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('section.panel')]
    .filter((panel) => document.querySelector('.page > header a.source') === null && panel.querySelector('table') !== null && panel.querySelector('a.source') === null)
    .map((panel) => panel.getAttribute('aria-label'))`);

/** Paths of the data that the links of a page lead to. */
const sourcesOf = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('a.source')].map((link) => link.getAttribute('href'))`);

/** Paths of the links of a page, with their queries. */
const linksOf = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('a[href]')]
    .filter(({ origin, target }) => origin === location.origin && target === '')
    .map(({ pathname, search }) => pathname + search)`);

browserTest(
  'each page is accessible, complete, no wider than the window, and within the clicks listed in docs/console.md',
  async () => {
    hook ??= await waitingHook(server);
    const paths = await pathsOfPages(server, { hook, pending: waiting.id });
    const { page, complaints } = await openPage(server.api);
    // The server itself shares no log.
    await page.route('**/stackside/v1/hosts', (route) => route.fulfill({ json: exampleHosts }));
    // The rules are evaluated after a minute.
    await page.route('**/stackside/v1/alerts', (route) => route.fulfill({ json: exampleSystem.alerts() }));
    const sources = new Set<string>();
    const links = new Map<string, string[]>();
    let shownLook = WIDE;
    for (const [name, path] of Object.entries(paths)) {
      await follow(page, path);
      await loaded(page);
      expect([name, await page.locator('[role=alert]').allTextContents()]).toEqual([name, []]);
      expect([name, await withoutSource(page)]).toEqual([name, []]);
      for (const source of await sourcesOf(page)) sources.add(source);
      links.set(path, await linksOf(page));
      const table = TABLES[name];
      if (name === 'a sponsored transaction')
        expect(await page.locator('dt', { hasText: 'Sponsor' }).count()).toBeGreaterThan(0);
      if (name === 'a token that nobody has')
        await page.getByRole('heading', { level: 1, name: 'card #1', exact: true }).waitFor();
      if (name === 'a token by its number')
        expect(await page.locator('dt', { hasText: 'Value, serialized' }).count()).toBe(1);
      if (table !== undefined)
        expect([name, await page.getByRole('table', { name: table }).count()]).toEqual([name, 1]);
      // A change of the theme and width takes time. So each page starts with the last look of the page before it, and a
      // quick run shows each page in only one look, alternating.
      const other = shownLook === WIDE ? NARROW : WIDE;
      for (const next of isFullRun ? [shownLook, other] : [other]) {
        if (next !== shownLook) await look(page, next);
        shownLook = next;
        await expectAccessible(page, isFullRun && next !== WIDE ? 'look' : 'all', name === 'overview');
        expect([name, await overflow(page)]).toEqual([name, 0]);
      }
      if (shownLook === WIDE) {
        await page.setViewportSize(NARROW.viewport);
        expect([name, await overflow(page), await brokenAmounts(page)]).toEqual([name, 0, []]);
        await page.setViewportSize(WIDE.viewport);
      }
    }
    // The browser itself logs the 404 of a name that BNS-V2 lacks.
    expect(complaints.filter((complaint) => !/ 404 .*\/names\/bns-v2\//.test(complaint))).toEqual([]);
    expect(clicksTo(thingsToFind, links).map(String)).toEqual(thingsToFind.map(({ clicks }) => clicks));
    const answers = [...sources].map(async (source) => [source, (await server.get(source)).status]);
    expect((await Promise.all(answers)).filter(([, status]) => status !== 200)).toEqual([]);
  },
);

browserTest('a new block appears on the overview', async () => {
  const { page, complaints } = await openPage(server.api);
  await loaded(page);
  // The last event arrived within half an hour, though the block is old and the node doesn't answer.
  await page.getByRole('banner').getByText('node away, newest block').waitFor();
  const height = (await tipHeight()) + 1;
  await postBlocks(server, height);
  const strip = page.getByRole('list', { name: 'Newest blocks' });
  const newest = strip.getByRole('link', { name: new RegExp(`^${height}\\D`) });
  await newest.waitFor();
  // The block before it is at its right.
  await newest.focus();
  await page.keyboard.press('ArrowRight');
  expect(await page.locator(':focus strong').textContent()).toBe(String(height - 1));
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/blocks/${height}`);
  expect(complaints).toEqual([]);
});

/** Texts of elements that are broken within, although each fits on a line. */
const brokenTexts = (page: Page, selector: string): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})]
    .filter((text) => text.innerText.length < 24 && new Set([...text.getClientRects()].map(({ top }) => top)).size > 1)
    .map((text) => text.innerText)`);

browserTest('a page without an answer requests it again when the server is back, without a new block', async () => {
  const { page } = await openPageAfresh('about:blank');
  let dropped: WebSocketRoute | null = null;
  await page.routeWebSocket('**/extended/v1/ws', (socket) => {
    socket.connectToServer();
    dropped = socket;
  });
  await page.goto(server.api);
  await loaded(page);
  await page.route('**/extended/**', (route) => route.abort());
  await follow(page, '/transactions');
  await page.getByRole('alert').getByText('does not answer').waitFor();
  await page.unrouteAll();
  await until(() => dropped !== null);
  await (dropped as WebSocketRoute | null)?.close();
  await page.getByRole('table', { name: 'Transactions' }).waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
});

browserTest('staking shows the signers of the newest cycle if the URL has an invalid one', async () => {
  const { page, complaints } = await openPage(`${server.api}/staking?cycle=abc`);
  await loaded(page);
  await page.getByRole('region', { name: /^Signers of cycle \d+$/ }).waitFor();
  expect(complaints).toEqual([]);
});

browserTest('a list waits for its values: metadata four at a time, shares until the supply is known', async () => {
  const { page, complaints } = await openPage(`${server.api}/`);
  let [asked, running, most] = [0, 0, 0];
  const gate = Promise.withResolvers<void>();
  await page.route(/\/metadata\/v1\/ft\?/, async (route) => {
    asked += 1;
    running += 1;
    most = Math.max(most, running);
    await gate.promise;
    running -= 1;
    await route.fulfill({ json: { results: [] } });
  });
  const results = Array.from({ length: 9 }, (_, i) => ({
    ...{ asset_identifier: `${alice.address}.coin-${i}::coin`, name: null, symbol: null, decimals: null },
    ...{ holders: 1, transfers: 1, transfers_of_day: 1, supply: '1' },
  }));
  const list = { total: null, limit: 50, cursor: { next: null, previous: null, current: null }, day: '2026-01-01' };
  await page.route(/\/v1\/tokens\/ft\?/, (route) => route.fulfill({ json: { ...list, results } }));
  await follow(page, '/tokens');
  await until(async () => running >= 4);
  gate.resolve();
  await until(async () => asked === 9 && running === 0);
  expect(most).toBe(4);
  await page.route('**/tokens/stx/supply', (route) => route.fulfill({ json: {} }));
  await follow(page, '/tokens?tab=stx');
  await loaded(page);
  expect(await page.locator('td[data-label=share]').first().textContent()).toBe('');
  const rewards = await answerOf<{ results: { reward_recipient: string }[] }>(
    server,
    '/extended/v1/burnchain/rewards?limit=1',
  );
  await follow(page, `/bitcoin-addresses/${rewards.results[0]?.reward_recipient}?offset=3000`);
  await page.getByText('There are no more rewards.').waitFor();
  expect(complaints).toEqual([]);
});

browserTest('units of balances and short fields of the log are never broken, at any width', async () => {
  const holders = '/extended/v3/tokens/stx/holders?limit=1';
  const { results } = await answerOf<{ results: { principal: string }[] }>(server, holders);
  const { page } = await openPage(`${server.api}/principals/${results[0]?.principal}`);
  await loaded(page);
  for (let width = 320; width < 1440; width += 40) {
    await page.setViewportSize({ width, height: 800 });
    expect([width, await brokenTexts(page, '.figures .unit .chain-text')]).toEqual([width, []]);
  }
  await follow(page, '/system?tab=log');
  await loaded(page);
  await look(page, NARROW);
  const log = page.getByRole('table', { name: 'Last log events' });
  expect(await log.getByText('info', { exact: true }).first().isVisible()).toBe(true);
  expect([await brokenTexts(page, 'td code.break'), await overflow(page)]).toEqual([[], 0]);
});

browserTest('lists of transactions show the other party in a window of 1280 pixels', async () => {
  const [transfer] = await listed(server, '/extended/v3/transactions?limit=50&type=token_transfer');
  const { page } = await openPage(server.api);
  await page.setViewportSize({ width: 1280, height: 800 });
  for (const path of [`/principals/${transfer?.sender.address}`, '/transactions']) {
    await follow(page, path);
    await loaded(page);
    const cutOff: string[] = await page.evaluate(`[...document.querySelectorAll('td.main')]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map((cell) => cell.innerText)`);
    expect([path, cutOff.filter((text) => !text.includes('.token'))]).toEqual([path, []]);
  }
});

browserTest('the longest state fits above the menu on the smallest screen', async () => {
  const { page, complaints } = await openPage(server.api);
  await loaded(page);
  const status = await answerOf<ServerStatus>(server, '/stackside/v1/status');
  const state = { state: 'catching_up', reason: 'It is behind.', ready: false } as const;
  const json: ServerStatus = {
    ...status,
    ...state,
    index: { height: 4_680_000, tip_age_seconds: 9, chain_id: 0x8000_0000 },
    node: { height: 5_200_000, chain_id: 0x8000_0000 },
  };
  await page.route('**/stackside/v1/status', (route) => route.fulfill({ json }));
  await page.reload();
  await look(page, { ...NARROW, viewport: { ...NARROW.viewport, height: 480 } });
  await page.getByRole('banner').getByText('4,680,000 of 5,200,000').waitFor();
  await page.getByRole('banner').getByText('Testnet', { exact: true }).waitFor();
  await page.getByRole('progressbar').waitFor();
  expect(await overflow(page)).toBe(0);
  await page.getByRole('button', { name: 'Menu' }).click();
  const [bar, first] = [page.getByRole('banner'), page.getByRole('link', { name: 'Overview', exact: true })];
  const [above, below] = [await bar.boundingBox(), await first.boundingBox()];
  expect(below?.y).toBeGreaterThanOrEqual((above?.y ?? 0) + (above?.height ?? 0));
  await first.focus();
  await page.keyboard.press('Escape');
  await first.waitFor({ state: 'hidden' });
  expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Menu');
  expect(complaints).toEqual([]);
});

browserTest('the search finds a Bitcoin address and its account, and shows its Bitcoin rewards', async () => {
  await using paid = await serving();
  const bitcoin = 'mhYeZXrSEuyf2wbJ14qZ2apG7ofMLDj9Ss';
  const stack = stacked('pox-4', 'stack-stx', alice.address, {
    'lock-amount': u(700_000_000),
    'lock-period': u(1),
    'start-burn-height': u(100),
    'unlock-burn-height': u(140),
    'signer-key': clarity.buffer(keyOf(2)),
    'start-cycle-id': u(5),
    'end-cycle-id': clarity.some(u(6)),
    'pox-addr': poxTuple(parseBitcoinAddress(bitcoin)!),
  });
  const first = poxBlock(null, 'stacked', [[bonds.setup(0)], [stack]], { burn_block_height: 104 });
  const payments = [burnBlock(102, 'a', null, [[bitcoin, 1_500]]), burnBlock(103, 'b', 'a', [[bitcoin, 500]])];
  await postEvents([first.event, ...payments].map(posted), paid.events);
  const { page, complaints } = await openPage(paid.api);
  await loaded(page);
  await page.getByRole('combobox').fill(bitcoin);
  await page.getByRole('group', { name: 'Bitcoin addresses' }).getByRole('option', { name: bitcoin }).waitFor();
  await page.getByRole('group', { name: 'Accounts' }).getByRole('option').waitFor();
  await page.keyboard.press('Enter');
  const rewards = page.getByRole('table', { name: 'Rewards by Bitcoin block' });
  await rewards.getByTitle('1,500 satoshis').waitFor();
  await page.getByRole('table', { name: 'Payments of miners' }).getByTitle('500 satoshis', { exact: true }).waitFor();
  await page.getByRole('region', { name: 'Rewards', exact: true }).getByTitle('2,000 satoshis').waitFor();
  await page.getByRole('link', { name: stacksOfBitcoin(bitcoin)! }).waitFor();
  // The event that names the address belongs to another account.
  await follow(page, `/principals/${alice.address}?tab=staking`);
  const cycles = page.getByRole('table', { name: 'Rewards by cycle' });
  await cycles.getByText('pox-4, solo').waitFor();
  await cycles.getByTitle('2,000 satoshis').waitFor();
  await expectFits(page, NARROW);
  await cycles.getByRole('link', { name: bitcoin }).click();
  await rewards.getByRole('link', { name: '102' }).waitFor();
  expect(await overflow(page)).toBe(0);
  expect(complaints).toEqual([]);
  // The API lacks Bitcoin blocks without a Stacks block, but returns their payments.
  await rewards.getByRole('link', { name: '102' }).click();
  await page.getByText('has no Stacks block that was built on this Bitcoin block').waitFor();
  await page.getByRole('table', { name: 'Payments to stackers' }).getByRole('link', { name: bitcoin }).waitFor();
});

browserTest(
  'an orphaned block is on the overview below its replacement, struck out, with a link to the fork',
  async () => {
    await using forked = await serving();
    const first = block(null, 'first');
    const lost = block(first, 'lost');
    const won = block(first, 'won');
    const post = async (...blocks: MadeBlock[]) => {
      for (const { event } of blocks) await postEvents([posted(event)], forked.events);
    };
    await post(first, lost);
    const { page } = await openPage(forked.api);
    const strip = page.getByRole('list', { name: 'Newest blocks' });
    await strip.getByRole('link', { name: /^2\D/ }).waitFor();
    await post(won, block(won, 'tip'));
    // The strip may show the new branch before its second block.
    await strip.getByRole('link', { name: /^3\D/ }).waitFor();
    expect(await strip.locator('.tile strong').allTextContents()).toEqual(['3', '2', '1']);
    const replaced = strip.getByRole('link', { name: '2 replaced' });
    await replaced.waitFor();
    expect(await page.evaluate("getComputedStyle(document.querySelector('.orphan s')).textDecorationLine")).toBe(
      'line-through',
    );
    await replaced.click();
    const branches = page.getByRole('table', { name: 'Branches by height' });
    await branches.getByText('was on the chain').waitFor();
    expect(await branches.getByRole('row').count()).toBe(3);
    await expectFits(page, NARROW);
    await follow(page, '/forks');
    await page.getByRole('table', { name: 'Forks' }).waitFor();
    expect(await overflow(page)).toBe(0);
    await page.goBack();
    await branches.getByRole('link').first().click();
    await page.getByText('Forks with another block of this height: fork 1.').waitFor();
    await post(block(first, 'other'));
    await page.reload();
    await page.getByText('Forks with another block of this height: fork 1, fork 2.').waitFor();
    // The page of the orphaned block has its facts.
    for (const hash of [lost.hash, hashOf('block lost')]) {
      await follow(page, `/blocks/${hash}`);
      await page.getByText('This block is orphaned').waitFor();
      const facts = page.getByRole('region', { name: 'Block', exact: true });
      await facts.getByText(lost.hash).first().waitFor();
      await facts.getByText('Yes: the chain was reorganized').waitFor();
      expect(await page.getByText('This server has no block').count()).toBe(0);
      await expectFits(page);
    }
    await follow(page, `/blocks/0x${'00'.repeat(32)}`);
    await page.getByText('This server has no block').waitFor();
  },
);

browserTest(
  'pages of missing things say that the server has none, and the page of an account leads to a contract',
  async () => {
    const { page } = await openPage(server.api);
    const id = '2d0a6d68-b2c0-4065-a90f-90505923289d';
    const hash = `0x${'00'.repeat(32)}`;
    for (const [path, message] of [
      ['/names/nope.btc', 'This server has no name nope.btc.'],
      [`/forks/${hash}`, `This server has no orphaned block ${hash}.`],
      ['/forks/0x12', 'This is not a valid block hash: 0x12.'],
      [`/hooks/${id}`, `This server has no chainhook ${id}.`],
      [`/hooks/${id}/edit`, `This server has no chainhook ${id}.`],
      [`/hooks/${id}/deliveries/1`, 'This server has no delivery 1.'],
      ['/blocks/%zz', 'No page has this address.'],
    ] as const) {
      await page.goto(`${server.api}${path}`);
      await page.getByRole('main').getByText(message).waitFor();
    }
    const contract = 'ST000000000000000000002AMW42H.pox-4';
    await page.goto(`${server.api}/principals/${contract}?tab=logs`);
    await page.waitForURL(`${server.api}/contracts/${contract}?tab=logs`);
    await page.getByRole('heading', { level: 1, name: 'pox-4' }).waitFor();
    await page.goBack();
    await page.waitForURL('**/blocks/%zz');
  },
);

browserTest('an account shows its locked STX, and a stake of pox-5 only if it has one', async () => {
  const { page } = await openPage(server.api);
  const heights = { stacks_lock_height: null, burn_lock_height: 120, burn_unlock_height: 380 };
  const locked = { amount: '1188784566780000', pox_version: 4, lock_tx_id: null, ...heights };
  const json = { balance: '2188784566780000', available: '1000000000000000', locked, mempool: null };
  await page.route('**/balances/stx', (route) => route.fulfill({ json }));
  await follow(page, `/principals/${alice.address}?tab=staking`);
  const lock = page.getByRole('region', { name: 'Locked STX' });
  await lock.getByTitle('1,188,784,566,780,000 micro-STX').waitFor();
  await lock.getByText('pox-4').waitFor();
  await lock.getByRole('link', { name: '380' }).waitFor();
  await loaded(page);
  const stake = page.getByRole('region', { name: 'Staked with pox-5' });
  expect(await stake.count()).toBe(0);
  await expectFits(page, NARROW);
  await page.unroute('**/balances/stx');
});

browserTest('a token shows the whole URI of its metadata', async () => {
  const { token = '' } = await pathsOfPages(server, { hook: '', pending: '' });
  const asset = decodeURIComponent(token.split('/').at(-1) ?? '');
  const uri = `data:application/json,${encodeURIComponent(JSON.stringify({ description: 'x'.repeat(400), last: 'end' }))}`;
  const { page } = await openPage(server.api);
  const coin = { name: 'Coin', symbol: 'C', decimals: 2, token_uri: uri };
  const results = [{ asset_identifier: asset, contract_principal: asset.split('::')[0], ...coin }];
  await page.route('**/metadata/v1/ft?*', (route) => route.fulfill({ json: { results } }));
  await page.reload();
  await follow(page, token);
  const metadata = page.getByRole('region', { name: 'Metadata from the contract' });
  await metadata.getByText(uri).waitFor();
  await expectFits(page, NARROW);
});

browserTest('the keyboard is enough to find a block, show the shortcuts and follow links', async () => {
  const { page } = await openPage(server.api);
  await loaded(page);
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.keyboard.type('12');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: '12' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/blocks/12');
  await page.keyboard.press('g');
  await page.keyboard.press('m');
  await page.getByRole('heading', { level: 1, name: 'Mempool' }).waitFor();
  await page.keyboard.press('Tab');
  // The first link is to the data of a panel, in another tab.
  const opening = page.waitForEvent('popup');
  await page.keyboard.press('Enter');
  const data = await opening;
  await data.waitForURL('**/stackside/v1/mempool/blocks');
  await data.close();
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: '12' }).waitFor();
});

browserTest(
  'the API reference finds an operation and sends its request, by keyboard, and unknown ids get help',
  async () => {
    const { page, complaints } = await openPage(`${server.api}/docs`);
    await loaded(page);
    const list = page.getByRole('table');
    await page.getByRole('searchbox', { name: 'Search operations' }).fill('v3 blocks/{height');
    await list.getByRole('link', { name: '/extended/v3/blocks/{height_or_hash}/transactions' }).focus();
    expect(await list.count()).toBe(1);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Transactions of a block' }).waitFor();
    // The mark is beside the name, not below it.
    const [name, mark] = [page.locator('label code').first(), page.locator('label .badge').first()];
    expect((await mark.boundingBox())?.x).toBeGreaterThan((await name.boundingBox())?.x ?? 0);
    await page.getByRole('textbox', { name: 'height_or_hash' }).fill('7');
    await page.getByLabel('Request as a curl command').getByText('/extended/v3/blocks/7/transactions').waitFor();
    await page.keyboard.press('Enter');
    const answer = page.getByRole('region', { name: 'Body of the response' }).filter({ hasText: '"results": [' });
    await answer.waitFor();
    await page.getByText(/^200 \d+ ms, .*, application\/json/).waitFor();
    // The schema's parts open, and are accessible.
    const parts = page.locator('details summary');
    for (let part = 0; part < 2; part++) await parts.nth(part).press('Enter');
    await expectAccessible(page);
    await look(page, NARROW);
    expect(await overflow(page)).toBe(0);
    await page.getByRole('link', { name: 'All operations' }).click();
    // The search stays.
    await list.getByRole('link', { name: '/extended/v3/blocks/{height_or_hash}/transactions' }).waitFor();
    expect(complaints).toEqual([]);
    await follow(page, '/docs/nothing');
    await page.getByText('This server has no operation with the id nothing').waitFor();
    await follow(page, '/blocks/999999');
    await page.getByText(/^This server has no block 999999\. Its newest block is \d+\.$/).waitFor();
    await page.keyboard.press('/');
    await page.getByText(/^Search for a height, an id of a block/).waitFor();
  },
);

browserTest('the search finds transactions, accounts and names, and shows a message without results', async () => {
  const [transaction] = await listed(server, '/extended/v3/transactions?limit=1');
  const { page } = await openPage(server.api);
  const search = async (text: string) => {
    await page.getByRole('combobox', { name: 'Search the chain' }).fill(text);
    await page.keyboard.press('Enter');
  };
  await page.getByRole('combobox', { name: 'Search the chain' }).fill(transaction?.tx_id ?? '');
  await page
    .getByRole('option')
    .getByText(/^[a-z ]+, [a-z ]+, block \d+$/)
    .waitFor();
  await search(transaction?.tx_id.slice(2).toUpperCase() ?? '');
  await page.waitForURL(`**/transactions/${transaction?.tx_id}`);
  await search(transaction?.sender.address ?? '');
  await page.waitForURL(`**/principals/${transaction?.sender.address}`);
  await search('alice.btc');
  await page.waitForURL('**/names/alice.btc');
  await search('what is this?');
  await page.locator('#search-message').waitFor();
  await page.goto(`${server.api}/txid/${transaction?.tx_id}`);
  await page.waitForURL(`**/transactions/${transaction?.tx_id}`);
  const sender = transaction?.sender.address ?? '';
  const mistyped = `${sender.slice(0, -1)}${sender.endsWith('0') ? '1' : '0'}`;
  for (const [path, message] of [
    ['/no/such/page', 'No page has this address.'],
    ['/principals/SPNOPE', 'This is not a valid Stacks address: SPNOPE.'],
    [`/principals/${mistyped}`, 'Its checksum is wrong'],
  ]) {
    await page.goto(`${server.api}${path}`);
    await page
      .getByRole('main')
      .getByText(message ?? '')
      .waitFor();
    await expectAccessible(page, 'all', false);
  }
  await page.getByRole('main').getByRole('combobox').fill(sender);
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/principals/${sender}`);
});

browserTest('the keyboard is enough to search, even on a narrow screen', async () => {
  const { page } = await openPage(server.api);
  await page.setViewportSize({ width: 320, height: 640 });
  const field = page.getByRole('banner').getByRole('combobox', { name: 'Search the chain' });
  const list = page.getByRole('listbox', { name: 'Search results' });
  const active = async () => {
    const option = list.getByRole('option', { selected: true });
    await option.waitFor();
    expect(await field.getAttribute('aria-activedescendant')).toBe(await option.getAttribute('id'));
    return option;
  };
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.keyboard.press('Control+k');
  expect(await field.getAttribute('aria-expanded')).toBe('false');
  await page.keyboard.type('oLLectible', { delay: 1 });
  // Results of a part of the text may come before.
  await list
    .locator('.fit', { hasText: /ollectible/i })
    .first()
    .waitFor();
  await expectFits(page, undefined, 'all', false);
  await page.keyboard.press('Escape');
  await list.waitFor({ state: 'hidden' });
  await page.keyboard.press('ArrowDown');
  await list.waitFor();
  const chosen = await (await active()).locator('.fit').first().textContent();
  expect(chosen).toContain('ollectible');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: chosen ?? '' }).waitFor();
  await page.keyboard.press('/');
  await page.getByText('Search for a height').waitFor();
  const hint = await field.getAttribute('aria-describedby');
  expect(await page.locator(`[id="${hint}"]`).textContent()).toStartWith('Search for a height');
  await page.keyboard.type('nothing has this name');
  await page.getByText('Nothing was found.').last().waitFor();
});

browserTest('a search that failed is repeated by Enter, and a late result opens nothing on another page', async () => {
  const { page } = await openPage(server.api);
  await loaded(page);
  const field = page.getByRole('banner').getByRole('combobox', { name: 'Search the chain' });
  await page.route('**/stackside/v1/search?**', (route) => route.abort());
  await field.fill('alice.btc');
  await page.locator('#search-message').getByText('does not answer').waitFor();
  await page.unroute('**/stackside/v1/search?**');
  await field.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'alice.btc' }).waitFor();

  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  await page.route('**/stackside/v1/search?**', async (route) => {
    await left;
    await route.continue();
  });
  await field.fill('bob.btc');
  await field.press('Enter');
  await follow(page, '/blocks');
  await loaded(page);
  leave();
  // The field has lost the focus, so that screen readers hear of the answer, but nothing is shown.
  await page.getByText(/^(\d+ results|Nothing was found\.)$/).waitFor({ state: 'attached' });
  expect(new URL(page.url()).pathname).toBe('/blocks');
});

browserTest('a collection has further pages', async () => {
  const collection = await collectionOf(server);
  const path = `/tokens/${encodeURIComponent(collection)}`;
  const { results, total } = (await (
    await server.get(`/stackside/v1${path.replace('tokens', 'tokens/nft')}/mints?limit=1&offset=1`)
  ).json()) as { results: { value: { hex: string } }[]; total: number };
  const { page } = await openPage(`${server.api}${path}?offset=1`);
  const rows = page.getByRole('table', { name: 'Tokens, newest first' }).locator('tbody tr');
  await rows.first().waitFor();
  expect(await rows.count()).toBe(Math.min(50, total - 1));
  const first = rows.first().getByRole('link').first();
  expect(await first.getAttribute('href')).toEndWith(`/${results[0]?.value.hex}`);
  await page.getByRole('link', { name: 'Previous' }).click();
  await page.waitForURL((url) => url.search === '');
});

browserTest('a link to a line of a contract shows the line', async () => {
  const { contract } = await pathsOfPages(server, { hook: '', pending: '' });
  const { page } = await openPage(`${server.api}/`);
  await page.setViewportSize({ width: 1280, height: 300 });
  await follow(page, `${contract}#L11`);
  const line = page.locator('#L11');
  await line.waitFor();
  await until(async () => {
    const box = await line.boundingBox();
    return box !== null && box.y >= 0 && box.y + box.height <= 300;
  });
});

/** The contract of the name system, which prints each operation on a name. */
const BNS = 'ST000000000000000000002AMW42H.bns';

browserTest('the path of the latest block opens the newest block, on both chains', async () => {
  const { page } = await openPage(`${server.api}/blocks/latest`);
  await page.waitForURL(/\/blocks\/\d+$/);
  await page.getByRole('heading', { name: 'Execution cost' }).waitFor();
  await page.goto(`${server.api}/bitcoin-blocks/latest`);
  await page.waitForURL(/\/bitcoin-blocks\/\d+$/);
  await page.getByRole('heading', { name: 'Bitcoin block', exact: true }).waitFor();
});

browserTest('a boot contract without a source has the tab for read-only calls, without a number', async () => {
  const { page } = await openPage(`${server.api}/contracts/${BNS}`);
  await page.getByRole('link', { name: 'Read-only calls', exact: true }).click();
  await page.getByRole('heading', { name: 'Read-only calls' }).waitFor();
  // Without a source, the contract has no interface.
  expect(await page.getByRole('link', { name: 'Interface' }).count()).toBe(0);
});

browserTest('contract logs are filtered by a field, and an invalid condition shows an error', async () => {
  const { page } = await openPage(`${server.api}/contracts/${BNS}?tab=logs`);
  const rows = page.getByRole('table', { name: 'Logs' }).locator('tbody tr');
  await rows.first().waitFor();
  const narrow = async (condition: string) => {
    await page.getByLabel('Field').fill('attachment.metadata.op');
    await page.getByLabel('Condition').fill(condition);
    await page.getByRole('button', { name: 'Filter' }).click();
  };
  await narrow('between:1');
  await page.getByRole('alert').getByText('field.attachment.metadata.op').waitFor();
  await narrow('name-register');
  await rows.first().waitFor();
  const texts = await rows.allTextContents();
  expect(texts.filter((text) => !text.includes('name-register'))).toEqual([]);
  await page.getByRole('link', { name: 'Show all' }).click();
  await page.waitForURL((url) => !url.search.includes('is='));
});

browserTest('transactions are filtered by a form, a link and chips, and an invalid value names its field', async () => {
  const { page, complaints } = await openPage(`${server.api}/transactions`);
  const rows = page.getByRole('table', { name: 'Transactions' }).locator('tbody tr');
  const queryIs = (query: string) => page.waitForURL((url) => url.search === query);
  await page.getByText('Filter', { exact: true }).click();
  await page.getByLabel('Type').selectOption('Contract call');
  await page.getByLabel('Status').selectOption('Failed, for any reason');
  await page.getByRole('button', { name: 'Apply' }).click();
  await queryIs('?type=contract_call&status=failed');
  const transactions = await listed(
    server,
    '/stackside/v1/transactions?type=contract_call&status=abort_by_response,abort_by_post_condition,problematic_skipped&limit=50',
  );
  // The previous list stays until the list of the new URL is there.
  const isFound = () => until(async () => (await rows.count()) === transactions.length, 'the list of the address');
  await isFound();
  await page.getByRole('link', { name: 'Remove the filter Status: Failed, for any reason' }).click();
  await queryIs('?type=contract_call');
  await page.goBack();
  await queryIs('?type=contract_call&status=failed');
  await isFound();
  const sender = transactions[0]?.sender.address ?? '';
  await page.goto(`${server.api}/principals/${sender}?status=failed`);
  await rows.first().waitFor();
  expect(await rows.count()).toBe(transactions.filter((transaction) => transaction.sender.address === sender).length);
  await page.goto(`${server.api}/transactions?sender=SPNOPE&min=much`);
  await page.getByRole('alert').getByText('Sender: This is not a valid Stacks address: SPNOPE.').waitFor();
  await page.getByRole('alert').getByText('STX sent, at least: “much”').waitFor();
  for (const view of [WIDE, NARROW]) await expectFits(page, view, 'all', false);

  await page.getByRole('textbox', { name: 'Sender' }).fill(sender);
  await page.getByRole('textbox', { name: 'STX sent, at least' }).fill('400000000');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByText('No transaction matches all of these filters.').waitFor();
  await page.getByRole('link', { name: 'Remove all' }).click();
  await queryIs('');
  expect(complaints).toEqual([]);
});

browserTest('Back restores the page of a list and its scroll position', async () => {
  const { page } = await openPage(`${server.api}/transactions`);
  const rows = page.getByRole('table', { name: 'Transactions' }).locator('tbody tr');
  const scrolled = () => page.evaluate('scrollY') as Promise<number>;
  const isScrolledTo = (position: number) => until(async () => Math.abs((await scrolled()) - position) <= 1);
  await rows.nth(49).waitFor();
  await page.getByRole('link', { name: 'Next' }).scrollIntoViewIfNeeded();
  const atNext = await scrolled();
  expect(atNext).toBeGreaterThan(300);
  const newest = await rows.first().textContent();
  await page.getByRole('link', { name: 'Next' }).click();
  await page.waitForURL('**/transactions?cursor=*');
  // The previous list stays until the next one is there.
  await until(async () => (await rows.first().textContent()) !== newest, 'the next list');
  expect(await scrolled()).toBeLessThan(200);
  await rows.nth(30).scrollIntoViewIfNeeded();
  const [left, there] = [page.url(), await scrolled()];
  expect(there).toBeGreaterThan(300);
  await rows.nth(30).getByRole('link').last().click();
  await page.waitForURL((url) => url.href !== left);
  await loaded(page);
  expect(await scrolled()).toBe(0);
  await page.goBack();
  await isScrolledTo(there);
  expect(page.url()).toBe(left);
  // This document isn't a page of the console.
  await page.goto(`${server.api}/docs/json`);
  await page.goBack();
  await isScrolledTo(there);
  await page.goBack();
  await isScrolledTo(atNext);
  expect(new URL(page.url()).search).toBe('');
});

browserTest('the next page of a list is shown from its start, although other contents follow the list', async () => {
  const { page } = await openPage(`${server.api}/transactions`);
  // Some browsers don't adjust the scroll position when the list becomes shorter.
  await page.evaluate(`document.documentElement.style.overflowAnchor = 'none'`);
  await page.evaluate(`document.body.style.paddingBottom = '500vh'`);
  const title = page.getByRole('heading', { name: 'Transactions', level: 2 });
  const next = page.getByRole('link', { name: 'Next' });
  await next.scrollIntoViewIfNeeded();
  expect((await title.boundingBox())?.y).toBeLessThan(0);
  await next.click();
  await page.waitForURL('**/transactions?cursor=*');
  expect((await title.boundingBox())?.y).toBeWithin(0, 300);
});

browserTest('the chosen tab is visible if the tabs are wider than the page', async () => {
  const transactions = await listed(server, '/extended/v3/transactions?limit=50');
  const contract = transactions.find((transaction) => transaction.contract_call?.contract_id.includes('token-'));
  const { page } = await openPage(`${server.api}/contracts/${contract?.contract_call?.contract_id}`);
  await look(page, { ...WIDE, viewport: { width: 1000, height: 800 } });
  const tabs = page.getByRole('navigation', { name: 'Parts of the contract' });
  const isVisible = async (name: string): Promise<void> => {
    const link = tabs.getByRole('link', { name });
    await link.click();
    await page.locator('.tabs [aria-current]', { hasText: name }).waitFor();
    await until(() =>
      link.evaluate((element) => {
        const [inner, outer] = [element.getBoundingClientRect(), element.parentElement?.getBoundingClientRect()];
        return outer !== undefined && inner.left >= outer.left && inner.right <= outer.right;
      }),
    );
  };
  await isVisible('Tokens');
  await isVisible('Source');
});

browserTest('the browser handles links to a part of the page, and a link to the shown page adds no entry', async () => {
  // A browser's history has at most 50 entries, so a window that other tests use is full.
  const { page } = await openPageAfresh(`${server.api}/transactions?offset=50`);
  await loaded(page);
  /** Clicks a link. Returns whether the console follows it, and the number of entries in the history. */
  const click = (to: string): Promise<[followed: boolean, entries: number]> =>
    page.evaluate(`{
      let followed;
      addEventListener('click', (event) => { followed = event.defaultPrevented; event.preventDefault(); }, { once: true });
      const link = document.createElement('a');
      link.href = ${JSON.stringify(to)};
      document.body.append(link);
      link.click();
      link.remove();
      [followed, history.length];
    }`);
  const [, entries] = await click('#main');
  for (const to of ['#post-conditions', 'http://elsewhere.example/']) expect(await click(to)).toEqual([false, entries]);
  for (const [nth, to] of ['?offset=0#main', '/blocks', '/transactions#main'].entries()) {
    expect(await click(to)).toEqual([true, entries + nth + 1]);
    expect(page.url()).toEndWith(to);
  }
  // So Back leads to the page before.
  expect(await click('/transactions')).toEqual([true, entries + 4]);
  expect(await click('/transactions')).toEqual([true, entries + 4]);
});

browserTest('a server with partial history shows its first block, and panels explain missing data', async () => {
  const events = [...devnetEvents({ seed: 7, blocks: 20, forkEvery: 0 })];
  const [beginning] = beginnings(events).filter(({ height }) => height === 10);
  using directory = ingestOf((beginning?.events ?? []).map(received));
  await using late = await serving({}, directory.path);
  const { page, complaints } = await openPage(late.api);
  await page.getByRole('region', { name: 'Server' }).getByText('from block 10 on').waitFor();
  await loaded(page);
  const [newest] = await listed(late, '/extended/v3/transactions?limit=1');
  const account = `principals/${newest?.sender.address}`;
  const lacking = [
    ...[`${account}?tab=tokens`, `${account}?tab=staking`, `${account}?tab=names`, 'staking', 'staking?tab=bonds'],
    'names',
  ];
  for (const path of lacking) {
    await follow(page, `/${path}`);
    await page.getByText('the history of this server begins at block 10').first().waitFor();
    await loaded(page);
    expect([path, await page.getByRole('alert').allTextContents()]).toEqual([path, []]);
  }
  const start = 'The history of this server begins at block 10.';
  const { results } = await answerOf<{ results: { contract_id: string }[] }>(late, '/stackside/v1/contracts?limit=1');
  for (const [path, text] of [
    ['forks', `${start} Since then: No fork was seen.`],
    [`tokens/${alice.address}.none::none/0x01${'0'.repeat(32)}`, `${start} Since then: This token was never minted.`],
    [`contracts/${results[0]?.contract_id}?tab=logs&to=1`, `${start} Since then: No log matches.`],
    [`transactions/0x${'77'.repeat(32)}`, `No transaction with this id has arrived. ${start}`],
  ]) {
    await follow(page, `/${path}`);
    await page.getByText(text ?? '', { exact: true }).waitFor();
  }
  // The browser itself logs each 503.
  expect(complaints.filter((complaint) => !complaint.includes('503'))).toEqual([]);
});

browserTest('a request that succeeds after the user left its page leads nowhere', async () => {
  const id = await waitingHook(server);
  const { page } = await openPage(`${server.api}/hooks/${id}`);
  await loaded(page);
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  await page.route(`**/chainhooks/me/${id}`, async (route) => {
    if (route.request().method() === 'DELETE') await left;
    await route.continue();
  });
  const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE');
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await follow(page, '/blocks');
  await loaded(page);
  leave();
  await deleted;
  await page.getByText('The chainhook is deleted').waitFor({ state: 'attached' });
  expect(new URL(page.url()).pathname).toBe('/blocks');
});

browserTest('a failed action replaces the error of the action before it', async () => {
  const id = await waitingHook(server);
  const lists = { apply: [], rollback: [], attempts: [] };
  const missing = { delivered_at: null, next_attempt_at: null, problem: null, payload: null };
  const body = { body_bytes: 0, body_sha256: '00' };
  const delivery = { id: 'd1', state: 'failed', reason: 'live', created_at: 1, ...lists, ...missing, ...body };
  const { page } = await openPage(`${server.api}/hooks/${id}`);
  const fail = (path: string, message: string) =>
    page.route(`**/chainhooks/me/${id}${path}`, (route) =>
      route.request().method() === 'GET' ? route.continue() : route.fulfill({ status: 409, json: { message } }),
    );
  const problems = page.getByRole('alert');
  await fail('/enabled', 'It stays disabled.');
  await fail('', 'It stays.');
  await page.getByRole('button', { name: 'Enable' }).click();
  await problems.getByText('It stays disabled.').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await problems.getByText('It stays.').waitFor();
  expect(await problems.allTextContents()).toEqual(['It stays.']);

  await page.route(`**/chainhooks/me/${id}/deliveries/d1`, (route) => route.fulfill({ json: delivery }));
  await fail('/deliveries/d1/skip', 'It isn’t skipped.');
  await fail('/deliveries/d1/redeliver', 'It isn’t sent.');
  await follow(page, `/hooks/${id}/deliveries/d1`);
  await page.getByRole('button', { name: 'Skip' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Skip' }).click();
  await problems.getByText('It isn’t skipped.').waitFor();
  delivery.state = 'dead';
  await page.getByRole('button', { name: 'Skip' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Resend' }).click();
  await problems.getByText('It isn’t sent.').waitFor();
  expect(await problems.allTextContents()).toEqual(['It isn’t sent.']);
});

browserTest('a chosen theme is kept', async () => {
  const { page } = await openPage(server.api);
  const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
  const light = await ground();
  await page.getByRole('button', { name: 'Theme: as the system' }).click();
  await page.getByRole('button', { name: 'Theme: light' }).click();
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  const dark = await ground();
  expect(dark).not.toBe(light);
  await page.reload();
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  expect(await ground()).toBe(dark);
});

browserTest('a server without an event shows a checklist, the next step and the observer section', async () => {
  await using empty = await serving();
  const { page, complaints } = await openPage(empty.api);
  await loaded(page);
  const [endpoint] = /[\d.]+:\d+/.exec(empty.events) ?? [];
  const steps = page.getByRole('list', { name: 'Checklist' });
  expect(await steps.locator('li:has(.badge.wait) > p > strong').allTextContents()).toEqual(['Node']);
  const next = steps.getByRole('region', { name: 'Next step' });
  await next.getByRole('heading', { name: 'Waiting for the node' }).waitFor();
  await next.getByText('Start the node, with this section in its configuration.').waitFor();
  await next.getByRole('button', { name: 'Copy configuration' }).waitFor();
  expect(await next.locator('pre').textContent()).toContain(`endpoint = "${endpoint}"`);
  await page.getByRole('banner').getByText('Waiting for the node').waitFor();
  await expectAccessible(page);
  expect(complaints).toEqual([]);
});

browserTest('an unreachable server shows a message until it is back', async () => {
  const { page } = await openPage(server.api);
  await loaded(page);
  await page.route('**/extended/**', (route) => route.abort());
  await page.getByRole('link', { name: 'Blocks', exact: true }).click();
  await page.getByRole('alert').getByText('does not answer').waitFor();
  await page.unroute('**/extended/**');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('table', { name: 'Blocks' }).waitFor();
  await page.route('**/console/part-*', (route) => route.abort());
  await page.getByRole('link', { name: 'Chainhooks', exact: true }).click();
  await page.getByRole('alert').getByText('could not be loaded').waitFor();
  await page.unroute('**/console/part-*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('link', { name: 'New chainhook' }).waitFor();
});

browserTest('a chainhook is created in a form and as JSON, tested, saved, delivered and redelivered', async () => {
  const received: string[] = [];
  let refuses = true;
  await using receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      received.push(request.headers.get('webhook-id') ?? '');
      await request.text();
      return refuses ? new Response('not today', { status: 503 }) : new Response('taken');
    },
  });
  const { page, complaints } = await openPage(`${server.api}/hooks`);
  await page.getByRole('link', { name: 'New chainhook' }).click();
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('URL of the receiver must be an absolute URL').waitFor();
  const wrong = page.locator('[aria-invalid=true]');
  expect(await wrong.count()).toBe(1);
  // A mistake never stays at the field of another filter.
  await page.getByLabel('URL of the receiver').fill(`http://127.0.0.1:${receiver.port}/`);
  await page.getByLabel('Sender').fill('nobody');
  await page.getByRole('button', { name: 'Add a filter' }).click();
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('Filter 1: Sender must be').waitFor();
  await page.getByRole('button', { name: 'Remove' }).first().click();
  await page.getByText('Filter 1: Sender must be').waitFor({ state: 'detached' });
  expect(await wrong.count()).toBe(0);
  await page.getByLabel('Name').fill('Transfers');
  await page.getByLabel('URL of the receiver').fill(`http://127.0.0.1:${receiver.port}/`);
  await page.getByRole('button', { name: 'JSON', exact: true }).click();
  const json = page.getByRole('textbox', { name: 'Definition as JSON' });
  const definition = JSON.parse(await json.inputValue());
  expect(definition).toMatchObject({ name: 'Transfers', filters: { events: [{ type: 'stx_transfer' }] } });
  await json.fill(JSON.stringify({ ...definition, filters: { events: [{ type: 'stx_event', sender: 'nobody' }] } }));
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByText('filters.events.0.sender is not allowed').waitFor();
  await json.fill('{\n  "name": "Transfers",\n}');
  await page.getByText(/^This is not JSON: .*line 3 column 1/).waitFor();
  await json.fill(JSON.stringify({ ...definition, filters: { events: [{ type: 'stx_event' }] } }));
  await page.getByRole('button', { name: 'Form', exact: true }).click();
  expect(await page.getByLabel('Event').inputValue()).toBe('stx_event');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByText(/blocks with .* would have been delivered/).waitFor();
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Transfers' }).waitFor();
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByText('The receiver answered 503').waitFor();
  refuses = false;
  // Not every block has transfers.
  for (let blocks = 0; blocks < 5; blocks++) await postBlocks(server, (await tipHeight()) + 1);
  const delivery = page.getByRole('table', { name: 'Deliveries' }).getByRole('row').filter({ hasText: 'delivered' });
  await delivery.first().waitFor();
  await page.getByRole('link', { name: 'dead', exact: true }).click();
  await page.getByText('No delivery is dead.').waitFor();
  await page.getByRole('link', { name: 'delivered', exact: true }).click();
  await delivery.getByRole('link').first().click();
  await page.getByText('taken', { exact: true }).waitFor();
  await expectAccessible(page);
  await expectFits(page, NARROW, 'look');
  // Deliveries of later blocks may still arrive.
  const id = new URL(page.url()).pathname.split('/').at(-1);
  await page.getByRole('button', { name: 'Resend' }).click();
  await page.getByText('redelivery', { exact: true }).waitFor();
  await page.locator('.badge', { hasText: 'delivered' }).waitFor();
  expect(received.filter((delivery) => delivery === id)).toHaveLength(2);
  // The server rejected three definitions.
  expect(complaints.filter((complaint) => !complaint.includes(' 400 '))).toEqual([]);
});

browserTest('a new chainhook starts with filters about the shown object', async () => {
  await using ownServer = await serving(OPEN);
  await postEvents([posted(block(null, 'first', [transfer(alice, 0, 200)]).event)], ownServer.events);
  const { page, complaints } = await openPage(`${ownServer.api}/principals/${alice.address}`);
  await page.getByRole('link', { name: 'Notify me by a chainhook' }).click();
  const principal = page.getByRole('textbox', { name: 'Principal' });
  await principal.waitFor();
  expect(await principal.inputValue()).toBe(alice.address);
  expect(await page.getByLabel('Event').inputValue()).toBe('balance_change');
  await page.getByRole('link', { name: 'STX received' }).click();
  await page.waitForURL('**/hooks/new?template=received&**');
  expect(await page.getByRole('textbox', { name: 'Receiver (optional)' }).inputValue()).toBe(alice.address);
  await page.getByRole('link', { name: 'Failed calls of a contract' }).click();
  await page.waitForURL('**/hooks/new?template=failures');
  expect(await page.getByLabel('Event').inputValue()).toBe('contract_call');
  expect(await page.getByLabel('abort by response').isChecked()).toBe(true);
  // On mainnet, the form names mainnet's contract before the first transaction arrives.
  const status = await answerOf<ServerStatus>(ownServer, '/stackside/v1/status');
  const mainnet = { ...status, index: { ...status.index, chain_id: null }, node: { ...status.node, chain_id: 1 } };
  await page.route('**/stackside/v1/status', (route) => route.fulfill({ json: mainnet }));
  await page.route('**/extended/v3/transactions?*', (route) => route.fulfill({ json: { results: [] } }));
  await page.goto(`${ownServer.api}/hooks/new?template=name&of=alice.btc`);
  const contract = page.getByRole('textbox', { name: /^Contract identifier/ });
  await contract.waitFor();
  expect(await contract.inputValue()).toBe('SP000000000000000000002Q6VF78.bns');
  expect(complaints).toEqual([]);
});

browserTest('a query runs on request, shows its rows, is saved, and can be canceled', async () => {
  const query = 'SELECT block_height, tx_count, 1.5 AS half FROM v1_blocks WHERE block_height < 4';
  const { page, complaints } = await openPage(`${server.api}/sql?${new URLSearchParams({ q: query })}`);
  const requests: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') requests.push(request.postData() ?? '');
  });
  const editor = page.getByRole('textbox', { name: 'SQL' });
  await page.reload();
  await page.getByText('v1_hook_deliveries', { exact: true }).waitFor();
  await loaded(page);
  expect([await editor.inputValue(), requests]).toEqual([query, []]);
  await editor.press('Control+Enter');
  const result = page.getByRole('table', { name: 'Result' });
  await result.getByRole('link', { name: '3', exact: true }).waitFor();
  expect(await result.getByRole('row').count()).toBe(4);
  await expectAccessible(page);
  await expectFits(page, NARROW, 'look');
  // On a phone, the list of views is between the query and its result.
  await editor.press('Control+Enter');
  await until(() =>
    page.evaluate(`document.querySelector('[aria-label=Result] tr').getBoundingClientRect().top < innerHeight`),
  );
  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV' }).click();
  const file = await saving;
  expect(await Bun.file(await file.path()).text()).toStartWith('block_height,tx_count,half\r\n1,');
  await editor.fill('');
  await page.getByText('v1_chain', { exact: true }).click();
  await page.getByRole('button', { name: 'Insert v1_chain' }).click();
  expect(await editor.inputValue()).toBe('SELECT *\nFROM v1_chain\nLIMIT 20');
  await editor.fill('SELECT 1,\n  <b>');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('alert').getByText('line 2, column 3').waitFor();
  expect(await result.count()).toBe(0);
  expect(new URL(page.url()).searchParams.get('q')).toBe('SELECT 1,\n  <b>');
  await page.getByRole('link', { name: 'Size of blocks' }).click();
  await until(async () => (await editor.inputValue()).includes('DESC LIMIT 200'));
  expect(await page.getByRole('alert').getByText('line 2, column 3').count()).toBe(0);
  await editor.fill('WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('The query was cancelled').waitFor({ state: 'attached' });
  expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(0);
  // The browser itself logs the 400.
  expect(complaints.filter((complaint) => !complaint.includes('400'))).toEqual([]);
});

/** The state of a simulated chain. */
const DEVNET = {
  tip: { height: 45, time: 1_795_305_600, bitcoin_height: 128 },
  bitcoin: { height: 130 },
  cycle: { number: 3, length: 20, blocks_left: 7 },
  interval: 0,
  pending: [],
  snapshots: [{ name: 'before', height: 40 }],
  faucet: { address: bob.address, balance: '5000000' },
  accounts: [{ name: 'wallet_1', address: alice.address, balance: '1000000' }],
};

browserTest('the page of a devnet controls its simulated node, and shows its accounts and snapshots', async () => {
  const { page, complaints } = await openPage(`${server.api}/devnet`);
  await loaded(page);
  await page.getByText('This server follows a node of a network.').waitFor();
  expect(await page.getByRole('link', { name: 'Devnet', exact: true }).count()).toBe(0);
  const status = await answerOf<ServerStatus>(server, '/stackside/v1/status');
  await page.route('**/stackside/v1/status', (route) => route.fulfill({ json: { ...status, simulated_node: true } }));
  await page.route('**/stackside/v1/devnet', (route) => route.fulfill({ json: DEVNET }));
  const steered: unknown[] = [];
  await page.route('**/stackside/v1/devnet/*', (route) => {
    const { pathname } = new URL(route.request().url());
    steered.push([pathname, route.request().postDataJSON()]);
    const blocks = [{ height: 46 }, { height: 47 }];
    if (pathname === '/stackside/v1/devnet/fund')
      return route.fulfill({ status: 400, json: { message: 'body/address must be ours' } });
    return route.fulfill({ json: { blocks, orphaned: [{ height: 46 }] } });
  });
  await page.reload();
  await page.getByRole('link', { name: 'Devnet', exact: true }).waitFor();
  await page.getByRole('table', { name: 'Accounts of the devnet' }).getByText('wallet_1').waitFor();
  // As on all pages, the Bitcoin height is the one of the newest block, which a tenure extension doesn't change.
  await page.getByText('Bitcoin height128newest 130', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Go back to before' }).click();
  await until(() => steered.length === 1);
  const panel = page.getByRole('region', { name: 'Simulated node' });
  await panel.getByRole('form', { name: 'Mine', exact: true }).getByLabel('Blocks').fill('2');
  await panel.getByRole('button', { name: 'Mine', exact: true }).click();
  await panel.getByText('Mined 2 blocks, up to 47.').waitFor();
  await panel.getByRole('button', { name: 'Fork' }).click();
  await panel.getByText('Mined another branch with 2 blocks, up to 47, in place of 1 block.').waitFor();
  await panel.getByRole('button', { name: 'Let time pass' }).click();
  await panel.getByText('The next block is 10 min later.').waitFor();
  await panel.getByLabel('Address').fill('nobody');
  await panel.getByLabel('STX').fill('1.5');
  await panel.getByRole('button', { name: 'Fund' }).click();
  await panel.getByRole('alert').getByText('Address must be ours').waitFor();
  expect(steered).toEqual([
    ['/stackside/v1/devnet/revert', { snapshot: 'before' }],
    ['/stackside/v1/devnet/mine', { count: 2 }],
    ['/stackside/v1/devnet/fork', { depth: 1 }],
    ['/stackside/v1/devnet/time', { seconds: 600 }],
    ['/stackside/v1/devnet/fund', { address: 'nobody', amount: '1500000' }],
  ]);
  for (const view of [WIDE, NARROW]) await expectFits(page, view, 'look');

  expect(complaints.filter((complaint) => !complaint.includes('400'))).toEqual([]);
});

/** Enables, renames and deletes a chainhook of another consumer in the browser of the operator. */
async function managesOfAnother(closed: Serving, page: Page, key: string): Promise<void> {
  await waitingHook(closed, { 'x-api-key': key, 'x-chainhook-consumer': 'a-team' });
  await page.reload();
  const list = page.getByRole('table', { name: 'Chainhooks of a-team' });
  // The operator's own chainhooks come first, and a new chainhook belongs to the shown consumer.
  await page.getByText('There is no chainhook yet.').waitFor();
  await page.getByRole('link', { name: /^a-team/ }).click();
  await list.waitFor();
  await page.getByRole('link', { name: 'New chainhook' }).click();
  await page.getByRole('heading', { level: 1, name: 'New chainhook of a-team' }).waitFor();
  await page.getByRole('link', { name: 'Cancel' }).click();
  await list.waitFor();
  await expectAccessible(page);
  await list.getByRole('link', { name: '<b>a hook</b>' }).click();
  await page.getByRole('button', { name: 'Enable' }).click();
  await page.getByRole('button', { name: 'Disable' }).waitFor();
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByRole('link', { name: 'Cancel' }).click();
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByRole('textbox', { name: /^Name/ }).fill('Renamed');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'Renamed' }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('There is no chainhook yet.').waitFor();
}

browserTest('a disabled chainhook is enabled where it stopped, or from the next block', async () => {
  const id = await waitingHook(server);
  const { page, complaints } = await openPage(`${server.api}/hooks/${id}`);
  const changes: unknown[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PATCH') changes.push(request.postDataJSON());
  });
  const click = (name: RegExp | string) => page.getByRole('button', { name, exact: typeof name === 'string' }).click();
  await click('Enable');
  await postBlocks(server, (await tipHeight()) + 1);
  await click('Disable');
  await page.getByText('Disabled', { exact: true }).waitFor();
  await postBlocks(server, (await tipHeight()) + 2);
  await page.getByRole('button', { name: 'Enable and catch up on 2 blocks' }).waitFor();
  expect(await page.getByText('Blocks behind').count()).toBe(0);
  await expectFits(page, NARROW);
  await click(/^Enable and catch up/);
  await click('Disable');
  await postBlocks(server, (await tipHeight()) + 1);
  await click('Enable from the next block');
  await page.getByRole('button', { name: 'Disable' }).waitFor();
  await page.getByText('Blocks behind').waitFor();
  expect(changes).toEqual([
    { enabled: true },
    { enabled: false },
    { enabled: true, resume_from: 'last_evaluated' },
    { enabled: false },
    { enabled: true, resume_from: 'tip' },
  ]);
  expect(complaints).toEqual([]);
});

browserTest('an account shows the nonce of its only pending transaction', async () => {
  const { page } = await openPage(`${server.api}/principals/${alice.address}`);
  const nonces = page.getByRole('region', { name: 'Nonces' });
  await nonces.getByText('Last pending').waitFor();
  expect(await nonces.locator('dt', { hasText: 'Last pending' }).locator('+ dd').textContent()).toBe('7');
});

browserTest('the form of a chainhook, and deliveries of several blocks, fit a phone', async () => {
  const id = await waitingHook(server);
  const { page } = await openPage(`${server.api}/hooks/new`);
  await look(page, NARROW);
  const event = page.getByLabel('Event');
  await event.waitFor();
  const rightOf = (element: { getBoundingClientRect(): { right: number } }) => element.getBoundingClientRect().right;
  expect(await event.evaluate(rightOf)).toBeLessThan(await page.getByRole('group').first().evaluate(rightOf));
  const fulfill = (route: Route, results: object[]) =>
    route.fulfill({ json: { total: 1, limit: 20, cursor: { next: null, previous: null, current: '' }, results } });
  await page.route('**/deliveries?*', (route) => {
    const apply = [1_000_001, 1_000_002, 1_000_003].map((height) => ({ height, block_id: '0x00' }));
    const attempt = { status_code: null, error: 'connect ECONNREFUSED', duration_ms: 3 };
    const delivery = { id: 'evt_0', state: 'failed', apply, rollback: [], last_attempt: attempt, attempt_count: 1 };
    return fulfill(route, [{ ...delivery, reason: 'live', body_bytes: 9, created_at: 1_700_000_000 }]);
  });
  await follow(page, `/hooks/${id}`);
  await page.getByRole('link', { name: '1,000,001, 1,000,002, 1,000,003' }).waitFor();
  expect(await overflow(page)).toBe(0);
  await page.route('**/backfills?*', (route) => {
    const heights = { from_height: 1_000_001, to_height: 1_009_999, next_height: 1_005_000 };
    const job = { id: 'job', state: 'running', dry_run: true, ...heights, matched_blocks: 7 };
    return fulfill(route, [{ ...job, created_at: 1_700_000_000, deliveries: { delivered: 5 } }]);
  });
  await page.getByRole('link', { name: 'Backfills' }).click();
  await page.getByText('1,000,001 to 1,009,999').waitFor();
  expect(await overflow(page)).toBe(0);
});

browserTest('managing chainhooks needs a key unless access is open', async () => {
  await using closed = await serving({ hookTargets: OPEN.hookTargets });
  const { page } = await openPage(`${closed.api}/hooks`);
  await page.getByLabel('API key').fill('no key of this server');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  await expectAccessible(page);
  const key = await Bun.file(`${closed.directory}/admin.key`).text();
  await page.getByLabel('API key').fill(key.trim());
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'New chainhook' }).waitFor();
  await managesOfAnother(closed, page, key.trim());
  await page.reload();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
});

/** What texts of the chain have done to a page. */
const attacksIn = (page: Page): Promise<object> =>
  page.evaluate(`({
    attacked: window.attacked,
    foreign: document.querySelectorAll('main script, main img, main b, main i, main iframe').length,
    links: [...document.querySelectorAll('a')].filter(({ protocol }) => !/^https?:$/.test(protocol)).length,
    hidden: /[\\u202e\\u2066\\u2069]/.test(document.body.textContent),
  })`);

browserTest('hostile texts from the chain are shown as plain text', async () => {
  const paths = [
    ...['/', '/transactions', `/transactions/${deployed.id}`, `/transactions/${sent.id}`, `/transactions/${failed.id}`],
    ...[`/contracts/${CONTRACT}`, `/contracts/${CONTRACT}?tab=functions`, `/contracts/${CONTRACT}?tab=logs`],
    ...[`/contracts/${CONTRACT}?tab=deployer`, `/principals/${alice.address}?tab=sent`],
    `/principals/${bob.address}?tab=tokens`,
  ];
  const { page, complaints } = await openPage(hostile.api);
  for (const path of paths) {
    await follow(page, path);
    await loaded(page);
    expect([path, await attacksIn(page)]).toEqual([path, { foreign: 0, links: 0, hidden: false }]);
    for (const view of [NARROW, WIDE]) {
      await page.setViewportSize(view.viewport);
      expect([path, await overflow(page)]).toEqual([path, 0]);
    }
  }
  await follow(page, `/transactions/${sent.id}`);
  await page.getByText(MEMO.slice(0, 20)).first().waitFor();
  expect(complaints).toEqual([]);
});

/** Data that only hostile contracts have: many functions with odd names and deep types, and results of 1 MB. */
const ODD = {
  functions: Array.from({ length: 200 }, (_, nth) => ({
    name: `<b>get-${nth}?/${'y'.repeat(100)}`,
    access: 'read_only',
    args: [
      {
        name: `who-${'z'.repeat(100)}`,
        type: Array.from({ length: 30 }).reduce<object | string>(
          (type) => ({ tuple: [{ name: 'within-another', type }] }),
          'uint128',
        ),
      },
    ],
    outputs: { type: { list: { type: 'uint128', length: 61_000 } } },
  })),
  variables: [{ name: 'total/all?', access: 'variable', type: 'bool' }],
  maps: [{ name: 'owners', key: 'uint128', value: 'bool' }],
};

const POX = 'ST000000000000000000002AMW42H.pox-5';

browserTest("a form for a contract's interface reads values through the node", async () => {
  const chain = new SimulatedChain({ seed: 3, accounts: 4 });
  using node = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => answerRpc(served(chain), request) });
  await using ownServer = await serving({ nodeRpc: node.url.origin });
  await postEvents([chain.genesis(), ...chain.mine(null, { newTenure: true }).events], ownServer.events);
  const { page, complaints } = await openPage(`${ownServer.api}/contracts/${POX}?tab=read`);
  const result = page.getByRole('region', { name: 'Result' });
  await page.getByLabel('Function or data').selectOption('get-bond-allowance');
  await page.getByRole('textbox', { name: /^bond-index\b/ }).fill('3');
  await page.getByRole('textbox', { name: /^staker\b/ }).fill('0xzz');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Mistakes' }).getByText('staker must be').waitFor();
  await expectAccessible(page);
  await page.getByRole('textbox', { name: /^staker\b/ }).fill(POX);
  await page.keyboard.press('Enter');
  await result.getByText('none').waitFor();
  await result.getByText('0x09', { exact: true }).waitFor();
  await expectAccessible(page);
  await page.getByRole('textbox', { name: /^Sender\b/ }).fill('nobody');
  await page.getByRole('button', { name: 'Read' }).click();
  await page.getByText('Sender must be an address').waitFor();
  await follow(page, `/contracts/${POX}?tab=read&read=register-for-bond`);
  await page.getByText('has no readable register-for-bond').waitFor();

  // A hostile contract, on the smallest screen.
  await page.route('**/v2/contracts/interface/**', (route) => route.fulfill({ json: ODD }));
  const items = Array.from({ length: 61_000 }, (_, n) => clarity.uint(n));
  const json = { okay: true, result: toHex(clarity.list(items)) };
  await page.route('**/v2/contracts/call-read/**', (route) => route.fulfill({ json }));
  await look(page, { ...NARROW, viewport: { width: 320, height: 700 } });
  await page.goto(`${ownServer.api}/contracts/${POX}?tab=read`);
  await loaded(page);
  expect(await page.getByRole('option').count()).toBe(202);
  await page.getByRole('textbox', { name: /within-another uint/ }).fill('7');
  await page.getByRole('button', { name: 'Read' }).click();
  await result.getByText('99', { exact: true }).first().waitFor();
  await page.getByRole('button', { name: 'Show more parts' }).click();
  await result.getByText('199', { exact: true }).first().waitFor();
  await expectFits(page, undefined, 'look');

  const requests: string[] = [];
  await page.route(/\/v2\/(data_var|map_entry)\//, async (route) => {
    requests.push(`${route.request().url().slice(ownServer.api.length)} ${route.request().postData()}`);
    await route.fulfill({ json: { data: '0x03' } });
  });
  await page.getByLabel('Function or data').selectOption('total/all?');
  await result.getByText('true bool').waitFor();
  await page.getByLabel('Function or data').selectOption('owners');
  await page.getByRole('textbox', { name: /^key\b/ }).fill('5');
  await page.getByRole('button', { name: 'Read' }).click();
  await result.getByText('true bool').waitFor();
  const path = POX.replace('.', '/');
  expect(requests).toEqual([
    `/v2/data_var/${path}/total%2Fall%3F?proof=0 null`,
    `/v2/map_entry/${path}/owners?proof=0 "0x0100000000000000000000000000000005"`,
  ]);
  await page.route('**/v2/contracts/call-read/**', (route) =>
    route.fulfill({ json: { okay: false, cause: 'Unchecked(<b>\u202e)' } }),
  );
  await page.getByLabel('Function or data').selectOption({ index: 0 });
  await page.getByRole('textbox', { name: /within-another uint/ }).fill('7');
  await page.getByRole('button', { name: 'Read' }).click();
  await result.getByText('The node refused the call: Unchecked(<b>\\u{202e})').waitFor();
  expect(complaints).toEqual([]);
});

browserTest('a contract page shows a message if the node is unreachable', async () => {
  const { page } = await openPage(`${server.api}/contracts/${BNS}?tab=read`);
  await page.getByRole('alert').getByText('The node reads contracts, and it can’t be reached now.').waitFor();
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  await expectAccessible(page);
});

browserTest('logs are a table of their fields, and each log can be expanded', async () => {
  const { page, complaints } = await openPage(`${hostile.api}/contracts/${CONTRACT}?tab=logs`);
  const table = page.getByRole('table', { name: 'Logs' });
  await table.waitFor();
  expect(await table.getByRole('columnheader').allTextContents()).toEqual([
    ...['Topic', 'event'],
    expect.stringMatching(/^<b onclick=/),
    ...['flood', 'memo', 'Value', 'Transaction', 'Block', 'Age', 'All fields'],
  ]);
  await table.getByText('340,282,366,920,938,463,463,374,607,431,768,211,455').waitFor();
  await table.getByRole('button', { name: '2 more' }).click();
  await table
    .getByText(`${'a-name-of-some-length.'.repeat(23)}a-name-of-some-length`.slice(0, 200))
    .first()
    .waitFor();
  await expectAccessible(page);
  for (const width of [1440, 900, 320]) {
    await look(page, { ...NARROW, viewport: { width, height: 800 } });
    expect([width, await overflow(page)]).toEqual([width, 0]);
  }
  await expectAccessible(page, 'look');
  expect(await attacksIn(page)).toEqual({ foreign: 0, links: 0, hidden: false });
  expect(complaints).toEqual([]);
});

endBrowser();
