/** Documents about tokens, whatever contracts and hosts answer. */
import { afterAll, describe, expect, test } from 'bun:test';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { parseNetworks, send, targetGuard } from '../../src/http/outgoing.ts';
import { type DocumentOutcome, type DocumentSubject, documentReader } from '../../src/tokens/document.ts';
import type { KeepImage } from '../../src/tokens/images.ts';
import { FETCH_MS, uriFetcher } from '../../src/tokens/web.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

type Answering = (request: IncomingMessage, response: ServerResponse) => void;

/** Paths with what is answered there: a text, or what a function does. */
const answers = new Map<string, string | Answering>();
const asked: { path: string; headers: IncomingMessage['headers'] }[] = [];
const server = http.createServer((request, response) => {
  const path = request.url ?? '';
  asked.push({ path, headers: request.headers });
  const answer = answers.get(path);
  if (typeof answer === 'function') return answer(request, response);
  if (answer === undefined) response.statusCode = 404;
  response.end(answer);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
const host = `http://127.0.0.1:${port}`;
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const clock = heldClock([FETCH_MS]);
let time = 1_800_000_000_000;
const gateways = { ipfs: host, ipfsHeader: ['x-key', 'secret'] as const, arweave: `${host}/arweave` };
const loopback = targetGuard({ allowed: parseNetworks('127.0.0.1') ?? [], plainHttp: true });
const base = { gateways, clock: { ...clock, now: () => time }, send, userAgent: 'stackside/test' };
const signal = new AbortController().signal;
const reader = (keepImage: KeepImage | null = null, guard: typeof loopback | undefined = loopback) => {
  const options = guard === undefined ? base : { ...base, guard };
  return documentReader({ fetchUri: uriFetcher(options), keepImage, clock: options.clock });
};
const nft = (uri: string): DocumentSubject => ({ uri, token: 7n, isNumbered: true });
/** What a token becomes whose URI leads to a text, or to what a function answers. */
function at(answer: string | Answering, path = '/a.json') {
  answers.set(path, answer);
  return reader()(nft(`${host}${path}`), signal);
}
type Failed = Extract<DocumentOutcome, { kind: 'failed' }>;
const failed = (error: Failed['error'], again: boolean): Failed => ({ kind: 'failed', error, again });
const unreadable = failed('document_unreadable', true);
const refused = failed('document_refused', false);
/** The only document that is read. */
async function only(text: string | object) {
  const outcome = await at(typeof text === 'string' ? text : JSON.stringify(text));
  if (outcome.kind !== 'read') throw new Error(JSON.stringify(outcome));
  expect(outcome.documents).toHaveLength(1);
  return outcome.documents[0]!;
}
const nothing = { locale: '', description: null, image: null, attributes: null, properties: null };

describe('a document', () => {
  test('is read with its texts, attributes and properties', async () => {
    expect(
      await only({
        sip: 3,
        name: 'Pebble #{id}',
        description: 'smooth',
        image: 'ipfs://x/{id}.png',
        attributes: [
          { trait_type: 'Hue', value: 'grey' },
          { value: 0, trait_type: 'Chips', display_type: 'number', other: 1 },
          { trait_type: 'Wet', value: false, display_type: null },
          { trait_type: 'Empty', value: '' },
          { trait_type: 'Null', value: null },
          { trait_type: 'Mixed', value: [{ a: 'of {id}' }] },
          { trait_type: 'None' },
        ],
        properties: { homepage: 'https://river.example', none: null, list: [1, { two: true }] },
        external_url: 'https://x.example',
      }),
    ).toEqual({
      locale: '',
      name: 'Pebble #7',
      description: 'smooth',
      image: 'ipfs://x/7.png',
      attributes: JSON.stringify([
        { trait_type: 'Hue', value: 'grey' },
        { trait_type: 'Chips', display_type: 'number', value: 0 },
        { trait_type: 'Wet', value: false },
        { trait_type: 'Empty', value: '' },
        { trait_type: 'Null', value: null },
        { trait_type: 'Mixed', value: [{ a: 'of 7' }] },
      ]),
      properties: JSON.stringify({ homepage: 'https://river.example', none: null, list: [1, { two: true }] }),
    });
  });

  test('of a token without a number keeps {id} in its texts', async () => {
    answers.set('/ft.json', '{"name":"{id}"}');
    const outcome = await reader()({ uri: `${host}/ft.json`, token: 1n, isNumbered: false }, signal);
    expect(outcome).toEqual({ kind: 'read', documents: [{ ...nothing, name: '{id}' }] });
  });

  test('may be JSON5, and have emoji', async () => {
    const text = `\ufeff{/* a */ name: 'a "rock" 🪨', // b
      "description": "c\\
d", attributes: [{trait_type: 'n', value: +.5,}, {trait_type: "x", value: 0x10}, {trait_type: 'i', value: -Infinity},],}`;
    expect(await only(text)).toEqual({
      ...nothing,
      name: 'a "rock" 🪨',
      description: 'cd',
      attributes: '[{"trait_type":"n","value":0.5},{"trait_type":"x","value":16},{"trait_type":"i","value":null}]',
    });
  });

  test('keeps the digits of its numbers', async () => {
    const numbers = '[12345678901234567890,1.0,1e3,-0,0.10000000000000000000001,1E400,5,-2.5]';
    const { name, description, properties } = await only(
      `{"name":98765432109876543210,description:1.50,"properties":{"a":${numbers},"1.0":"1.0 // \\" 2.0","b":'/*1.0*/'}}`,
    );
    expect([name, description]).toEqual(['98765432109876543210', '1.50']);
    expect(properties).toBe(`{"a":${numbers},"1.0":"1.0 // \\" 2.0","b":"/*1.0*/"}`);
  });

  test('may have any value where a text is expected', async () => {
    expect(await only({ name: false, description: 12, image: 5 })).toEqual({
      ...nothing,
      name: 'false',
      description: '12',
    });
    expect(await only({ name: ['a'], description: null, image: '', imageUrl: 'x' })).toEqual({
      ...nothing,
      name: '["a"]',
    });
    expect(
      await only({ name: 'n', image: null, image_uri: 'u', localization: { uri: 1 }, attributes: {}, properties: [] }),
    ).toEqual({
      ...nothing,
      name: 'n',
      image: 'u',
    });
    expect(await only({ name: 'n', attributes: [{ trait_type: 1, value: 1 }], properties: 'text' })).toEqual({
      ...nothing,
      name: 'n',
    });
  });

  test.each(['null', '""', '0', '-0.0'])('whose name is %s is none, without an error', async (name) => {
    expect(await at(`{"name":${name},"description":"d"}`)).toEqual({ kind: 'read', documents: [] });
  });

  test.each([
    '',
    '   ',
    '[]',
    '"text"',
    '7',
    'null',
    '{}',
    '{"title":"n"}',
    '{"name":',
    '<html></html>',
    '{"name":"a"}}',
  ])('that is %j is none', async (text) => expect(await at(text)).toEqual(unreadable));
});

describe('a hostile document', () => {
  test('has members by any name, and changes no prototype', async () => {
    const { properties } = await only(
      '{"name":"n","__proto__":{"image":"x"},"properties":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1}}',
    );
    expect(properties).toBe('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1}');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(await at('{"__proto__":{"name":"n"}}')).toEqual(unreadable);
    // An imitation of what stands for a number.
    expect((await only('{"name":"n","properties":{"a":"\\ud8000","b":1.0,"c":{"rawJSON":"]"}}}')).properties).toContain(
      '"c":{"rawJSON":"]"}',
    );
  });

  test('has well-formed texts, whatever halves of characters it holds', async () => {
    const { name, properties } = await only('{"name":"a\\ud800b\\u202e\\u0000","properties":{"\\udc00":"\\ud83d"}}');
    expect(name).toBe('a\ufffdb\u202e\0');
    expect(properties).toBe('{"\ufffd":"\ufffd"}');
    answers.set(
      '/bytes.json',
      (_, response) => void response.end(Buffer.from('7b226e616d65223a22ff22 7d'.replace(' ', ''), 'hex')),
    );
    const outcome = await reader()(nft(`${host}/bytes.json`), signal);
    expect(outcome).toEqual({ kind: 'read', documents: [{ ...nothing, name: '\ufffd' }] });
  });

  test.each([
    ['lists in lists', '['.repeat(400_000)],
    ['objects in objects', '{a:'.repeat(300_000)],
    ['a member that is too deep', `{"name":"n","properties":{"a":${'['.repeat(600)}${']'.repeat(600)}}}`],
    ['comments that never end', '/*'.repeat(400_000)],
    ['texts that never end', `{"name":"${'\\"'.repeat(400_000)}`],
    ['texts without an end, one after another', `"'`.repeat(400_000)],
    ['digits and signs', `{name:${'1e+'.repeat(300_000)}`],
  ])('of %s is refused', async (_, text) => {
    expect(await at(text)).toEqual(unreadable);
  });

  test('may be as large as allowed, in one text or in many', async () => {
    const long = 'x'.repeat(999_900);
    expect((await only({ name: 'n', description: long })).description).toBe(long);
    const many = { name: 'n', properties: { list: Array.from({ length: 200_000 }, () => 1.5) } };
    expect((await only(many)).properties).toHaveLength(JSON.stringify(many.properties).length);
    expect(await at(JSON.stringify({ name: 'n', description: 'x'.repeat(1_000_000) }))).toEqual(
      failed('document_too_large', false),
    );
  });
});

describe('locales', () => {
  const localized = { uri: `${host}/{locale}/{id}.json`, default: 'en', locales: ['en', 'es', 'de', 'es'] };
  test('are laid over the base document, in any order and once each', async () => {
    asked.length = 0;
    answers.set(
      '/es/7.json',
      '{"sip":16,"name":"Piedra","properties":{"b":"dos","c":1},"attributes":[{"trait_type":"t","value":2}]}',
    );
    answers.set('/de/7.json', '{"sip":16}');
    const properties = { a: 1, b: 'two' };
    const outcome = await at(
      JSON.stringify({
        name: 'Stone',
        description: 'd',
        image: 'i',
        properties,
        attributes: [{ trait_type: 't', value: 1 }],
        localization: localized,
      }),
    );
    const [en, es, de] = outcome.kind === 'read' ? outcome.documents : [];
    expect(en).toEqual({
      locale: 'en',
      name: 'Stone',
      description: 'd',
      image: 'i',
      properties: JSON.stringify(properties),
      attributes: '[{"trait_type":"t","value":1}]',
    });
    expect(es).toEqual({
      locale: 'es',
      name: 'Piedra',
      description: 'd',
      image: 'i',
      properties: '{"a":1,"b":"dos","c":1}',
      attributes: '[{"trait_type":"t","value":2}]',
    });
    expect(de).toEqual({
      locale: 'de',
      name: 'Stone',
      description: 'd',
      image: 'i',
      properties: JSON.stringify(properties),
      attributes: null,
    });
    expect(asked.map(({ path }) => path)).toEqual(['/a.json', '/es/7.json', '/de/7.json']);
  });

  test('fail together', async () => {
    const outcome = at(JSON.stringify({ name: 'n', localization: { ...localized, locales: ['de', 'fr'] } }));
    expect(await outcome).toEqual(refused);
  });

  test('are bounded in number and size', async () => {
    const locales = Array.from({ length: 100_000 }, (_, index) => `l${index}`);
    answers.set('/same.json', '{"sip":16}');
    const localization = { ...localized, uri: `${host}/same.json`, locales: ['x'.repeat(65), ...locales] };
    const outcome = await at(JSON.stringify({ name: 'n', localization }));
    expect(outcome.kind === 'read' && outcome.documents.map(({ locale }) => locale)).toEqual([
      'en',
      ...locales.slice(0, 50),
    ]);
    const large = JSON.stringify({
      name: 'n',
      description: 'x'.repeat(300_000),
      localization: { ...localization, locales: locales.slice(0, 9) },
    });
    expect(await at(large)).toEqual(failed('document_too_large', false));
  });
});

describe('a URI', () => {
  const read = async (uri: string, token = 7n) => {
    asked.length = 0;
    const outcome = await reader()({ uri, token, isNumbered: true }, signal);
    return {
      name: outcome.kind === 'read' ? outcome.documents[0]?.name : outcome,
      paths: asked.map(({ path }) => path),
    };
  };
  const named = (name: string) => JSON.stringify({ name });

  test('has the token number in place of {id} and $TOKEN_ID', async () => {
    answers.set('/7/7-7-.json', named('filled'));
    expect(await read(`${host}/{ID}/{id}-$token_id-{locale}.json`)).toEqual({
      name: 'filled',
      paths: ['/7/7-7-.json'],
    });
    answers.set(`/${2n ** 128n - 1n}`, named('largest'));
    expect((await read(`${host}/$TOKEN_ID`, 2n ** 128n - 1n)).name).toBe('largest');
  });

  test.each([
    ['ipfs://QmAbC/p.json', '/ipfs/QmAbC/p.json'],
    ['ipfs://ipfs/QmAbC/p.json?x=1#y', '/ipfs/QmAbC/p.json'],
    ['IPFS://QmAbC', '/ipfs/QmAbC'],
    ['ipns://Name.example/p.json', '/ipns/Name.example/p.json'],
    ['ar://Id_x/p.json', '/arweave/Id_x/p.json'],
    ['https://gateway.pinata.cloud/ipfs/QmAbC/p.json', '/ipfs/QmAbC/p.json'],
    ['https://ipfs.io/ipns/name', '/ipns/name'],
  ])('%s is fetched from a gateway', async (uri, path) => {
    answers.set(path, named(uri));
    expect(await read(uri)).toEqual({ name: uri, paths: [path] });
    // The key is the IPFS gateway's alone.
    expect(asked[0]?.headers['x-key']).toBe(path.startsWith('/ip') ? 'secret' : undefined);
  });

  test('of another server is fetched from there, without the key of the gateway', async () => {
    answers.set('/ipfs/own', named('own'));
    expect(await read(`${host}/ipfs/own`)).toEqual({ name: 'own', paths: ['/ipfs/own'] });
    expect(asked[0]?.headers['x-key']).toBeUndefined();
  });

  test('gets the key of the gateway no further than the gateway', async () => {
    answers.set('/ipfs/moved', (_, response) => void response.writeHead(301, { location: '/ipfs/there' }).end());
    answers.set('/ipfs/there', (_, response) => void response.writeHead(302, { location: '/elsewhere' }).end());
    answers.set('/elsewhere', named('moved'));
    expect((await read('ipfs://moved')).name).toBe('moved');
    expect(asked.map(({ headers }) => headers['x-key'])).toEqual(['secret', 'secret', undefined]);
  });

  test.each([
    'ipfs://x/../../api/v0/shutdown',
    'ipfs://x/%2e%2e/%2e%2e/api',
    'ipfs://..\\..\\api',
    'ipfs://',
    'ipfs:',
    'ar://',
    'https://ipfs.io/ipfs/../../api',
    'no scheme',
    '',
    'ftp://x.example/a',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://',
    'https://[',
    `https://x.example/${'a'.repeat(1_000_000)}`,
    'data:',
    'data:text/plain',
    'data:,%zz',
  ])('%.60s is refused without a request', async (uri) => {
    const { name, paths } = await read(uri);
    if (uri === 'https://ipfs.io/ipfs/../../api') expect(name).toMatchObject({ kind: 'failed' });
    else expect(name).toEqual(failed('document_unreadable', false));
    expect(paths).toEqual([]);
  });

  test.each([
    `data:application/json;base64,${btoa(named('data'))}`,
    `data:;base64,${encodeURIComponent(btoa(named('data')))}`,
    `data:application/json;charset=utf-8;base64,${btoa(named('data')).replace(/(.{8})/g, '$1\n')}`,
    `data:application/json;utf8,${named('data')}`,
    `data:application/json,${encodeURIComponent(named('data'))}`,
    `data:,${named('data')}`,
    `DATA:text/html,${named('data')}`,
  ])('may hold the document: %s', async (uri) => {
    expect(await read(uri)).toEqual({ name: 'data', paths: [] });
  });

  test('may hold a document up to its size', async () => {
    expect((await read(`data:,${JSON.stringify({ name: 'n', description: 'x'.repeat(1_000_000) })}`)).name).toEqual(
      failed('document_too_large', false),
    );
  });
});

describe('a host', () => {
  const answered =
    (status: number, headers: Record<string, string> = {}, body = ''): Answering =>
    (_, response) =>
      void response.writeHead(status, headers).end(body);

  test.each([400, 404, 500, 503, 204])('that answers %d has no document', async (status) => {
    expect(await at(answered(status))).toEqual(status === 204 ? unreadable : refused);
  });

  test('that ends the connection has no document', async () => {
    expect(await at((request) => request.socket.destroy())).toEqual(refused);
    expect(
      await at((request, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{"name":"n"}');
        setImmediate(() => request.socket.destroy());
      }),
    ).toEqual(refused);
    const closed = `http://127.0.0.1:9/`;
    expect(await reader()(nft(closed), signal)).toEqual(refused);
  });

  test('that redirects is followed five times', async () => {
    for (let step = 0; step < 6; step++)
      answers.set(`/r${step}`, answered(302 + (step % 2), { location: `/r${step + 1}` }));
    answers.set('/r6', '{"name":"far"}');
    expect(await reader()(nft(`${host}/r1`), signal)).toMatchObject({ kind: 'read' });
    expect(await reader()(nft(`${host}/r0`), signal)).toEqual(refused);
    expect(await at(answered(301))).toEqual(refused);
  });

  test.each([
    'http://169.254.169.254/latest/meta-data',
    'http://localhost/',
    'http://[::1]/',
    'http://2130706433/',
    'http://10.1.2.3/',
    'http://user:password@127.0.0.1/',
    'file:///etc/passwd',
    'ipfs://x',
  ])('that redirects to %s is not followed', async (location) => {
    asked.length = 0;
    expect(await at(answered(302, { location }))).toEqual(refused);
    expect(asked).toHaveLength(1);
  });

  test('in a private network is asked only if it is the gateway', async () => {
    answers.set('/ipfs/private', '{"name":"n"}');
    const strict = reader(null, targetGuard({ allowed: [], plainHttp: true }));
    asked.length = 0;
    for (const uri of [
      `${host}/ipfs/private`,
      'http://169.254.169.254/',
      'http://localhost/',
      'https://192.168.1.1/',
    ]) {
      expect(await strict(nft(uri), signal)).toEqual(refused);
    }
    expect(asked).toEqual([]);
    expect(await strict(nft('ipfs://private'), signal)).toMatchObject({ kind: 'read' });
    // The gateway's word doesn't make other addresses of its machine public.
    answers.set('/ipfs/out', answered(302, { location: `${host}/elsewhere` }));
    expect(await strict(nft('ipfs://out'), signal)).toEqual(refused);
  });

  test('may compress its answer, within the bound', async () => {
    const text = '{"name":"n"}';
    for (const [encoding, body] of [
      ['gzip', gzipSync(text)],
      ['br', brotliCompressSync(text)],
      ['deflate', deflateSync(text)],
    ] as const) {
      expect(
        await at((_, response) => void response.writeHead(200, { 'content-encoding': encoding }).end(body)),
      ).toMatchObject({ kind: 'read' });
    }
    const bomb = gzipSync(Buffer.alloc(50_000_000, '['));
    expect(await at((_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb))).toEqual(
      failed('document_too_large', false),
    );
    expect(await at(answered(200, { 'content-encoding': 'gzip' }, text))).toEqual(refused);
    expect(await at(answered(200, { 'content-encoding': 'toString' }, text))).toEqual(refused);
  });

  test('whose answer never ends is left at the bound', async () => {
    const endless: Answering = (_, response) => {
      const part = ' '.repeat(65_536);
      const go = () => {
        while (!response.destroyed && response.write(part));
        response.once('drain', go);
      };
      go();
    };
    expect(await at(endless)).toEqual(failed('document_too_large', false));
  });

  test('that is silent, or drips, has half a minute', async () => {
    for (const slow of [() => {}, ((_, response) => void response.write('{"name":')) as Answering]) {
      asked.length = 0;
      const outcome = at(slow);
      await until(() => asked.length === 1 && clock.waiting(FETCH_MS) === 1, 'the request');
      clock.pass(FETCH_MS);
      expect(await outcome).toEqual(failed('document_timeout', true));
    }
  });

  test('is left alone for as long as it asks', async () => {
    const read = reader();
    const limited = `${host}/limited`;
    const ask = (headers: Record<string, string>) => {
      answers.set('/limited', answered(429, headers));
      return read(nft(limited), signal);
    };
    for (const [headers, seconds] of [
      [{ 'retry-after': '7' }, 7],
      [{ 'retry-after': new Date(time + 14_000 + 7_000).toUTCString() }, 14],
      [{}, 60],
      [{ 'retry-after': '0' }, 60],
      [{ 'retry-after': 'soon' }, 60],
    ] as [Record<string, string>, number][]) {
      asked.length = 0;
      expect(await ask(headers)).toEqual({ kind: 'wait', until: time + seconds * 1_000 });
      // Another URI of the host, also the one that a redirect leads to.
      expect(await read(nft(`${host}/other`), signal)).toEqual({ kind: 'wait', until: time + seconds * 1_000 });
      expect(asked).toHaveLength(1);
      time += seconds * 1_000;
    }
    answers.set('/limited', '{"name":"n"}');
    expect(await read(nft(limited), signal)).toMatchObject({ kind: 'read' });
    // Only a 429 asks to wait.
    answers.set('/limited', answered(503, { 'retry-after': '60' }));
    expect(await read(nft(limited), signal)).toEqual(refused);
    expect(await read(nft(limited), signal)).toEqual(refused);
  });

  test('is not judged when the process ends', async () => {
    const ending = new AbortController();
    answers.set('/held', () => ending.abort());
    expect(await reader()(nft(`${host}/held`), ending.signal)).toEqual({ kind: 'wait', until: time });
  });
});

describe('images', () => {
  test('that fail or take too long leave the document as it is', async () => {
    answers.set('/image.json', '{"name":"n","image":"ipfs://i"}');
    const kept: string[] = [];
    const none = reader(async (uri) => {
      kept.push(uri);
      return { kind: 'none' };
    });
    expect(await none(nft(`${host}/image.json`), signal)).toMatchObject({ kind: 'read' });
    expect(kept).toEqual(['ipfs://i']);
  });

  test('are waited for, but not for ever', async () => {
    answers.set('/image.json', '{"name":"n","image":"ipfs://i"}');
    const waiting = reader(async () => ({ kind: 'wait', until: 5 }));
    for (let waited = 0; waited < 5; waited++) {
      expect(await waiting(nft(`${host}/image.json`), signal)).toEqual({ kind: 'wait', until: 5 });
    }
    expect(await waiting(nft(`${host}/image.json`), signal)).toMatchObject({ kind: 'read' });
  });
});
