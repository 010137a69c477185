/** Parsing and validating parameters, without routes. */
import { describe, expect, test } from 'bun:test';
import { type TProperties, Type } from '@sinclair/typebox';
import { words } from '../../src/api/shared/fields.ts';
import { ParameterError } from '../../src/http/errors.ts';
import { pathReader, queryReader, refuseUnknown } from '../../src/http/parameters.ts';

const url = (query: string) => `http://host:3999/list${query}`;
const read = (properties: TProperties, query: string): unknown => queryReader(properties)(url(query));

const limit = Type.Integer({ minimum: 1, maximum: 50, default: 20 });
const offset = Type.Optional(Type.Integer({ minimum: -30 }));
const unanchored = Type.Optional(Type.Boolean());
const name = Type.String({ minLength: 2, maxLength: 5, pattern: '^[a-z ]+$' });
const order = Type.Optional(words('asc', 'desc'));
const include = Type.Optional(Type.Array(words('a', 'b', 'c'), { maxItems: 3 }));

describe('a query gives', () => {
  test.each<[string, TProperties, string, unknown]>([
    ['the default if nothing is sent', { limit }, '', { limit: 20 }],
    ['the default if only unknown keys are sent', { limit }, '?page=x&limit[]=7', { limit: 20 }],
    ['the number sent', { limit }, '?limit=7', { limit: 7 }],
    ['a number with leading zeros', { limit }, '?limit=007', { limit: 7 }],
    ['a negative number', { offset }, '?offset=-30', { offset: -30 }],
    ['nothing if an optional value is not sent', { offset }, '?', {}],
    ['a truth', { unanchored }, '?unanchored=true', { unanchored: true }],
    ['a falsehood', { unanchored }, '?unanchored=false', { unanchored: false }],
    ['a blank sent as +', { name }, '?name=a+b', { name: 'a b' }],
    ['a blank sent as %20', { name }, '?name=a%20b', { name: 'a b' }],
    ['a value under an encoded key', { name }, '?n%61me=ab', { name: 'ab' }],
    ['a word', { order }, '?order=desc', { order: 'desc' }],
    ['a list of one', { include }, '?include=a', { include: ['a'] }],
    ['a list with commas', { include }, '?include=b,a', { include: ['b', 'a'] }],
    ['a list of repeated keys', { include }, '?include=b&include=a', { include: ['b', 'a'] }],
    ['a list in both forms', { include }, '?include=b,a&include=c', { include: ['b', 'a', 'c'] }],
    ['a list with spaces', { include }, '?include=b,%20a,++c', { include: ['b', 'a', 'c'] }],
    ['a list with duplicates', { include }, '?include=a,b&include=a', { include: ['a', 'b', 'a'] }],
  ])('%s', (_, properties, query, values) => {
    expect(read(properties, query)).toEqual(values);
  });
});

const CHOICE = 'must be equal to one of the allowed values';

describe('a query is rejected with', () => {
  test.each<[string, TProperties, string]>([
    ['?limit=51', { limit }, 'querystring/limit must be <= 50'],
    ['?limit=0', { limit }, 'querystring/limit must be >= 1'],
    ['?limit=99999999999999999999', { limit }, 'querystring/limit must be <= 50'],
    ['?limit=', { limit }, 'querystring/limit must be integer'],
    ['?limit', { limit }, 'querystring/limit must be integer'],
    ['?limit=1.5', { limit }, 'querystring/limit must be integer'],
    ['?limit=1e1', { limit }, 'querystring/limit must be integer'],
    ['?limit=0x10', { limit }, 'querystring/limit must be integer'],
    ['?limit=+5', { limit }, 'querystring/limit must be integer'],
    ['?limit=5&limit=5', { limit }, 'querystring/limit must be given once, not 2 times'],
    ['?offset=99999999999999999999', { offset }, 'querystring/offset must be integer'],
    ['?unanchored=1', { unanchored }, 'querystring/unanchored must be boolean'],
    ['?other=1', { name }, "querystring must have required property 'name'"],
    ['', { name }, "querystring must have required property 'name'"],
    ['?name=AB', { name }, 'querystring/name must have the documented form'],
    ['?name=a', { name }, 'querystring/name must NOT have fewer than 2 characters'],
    ['?name=abcdef', { name }, 'querystring/name must NOT have more than 5 characters'],
    ['?name=%zz', { name }, 'querystring/name must have valid percent-encoding'],
    ['?order=DESC', { order }, `querystring/order ${CHOICE} (asc, desc)`],
    ['?include=', { include }, `querystring/include/0 ${CHOICE} (a, b, c)`],
    ['?include=a,', { include }, `querystring/include/1 ${CHOICE} (a, b, c)`],
    ['?include=a&include=b,x', { include }, `querystring/include/2 ${CHOICE} (a, b, c)`],
    ['?include=a,b,c,d', { include }, 'querystring/include must NOT have more than 3 items'],
  ])('%s', (query, properties, message) => {
    expect(() => read(properties, query)).toThrow(new Error(message));
  });
});

describe('a path parameter', () => {
  const path = (text: string) => pathReader('/a/{name}/b', { name: Type.String() })(`http://host/a/${text}/b?x=/y`);

  test.each([
    ['plain', 'plain'],
    ['a%2Fb', 'a/b'],
    ['%253A', '%3A'],
    ['a+b', 'a+b'],
    ['caf%C3%A9', 'café'],
    ['x'.repeat(16_000), 'x'.repeat(16_000)],
  ])('%s is decoded once', (sent, name) => {
    expect(path(sent)).toEqual({ name });
  });

  test.each(['%', '%zz', '%C3'])('with the malformed encoding %s is rejected', (text) => {
    expect(() => path(text)).toThrow(`'/a/${text}/b?x=/y' is not a valid url component`);
  });

  test('missing from the path is an error of the declaration', () => {
    expect(() => pathReader('/a', { name: Type.String() })).toThrow('/a has no parameter name');
  });
});

test('an error names its parameter and rule in fields', () => {
  const readIds = queryReader({ ids: Type.Array(Type.Integer({ maximum: 9 }), { maxItems: 3 }) });
  let thrown: unknown;
  try {
    readIds('http://api/list?ids=1,10');
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(ParameterError);
  const error = thrown as ParameterError;
  expect(error).toMatchObject({
    location: 'querystring',
    path: ['ids', '1'],
    message: 'querystring/ids/1 must be <= 9',
  });
  expect(error.withoutLocation('.')).toBe('ids.1 must be <= 9');
});

test("a caller's error lacks a stack trace, and other errors have one", () => {
  expect(new ParameterError({ location: 'querystring', path: ['limit'] }, 'must be <= 50').stack).toBeUndefined();
  expect(new Error('ours').stack).toContain(import.meta.file);
});

describe('unknown parameters', () => {
  const refusalOf = (documented: string[], query: string): string | null => {
    try {
      queryReader({}, refuseUnknown(documented))(url(`?${query}`));
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };
  const names = ['limit', 'cursor', 'topic', 'field.NAME'];

  test('are rejected with the most similar name of the route', () => {
    for (const [query, suggestion] of [
      ['limt=1', 'limit'],
      ['fields.action=swap', 'field.action'],
      ['filed.data.amount=1', 'field.data.amount'],
      ['a=1&topics=x', null],
    ] as const) {
      const message = refusalOf(names, query);
      expect(message).toBe(
        suggestion === null
          ? 'querystring/a is not a parameter of this route: it has limit, cursor, topic, field.NAME'
          : `querystring/${query.split('=')[0]} is not a parameter of this route: did you mean ${suggestion}?`,
      );
    }
    expect(refusalOf([], 'x=1')).toBe('querystring/x is not a parameter of this route: it has none');
    expect(refusalOf(names, '%ff=1')).toStartWith('querystring/%ff is not a parameter');
    expect(refusalOf(names, `${'x'.repeat(5_000)}=1`)!.length).toBeLessThan(250);
  });

  test('exclude names with a variable part and empty names', () => {
    for (const query of ['field.action=swap', 'field=1', 'field.a.b=1&field.c=2', '', '&', 'f%69eld.x=1']) {
      expect([query, refusalOf(names, query)]).toEqual([query, null]);
    }
  });
});
