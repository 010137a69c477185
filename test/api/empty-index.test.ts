/** Before the first block, every route answers and no number is NaN or undefined. */
import { expect, test } from 'bun:test';
import { routesOf } from '../support/api/app.ts';
import { targetOf } from '../support/generate/examples.ts';
import { emptyIndex, testApp, VERSION } from './test-app.ts';

const { request } = testApp(emptyIndex());
/** Routes that read the server or its faucets, which the application lacks. */
const OF_SERVER = /^\/(extended\/v1\/faucets\/|stackside\/v1\/(status|history)$)/;
const routes = routesOf(VERSION).filter(({ method, path }) => method === 'GET' && !OF_SERVER.test(path));

/** Paths and queries with examples of the required parameters, and with the optional ones. */
const targets = routes.flatMap((route) => {
  const { parameters } = route.detail;
  const example = ({ name, example }: (typeof parameters)[number]) => [name, example] as const;
  const needed = Object.fromEntries(parameters.filter(({ required }) => required).map(example));
  const optional = parameters.filter(({ required, name }) => !required && name !== 'cursor').map(example);
  return [needed, ...optional.map(([name, value]) => ({ ...needed, [name]: value }))].map((values) =>
    targetOf(route, values),
  );
});

test('every route answers without NaN, Infinity or undefined', async () => {
  expect(targets.length).toBeGreaterThan(300);
  for (const target of targets) {
    const response = await request(target);
    const text = await response.text();
    expect([target, response.status < 500, /\b(NaN|Infinity|undefined)\b/.exec(text)?.[0]]).toEqual([
      target,
      true,
      undefined,
    ]);
  }
});

const PERCENT = { stx_supply: 'unlocked_percent', 'stx_supply/legacy_format': 'unlockedPercent' };

test.each(Object.entries(PERCENT))('the unlocked share of an empty supply is 0.00: %s', async (path, name) => {
  for (const query of ['', '?unanchored=true', '?height=0', '?height=7']) {
    const response = await request(`/extended/v1/${path}${query}`);
    expect(await response.json()).toMatchObject({ [name]: '0.00' });
  }
});

test.each(['total', 'circulating'])('the supply is zero: %s/plain', async (kind) => {
  expect(await (await request(`/extended/v1/stx_supply/${kind}/plain`)).text()).toBe('0.000000');
});
