/** The console of a simulated chain: contracts are deployed and called, and the chain is steered, by its pages. */
import { afterAll, beforeAll, expect } from 'bun:test';
import { broadcastTransaction, makeSTXTokenTransfer } from '@stacks/transactions';
import type { Page } from 'playwright-core';
import { MAX_CLARITY_VERSION } from '../../src/codec/clarity.ts';
import { type Demo, demo } from '../demo/demo.ts';
import { clarityProject, DEPLOYER, hasClarity, stopEngines, WALLET } from '../support/clarity.ts';
import { describeWith } from '../support/servers/system-servers.ts';
import { until } from '../support/time/until.ts';
import {
  brokenAmounts,
  browserTest,
  endBrowser,
  expectFits,
  follow,
  hasBrowser,
  loaded,
  NARROW,
  openPage,
  WIDE,
} from './browser.ts';

let server: Demo;
beforeAll(async () => {
  if (hasBrowser) server = await demo({ pastBlocks: '3' });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await stopEngines();
});

/** Checks the displayed page in both looks. */
async function looksGood(page: Page): Promise<void> {
  for (const view of [NARROW, WIDE]) {
    await expectFits(page, view);
    expect(await brokenAmounts(page)).toEqual([]);
  }
}

/** The page's message about the transaction that it sent. */
const outcome = (page: Page) => page.getByRole('region', { name: 'Result' });

interface State {
  tip: { height: number };
  pending: string[];
  accounts: unknown[];
}

const state = (demo: Demo) => demo.json<State>('/stackside/v1/devnet');

/** Source of a contract with simulated functions. */
async function sourceOf(name: string): Promise<string> {
  const { contracts } = await server.json<{ contracts: { name: string; source: string }[] }>(
    '/stackside/v1/devnet/contracts',
  );
  return contracts.find((contract) => contract.name === name)!.source;
}

browserTest('a contract is loaded from a file, deployed, and called with forms for each type', async () => {
  const { page, complaints } = await openPage(`${server.api}/contracts`);
  await page.getByRole('link', { name: 'Deploy a contract' }).click();
  await page
    .getByLabel('File')
    .setInputFiles({ name: 'notes.clar', mimeType: 'text/plain', buffer: Buffer.from(await sourceOf('journal')) });
  await until(async () => (await page.getByLabel('Name').inputValue()) === 'notes');
  await page.getByText('only simulates contracts').waitFor();
  await looksGood(page);
  await page.getByLabel('Clarity version').selectOption(String(MAX_CLARITY_VERSION));
  await page.getByRole('button', { name: 'Deploy' }).click();
  await outcome(page).getByText('Success').waitFor();
  await outcome(page).getByRole('link', { name: 'Call a function' }).click();

  await page.getByRole('combobox', { name: /^Function/ }).selectOption('measure');
  const form = page.getByRole('form', { name: 'Call measure' });
  const fields = form.getByRole('textbox');
  await fields.first().fill('-7');
  await form.getByRole('spinbutton').fill('2');
  for (const [place, value] of ['-7', '1', '2'].entries()) await fields.nth(place).fill(value);
  await fields.nth(2).fill('two');
  await form.getByRole('button', { name: 'Call' }).click();
  await form.getByRole('region', { name: 'Mistakes' }).getByText('must be a whole number').waitFor();
  await looksGood(page);
  await fields.nth(2).fill('2');
  await form.getByRole('button', { name: 'Call' }).click();
  await outcome(page).getByText('Success').waitFor();

  await page.getByRole('combobox', { name: /^Function/ }).selectOption('mark');
  const mark = page.getByRole('form', { name: 'Call mark' });
  await mark.getByRole('textbox').first().fill('0x0102');
  await mark.getByRole('combobox', { name: /^parent/ }).selectOption('some');
  await mark.getByRole('textbox').nth(1).fill('7');
  await mark.getByRole('button', { name: 'Call' }).click();
  await outcome(page).getByText('Success').waitFor();
  await outcome(page).getByRole('link').last().click();
  await page.getByRole('table', { name: 'Arguments' }).getByText('(some u7)').waitFor();
  expect(complaints).toEqual([]);
});

browserTest('contract logs appear as they are printed, and link to their transaction', async () => {
  const { sender } = (
    await server.post<{ sender: string }>('/stackside/v1/devnet/deploy', {
      name: 'diary',
      source: await sourceOf('journal'),
    })
  ).body;
  const contract = `${sender}.diary`;
  const { page, complaints } = await openPage(`${server.api}/contracts/${contract}?tab=logs`);
  await page.getByText('No log matches').waitFor();
  const call = { contract, function: 'mark', arguments: ['0x02000000020102', '(some u7)'] };
  const { tx_id: id } = await server.steer('call', call);
  const logs = page.getByRole('table', { name: 'Logs' });
  await logs.waitFor();
  await logs.locator(`a[title="${id}"]`).click();
  await page.waitForURL(`**/transactions/${id}`);
  expect(complaints).toEqual([]);
});

browserTest('the chain returns to a snapshot, and a pending transaction is replaced and dropped', async () => {
  const { address, private_key: senderKey } = (
    await server.post<{ address: string; private_key: string }>('/stackside/v1/devnet/account', { name: 'payer' })
  ).body;
  await server.steer('fund', { address, amount: '1000000' });
  const { tip } = await state(server);
  const { page, complaints } = await openPage(`${server.api}/devnet`);
  const panel = page.getByRole('region', { name: 'Simulated node' });
  const form = (name: string) => panel.getByRole('form', { name, exact: true });
  await form('Take a snapshot').getByRole('button').click();
  await panel.getByText(`The state after block ${tip.height} has the name default.`).waitFor();
  await form('Mine')
    .getByLabel('or up to height')
    .fill(String(tip.height + 2));
  await form('Mine').getByRole('button').click();
  await panel.getByText(`Mined 2 blocks, up to ${tip.height + 2}.`).waitFor();
  await page.getByRole('button', { name: 'Go back to default' }).click();
  await page.getByRole('status').getByText('The chain is back at default.').waitFor();
  await looksGood(page);

  const transaction = await makeSTXTokenTransfer({
    recipient: WALLET.address,
    amount: 5,
    fee: 400,
    senderKey,
    network: 'testnet',
    client: { baseUrl: server.api },
  });
  const sent = await broadcastTransaction({ transaction, network: 'testnet', client: { baseUrl: server.api } });
  expect(sent).toEqual({ txid: transaction.txid() });
  await page.goto(`${server.api}/transactions/0x${transaction.txid()}`);
  await loaded(page);
  const steps = page.getByRole('form', { name: 'Steps of the simulated node' });
  await steps.getByRole('button', { name: 'Mine a block' }).waitFor();
  await looksGood(page);
  expect(await steps.getByLabel('Fee').inputValue()).toBe('800');
  // The page shows the replaced transaction as dropped before the answer arrives, and follows the new one all the same.
  await page.route('**/stackside/v1/devnet/replace', async (route) => {
    const response = await route.fetch();
    await page.getByRole('heading', { name: 'Dropped' }).waitFor();
    await route.fulfill({ response });
  });
  await steps.getByRole('button', { name: 'Replace' }).click();
  await page.waitForURL((url) => !url.href.includes(transaction.txid()));
  const [replacement] = (await state(server)).pending;
  expect(page.url()).toEndWith(`/transactions/${replacement}`);
  await until(async () => (await steps.getByLabel('Fee').inputValue()) === '1600');
  await steps.getByRole('button', { name: 'Drop' }).click();
  await page.getByRole('heading', { name: 'Dropped' }).waitFor();
  expect((await state(server)).pending).toEqual([]);
  expect(complaints).toEqual([]);
});

browserTest(
  'forms of a devnet name their fields in errors, and pending transactions of simulated users are dropped',
  async () => {
    await using busy = await demo({ pastBlocks: '19' });
    const mempool = async () =>
      (await busy.json<{ results: { tx_id: string }[] }>('/extended/v1/tx/mempool?limit=50')).results;
    const [pending, ...others] = await mempool();
    const { page } = await openPage(`${busy.api}/devnet`);
    await page
      .getByLabel('The simulated chain')
      .getByText(`Pending${others.length + 1}transactions`)
      .waitFor();
    const panel = page.getByRole('region', { name: 'Simulated node' });
    const submit = async (name: string, label: string, value: string) => {
      const form = panel.getByRole('form', { name, exact: true });
      await form.getByLabel(label).fill(value);
      await form.getByRole('button').click();
      return form;
    };
    // The browser shows these mistakes at the field.
    for (const [name, label, value] of [
      ['Mine', 'Blocks', '100000'],
      ['Mine Bitcoin blocks', 'or up to height', '1'],
      ['Fork', 'Blocks to orphan', '101'],
      ['Fund', 'STX', '99999999999999'],
      ['Let time pass', 'Minutes', '1000000000'],
    ] as const) {
      const form = await submit(name, label, value);
      expect([name, await form.getByLabel(label).evaluate((field) => Reflect.get(field, 'validity').valid)]).toEqual([
        name,
        false,
      ]);
    }
    const message = 'Depth must be <= 19, the number of blocks below the tip';
    const fork = await submit('Fork', 'Blocks to orphan', '50');
    await fork.getByRole('alert').getByText(message, { exact: true }).waitFor();
    await looksGood(page);
    await page.goto(`${busy.api}/transactions/${pending?.tx_id}`);
    const steps = page.getByRole('form', { name: 'Steps of the simulated node' });
    await steps.getByRole('button', { name: 'Drop' }).waitFor();
    await loaded(page);
    // The node can't sign for simulated users.
    expect(await steps.getByRole('button', { name: 'Replace' }).count()).toBe(0);
    await looksGood(page);
    await steps.getByRole('button', { name: 'Drop' }).click();
    await page.getByRole('heading', { name: 'Dropped' }).waitFor();
    expect(await mempool()).toEqual(others);
  },
);

browserTest('pages show that a contract or token is missing, or that an address is of another network', async () => {
  const { page } = await openPage(`${server.api}/contracts/${WALLET.address}.nothing?tab=source`);
  await page.getByText('The chain has no contract with this identifier.').waitFor();
  expect(await page.getByText('deployed by').count()).toBe(0);
  for (const name of ['Source', 'Call a function', 'Same deployer'])
    expect(await page.getByRole('link', { name, exact: true }).count()).toBe(0);
  await looksGood(page);
  await page.goto(`${server.api}/principals/SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7`);
  await page.getByText(/^This is an address of mainnet/).waitFor();
  await looksGood(page);
  await page.goto(`${server.api}/tokens/${WALLET.address}.nothing::coin`);
  await page.getByText(/^There is nothing of this token/).waitFor();
  await looksGood(page);
});

browserTest('ages follow the clock of the devnet, which begins in the past and can be advanced', async () => {
  const { page, complaints } = await openPage(`${server.api}/blocks`);
  const ages = page.getByRole('table', { name: 'Blocks' }).locator('time');
  const { tip } = await state(server);
  await server.steer('time', { seconds: 3 * 86_400 });
  await server.steer('mine');
  await page.getByRole('link', { name: String(tip.height + 1), exact: true }).waitFor();
  // The newest block is new by the chain's clock, which is far behind the browser's.
  await until(async () => /^(just now|\d+ s ago)$/.test((await ages.first().textContent()) ?? ''));
  await until(async () => /^3 d ago/.test((await ages.nth(1).textContent()) ?? ''));
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  const newest = page.getByRole('list', { name: 'Newest blocks' }).getByRole('link', { name: /^[\d,]+\D/ });
  await newest
    .first()
    .getByText(/just now|s ago/)
    .waitFor();
  await page.getByText(/^newest block (just now|\d+ s ago)$/).waitFor();
  // A day of the chain isn't a day of this computer.
  const { tip: newestBlock } = await state(server);
  await follow(page, `/blocks/${newestBlock.height}`);
  await page.getByText(/^\((just now|\d+ s ago) by the chain’s clock\)$/).waitFor();
  expect(complaints).toEqual([]);
});

describeWith('Clarity', hasClarity, () => {
  browserTest('an account of the project deploys typed source, and sees the line of an error', async () => {
    using project = await clarityProject({});
    await using real = await demo({ clarity: project.path });
    const { page, complaints } = await openPage(`${real.api}/contracts/new`);
    await page.getByLabel('Sender').selectOption('wallet_1');
    const versions = page.getByLabel('Clarity version').locator('option');
    expect(await versions.last().textContent()).toBe('5');
    const editor = page.getByLabel('Source');
    await editor.fill('(define-data-var n uint u0)\n(define-public (add)\n  (ok (+ 1 (var-get n))))');
    await editor.press('Control+Enter');
    await outcome(page).getByText("expecting expression of type 'int', found 'uint'").waitFor();
    await outcome(page).getByRole('button', { name: 'Go to line 2' }).waitFor();
    await editor.fill(
      '(define-data-var n uint u0)\n(define-public (pay (to principal)) (stx-transfr? u5 tx-sender to))',
    );
    await editor.press('Control+Enter');
    await outcome(page).getByText("use of unresolved function 'stx-transfr?'").waitFor();
    await outcome(page).getByRole('button', { name: 'Go to line 2' }).click();
    await page.keyboard.type('(define-public (pay (to principal)) (stx-transfer? u5 tx-sender to))');
    await editor.press('Control+Enter');
    await outcome(page).getByText('Success').waitFor();
    await looksGood(page);
    await outcome(page).getByRole('link', { name: 'Call a function' }).click();
    const form = page.getByRole('form', { name: 'Call pay' });
    // The sender is the chosen account.
    expect(await form.getByLabel('Sender').inputValue()).toBe('wallet_1');
    await form.getByRole('textbox').fill(DEPLOYER.address);
    await form.getByRole('button', { name: 'Call' }).click();
    await outcome(page).getByText('Success').waitFor();
    const { results } = await real.json<{ results: { sender: { address: string } }[] }>(
      '/extended/v3/transactions?limit=1',
    );
    expect(results[0]?.sender.address).toBe(WALLET.address);
    // A failed call shows the expression that made the error.
    await form.getByRole('textbox').fill(WALLET.address);
    await form.getByRole('button', { name: 'Call' }).click();
    await outcome(page).getByText('Failed').waitFor();
    await outcome(page).getByRole('link').last().click();
    await page.getByRole('region', { name: 'Expression' }).getByText('(stx-transfer? u5 tx-sender to)').waitFor();
    await page
      .getByRole('link', { name: /^line 2 of / })
      .last()
      .waitFor();
    await looksGood(page);
    // A trace may be long, and its last line is the cause.
    await page.route('**/devnet/transactions/*', async (route) => {
      const answer = await (await route.fetch()).json();
      await route.fulfill({
        json: { ...answer, failure: { ...answer.failure, trace: `${'call\n'.repeat(9_000)}the end` } },
      });
    });
    await page.reload();
    await page.getByRole('region', { name: 'Calls' }).getByText('the end').waitFor();
    expect(complaints).toEqual([]);
  });
});

endBrowser();
