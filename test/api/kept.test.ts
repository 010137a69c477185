/**
 * An index of chosen accounts and contracts: whatever is asked of it, on any route, it answers as an index of everything does, or says
 * that it does not keep what the answer needs. The routes are those of the OpenAPI document, so that a new one is tried as well.
 */
import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { parsedJson } from '../../src/base/json.ts';
import { contractOfAsset } from '../../src/chain/token-contracts.ts';
import { networks } from '../../src/devnet/network.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { accounts } from '../../src/devnet/wallet.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { rebuildIndex } from '../../src/store/ingest/rebuild.ts';
import { type OpenApi, openApi } from '../support/api/api.ts';
import { type GetRoute, getRoutes, isOfOperator, randomUrl, Subjects } from '../support/api/random-urls.ts';
import { ingestOf, openAt, received } from '../support/data/ingest.ts';
import { tables } from '../support/data/tables.ts';
import { timeout } from '../support/property.ts';

const CHAIN = { blocks: 40, accounts: 8, transactionsPerBlock: 8, forkEvery: 5, forkDepth: 3 };
/** URLs of each route. */
const TRIES = 12;

const rulesFor = (...only: string[]) => ({ sendMany: { mainnet: null, testnet: null }, only });

const isRefused = (status: number, text: string): boolean => status === 404 && text.includes('not_kept');

/** An account, a contract, and a contract of tokens. */
function chosenAmong(subjects: Subjects, seed: number, prng: Prng): string[] {
  const account = accounts(String(seed), 'user', CHAIN.accounts, networks.testnet)[0]!.address;
  const token = contractOfAsset(prng.pick([...subjects.assets]));
  return [...new Set([account, prng.pick([...subjects.contracts]), token])].sort();
}

/** Subjects that are chosen, and whatever they take part in. */
function aboutChosen(events: readonly NodeEvent[], only: readonly string[]): Subjects {
  const about = new Subjects();
  for (const event of events) about.add(event);
  const keep = (set: Set<string>, isOne: (text: string) => boolean) => {
    for (const text of set) if (!isOne(text)) set.delete(text);
  };
  keep(about.principals, (text) => only.includes(text));
  keep(about.contracts, (text) => only.includes(text));
  keep(about.assets, (text) => only.includes(contractOfAsset(text)));
  return about;
}

async function compare(chosen: OpenApi, everything: OpenApi, url: string): Promise<'answered' | 'refused' | 'no_such'> {
  const [ours, whole] = await Promise.all([chosen.get(url), everything.get(url)]);
  const [text, expected] = await Promise.all([ours.text(), whole.text()]);
  if (isRefused(ours.status, text)) return 'refused';
  // The members of an object have no order.
  const content = (body: string): unknown => parsedJson(body) ?? body;
  expect({ url, status: ours.status, content: content(text) }).toEqual({
    url,
    status: whole.status,
    content: content(expected),
  });
  return ours.status === 200 ? 'answered' : 'no_such';
}

/** Finds what there is, and not what there is of something. */
const SEARCH = '/stackside/v1/search';

const routesOf = async (api: OpenApi): Promise<GetRoute[]> =>
  getRoutes(await (await api.get('/docs/json')).json()).filter(
    (route) => !isOfOperator(route) && route.path !== SEARCH,
  );

describe('an index of chosen accounts and contracts', () => {
  for (const seed of [1, 2, 3]) {
    test(
      `answers as one of everything, or says that it does not keep what the answer needs: chain ${seed}`,
      async () => {
        const prng = new Prng(`kept/${seed}`);
        const events = [...devnetEvents({ seed, ...CHAIN })];
        const subjects = new Subjects();
        for (const event of events) subjects.add(event);
        const only = chosenAmong(subjects, seed, prng);
        const about = aboutChosen(events, only);
        using whole = ingestOf(events.map(received));
        using kept = ingestOf(events.map(received), { rules: rulesFor(...only) });
        using everything = openApi(whole.path);
        using chosen = openApi(kept.path);
        const answered = new Set<string>();
        const refused = new Set<string>();
        for (const route of await routesOf(everything)) {
          for (let n = 0; n < TRIES; n++) {
            const url = randomUrl(route, n % 2 === 0 ? subjects : about, prng);
            const how = await compare(chosen, everything, url);
            if (how === 'answered') answered.add(route.path);
            if (how === 'refused') refused.add(route.path);
          }
        }
        expect(answered.size).toBeGreaterThan(60);
        expect(refused.size).toBeGreaterThan(90);
        // Rows are what the journal makes, also of blocks that left the chain and came back.
        const found = checkDirectory(kept.path, { deep: silentMachine }).flatMap(({ problems }) => problems);
        expect(found).toEqual([]);
      },
      timeout,
    );
  }

  test('names what it does not keep, and the code, in each form of errors', async () => {
    const events = [...devnetEvents({ seed: 4, ...CHAIN, blocks: 6 })];
    const [chosen, other] = accounts('4', 'user', 8, networks.testnet).map(({ address }) => address) as [
      string,
      string,
    ];
    using kept = ingestOf(events.map(received), { rules: rulesFor(chosen) });
    using api = openApi(kept.path);
    const answer = async (path: string) => {
      const response = await api.get(path);
      return { status: response.status, body: (await response.json()) as unknown };
    };
    const refusal = (what: string) => ({
      status: 404,
      body: {
        statusCode: 404,
        code: 'not_kept',
        error: 'Not Found',
        message: `This server keeps chosen accounts and contracts alone (--only), not ${what}`,
      },
    });
    expect((await answer(`/extended/v3/principals/${chosen}/balances/stx`)).status).toBe(200);
    expect(await answer(`/extended/v3/principals/${other}/balances/stx`)).toEqual(refusal(`what concerns ${other}`));
    expect(await answer('/extended/v3/transactions')).toEqual(refusal('all that the answer needs'));
    const id = `0x${'5'.repeat(64)}`;
    expect(await answer(`/extended/v3/transactions/${id}`)).toEqual(refusal(`the transaction ${id}`));
    expect((await answer('/v1/names')).body).toEqual({ error: expect.stringMatching(/\(not_kept\)$/) });
    // Mistakes are said first.
    expect((await answer('/extended/v3/transactions?limit=0')).status).toBe(400);
    expect((await answer('/extended/v2/blocks?limit=1')).status).toBe(200);
  });

  test('is searched for what it keeps', async () => {
    const events = [...devnetEvents({ seed: 6, ...CHAIN, blocks: 8 })];
    const [chosen, other] = accounts('6', 'user', 8, networks.testnet).map(({ address }) => address) as [
      string,
      string,
    ];
    using kept = ingestOf(events.map(received), { rules: rulesFor(chosen) });
    using api = openApi(kept.path);
    const found = async (text: string) => {
      const answer = await api.get(`${SEARCH}?q=${text}`);
      return ((await answer.json()) as { results: { kind: string; id: string }[] }).results;
    };
    expect(await found(chosen)).toContainEqual(expect.objectContaining({ kind: 'address', id: chosen }));
    expect(await found(other)).not.toContainEqual(expect.objectContaining({ kind: 'address' }));
    expect(await found('3')).toContainEqual(expect.objectContaining({ kind: 'block' }));
    const tokens = await found('token');
    expect(new Set(tokens.map(({ kind }) => kind))).toEqual(new Set(['contract']));
  });

  test('stays as it was chosen until it is rebuilt', () => {
    const events = [...devnetEvents({ seed: 5, ...CHAIN, blocks: 8 })];
    const [one, other] = accounts('5', 'user', 8, networks.testnet).map(({ address }) => address) as [string, string];
    using whole = ingestOf(events.map(received));
    using kept = ingestOf(events.map(received), { rules: rulesFor(one) });
    const few = tables(kept.path);
    // Of transactions that are not kept, nothing stays for ever.
    const principalsIn = (directory: string): number => {
      using db = new Database(indexPath(directory), { readonly: true });
      return db.query<{ n: number }, []>('SELECT count(*) AS n FROM principals').get()!.n;
    };
    expect(principalsIn(kept.path)).toBeLessThan(principalsIn(whole.path));
    expect(few.transactions?.length).toBeLessThan(tables(whole.path).transactions?.length ?? 0);
    openAt(kept.path, { rules: rulesFor(one) }).ingest.close();
    openAt(kept.path).ingest.close();
    const refused = (directory: string, only: string[]) => () =>
      openAt(directory, { rules: rulesFor(...only) }).ingest.close();
    expect(refused(kept.path, [])).toThrow(`keeps ${one}, but the setting is to keep everything.`);
    expect(refused(kept.path, [one, other])).toThrow(`keeps ${one}, but the setting is to keep ${one} ${other}.`);
    expect(refused(whole.path, [one])).toThrow(`keeps everything, but the setting is to keep ${one}.`);
    const rebuild = (directory: string, options: object) =>
      rebuildIndex({ directory, chainId: null, machine: silentMachine, log: () => {}, force: false, ...options });
    // Without the setting, a rebuild keeps what the index has.
    rebuild(kept.path, {});
    expect(tables(kept.path)).toEqual(few);
    rebuild(whole.path, { rules: rulesFor(one) });
    expect(tables(whole.path)).toEqual(few);
    rebuild(whole.path, { rules: rulesFor() });
    using again = ingestOf(events.map(received));
    expect(tables(whole.path)).toEqual(tables(again.path));
  });
});
