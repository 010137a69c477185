/** Notifications about pages: watches in the browser, and the filters that a new chainhook starts with. */
import { expect, test } from 'bun:test';
import { makeDraft, type TemplateName, templateOf, templates } from '../../src/console/app/chain/hook-templates.ts';
import { parseWatches, readWatch, type Watch, withFirst, without } from '../../src/console/app/chain/watches.ts';
import { readDefinition } from '../../src/hooks/definition/definition.ts';

const ADDRESS = 'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7';
const CONTRACT = `${ADDRESS}.pool`;
const OF: Readonly<Record<TemplateName, string>> = {
  transfers: '',
  deployments: '',
  account: ADDRESS,
  received: ADDRESS,
  contract: CONTRACT,
  failures: CONTRACT,
  token: `${CONTRACT}::coin`,
  collection: `${CONTRACT}::card`,
  name: 'alice.btc',
};

const names = Object.keys(templates) as TemplateName[];

test.each(names)('the template %s creates a valid definition for its subject', (name) => {
  const draft = makeDraft(name, OF[name], 'mainnet', 'https://example.com/');
  expect<unknown>(readDefinition(draft, null)).toEqual(draft);
  const subject = name === 'name' ? '(name 0x616c696365) (namespace 0x627463)' : OF[name];
  for (const filter of draft.filters.events) expect(JSON.stringify(filter)).toContain(subject);
});

test.each(names)('the template %s without a subject has no empty field', (name) => {
  const { filters } = makeDraft(name, '', 'testnet', '');
  expect(filters.events.flatMap((filter) => Object.values(filter)).filter((value) => value === '')).toEqual([]);
});

test('an unknown template name returns null, even if every object has that property', () => {
  expect(['account', 'nobody', 'toString', null].map(templateOf)).toEqual(['account', null, null, null]);
});

const watch: Watch = { kind: 'account', id: ADDRESS, seen: null, changed_at: null };

test('only a later transaction is news, not the first one or none', () => {
  const first = readWatch(watch, '0xa', 5);
  expect(first).toEqual({ watch: { ...watch, seen: '0xa' }, isNews: false });
  expect(readWatch(first.watch, '0xa', 6).isNews).toBe(false);
  expect(readWatch(first.watch, '0xb', 7)).toEqual({ watch: { ...watch, seen: '0xb', changed_at: 7 }, isNews: true });
  expect(readWatch(first.watch, null, 8)).toEqual({ watch: first.watch, isNews: false });
});

test('watches are unique, newest first, and limited in number', () => {
  const named = (n: number): Watch => ({ ...watch, kind: 'name', id: `n${n}.btc` });
  const stored = Array.from({ length: 30 }, (_, n) => named(n)).reduce<Watch[]>(withFirst, []);
  expect(stored.length).toBe(20);
  expect(stored[0]?.id).toBe('n29.btc');
  expect(withFirst(stored, named(25)).map(({ id }) => id)).toEqual([
    'n25.btc',
    ...stored.map(({ id }) => id).filter((id) => id !== 'n25.btc'),
  ]);
  expect(without(stored, { kind: 'token', id: 'n29.btc' })).toEqual(stored);
});

test('stored watches are read back, and invalid ones are ignored', () => {
  const stored = [{ ...watch, seen: '0xa', changed_at: 3 }];
  expect(parseWatches(JSON.stringify(stored))).toEqual(stored);
  const odd = [
    null,
    5,
    { kind: 'moon', id: 'x' },
    { kind: 'name' },
    { kind: 'name', id: 'a.btc', seen: 4, changed_at: 'now' },
  ];
  expect(parseWatches(JSON.stringify(odd))).toEqual([{ kind: 'name', id: 'a.btc', seen: null, changed_at: null }]);
  expect([parseWatches(null), parseWatches('{'), parseWatches('{}')]).toEqual([[], [], []]);
});
