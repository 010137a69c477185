/**
 * Principals and contracts that the index doesn't contain. Rows have numbers for principals, so a query with a wrong number for
 * an unknown principal would find another principal's rows. In this chain the first number has rows of many kinds.
 */
import { expect, test } from 'bun:test';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { transactionId } from '../../src/codec/transaction.ts';
import { networks } from '../../src/devnet/network.ts';
import { contractCall, signTransaction } from '../../src/devnet/transaction.ts';
import { routesOf } from '../support/api/app.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { alice, block } from '../support/events/handmade.ts';
import { BOOT, bonds, locked, minted, type PoxEvent, stacked } from '../support/events/pox.ts';
import { targetOf } from '../support/generate/examples.ts';
import { testApp, VERSION } from './test-app.ts';

const KNOWN = `${BOOT}.pox-5`;
const UNKNOWN = `${BOOT}.nothing`;
const TOKEN = `${KNOWN}::coin`;

const raw = signTransaction(
  { payload: contractCall(KNOWN, 'stake', []), origin: { account: alice, nonce: 0, fee: 1n } },
  networks.testnet,
);
const id = toHex(transactionId(raw));

const print = ({ contract, value }: PoxEvent) => ({
  type: 'contract_event',
  contract_event: { contract_identifier: contract, topic: 'print', raw_value: toHex(value) },
});
const events = [
  minted(KNOWN, 1_000n),
  { type: 'ft_mint_event', ft_mint_event: { asset_identifier: TOKEN, recipient: KNOWN, amount: '5' } },
  {
    type: 'nft_mint_event',
    nft_mint_event: { asset_identifier: `${KNOWN}::art`, recipient: KNOWN, raw_value: toHex(clarity.uint(1)) },
  },
  print(
    stacked('pox-4', 'delegate-stx', alice.address, {
      'amount-ustx': clarity.uint(5),
      'delegate-to': clarity.principal(KNOWN),
      'unlock-burn-height': clarity.none(),
    }),
  ),
  print(bonds.stake(KNOWN, KNOWN, 700n, [6, 8], 400)),
  locked(KNOWN, 700n, 400),
].map((event, index) => ({ txid: id, event_index: index, committed: true, ...event }));

const app = testApp(memoryIndex([block(null, 'first', [{ id, raw: toHex(raw) }], { events }).event]));

/** Parameters that name a principal. */
const NAMES = ['principal', 'contract_id', 'pool_principal', 'address', 'stx_address'];
/** Parameters that name an asset of a contract. */
const ASSETS = ['asset_identifier', 'token'];

const routes = routesOf(VERSION).filter(({ method, path, detail }) => {
  const named = detail.parameters.some(({ name }) => NAMES.includes(name) || ASSETS.includes(name));
  return method === 'GET' && named && !path.startsWith('/extended/v1/faucets/');
});

/** The answers of all these routes about a principal, by path. */
async function answersAbout(principal: string): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  for (const route of routes) {
    const values = Object.fromEntries(
      route.detail.parameters
        .filter(({ required, name }) => required || NAMES.includes(name) || ASSETS.includes(name))
        .map(({ name, example }) => {
          if (NAMES.includes(name)) return [name, principal];
          if (ASSETS.includes(name)) return [name, `${principal}::coin`];
          return [name, name === 'pox' ? 'pox4' : example];
        }),
    );
    const response = await app.request(targetOf(route, values));
    answers.set(route.path, await response.text());
  }
  return answers;
}

test("no route returns another principal's data for an unknown principal", async () => {
  const [known, unknown] = [await answersAbout(KNOWN), await answersAbout(UNKNOWN)];
  const shows = (text: string): boolean => text.includes(KNOWN) || text.includes(id);
  const paths = [...known].filter(([, text]) => shows(text)).map(([path]) => path);
  expect(paths.length).toBeGreaterThan(20);
  for (const path of [
    '/stackside/v1/smart-contracts/{contract_id}/calls',
    '/stackside/v1/smart-contracts/{contract_id}/logs',
    '/extended/v1/{pox}/{pool_principal}/delegations',
  ]) {
    expect(paths).toContain(path);
  }
  for (const [path, text] of unknown) expect([path, shows(text)]).toEqual([path, false]);
});
