import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { declaredSubdomains, resolverOf, zoneRecords } from '../../src/codec/zonefile.ts';
import { assertProperty } from '../support/property.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('records', () => {
  const joe = (data: string[]) => ({ name: 'joe', type: 'TXT', data });

  test.each<[string, ReturnType<typeof zoneRecords>]>([
    ['', []],
    ['$ORIGIN alice.btc\n$TTL 3600\n', []],
    ['_http\tIN\tURI\t10\t1\t"https://x"\n', [{ name: '_http', type: 'URI', data: ['10', '1', 'https://x'] }]],
    ['joe 3600 IN TXT a "b c"', [joe(['a', 'b c'])]],
    ['joe in 1h txt a\r\n', [joe(['a'])]],
    ['joe TXT a ; what it is\n; all of this is a comment', [joe(['a'])]],
    ['joe TXT "a;b"', [joe(['a;b'])]],
    ['joe TXT a\n\tTXT b\n', [joe(['a']), joe(['b'])]],
    ['joe TXT ( "a"\n  "b" ) "c"\n', [joe(['a', 'b', 'c'])]],
    ['joe TXT "say \\"hi\\" \\\\"', [joe(['say "hi" \\'])]],
    ['joe TXT "never closed', [joe(['never closed'])]],
    ['joe', []],
    ['joe "TXT" a', []],
  ])('of %j are parsed', (text, records) => {
    expect(zoneRecords(text)).toEqual(records);
  });

  test('are parsed without an error from any text', () => {
    const characters = fc.constantFrom(...' \t\n"\\();$=ab0IN', 'é', '\u0000');
    assertProperty(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: characters, maxLength: 60 })), (text) => {
        const records = zoneRecords(text);
        declaredSubdomains(records);
        resolverOf(records);
      }),
      { always: 'any text is read, and none may throw' },
    );
  });

  test('written with quotes are parsed', () => {
    const text = fc.string({ unit: 'grapheme-ascii' });
    assertProperty(
      fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), (strings) => {
        const quoted = strings.map((string) => `"${string.replace(/["\\]/g, '\\$&')}"`);
        expect(zoneRecords(`joe TXT ${quoted.join(' ')}\n`)).toEqual([{ name: 'joe', type: 'TXT', data: strings }]);
      }),
      { always: 'all strings are written and read back' },
    );
  });
});

describe('subdomains', () => {
  const subdomains = (text: string) =>
    declaredSubdomains(zoneRecords(text)).map(({ label, owner, zonefile }) => [
      label,
      owner,
      Buffer.from(zonefile).toString(),
    ]);

  test('are TXT records with an owner, and have their zonefile in pieces', () => {
    const whole = base64('$ORIGIN joe.alice.btc\n');
    const pieces = `"zf0=${whole.slice(0, 7)}" "zf1=${whole.slice(7)}"`;
    expect(subdomains(`joe\tTXT\t"owner=SP1" "seqn=0" "parts=2" ${pieces}\n`)).toEqual([
      ['joe', 'SP1', '$ORIGIN joe.alice.btc\n'],
    ]);
  });

  test('without an owner are ignored, and without a zonefile have an empty one', () => {
    expect(subdomains('a TXT "seqn=0"\nb TXT "owner="\nc TXT "owner=SP1"\nd A 1.2.3.4\n')).toEqual([['c', 'SP1', '']]);
  });
});

test('the resolver is the target of the last record with that name', () => {
  const resolver = (text: string) => resolverOf(zoneRecords(text));
  expect(resolver('_http._tcp URI 10 1 "https://a"')).toBe('');
  expect(resolver('_resolver URI 10 1 "https://a"\nmy_resolver IN URI 10 1 "https://b"')).toBe('https://b');
  expect(resolver('_resolver URI')).toBe('');
  expect(resolver('_resolver TXT "https://a"')).toBe('');
});
