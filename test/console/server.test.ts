/**
 * The console's files as the server sends them: the responses of its paths, its files, and the contents of its bundle.
 */
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Glob } from 'bun';
import { bundleConsole, consoleBuild } from '../../src/console/bundle.ts';
import { groups, pagePaths } from '../../src/console/page-paths.ts';
import { testApp, VERSION } from '../api/test-app.ts';
import { apiDocument, apiTypes, calledPaths, typesFile } from '../support/generate/api-types.ts';
import { unpack } from '../support/unpack.ts';

const { request } = testApp();
const HTML = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };
const filled = (path: string) => path.replaceAll(/\{\w+\}/g, '1');

/** Redirects of pages for clients that don't accept HTML. */
const REDIRECTS: Readonly<Record<string, [status: number, location: string]>> = {
  '/': [301, '/extended'],
  '/docs': [302, '/docs/json'],
};

describe.each(Object.values(pagePaths).map(filled))('GET %s', (path) => {
  test('returns the page to a browser', async () => {
    const response = await request(path, HTML);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('vary')).toBe('accept');
    expect(response.headers.get('content-security-policy')).toContain("script-src 'self';");
    expect(await response.text()).toMatch(/<script type="module" src="\/console\/console-\w+\.js"><\/script>/);
  });

  test.each([{}, { accept: '*/*' }, { accept: 'application/json' }, { accept: 'text/html;q=0' }])(
    'returns no console page for %j',
    async (headers) => {
      const response = await request(path, { headers });
      const redirect = REDIRECTS[path];
      if (redirect !== undefined) {
        expect([response.status, response.headers.get('location')]).toEqual(redirect);
        return;
      }
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual({
        message: `Route GET:${path} not found`,
        error: 'Not Found',
        statusCode: 404,
      });
    },
  );
});

test.each(['/extended/nope', '/v1/nope', '/chainhooks/nope', '/nope', '/blocks/1/nope'])(
  'GET %s returns a 404 page to a browser, and JSON to other clients',
  async (path) => {
    const page = await request(path, HTML);
    expect(page.status).toBe(404);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self';");
    expect(page.headers.get('x-api-version')).toBe(VERSION);
    expect(await page.text()).toBe(await (await request('/', HTML)).text());
    const json = { message: `Route GET:${path} not found`, error: 'Not Found', statusCode: 404 };
    for (const headers of [{}, { accept: 'application/json' }, { accept: '*/*' }, { accept: 'image/avif,image/*' }]) {
      const response = await request(path, { headers });
      expect([response.status, await response.json()]).toEqual([404, json]);
    }
    const posted = await request(path, { ...HTML, method: 'POST' });
    expect([posted.status, posted.headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8']);
  },
);

test.each(['/%zz', '/blocks/%zz', '/block/%zz', '/no/such/%C3'])(
  'GET %s, a malformed path, returns a 404 page to a browser, and a 400 as JSON to other clients',
  async (path) => {
    const page = await request(path, HTML);
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    const response = await request(path);
    expect([response.status, await response.json()]).toEqual([
      400,
      { statusCode: 400, code: 'BAD_URL', error: 'Bad Request', message: `'${path}' is not a valid url component` },
    ]);
  },
);

const SOMEBODY = 'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7';

test.each([
  ['/txid/0x12?chain=mainnet', '/transactions/0x12'],
  ['/block/0xab', '/blocks/0xab'],
  ['/btcblock/0xab', '/bitcoin-blocks/0xab'],
  [`/address/${SOMEBODY}?chain=mainnet`, `/principals/${SOMEBODY}`],
  [`/address/${SOMEBODY}.pool`, `/contracts/${SOMEBODY}.pool`],
  [`/token/${SOMEBODY}.coin`, `/contracts/${SOMEBODY}.coin`],
  [`/token/${SOMEBODY}.coin%3A%3Acoin`, `/tokens/${SOMEBODY}.coin%3A%3Acoin`],
  ['/txid/%2F%2Fevil.example', '/transactions/%2F%2Fevil.example'],
])('GET %s, as in the public explorer, redirects a browser to %s', async (path, to) => {
  const response = await request(path, HTML);
  expect([response.status, response.headers.get('location')]).toEqual([302, to]);
  expect((await request(path, { headers: { accept: 'application/json' } })).status).toBe(404);
});

describe('files', () => {
  const scriptPath = async (): Promise<string> => {
    const page = await (await request('/', HTML)).text();
    return /src="([^"]+)"/.exec(page)?.[1] ?? '';
  };

  test('are equal in every encoding, and cached forever', async () => {
    const path = await scriptPath();
    const plain = await request(path);
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const text = await plain.text();
    for (const [accepted, coding] of [
      ['gzip', 'gzip'],
      ['zstd', 'zstd'],
      ['gzip, deflate, br, zstd', 'br'],
    ] as const) {
      const response = await request(path, { headers: { 'accept-encoding': accepted } });
      expect(response.headers.get('content-encoding')).toBe(coding);
      const bytes = new Uint8Array(await response.arrayBuffer());
      expect(new TextDecoder().decode(unpack[coding](bytes))).toBe(text);
    }
  });

  test('with another name return 404', async () => {
    expect((await request('/console/console-nope.js')).status).toBe(404);
  });
});

test('a page without JavaScript shows the navigation and a request to turn JavaScript on', async () => {
  const text = await (await request('/', HTML)).text();
  const links = [...text.matchAll(/<li><a href="([^"]+)">([^<]+)<\/a><\/li>/g)].map(([, path, title]) => [path, title]);
  const sections = groups.flatMap((group) => group.sections).filter(([page]) => page !== 'devnet');
  expect(links).toEqual(sections.map(([page, title]) => [pagePaths[page], title]));
  expect(text).toContain('<noscript>');
});

/** Compressed size limit of the console's bundle without the parts that few pages load, in bytes. */
const BUDGET = 150_000;
/** Compressed size limits of these parts by their entry point, in bytes. */
const PART_BUDGETS = { '/pages/devnet/devnet.tsx': 10_000, '/pages/reference/reference.tsx': 10_000 };

test('the bundle is reproducible and within its size limits', async () => {
  const [first, second] = await Promise.all([bundleConsole(), bundleConsole()]);
  expect(second).toEqual(first);
  const { metafile } = await Bun.build({ ...consoleBuild, metafile: true });
  const sizes = new Map(first.files.map(({ name, gzip }) => [`./${name}`, Buffer.from(gzip, 'base64').length]));
  const outputs = Object.entries(metafile?.outputs ?? {});
  const parts = Object.entries(PART_BUDGETS).map(([entry, budget]) => {
    const [name = ''] = outputs.find(([, { entryPoint = '' }]) => entryPoint.endsWith(entry)) ?? [];
    const size = sizes.get(name) ?? Number.NaN;
    expect(size).toBeLessThan(budget);
    return size;
  });
  const all = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  expect(all - parts.reduce((sum, size) => sum + size, 0)).toBeLessThan(BUDGET);
});

const app = join(import.meta.dir, '../../src/console/app');

test('the pages and the style sheets use the same classes', async () => {
  const read = async (files: string) =>
    (await Promise.all([...new Glob(files).scanSync(app)].map((file) => Bun.file(join(app, file)).text()))).join('\n');
  const styles = (await read('styles/*.css')).replaceAll(/\/\*[\s\S]*?\*\/|\{[^{}]*\}/g, ' ');
  const pages = `${await read('shell.tsx')}\n${await read('{chain,pages,ui}/**/*.{ts,tsx}')}`.replaceAll(
    / from '.*'/g,
    '',
  );
  const styled = new Set([...styles.matchAll(/\.([a-z][\w-]*)/g)].map(([, name = '']) => name));
  const written = [...pages.matchAll(/class="([^"]+)"/g)].flatMap(([, names = '']) => names.split(' '));
  const words = new Set(pages.match(/[a-z][\w-]*/g));
  expect(styled.size).toBeGreaterThan(50);
  expect(written.filter((name) => !styled.has(name))).toEqual([]);
  expect([...styled].filter((name) => !words.has(name))).toEqual([]);
});

/** Code that turns text into markup, scripts or styles. */
const FORBIDDEN =
  /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc/;

test('no code turns text into HTML', async () => {
  for await (const file of new Glob('**/*.{ts,tsx}').scan(app)) {
    expect([file, FORBIDDEN.exec(await Bun.file(join(app, file)).text())?.[0]]).toEqual([file, undefined]);
  }
});

/** Routes of the name system and of Bitcoin rewards, which have no successor in the API. */
const WITHOUT_OTHERS = [
  ...['/extended/v1/burnchain/rewards/{address}', '/extended/v1/burnchain/rewards/{address}/total'],
  ...['/v1/addresses/{blockchain}/{address}', '/v1/namespaces', '/v1/names/{name}', '/v1/names/{name}/subdomains'],
];

test('the console needs deprecated routes only for names and Bitcoin rewards', async () => {
  const { paths = {} } = await apiDocument();
  const called = await calledPaths();
  expect(called.size).toBeGreaterThan(50);
  const deprecated = [...called].filter((path) => JSON.stringify(paths[path] ?? {}).includes('"deprecated":true'));
  expect(deprecated.sort()).toEqual([...WITHOUT_OTHERS].sort());
});

test("the types of the console's API calls are up to date (bun run generate writes them)", async () => {
  const text = await Bun.file(typesFile).text();
  expect(await apiTypes()).toBe(text);
  expect(text.split('\n').length).toBeLessThan(2_600);
});
