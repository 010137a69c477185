/** The filters that a new chainhook starts with. */
import { expect, test } from 'bun:test';
import { makeDraft, type TemplateName, templateOf, templates } from '../../src/console/app/chain/hook-templates.ts';
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
