/** Checks when a server or a demo starts. */
import { expect, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { demoSettings, devnetSettings, withFreePorts } from '../../src/commands/serve/devnet.ts';
import { requireTwoPorts, warnOfOpenEventPort, warnOfUnmanagedHooks } from '../../src/commands/serve/start-checks.ts';
import type { LogEvent } from '../../src/log.ts';
import { readSettingsOf } from '../../src/settings/config.ts';
import { refusal } from '../support/data/archive.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { serving } from '../support/servers/serving.ts';
import { standInNode } from '../support/servers/stand-in-node.ts';

test.each([
  ['0.0.0.0', 1],
  ['192.168.1.5', 1],
  ['127.0.0.1', 0],
  ['localhost', 0],
])('--event-host %s gives %d warnings that other machines reach the event port', async (eventHost, warnings) => {
  const logged: LogEvent[] = [];
  const resolve = async () => ['127.0.0.1'];
  await warnOfOpenEventPort({ eventHost, eventPort: 3700 }, (event) => void logged.push(event), resolve);
  expect(logged.map(({ event }) => event)).toEqual(Array(warnings).fill('setup_warning'));
});

test.each([
  [{ mode: 'write' }, false, 0],
  [{ mode: 'write' }, true, 1],
  [{ mode: 'write', hookAlert: 'https://example.org/alerts' }, false, 1],
  [{ mode: 'write', hookTargets: 'loopback' }, false, 1],
  [{ mode: 'full', hookTargets: 'loopback' }, true, 0],
  [{ mode: 'read', hookTargets: 'loopback' }, false, 0],
])(
  'with %o and chainhooks in the data (%p), the server gives %d warnings that no port manages them',
  (flags, hasHooks, warnings) => {
    const logged: LogEvent[] = [];
    warnOfUnmanagedHooks(readSettingsOf('serve', flags, {}).settings, hasHooks, (event) => void logged.push(event));
    expect(logged.map(({ event }) => event)).toEqual(Array(warnings).fill('setup_warning'));
  },
);

test('refuses one port for the API and for events, and names both settings', () => {
  const hosts = { apiHost: '127.0.0.1', eventHost: '127.0.0.1' };
  const ports = { ...hosts, mode: 'full', snp: null, apiPort: 3700, eventPort: 3700 } as const;
  expect(() => requireTwoPorts(ports)).toThrow('--api-port and --event-port are both 3700.');
  for (const other of [
    { eventHost: '10.0.0.5' },
    { mode: 'read' },
    { snp: 'redis://127.0.0.1' },
    { apiPort: 0, eventPort: 0 },
  ] as const) {
    expect(() => requireTwoPorts({ ...ports, ...other })).not.toThrow();
  }
});

test('--rate-limit 0 without read keys is refused before the data directory is made', async () => {
  using folder = dataDirectory();
  const data = join(folder.path, 'data');
  expect(await refusal(serving({ rateLimit: '0', threads: '0' }, data))).toBe('--rate-limit 0 requires read keys.');
  expect(existsSync(data)).toBe(false);
  await using writing = await serving({ rateLimit: '0', mode: 'write' }, data);
  expect(writing.api).toBe('');
});

test('a start logs the files of the keys that it makes, and the next start none', async () => {
  using folder = dataDirectory();
  const data = join(folder.path, 'data');
  const settings = { archive: join(folder.path, 'archive'), archivePublic: 'true', threads: '0' };
  const start = async () => {
    const files: string[] = [];
    const createLog = () => (event: LogEvent) => {
      if (event.event === 'key_created') files.push(event.file);
    };
    await (await serving(settings, data, {}, { createLog }))[Symbol.asyncDispose]();
    return files.sort();
  };
  expect(await start()).toEqual(['admin.key', 'archive.key', 'secrets.key'].map((name) => join(data, name)));
  expect(await start()).toEqual([]);
});

test('a demo uses a free port if its default port is in use and logs it, but never replaces a given port', () => {
  using other = standInNode();
  const port = Number(new URL(other.url).port);
  const settings = demoSettings(readSettingsOf('demo', {}, {}).settings);
  const chosen = { ...settings, apiPort: port, eventPort: 0 };
  const logged: LogEvent[] = [];
  const log = (event: LogEvent) => void logged.push(event);
  expect(withFreePorts(chosen, {}, log)).toMatchObject({ apiPort: 0, eventPort: 0 });
  expect(logged).toEqual([{ event: 'port_in_use', port, flag: '--api-port' }]);
  const named = { apiPort: { kind: 'flag', name: '--api-port' } } as const;
  expect(() => withFreePorts(chosen, named, log)).toThrow(
    `The API can't listen on 127.0.0.1:${port}: the port is in use.`,
  );
  const events = { eventPort: { kind: 'flag', name: '--event-port' } } as const;
  expect(() => withFreePorts({ ...chosen, apiPort: 0, eventPort: port }, events, log)).toThrow(
    `The event receiver can't listen on 127.0.0.1:${port}: the port is in use.`,
  );
  expect(logged).toHaveLength(1);
});

test('a devnet runs the project of its directory unless --clarity names another one', () => {
  using directory = dataDirectory();
  const clarityOf = (flags: Record<string, string>) =>
    devnetSettings(readSettingsOf('devnet', flags, {}).settings, directory.path).clarity;
  expect(clarityOf({})).toBeNull();
  writeFileSync(join(directory.path, 'Clarinet.toml'), '');
  expect(clarityOf({})).toBe(directory.path);
  expect(clarityOf({ clarity: './other' })).toBe('./other');
});
