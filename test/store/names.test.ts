/** The name system through forks, attachments that come at any time, and the life of a name put together by hand. */
import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, type OpenIngest, openAt, openNew, received } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { eventsOf, forks } from '../support/events/forked-chain.ts';
import { bob, carol } from '../support/events/handmade.ts';
import {
  attached,
  hashOfText,
  launched,
  mintTo,
  moveTo,
  type NameTransaction,
  nameBlock,
  operated,
  renewed,
} from '../support/events/names.ts';
import { addOldNames } from '../support/events/old-names.ts';
import { winningChain } from '../support/events/winning-chain.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

async function read<T>(directory: string, ask: (reader: Reader) => T | Promise<T>): Promise<T> {
  using snapshots = snapshotsOf(directory);
  return await snapshots.readLong(async (reader) => ask(reader));
}

/** Returns all answers of the name system about names, subdomains and owners. */
const everyAnswer = (directory: string, subjects: readonly string[]) =>
  read(directory, async ({ names }) => {
    const answers: Record<string, unknown> = { names: names.page(0), namespaces: names.namespaces() };
    for (const subject of subjects) {
      answers[subject] = [
        names.find(subject),
        names.findSubdomain(subject),
        names.resolver(subject),
        names.zonefile(subject, null),
        await names.subdomains(subject),
        await names.ofOwner(subject),
        names.ofNamespace(subject, 0),
        names.price(subject),
      ];
    }
    return answers;
  });

function subjectsIn(directory: string): string[] {
  using db = new Database(indexPath(directory), { readonly: true });
  const column = `SELECT name AS subject FROM name_operations UNION SELECT subdomain FROM subdomains
    UNION SELECT owner FROM subdomains UNION SELECT namespace FROM namespaces UNION SELECT address FROM principals`;
  return (db.query(column).values() as [string][]).flat();
}

const inAnyOrder = (events: readonly NodeEvent[]) => {
  const attachments = events.filter(({ path }) => path === '/attachments/new');
  return [...attachments.toReversed(), ...winningChain(events)];
};

async function holdsTheLaw(events: readonly NodeEvent[]): Promise<{ subjects: number; subdomains: number }> {
  using forked = ingestOf(events.map(received));
  using straight = ingestOf(inAnyOrder(events).map(received));
  const subjects = subjectsIn(forked.path);
  const answers = await everyAnswer(forked.path, subjects);
  expect(answers).toEqual(await everyAnswer(straight.path, subjects));
  const results = await read(forked.path, ({ names }) =>
    Promise.all(subjects.map((subject) => names.findSubdomain(subject))),
  );
  return { subjects: subjects.length, subdomains: results.filter((match) => match !== undefined).length };
}

test('after any forks and attachments, names equal those on the winning chain', async () => {
  const seen = new Seen({ subjects: 10 });
  await assertProperty(
    fc.asyncProperty(forks(), async (generated) => {
      seen.add('subjects', (await holdsTheLaw(eventsOf(generated))).subjects);
    }),
    { seen, cases: 1 },
  );
  const long = [...devnetEvents({ seed: 11, blocks: 45, accounts: 20, transactionsPerBlock: 10, forkEvery: 6 })];
  expect((await holdsTheLaw(long)).subdomains).toBeGreaterThan(2);
});

/** Receives a block of transactions on a parent. */
function take(open: OpenIngest, ...[parent, label, ...transactions]: Parameters<typeof nameBlock>) {
  const taken = nameBlock(parent, label, ...transactions);
  open.ingest.receive(taken.event);
  return taken;
}
const findName = (open: OpenIngest, name = 'alice.btc') => read(open.directory, ({ names }) => names.find(name));
const subdomain = (open: OpenIngest, name = 'joe.alice.btc') =>
  read(open.directory, ({ names }) => names.findSubdomain(name));

describe('the life of a name', () => {
  test('an import gives the name to its beneficiary, and the lease starts with the launch and with each renewal', async () => {
    using open = openNew();
    const imported = operated({ op: 'name-import', zonefile: 'one', token: mintTo(bob.address) });
    const block1 = take(open, null, 'imported', imported);
    expect(await findName(open)).toMatchObject({ owner: bob.address, operation: 'name-import', expireBlock: 0 });

    const block2 = take(open, block1, 'launched', launched(1000));
    const txId = Uint8Array.fromHex(imported.transaction.id.slice(2));
    expect(await findName(open)).toMatchObject({ expireBlock: 2 + 1000, txId });

    const block3 = take(open, block2, 'updated', operated({ op: 'name-update', zonefile: 'two' }));
    expect(await findName(open)).toMatchObject({ operation: 'name-update', expireBlock: 1002, zonefile: '' });

    const block4 = take(open, block3, 'renewed', renewed());
    expect(await findName(open)).toMatchObject({ operation: 'name-renewal', expireBlock: 1004, owner: bob.address });

    take(open, block4, 'moved', operated({ op: 'name-transfer', token: moveTo(carol.address) }));
    expect(await findName(open)).toMatchObject({ operation: 'name-transfer', expireBlock: 1004, owner: carol.address });
    expect(await read(open.directory, ({ names }) => names.ofOwner(carol.address))).toEqual(['alice.btc']);
    expect(await read(open.directory, ({ names }) => names.ofOwner(bob.address))).toEqual([]);
  });

  test('a revocation hides the name and its subdomains until it is registered again', async () => {
    using open = openNew();
    const zonefile = 'joe TXT "owner=SP1" "zf0=YQ=="\n';
    const registered = operated({ op: 'name-register', zonefile: 'first', token: mintTo(bob.address) });
    const block1 = nameBlock(null, 'one', launched(0), registered);
    const update = operated({ op: 'name-update', zonefile });
    const block2 = nameBlock(block1, 'two', update);
    for (const event of [block1.event, block2.event, attached(update, block2, 'name-update', zonefile)])
      open.ingest.receive(event);
    expect(await findName(open)).toMatchObject({ zonefile, expireBlock: 1 });
    expect(await subdomain(open)).toMatchObject({ owner: 'SP1', zonefile: 'a', resolver: '' });

    const block3 = take(open, block2, 'three', operated({ op: 'name-revoke' }));
    const answers = await everyAnswer(open.directory, ['alice.btc', 'joe.alice.btc', 'SP1', bob.address]);
    const none = [undefined, undefined, '', undefined, [], [], undefined, undefined];
    expect(answers).toMatchObject({ names: [], 'alice.btc': none, 'joe.alice.btc': none });

    take(open, block3, 'four', operated({ op: 'name-register', zonefile: 'again' }));
    expect(await findName(open)).toMatchObject({ operation: 'name-register', zonefile: '', expireBlock: 4 });
    expect(await subdomain(open)).toMatchObject({ owner: 'SP1' });
    const hash = hashOfText(zonefile);
    expect(await read(open.directory, ({ names }) => names.zonefile('alice.btc', hash))).toBe(zonefile);
  });

  test('an operation without a zonefile keeps the previous zonefile', async () => {
    using open = openNew();
    const registered = operated({ op: 'name-register', zonefile: 'mine', token: mintTo(bob.address) });
    const block1 = nameBlock(null, 'one', registered);
    const block2 = nameBlock(block1, 'two', operated({ op: 'name-transfer', token: moveTo(carol.address) }));
    // The attachment comes before both blocks.
    for (const event of [attached(registered, block1, 'name-register', 'mine'), block1.event, block2.event])
      open.ingest.receive(event);
    const kept = { operation: 'name-transfer', zonefile: 'mine', zonefileHash: hashOfText('mine') };
    expect(await findName(open)).toMatchObject(kept);
  });
});

test('subdomains go with the block that declared them, and come back with it', async () => {
  using open = openNew();
  const declares = (owner: string) => `joe TXT "owner=${owner}"\n_resolver URI 10 1 "https://of.${owner}"\n`;
  const root = nameBlock(null, 'one', operated({ op: 'name-register', zonefile: 'first', token: mintTo(bob.address) }));
  const updating = (zonefile: string) => ({ update: operated({ op: 'name-update', zonefile }), zonefile });
  const [first, second] = [updating(declares('first')), updating(declares('second'))];
  const block2 = nameBlock(root, 'two', first.update);
  const block3 = nameBlock(block2, 'three', second.update);
  for (const event of [root.event, block2.event, block3.event]) open.ingest.receive(event);
  open.ingest.receive(attached(second.update, block3, 'name-update', second.zonefile));
  open.ingest.receive(attached(first.update, block2, 'name-update', first.zonefile));
  expect(await subdomain(open)).toMatchObject({ owner: 'second', resolver: 'https://of.second' });

  // A fork that leaves the second update out.
  take(open, take(open, block2, 'rival three'), 'rival four');
  expect(await subdomain(open)).toMatchObject({ owner: 'first' });
  expect(await read(open.directory, ({ names }) => names.resolver('eve.alice.btc'))).toBe('https://of.first');
  expect(await read(open.directory, ({ names }) => names.ofOwner('second'))).toEqual([]);

  take(open, take(open, block3, 'four'), 'five');
  expect(await subdomain(open)).toMatchObject({ owner: 'second' });
  expect(await read(open.directory, ({ names }) => names.ofOwner('first'))).toEqual([]);
});

test('only an update declares subdomains', async () => {
  using open = openNew();
  const zonefile = 'joe TXT "owner=SP1"\n';
  const registered = operated({ op: 'name-register', zonefile, token: mintTo(bob.address) });
  const root = nameBlock(null, 'one', registered);
  for (const event of [root.event, attached(registered, root, 'name-register', zonefile)]) open.ingest.receive(event);
  expect(await subdomain(open)).toBeUndefined();
  expect(await findName(open)).toMatchObject({ zonefile });
});

test('two names with the same zonefile in one transaction both have its subdomains', async () => {
  using open = openNew();
  const zonefile = 'joe TXT "owner=SP1"\n';
  const names = ['alice', 'bob'].map((name) => operated({ op: 'name-update', zonefile, name }));
  const [first, second] = names as [NameTransaction, NameTransaction];
  const { transaction } = first;
  const moved = second.events.map((event) => ({ ...event, txid: transaction.id, event_index: 2 }));
  const both = { transaction, events: [...first.events, ...moved] };
  const holder = take(open, null, 'both', both);
  for (const name of ['alice', 'bob']) open.ingest.receive(attached(both, holder, 'name-update', zonefile, name));
  for (const name of ['alice', 'bob']) expect(await subdomain(open, `joe.${name}.btc`)).toMatchObject({ owner: 'SP1' });
});

test('a name and an owner with 25,000 subdomains have all of them', async () => {
  using open = openNew();
  take(open, null, 'one', operated({ op: 'name-register', zonefile: 'x' }));
  const COUNT = 25_000;
  {
    using db = new Database(indexPath(open.directory));
    const add = db.prepare("INSERT INTO old_names VALUES (?1, 'alice.btc', 'one', zeroblob(20), '', '')");
    db.transaction(() => {
      for (let index = 0; index < COUNT; index++) add.run(`s${index}.alice.btc`);
    })();
  }
  const names = Array.from({ length: COUNT }, (_, index) => `s${index}.alice.btc`).sort();
  expect(await read(open.directory, ({ names }) => names.subdomains('alice.btc'))).toEqual(names);
  expect((await read(open.directory, ({ names }) => names.ofOwner('one'))).sort()).toEqual(names);
});

test('a name from before the chain keeps its data until the first operation on it, and gets it back in a fork without one', async () => {
  using directory = dataDirectory();
  const price = { base: 1n, coefficient: 1n, exponents: [1n], nonalphaDiscount: 1n, noVowelDiscount: 1n };
  await addOldNames(directory.path, async function* () {
    yield { kind: 'namespace', namespace: 'btc', lifetime: 500, price };
    yield { kind: 'name', name: 'alice.btc', owner: bob.address, zonefileHash: hashOfText('old') };
    yield { kind: 'zonefile', hash: hashOfText('old'), content: 'old' };
  });
  using open = openAt(directory.path);
  const block1 = nameBlock(null, 'one', operated({ op: 'name-register', name: 'other', zonefile: 'x' }));
  const moved = nameBlock(block1, 'moved', operated({ op: 'name-transfer', token: moveTo(carol.address) }));
  const renewal = nameBlock(moved, 'renewed', renewed());
  const revoked = nameBlock(renewal, 'revoked', operated({ op: 'name-revoke' }));

  open.ingest.receive(block1.event);
  expect(await findName(open)).toMatchObject({ owner: bob.address, expireBlock: 501, zonefile: 'old' });
  open.ingest.receive(moved.event);
  expect(await findName(open)).toMatchObject({ owner: carol.address, expireBlock: 501, zonefile: 'old' });
  expect(await read(open.directory, ({ names }) => names.ofOwner(bob.address))).toEqual([]);
  open.ingest.receive(renewal.event);
  expect(await findName(open)).toMatchObject({ operation: 'name-renewal', expireBlock: 503 });
  open.ingest.receive(revoked.event);
  expect(await findName(open)).toBeUndefined();
  expect(await read(open.directory, ({ names }) => names.page(0))).toEqual(['other.btc']);

  // A fork without operations on the name.
  let rival = block1;
  for (const label of ['rival 2', 'rival 3', 'rival 4', 'rival 5']) rival = take(open, rival, label);
  expect(await findName(open)).toMatchObject({ owner: bob.address, operation: 'name-register', expireBlock: 501 });
  expect(await read(open.directory, ({ names }) => names.page(0))).toEqual(['alice.btc', 'other.btc']);
  expect(problemsIn(directory.path)).toEqual([]);
});

test('names are listed in pages of 100', async () => {
  using open = openNew();
  const names = Array.from({ length: 205 }, (_, index) => `n${index}`);
  const registrations = names.map((name) => operated({ op: 'name-register', zonefile: name, name }));
  take(open, null, 'many', launched(1), ...registrations);
  const pages = await read(open.directory, async (reader) => [
    ...(await Promise.all([0, 1, 2, 3].map((page) => reader.names.page(page)))),
    reader.names.ofNamespace('btc', 2),
  ]);
  expect(pages.map((page) => page?.length)).toEqual([100, 100, 5, 0, 5]);
  expect(pages.slice(0, 3).flat()).toEqual(names.map((name) => `${name}.btc`).sort());
});
