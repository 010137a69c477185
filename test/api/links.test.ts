/** Follows every link of each deprecated route over a simulated chain: the successor returns the same object. */
import { expect, test } from 'bun:test';
import type { Route } from '../../src/http/route.ts';
import { startTour } from '../client/tour.ts';
import { routesOf } from '../support/api/app.ts';
import { type Ask, candidatesOf } from '../support/generate/example-candidates.ts';
import { firstTelling, targetOf } from '../support/generate/examples.ts';

const tour = await startTour();

const request = (target: string): Promise<Response> =>
  tour.fetch(new Request(`http://localhost${target}`, { redirect: 'manual' }));
const ask: Ask = async (target) => {
  const response = await request(target);
  const text = await response.text();
  return { status: response.status, body: /^[[{]/.test(text) ? JSON.parse(text) : text };
};
const candidates = await candidatesOf(ask);

const deprecated = routesOf().filter((route) => route.deprecated !== null && route.method === 'GET');
/** Routes without successors: simulated nodes have neither microblocks nor faucets. */
const routes = deprecated.filter(({ path }) => !/\/(microblock|faucets)\b/.test(path));

/** Routes that the node answers. It lacks a snapshot of the chain here. */
const OF_THE_NODE = /^\/v3\/transaction\/[0-9a-f]{64}$/;

/** A related route for which the client chooses transactions. */
const NEEDS_TX_ID = /^\/extended\/v3\/principals\/[^/]+\/balance-changes$/;

interface Link {
  target: string;
  rel: string;
}
const linksOf = ({ headers }: Response): Link[] =>
  [...(headers.get('link') ?? '').matchAll(/<([^>]*)>; rel="([^"]*)"/g)].map(([, target = '', rel = '']) => ({
    target,
    rel,
  }));

/** Identifiers in answers: hashes, principals and asset identifiers. */
const identifiers = (body: unknown): Set<string> =>
  new Set(JSON.stringify(body).match(/\b(0x[0-9a-f]{40,}|S[TN][0-9A-Z]{28,41}(\.[a-z][\w-]*(::[\w-]+)?)?)\b/g));

/** An answer about nothing: an empty list, or a balance of none. */
const isEmpty = (body: { results?: unknown[]; balance?: string } | null): boolean =>
  body?.results?.length === 0 || body?.balance === '0';

async function follow(route: Route): Promise<{ target: string; links: Link[] }> {
  const { parameters } = await firstTelling(route, candidates, ask);
  const target = targetOf(route, parameters);
  const response = await request(target);
  expect([target, response.status]).toEqual([target, 200]);
  const links = linksOf(response);
  const old = identifiers([target, await response.text()]);
  for (const link of links) {
    if (OF_THE_NODE.test(link.target)) {
      expect(target).toContain(link.target.split('/').at(-1)!);
      continue;
    }
    const { status, body } = await ask(link.target);
    if (NEEDS_TX_ID.test(link.target)) {
      const message = "querystring must have required property 'tx_id'";
      expect([link.rel, status, body]).toMatchObject(['related', 400, { message }]);
      continue;
    }
    expect([target, link.target, status]).toEqual([target, link.target, 200]);
    const ids = identifiers([decodeURIComponent(link.target), body]);
    const common = [...ids].filter((id) => old.has(id));
    // Answers about supplies and block times contain no identifiers, and related routes return other objects.
    if (link.rel !== 'related' && ids.size > 0 && old.size > 0)
      expect([target, link.target, common.length > 0]).toEqual([target, link.target, true]);
    expect([target, link.target, isEmpty(body)]).toEqual([target, link.target, false]);
  }
  return { target, links };
}

test('more than 45 deprecated routes are tested', () => {
  expect(routes.length).toBeGreaterThan(45);
});

test('every link of a deprecated route returns the same object', async () => {
  for (const route of routes) {
    const { links } = await follow(route);
    const { replacement, related } = route.deprecated!;
    // Rewards went to Bitcoin addresses without a known principal.
    const expected = route.path.startsWith('/extended/v1/burnchain/rewards/') ? 0 : [replacement ?? []].flat().length;
    expect([route.path, links.filter(({ rel }) => rel === 'successor-version').length]).toEqual([route.path, expected]);
    const relatedTarget = links.find(({ rel }) => rel === 'related')?.target;
    expect([route.path, relatedTarget !== undefined]).toEqual([route.path, related !== undefined]);
  }
});

/** The targets of a request's links, after checking that each of them answers. */
async function successors(target: string): Promise<string[]> {
  const targets = linksOf(await request(target)).map((link) => link.target);
  for (const linked of targets) {
    const { status, body } = await ask(linked);
    expect([linked, status, isEmpty(body)]).toEqual([linked, 200, false]);
  }
  return targets;
}

test("a successor link writes an instance's value with 0x, however the request wrote it", async () => {
  const { nft, nft_value } = candidates.values;
  const path = `/extended/v3/tokens/nft/${encodeURIComponent(nft!)}/${nft_value}/history`;
  for (const value of [String(nft_value), String(nft_value).slice(2), String(nft_value).slice(2).toUpperCase()]) {
    expect(await successors(`/extended/v1/tokens/nft/history?asset_identifier=${nft}&value=${value}`)).toEqual([path]);
  }
});

test("an owner's names link to the owner's instances", async () => {
  const [owner] = (await ask('/v1/names')).body;
  const { address } = (await ask(`/v1/names/${owner}`)).body;
  const [linked = ''] = await successors(`/v1/addresses/stacks/${address}`);
  const { results } = (await ask(linked)).body;
  const assets = results.map((holding: { asset_identifier: string }) => holding.asset_identifier);
  expect(new Set(assets)).toEqual(new Set(['ST000000000000000000002AMW42H.bns::names']));
  expect(linksOf(await request('/v1/addresses/stacks/nobody'))).toEqual([]);
});

test('rewards of a Stacks address link to the staking routes', async () => {
  const [principal] = candidates.valuesFor('getStakingBondRegistration', 'principal') as string[];
  const rewards = `/extended/v1/burnchain/rewards/${principal}`;
  const staking = `/extended/v3/principals/${principal}/staking`;
  expect(await successors(rewards)).toEqual([`${staking}/bonds`]);
  expect(await successors(`${rewards}/total`)).toEqual([staking]);
});
