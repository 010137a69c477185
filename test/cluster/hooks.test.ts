/** Chainhooks of hosts that share a log: registration, sealed secrets, and requests that a cluster rejects. */
import { expect, test } from 'bun:test';
import { readDefinition } from '../../src/hooks/definition/definition.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { commandsOf } from '../../src/store/ingest/commands.ts';
import { identityEntry, newIdentity } from '../../src/store/ingest/log-identity.ts';
import { type OldNameCommands, type OldNameRow, oldNameParts } from '../../src/store/ingest/old-names.ts';
import { directHooks } from '../hooks/direct.ts';
import { definition } from '../hooks/server.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { simulatedEvents } from '../support/data/ingest.ts';
import { MemoryLog } from '../support/data/memory-log.ts';
import { rebuild } from '../support/data/rebuild.ts';
import { sealing } from '../support/data/sealing.ts';
import { wholeIndex } from '../support/data/tables.ts';
import { openFollower, openHost } from './open-host.ts';

const events = simulatedEvents({ seed: 3, blocks: 3, accounts: 3, transactionsPerBlock: 1 });
const filters = [{ type: 'coinbase' }, { type: 'stx_event' }];
const hook = (name: string) => ({
  ...definition('http://127.0.0.1:9/', filters, { enable_on_registration: true }),
  name,
});

/** The journal of a directory as `stackside cluster init` appends it. */
function initiated(directory: string): MemoryLog {
  const log = new MemoryLog();
  const journal = openJournalReader(directory);
  for (const entry of journal?.after(0) ?? []) log.add(entry, log.head);
  journal?.close();
  return log;
}

/** The tables of chainhooks and faucets. */
const hooksOf = (directory: string) =>
  Object.fromEntries(
    Object.entries(wholeIndex(directory)).filter(([name]) => name.startsWith('hook') || name === 'faucet_requests'),
  );

test('a single host becomes the first of a cluster by its journal, which has its chainhooks and their queue', async () => {
  using directory = dataDirectory();
  let secret: string | null;
  {
    await using single = directHooks({ directory: directory.path });
    for (const event of events.slice(0, -3)) single.ingest.receive(event);
    const uuid = await single.register(hook('one'));
    for (const event of events.slice(-3)) single.ingest.receive(event);
    await single.managed.setEnabled('default', uuid, false);
    await single.register(hook('two'));
    ({ secret } = await single.managed.rotateSecret('default'));
  }
  const before = hooksOf(directory.path);
  expect(before.hooks).toHaveLength(2);
  const log = initiated(directory.path);
  await using first = await openFollower(log, directory.path);
  await using second = await openFollower(log);
  expect(hooksOf(first.directory)).toEqual(before);
  expect(hooksOf(second.directory)).toEqual(before);
  const stored = second.ingest.hooks.secrets.find('default');
  expect(sealing.open('default', stored?.secret ?? new Uint8Array())?.toHex()).toBe(secret ?? '');

  // Any host accepts the following requests, and live hooks continue where they were.
  const [newest] = second.ingest.hooks.records.live();
  expect(newest?.status).toBe('new');
  const subject = { consumer: 'default', uuid: newest!.uuid };
  // An unknown member is ignored, even with an invalid value.
  await second.hooks.run('hook.redefine', { ...subject, change: { name: 'renamed', unknown: 2 ** 64 } });
  await first.follow(log.head.id);
  expect(hooksOf(second.directory)).toEqual(hooksOf(first.directory));
  await second.hooks.run('hook.remove', subject);
  await first.follow(log.head.id);
  expect(first.ingest.hooks.records.live()).toEqual([]);
});

test('a new identity of the log pauses chainhooks on every host, and any host enables them again', async () => {
  using directory = dataDirectory();
  {
    await using single = directHooks({ directory: directory.path });
    for (const event of events.slice(0, -3)) single.ingest.receive(event);
    await single.register(hook('one'));
    await single.ingest.entries.follow(
      [identityEntry(single.ingest.position(), 1, newIdentity())],
      'each',
      false,
      async () => {},
    );
  }
  const log = initiated(directory.path);
  await using first = await openFollower(log, directory.path);
  await using second = await openFollower(log);
  const [paused] = second.ingest.hooks.records.all('default');
  expect(paused).toMatchObject({ stage: 'paused' });
  expect(hooksOf(second.directory)).toEqual(hooksOf(first.directory));
  await second.hooks.run('hook.set_many_enabled', { consumer: 'default', enabled: true, filters: { paused: true } });
  await first.follow(log.head.id);
  expect(first.ingest.hooks.records.all('default')).toMatchObject([{ stage: 'catching_up' }]);
  expect(hooksOf(second.directory)).toEqual(hooksOf(first.directory));
});

test('names from before the chain come to all hosts, once', async () => {
  const log = new MemoryLog();
  await using first = openHost(log.client());
  for (const event of events) await first.host.receive(event);
  const price = { base: 1n, coefficient: 2n ** 70n, exponents: [1n], nonalphaDiscount: 1n, noVowelDiscount: 1n };
  const zonefileHash = new Uint8Array(20).fill(7);
  async function* rows(): AsyncGenerator<OldNameRow> {
    yield { kind: 'zonefile', hash: zonefileHash, content: '$ORIGIN a.id' };
    yield { kind: 'namespace', namespace: 'id', lifetime: 52_595, price };
    yield { kind: 'name', name: 'a.id', owner: 'SP1', zonefileHash };
  }
  const send = async (host: typeof first) => {
    const { run } = commandsOf<OldNameCommands>(host.host.commander);
    const added: number[] = [];
    for await (const part of oldNameParts(rows())) added.push(await run('names.add', part));
    return added;
  };
  expect(await send(first)).toEqual([3]);
  const { id } = log.head;
  await using second = await openFollower(log);
  expect(await send(second)).toEqual([0]);
  expect(log.head.id).toBe(id);
  const index = wholeIndex(second.directory);
  expect(index).toEqual(wholeIndex(first.directory));
  expect([index.old_names, index.old_zonefiles, index.old_namespaces].map((rows) => rows?.length)).toEqual([1, 1, 1]);
});

test('a host that leaves its cluster keeps its data, and a rebuild makes the same index', async () => {
  const log = new MemoryLog();
  using directory = dataDirectory();
  {
    await using first = openHost(log.client(), directory.path);
    for (const event of events) await first.host.receive(event);
    const definition = readDefinition(hook('of the cluster'), null);
    await first.hooks.run('hook.register', { uuid: crypto.randomUUID(), consumer: 'default', definition });
  }
  {
    await using alone = directHooks({ directory: directory.path });
    await alone.register(hook('of its own'));
    expect(alone.hooks.store.records.all('default')).toHaveLength(2);
  }
  const before = wholeIndex(directory.path);
  rebuild(directory.path);
  expect(wholeIndex(directory.path)).toEqual(before);
});
