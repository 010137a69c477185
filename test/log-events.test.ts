import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { serverStates } from '../src/api/server-state.ts';
import type { ServiceName } from '../src/base/log-events.ts';
import { levelOf } from '../src/log.ts';

const page = await Bun.file(join(import.meta.dir, '../docs/logs.md')).text();
const [events = '', services = ''] = page.slice(page.indexOf('### Server\n')).split('### Services\n');

test('docs/logs.md explains each log event once, with its level', () => {
  const rows = [...events.matchAll(/^\| `(\w+)` \| (\w+) \| .+ \|$/gm)].map(([, event, level]) => [event, level]);
  expect(rows.sort()).toEqual(Object.entries(levelOf).sort());
});

const serviceNames: Record<ServiceName, true> = {
  writes: true,
  index: true,
  archive: true,
  bases: true,
  following: true,
  snp: true,
  gap_filling: true,
  starting_accounts: true,
  token_metadata: true,
  shared_log: true,
  delivery_lease: true,
};

test('docs/logs.md explains each service that can fail once', () => {
  const rows = [...services.matchAll(/^\| `(\w+)` \| .+ \|$/gm)].map(([, service]) => service);
  expect(rows.sort()).toEqual(Object.keys(serviceNames).sort());
});

test('docs/logs.md lists each state of a server, in the order in which they apply', () => {
  const states = page.slice(page.indexOf('## States\n'), page.indexOf('`/ready` is 200'));
  const rows = [...states.matchAll(/^\| `(\w+)` \| .+ \|$/gm)].map(([, state]) => state);
  expect(rows).toEqual([...serverStates]);
});
