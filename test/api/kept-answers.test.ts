import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { jsonOf } from '../../src/http/json.ts';
import { keptAnswers } from '../../src/http/kept-answers.ts';
import { assertProperty } from '../support/property.ts';

test('an answer is kept from its second making on, and given for its own URL and tag only', () => {
  const kept = keptAnswers();
  kept.keep('/a', 'tag', 'text');
  expect(kept.get('/a', 'tag')).toBeUndefined();
  kept.keep('/a', 'tag', 'text');
  expect(kept.get('/a', 'tag')).toBe('text');
  expect(kept.get('/a', 'another')).toBeUndefined();
  expect(kept.get('/b', 'tag')).toBeUndefined();
});

test('an answer of a new tag takes the place of the one before', () => {
  const kept = keptAnswers();
  for (const tag of ['old', 'old', 'new']) kept.keep('/a', tag, tag);
  expect(kept.get('/a', 'old')).toBeUndefined();
  expect(kept.get('/a', 'new')).toBe('new');
});

test('what nobody asks for is forgotten, what is asked for stays, and memory has a bound', () => {
  const kept = keptAnswers();
  const text = 'x'.repeat(50_000);
  for (const url of ['/busy', '/idle']) for (let i = 0; i < 2; i++) kept.keep(url, 'tag', text);
  let others = 0;
  for (let i = 0; i < 1000; i++) {
    for (let again = 0; again < 2; again++) kept.keep(`/${i}`, 'tag', text);
    kept.get('/busy', 'tag');
  }
  for (let i = 0; i < 1000; i++) if (kept.get(`/${i}`, 'tag') !== undefined) others += 1;
  expect(kept.get('/busy', 'tag')).toBe(text);
  expect(kept.get('/idle', 'tag')).toBeUndefined();
  expect(others * text.length).toBeLessThan(10_000_000);
});

test('an answer of the older generation is given for its own tag only', () => {
  const kept = keptAnswers();
  for (let i = 0; i < 2; i++) kept.keep('/old', 'tag', 'text');
  const filler = 'x'.repeat(90_000);
  for (let i = 0; i < 50; i++) for (let again = 0; again < 2; again++) kept.keep(`/${i}`, 'tag', filler);
  expect(kept.get('/old', 'another')).toBeUndefined();
  expect(kept.get('/old', 'tag')).toBe('text');
});

test('a text that is longer than the bound of one is not kept', () => {
  const kept = keptAnswers();
  for (let i = 0; i < 3; i++) kept.keep('/long', 'tag', 'x'.repeat(200_000));
  expect(kept.get('/long', 'tag')).toBeUndefined();
});

test('the JSON of a list is that of JSON.stringify, whatever its items', () => {
  assertProperty(
    fc.property(fc.jsonValue(), fc.array(fc.jsonValue()), (body, results) => {
      expect(JSON.parse(jsonOf(body))).toEqual(JSON.parse(JSON.stringify(body)));
      const list = { total: 3, cursor: body, results };
      expect(JSON.parse(jsonOf(list))).toEqual(JSON.parse(JSON.stringify(list)));
      expect(JSON.parse(jsonOf({ results }))).toEqual(JSON.parse(JSON.stringify({ results })));
    }),
  );
});
