/** The second name system: over chains with forks, the API returns the same names as a plain model of the contract. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { networks } from '../../src/devnet/network.ts';
import { accounts } from '../../src/devnet/wallet.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { sql } from '../../src/store/queries/bns-names.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { testApp } from '../api/test-app.ts';
import { openNew } from '../support/data/ingest.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { BNS, type BnsTransaction, bnsBlock, bnsChosen, bnsLaunched, bnsOperated } from '../support/events/bns.ts';
import { block, type MadeBlock } from '../support/events/handmade.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

const users = accounts('bns', 'user', 3, networks.testnet);
const labels = ['alice', 'alina', 'bob', 'zoe'];
/** Lifetimes of the namespaces, in Bitcoin blocks. */
const lifetimes = { btc: 3, app: 0 } as const;
type Namespace = keyof typeof lifetimes;
const namespaces = Object.keys(lifetimes) as Namespace[];

type Act =
  | { does: 'register'; isAirdrop: boolean; label: string; namespace: Namespace; to: number }
  | { does: 'transfer'; token: number; to: number }
  | { does: 'renew'; token: number }
  | { does: 'burn'; token: number }
  | { does: 'choose'; token: number };

interface Step {
  /** Blocks that the fork replaces; 0 for the next block. */
  back: number;
  acts: Act[];
}

const token = fc.nat(5);
const to = fc.nat(users.length - 1);
const label = fc.constantFrom(...labels);
const namespace = fc.constantFrom(...namespaces);
const registration = { does: fc.constant('register' as const), isAirdrop: fc.boolean(), label, namespace, to };
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 3, arbitrary: fc.record(registration) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('transfer' as const), token, to }) },
  fc.record({ does: fc.constantFrom('renew' as const, 'burn' as const, 'choose' as const), token }),
);
const steps = fc.array(fc.record({ back: fc.constantFrom(0, 0, 0, 1, 2), acts: fc.array(act, { maxLength: 3 }) }), {
  minLength: 2,
  maxLength: 14,
});

interface Name {
  id: number;
  label: string;
  namespace: Namespace;
  owner: number;
  renewal: number;
  status: string;
}

/** The contract's maps after a block. */
interface State {
  made: MadeBlock;
  parent: State | null;
  lastId: number;
  names: ReadonlyMap<number, Name>;
  /** Token by owner. */
  primaries: ReadonlyMap<number, number>;
}

const burnHeightOf = (height: number): number => 100 + height;

/** Makes the next block by the rules of the contract. */
function mineActs(parent: State | null, label: string, acts: readonly Act[]): State {
  const names = new Map(parent?.names);
  const primaries = new Map(parent?.primaries);
  let lastId = parent?.lastId ?? 0;
  const burnHeight = burnHeightOf((parent?.made.height ?? 0) + 1);
  const transactions: BnsTransaction[] =
    parent === null ? namespaces.map((namespace) => bnsLaunched(namespace, lifetimes[namespace], burnHeight)) : [];
  const addressOf = (user: number): string => users[user]!.address;
  const lose = ({ id, owner }: Name): void => {
    if (primaries.get(owner) === id) primaries.delete(owner);
  };
  const receive = (id: number, owner: number): void => {
    if (!primaries.has(owner)) primaries.set(owner, id);
  };
  const nextRenewal = (namespace: Namespace): number =>
    lifetimes[namespace] === 0 ? 0 : burnHeight + lifetimes[namespace];
  const print = (name: Name, from: number | null, to: number | null, hasProperties = true): void => {
    const { id, label: its, namespace, status, renewal } = name;
    const [sender, recipient] = [from, to].map((user) => (user === null ? null : addressOf(user))) as [string, string];
    const printed = { id, label: its, namespace, operation: status as never, from: sender, to: recipient };
    transactions.push(bnsOperated(hasProperties ? { ...printed, renewalHeight: renewal } : printed));
  };
  for (const act of acts) {
    if (act.does === 'register') {
      if ([...names.values()].some((name) => name.label === act.label && name.namespace === act.namespace)) continue;
      const status = act.isAirdrop ? 'new-airdrop' : 'new-name';
      const renewal = nextRenewal(act.namespace);
      const name = { id: ++lastId, label: act.label, namespace: act.namespace, owner: act.to, renewal, status };
      names.set(name.id, name);
      if (act.isAirdrop) primaries.set(act.to, name.id);
      else receive(name.id, act.to);
      print(name, null, act.to, !act.isAirdrop);
      continue;
    }
    const name = [...names.values()][act.token];
    if (name === undefined) continue;
    if (act.does === 'choose') {
      primaries.set(name.owner, name.id);
      transactions.push(bnsChosen(users[name.owner]!, name.id));
    } else if (act.does === 'burn') {
      lose(name);
      names.delete(name.id);
      print({ ...name, status: 'burn-name' }, name.owner, null, false);
    } else if (act.does === 'renew') {
      const renewed = { ...name, renewal: nextRenewal(name.namespace), status: 'renew-name' };
      names.set(name.id, renewed);
      print(renewed, name.owner, name.owner);
    } else if (act.to !== name.owner) {
      const transferred = { ...name, owner: act.to, status: 'transfer-name' };
      lose(name);
      receive(name.id, act.to);
      names.set(name.id, transferred);
      print(transferred, name.owner, act.to);
    }
  }
  const parentBlock = parent?.made ?? null;
  return { made: bnsBlock(parentBlock, label, ...transactions), parent, lastId, names, primaries };
}

const fullName = ({ label, namespace }: Pick<Name, 'label' | 'namespace'>): string => `${label}.${namespace}`;
const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);

/** The answers that the model expects, in the order of names. */
function answersOf({ names, primaries, made: { height } }: State) {
  const renewalOf = ({ renewal }: Name) => ({
    burn_block_height: renewal,
    has_ended: renewal <= burnHeightOf(height),
    expected_time: expect.any(Number),
  });
  const answer = (name: Name) => ({
    name: fullName(name),
    token_id: name.id,
    owner: users[name.owner]!.address,
    is_primary: primaries.get(name.owner) === name.id,
    status: name.status,
    renewal: name.renewal === 0 ? null : renewalOf(name),
  });
  return [...names.values()].map(answer).sort(byName);
}

const ROUTE = '/stackside/v1/names/bns-v2';

test('after any forks, names, owners, renewals and primary names equal a model of the contract', async () => {
  const seen = new Seen({ 'found names': 3, names: 7, forks: 2, burns: 1, ended: 1, primaries: 3 });
  await assertProperty(
    fc.asyncProperty(steps, async (generated: Step[]) => {
      using open = openNew({ views: true });
      let tip = mineActs(null, 'first', []);
      open.ingest.receive(tip.made.event);
      for (const [index, { back, acts }] of generated.entries()) {
        let from = tip;
        let replaced = 0;
        for (; replaced < back && from.parent !== null; replaced++) from = from.parent;
        if (replaced > 0) seen.add('forks');
        // As many blocks as the fork replaces, and the next one.
        for (let nth = 0; nth <= replaced; nth++) {
          from = mineActs(from, `${index} ${nth}`, nth === 0 ? acts : []);
          open.ingest.receive(from.made.event);
        }
        if (from.lastId > from.names.size) seen.add('burns');
        tip = from;
      }
      const snapshots = openSnapshots(open.directory);
      const { request } = testApp(snapshots);
      const get = async (path: string) => (await (await request(`${ROUTE}${path}`)).json()) as { results: object[] };
      const names = answersOf(tip);
      seen.add('names', names.length);
      seen.add('ended', names.filter(({ renewal }) => renewal?.has_ended === true).length);
      seen.add('primaries', tip.primaries.size);
      const expectNames = (results: object[], expected: object[]) => {
        expect(results).toHaveLength(expected.length);
        expect(results).toMatchObject(expected);
      };
      expectNames((await get('')).results, names);
      const filtered: [query: string, isListed: (name: string) => boolean][] = [
        ['namespace=btc', (name) => name.endsWith('.btc')],
        ['prefix=ali', (name) => name.startsWith('ali')],
        ['prefix=alic&namespace=app', (name) => name === 'alice.app'],
      ];
      for (const [query, isListed] of filtered) {
        const expected = names.filter(({ name }) => isListed(name));
        expectNames((await get(`?${query}`)).results, expected);
      }
      for (const label of labels) {
        const response = await request(`${ROUTE}/${label}.btc`);
        const name = names.find((item) => item.name === `${label}.btc`);
        expect(response.status).toBe(name === undefined ? 404 : 200);
        if (name !== undefined) expect(await response.json()).toMatchObject(name);
      }
      using db = new Database(indexPath(open.directory), { readonly: true });
      expect(
        db
          .query(
            `SELECT b.name, b.token_id, n.owner, b.last_operation AS status FROM v1_bns_names b
               JOIN v1_nfts n ON n.asset_identifier = b.contract_id || '::BNS-V2' AND n.value = b.token_value
              WHERE b.contract_id = ?1 ORDER BY b.name`,
          )
          .all(BNS),
      ).toEqual(names.map(({ name, token_id, owner, status }) => ({ name, token_id, owner, status })));
      for (const text of ['ali', 'alice', 'ALICE.BTC', 'zoe.app']) {
        const { results } = (await (await request(`/stackside/v1/search?q=${text}`)).json()) as {
          results: { kind: string; id: string; detail: string | null; match: string }[];
        };
        const key = text.toLowerCase();
        const expected = new Map(names.filter(({ name }) => name.startsWith(key)).map((item) => [item.name, item]));
        const hits = results.filter(({ kind }) => kind === 'bns_name');
        expect(hits.map(({ id }) => id).sort()).toEqual([...expected.keys()].sort());
        for (const { id, match, detail } of hits) {
          expect(detail).toBe(expected.get(id)!.owner);
          expect(match).toBe(id === key || id.startsWith(`${key}.`) ? 'exact' : 'start');
        }
        seen.add('found names', hits.length);
      }
      for (const { address } of users) {
        const ownNames = names.filter(({ owner }) => owner === address).sort((a, b) => a.token_id - b.token_id);
        const page = await get(`/owners/${address}`);
        expectNames(page.results, ownNames);
        expect(page).toMatchObject({ total: ownNames.length });
      }
      const principals = users.map(({ address }) => address);
      const response = await request(`${ROUTE}/primary`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ principals }),
      });
      const primaryOf = (user: number) =>
        names.find(({ token_id }) => token_id === tip.primaries.get(user))?.name ?? null;
      expect(await response.json()).toMatchObject({
        results: principals.map((principal, user) => ({ principal, name: primaryOf(user) })),
      });
      snapshots.close();
      expect(problemsIn(open.directory)).toEqual([]);
    }),
    { seen, cases: 1 },
  );
});

test.each<[string, string, string]>([
  ['byName', String(sql.byName), 'bns_names_current (contract_id=? AND name=?)'],
  [
    'all.forward',
    String(sql.all.texts.forward),
    'bns_names_current (contract_id=? AND (name,bns_id)>(?,?) AND name<?)',
  ],
  [
    'ofNamespace.forward',
    String(sql.ofNamespace.texts.forward),
    'bns_names_by_namespace (contract_id=? AND namespace=? AND (name,bns_id)>(?,?) AND name<?)',
  ],
])('%s reads no other names than it returns', (_, statement, step) => {
  using open = openNew();
  using db = new Database(indexPath(open.directory), { readonly: true });
  const [first] = db.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${statement}`).all();
  expect(first?.detail).toBe(`SEARCH b USING INDEX ${step}`);
});

const register = (label: string, id: number, { renewalHeight } = { renewalHeight: 900 }, contract = BNS) => {
  const name = { label, namespace: 'btc', operation: 'new-name' as const, renewalHeight };
  return bnsOperated({ ...name, id, from: null, to: users[0]!.address }, contract);
};

test('an imported name expires a lifetime after the launch, and prints of other contracts are separate', async () => {
  const otherContract = `${users[1]!.address}.BNS-V2`;
  const imported = register('early', 1, { renewalHeight: 0 });
  const elsewhere = register('else', 1, { renewalHeight: 7 }, otherContract);
  const first = bnsBlock(null, 'imported', imported, elsewhere);
  const launched = bnsBlock(first, 'launched', bnsLaunched('btc', 1_000, 102));
  const unlaunched = testApp(memoryIndex([first.event]));
  expect(await (await unlaunched.request(`${ROUTE}/early.btc`)).json()).toMatchObject({ renewal: null });
  const index = memoryIndex([first.event, launched.event]);
  const { request } = testApp(index);
  expect(await (await request(`${ROUTE}/early.btc`)).json()).toMatchObject({
    renewal: { burn_block_height: 1_102, has_ended: false },
  });
  expect((await request(`${ROUTE}/else.btc`)).status).toBe(404);
  const chosen = testApp(index, { namesContract: otherContract });
  expect(await (await chosen.request(`${ROUTE}/else.btc`)).json()).toMatchObject({ token_id: 1 });
  expect((await chosen.request(`${ROUTE}/early.btc`)).status).toBe(404);
});

test('a chain without the contract returns empty lists and 404', async () => {
  const { request } = testApp(memoryIndex([block(null, 'empty').event]));
  const get = async (path: string) => (await request(`${ROUTE}${path}`)).json();
  expect(await get('')).toMatchObject({ total: null, results: [] });
  expect(await get(`/owners/${users[0]!.address}`)).toMatchObject({ total: 0, results: [] });
  expect((await request(`${ROUTE}/alice.btc`)).status).toBe(404);
  expect(BNS).toStartWith('ST');
});
