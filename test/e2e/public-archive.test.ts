/**
 * A public archive from the operator to its readers: one server archives into the directory of a static web server, and
 * another server restores from there and follows a separate node. STACKSIDE_BINARY names an executable.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HEAD, readHead } from '../../src/archive/head.ts';
import { loadOrCreateSigner } from '../../src/archive/signing.ts';
import { EXIT } from '../../src/base/errors.ts';
import { postEvents } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import { definition } from '../hooks/server.ts';
import { archive } from '../support/data/archive.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { journalRows } from '../support/data/tables.ts';
import { problemsIn } from '../support/recounts/recounts.ts';
import { NO_NODE } from '../support/servers/serving.ts';
import { type WebServer, webServer } from '../support/servers/web-server.ts';
import { until } from '../support/time/until.ts';
import { command, jsonLines, type Server, stackside, stacksideIn, startServer } from './stackside.ts';

const events = [...devnetEvents({ seed: 17, blocks: 30, accounts: 5, transactionsPerBlock: 2, forkEvery: 7 })];
const half = events.length >> 1;

let folder: DataDirectory;
let first: Server;
let key: string;
let web: WebServer;
const pathOf = (name: string): string => join(folder.path, name);

beforeAll(async () => {
  folder = dataDirectory();
  mkdirSync(pathOf('first'));
  const printed = await stackside('archive', 'key', '--data', pathOf('first'));
  key = printed.stdout.trim();
  const flags = ['--archive', pathOf('archive'), '--archive-public', '--hook-targets', 'loopback'];
  first = await startServer('serve', '--data', pathOf('first'), '--node-rpc', NO_NODE, ...flags);
  web = webServer(pathOf('archive'));
  await postEvents(events.slice(0, 20), first.events);
  writeFileSync(pathOf('hook.json'), JSON.stringify(definition('http://127.0.0.1:9/', [{ type: 'coinbase' }])));
  const added = await stackside('hooks', 'add', pathOf('hook.json'), '--url', first.api, '--data', pathOf('first'));
  expect([added.code, added.stderr]).toEqual([0, expect.any(String)]);
  await postEvents(events.slice(20, half), first.events);
  await untilAllArchived();
});
afterAll(async () => {
  await first.stop();
  web[Symbol.dispose]();
  folder[Symbol.dispose]();
});

/** The last entry of the archive, by its head. */
const archivedEntry = async (): Promise<number> => (await readHead(directoryFiles(pathOf('archive')), key))?.entry ?? 0;

/** Waits until the archive has every entry of the first server's journal. The server archives in the background. */
async function untilAllArchived(): Promise<number> {
  const entries = journalRows(pathOf('first')).length;
  await until(async () => (await archivedEntry()) === entries, 'the archive has all entries');
  return entries;
}

/** Routes about the chain: two servers of one node give equal answers. */
const CHAIN = [
  '/extended/v3/transactions?limit=50',
  '/extended/v2/blocks/latest',
  '/extended/v2/burn-blocks?limit=30',
  '/extended/v1/tx?limit=50',
  '/stackside/v1/forks',
  '/stackside/v1/contracts',
  '/metadata/v1/ft',
];
/** Routes with times of receipt: only two servers with the same journal give equal answers. */
const ROUTES = [...CHAIN, '/extended/v1/tx/mempool?limit=50', '/extended/v3/mempool/transactions?limit=50'];

async function answers({ api }: Server, routes: readonly string[]): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const route of routes) {
    const response = await fetch(api + route);
    expect([route, response.status]).toEqual([route, 200]);
    texts[route] = await response.text();
  }
  return texts;
}

test('a server that starts from a static web server returns the same responses and follows its node', async () => {
  const args = ['--data', pathOf('second'), '--node-rpc', NO_NODE, '--from', web.url, '--archive-public-key', key];
  const second = await startServer('serve', ...args);
  expect(web.requestedNames.some((name) => name.startsWith('open-'))).toBe(true);
  const before = await answers(second, ROUTES);
  expect(before).toEqual(await answers(first, ROUTES));
  for (const { events: url } of [first, second]) await postEvents(events.slice(half), url);
  const after = await answers(second, CHAIN);
  expect(after).toEqual(await answers(first, CHAIN));
  expect(after['/extended/v2/blocks/latest']).not.toBe(before['/extended/v2/blocks/latest']);
  await second.stop();
  // The same command also starts the server later.
  const restarted = await startServer('serve', ...args);
  expect(await answers(restarted, CHAIN)).toEqual(after);
  await restarted.stop();
  expect(problemsIn(pathOf('second'), { deep: silentMachine })).toEqual([]);
});

test('a new server that is stopped while it restores ends like any server', async () => {
  const requested = Promise.withResolvers<void>();
  using silent = Bun.serve({
    port: 0,
    fetch: () => {
      requested.resolve();
      return new Promise<Response>(() => {});
    },
  });
  const args = ['--data', pathOf('stopped'), '--node-rpc', NO_NODE, '--from', `http://127.0.0.1:${silent.port}`];
  await using server = Bun.spawn([...command, 'serve', ...args, '--archive-public-key', key], {
    stdin: 'ignore',
    stderr: 'pipe',
  });
  await requested.promise;
  server.kill('SIGTERM');
  expect(await server.exited).toBe(0);
  expect(jsonLines(await server.stderr.text()).at(-1)).toMatchObject({ msg: 'stopping', signal: 'SIGTERM' });
});

/** Permissions in an archive: of the directory, and of its files. */
const modesIn = (name: string): number[] => {
  const paths = [pathOf(name), ...readdirSync(pathOf(name)).map((file) => join(pathOf(name), file))];
  return [...new Set(paths.map((path) => statSync(path).mode & 0o777))];
};

test('everybody may read the objects of a public archive, and all are proven', async () => {
  await untilAllArchived();
  expect(modesIn('archive')).toEqual([0o755, 0o644]);
  const verified = await stackside('archive', 'verify', web.url, '--archive-public-key', key);
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining(' sound\n')]);
});

test('the commands take the URL and the key', async () => {
  const entries = await untilAllArchived();
  const status = await stackside('archive', 'status', web.url, '--archive-public-key', key, '--json');
  expect(JSON.parse(status.stdout)).toMatchObject({ location: web.url, last_entry: entries, fault: null });
  const list = await stackside('archive', 'list', web.url, '--archive-public-key', key);
  expect(list.stdout).toContain('open-');
  const into = ['--data', pathOf('restored')];
  const restored = await stackside('restore', `${web.url}/${HEAD}`, '--archive-public-key', key, ...into);
  expect([restored.code, restored.stdout]).toEqual([0, expect.stringContaining(`entry ${entries}\n`)]);
  const backup = await stackside('backup', pathOf('backup'), '--public', ...into);
  expect([backup.code, modesIn('backup')]).toEqual([0, [0o755, 0o644]]);
  const unsigned = await stackside('restore', web.url, '--archive-unsigned', '--data', pathOf('unsigned'));
  expect([unsigned.code, unsigned.stderr]).toEqual([0, expect.stringContaining('This archive is not verified')]);
});

test('status and verify report a missing segment and a missing open part of a signed archive', async () => {
  await untilAllArchived();
  const place = pathOf('spoiled');
  cpSync(pathOf('archive'), place, { recursive: true });
  const head = (await readHead(directoryFiles(place), key))!;
  const report = async (command: string, location = place) => {
    const { code, stdout } = await stackside('archive', command, location, '--archive-public-key', key);
    return [code, stdout];
  };
  expect((await report('status'))[0]).toBe(0);
  rmSync(join(place, head.open!));
  const lacks = expect.stringContaining(`${head.open} is missing or differs from the signed list`);
  for (const command of ['status', 'verify']) expect(await report(command)).toEqual([EXIT.difference, lacks]);
  using mirror = webServer(place);
  expect(await report('status', mirror.url)).toEqual([EXIT.difference, lacks]);
  const segments = pathOf('segments');
  await archive(pathOf('first'), directoryFiles(segments), 'one', { signer: loadOrCreateSigner(pathOf('first')) });
  expect((await report('status', segments))[0]).toBe(0);
  const [, name] = (await readHead(directoryFiles(segments), key))!.segments;
  rmSync(join(segments, name!));
  const missing = expect.stringContaining(`${name} is missing`);
  for (const command of ['status', 'verify'])
    expect(await report(command, segments)).toEqual([EXIT.difference, missing]);
});

/** Creates a self-signed certificate for a host. @returns the paths of the certificate and its key */
function certificate(name: string, host: string): { cert: string; key: string } {
  const files = { cert: pathOf(`${name}.pem`), key: pathOf(`${name}.key`) };
  const { exitCode, stderr } = Bun.spawnSync([
    ...['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-keyout', files.key, '-out', files.cert, '-subj', '/CN=test', '-addext', `subjectAltName=${host}`],
  ]);
  if (exitCode !== 0) throw new Error(stderr.toString());
  return files;
}
const pem = (files: { cert: string; key: string }) => ({
  cert: readFileSync(files.cert, 'utf8'),
  key: readFileSync(files.key, 'utf8'),
});

test('a certificate must be valid, and https is not left by a redirect', async () => {
  const own = certificate('own', 'IP:127.0.0.1');
  const other = certificate('other', 'DNS:mirror.example.org');
  using secure = webServer(pathOf('archive'), pem(own));
  using misnamed = webServer(pathOf('archive'), pem(other));
  const restore = (variables: Record<string, string>, url: string, name: string) =>
    stacksideIn(variables, 'restore', url, '--archive-public-key', key, '--data', pathOf(name));
  const unknown = await restore({}, secure.url, 'of-unknown');
  expect([unknown.code, unknown.stderr]).toEqual([
    EXIT.operator,
    expect.stringContaining(`The certificate of the server of ${secure.url}/${HEAD} is not valid: `),
  ]);
  const wrong = await restore({ NODE_EXTRA_CA_CERTS: other.cert }, misnamed.url, 'of-wrong');
  expect([wrong.code, wrong.stderr]).toEqual([EXIT.operator, expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID')]);
  const trusted = { NODE_EXTRA_CA_CERTS: own.cert };
  expect((await restore(trusted, secure.url, 'of-trusted')).code).toBe(0);
  secure.answer = (name) => Response.redirect(`${web.url}/${name}`);
  const left = await restore(trusted, secure.url, 'of-left');
  expect([left.code, left.stderr]).toEqual([
    EXIT.operator,
    expect.stringContaining(`${secure.url}/${HEAD} redirects to plain HTTP.`),
  ]);
});
