/** The name system through forks, attachments that come at any time, and the life of a name put together by hand. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import fc from 'fast-check';
import { NAME_CONTRACTS, nameToken } from '../../src/chain/name-system.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { transactionId } from '../../src/codec/transaction.ts';
import { utf8Bytes } from '../../src/codec/utf8.ts';
import { hash160 } from '../../src/devnet/name-system.ts';
import { networks } from '../../src/devnet/network.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { contractCall } from '../../src/devnet/payloads.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { signTransaction } from '../../src/devnet/transaction-encode.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { takeOldNames } from '../../src/store/ingest/old-name-writer.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { type DataDirectory, dataDirectory } from '../support/data-directory.ts';
import { eventsOf, forks } from '../support/forked-chain.ts';
import { alice, block, bob, carol, type MadeBlock, receipt, transfer } from '../support/handmade.ts';
import { ingestOf, type OpenIngest, openAt, openNew, received } from '../support/ingest.ts';
import { jsonOf } from '../support/payload-text.ts';
import { assertProperty } from '../support/property.ts';
import { winningChain } from '../support/winning-chain.ts';

const CONTRACT = NAME_CONTRACTS[1];

async function read<T>(directory: string, ask: (reader: Reader) => Promise<T>): Promise<T> {
  const snapshots = openSnapshots(directory);
  try {
    return await snapshots.read(ask);
  } finally {
    snapshots.close();
  }
}

/** All that the name system answers, of every name, subdomain and owner that was ever heard of. */
const everyAnswer = (directory: string, subjects: readonly string[]) =>
  read(directory, async ({ names }) => {
    const answers: Record<string, unknown> = { names: await names.page(0), namespaces: await names.namespaces() };
    for (const subject of subjects) {
      answers[subject] = [
        await names.find(subject),
        await names.findSubdomain(subject),
        await names.resolver(subject),
        await names.zonefile(subject, null),
        await names.subdomains(subject),
        await names.ofOwner(subject),
        await names.ofNamespace(subject, 0),
        await names.price(subject),
      ];
    }
    return answers;
  });

function subjectsIn(directory: string): string[] {
  using db = new Database(indexPath(directory), { readonly: true });
  const column = `SELECT name AS subject FROM name_operations UNION SELECT subdomain FROM subdomains
    UNION SELECT owner FROM subdomains UNION SELECT namespace FROM namespaces UNION SELECT address FROM principals`;
  return db
    .query<{ subject: string }, []>(column)
    .all()
    .map(({ subject }) => subject);
}

const inAnyOrder = (events: readonly NodeEvent[]) => {
  const attachments = events.filter(({ path }) => path === '/attachments/new');
  return [...attachments.toReversed(), ...winningChain(events)];
};

async function holdsTheLaw(events: readonly NodeEvent[]): Promise<{ subdomains: number }> {
  using forked = ingestOf(events.map(received), { journal: false });
  using straight = ingestOf(inAnyOrder(events).map(received), { journal: false });
  const subjects = subjectsIn(forked.path);
  const answers = await everyAnswer(forked.path, subjects);
  expect(answers).toEqual(await everyAnswer(straight.path, subjects));
  const all = await read(forked.path, ({ names }) =>
    Promise.all(subjects.map((subject) => names.findSubdomain(subject))),
  );
  return { subdomains: all.filter((found) => found !== undefined).length };
}

test('whatever forks there were and whenever attachments came, the answers are those of the winning chain', async () => {
  await assertProperty(
    fc.asyncProperty(forks(), async (generated) => {
      await holdsTheLaw(eventsOf(generated));
    }),
    { cases: 5 },
  );
  const long = [...devnetEvents({ seed: 11, blocks: 70, accounts: 20, transactionsPerBlock: 10, forkEvery: 6 })];
  expect((await holdsTheLaw(long)).subdomains).toBeGreaterThan(2);
});

interface Operation {
  op: string;
  zonefile?: string;
  name?: string;
  /** Events of the token. */
  token?: object;
}

const buffer = (text: string) => clarity.buffer(utf8Bytes(text));
let nonce = 0;

const metadataOf = (op: string, name: string): Uint8Array =>
  clarity.tuple({
    name: buffer(name),
    namespace: buffer('btc'),
    op: clarity.ascii(op),
    'tx-sender': clarity.principal(alice.address),
  });

const hashOfText = (zonefile: string): Uint8Array => hash160(utf8Bytes(zonefile));

const printed = (txid: string, value: Uint8Array) => ({
  txid,
  event_index: 1,
  committed: true,
  type: 'contract_event',
  contract_event: { contract_identifier: CONTRACT, topic: 'print', raw_value: toHex(value) },
});

/** A transaction that did something to a name. */
function operated({ op, zonefile, name = 'alice', token }: Operation) {
  const transaction = transfer(alice, nonce++, 1);
  const hash = zonefile === undefined ? new Uint8Array(0) : hashOfText(zonefile);
  const value = clarity.tuple({
    attachment: clarity.tuple({
      'attachment-index': clarity.uint(1),
      hash: clarity.buffer(hash),
      metadata: metadataOf(op, name),
    }),
  });
  const moved = { asset_identifier: `${CONTRACT}::names`, raw_value: toHex(nameToken(`${name}.btc`)!), ...token };
  const type = token === undefined ? null : 'sender' in token ? 'nft_transfer_event' : 'nft_mint_event';
  const events = [
    ...(type === null ? [] : [{ txid: transaction.id, event_index: 0, committed: true, type, [type]: moved }]),
    printed(transaction.id, value),
  ];
  return { transaction, events };
}

function launched(lifetime: number) {
  const transaction = transfer(alice, nonce++, 1);
  const value = clarity.tuple({
    namespace: buffer('btc'),
    status: clarity.ascii('ready'),
    properties: clarity.tuple({
      lifetime: clarity.uint(lifetime),
      'price-function': clarity.tuple({
        base: clarity.uint(4),
        buckets: clarity.list(Array.from({ length: 16 }, () => clarity.uint(1))),
        coeff: clarity.uint(250),
        'no-vowel-discount': clarity.uint(1),
        'nonalpha-discount': clarity.uint(1),
      }),
    }),
  });
  return { transaction, events: [printed(transaction.id, value)] };
}

function renewed() {
  const args = [buffer('btc'), buffer('alice'), clarity.uint(1), clarity.none(), clarity.none()];
  const origin = { account: bob, nonce: nonce++, fee: 1n };
  const raw = signTransaction({ payload: contractCall(CONTRACT, 'name-renewal', args), origin }, networks.testnet);
  return { transaction: { id: toHex(transactionId(raw)), raw: toHex(raw) }, events: [] };
}

type Made = ReturnType<typeof operated> | ReturnType<typeof launched> | ReturnType<typeof renewed>;

const blockOf = (parent: MadeBlock | null, label: string, ...made: Made[]): MadeBlock =>
  block(
    parent,
    label,
    made.map(({ transaction }, index) => receipt(transaction, index)),
    { events: made.flatMap(({ events }) => events) },
  );

const attached = (made: Made, at: MadeBlock, op: string, zonefile: string, name = 'alice'): ReceivedEvent => ({
  path: '/attachments/new',
  text: jsonOf([
    {
      attachment_index: 1,
      index_block_hash: at.hash,
      block_height: at.height,
      content_hash: toHex(hashOfText(zonefile)),
      contract_id: CONTRACT,
      metadata: toHex(metadataOf(op, name)),
      tx_id: made.transaction.id,
      content: toHex(utf8Bytes(zonefile)),
    },
  ]),
  receivedAt: 0,
});

const found = (open: OpenIngest, name = 'alice.btc') => read(open.directory, ({ names }) => names.find(name));
const subdomain = (open: OpenIngest, name = 'joe.alice.btc') =>
  read(open.directory, ({ names }) => names.findSubdomain(name));

const mintTo = (recipient: string) => ({ recipient });
const moveTo = (recipient: string) => ({ sender: bob.address, recipient });

describe('the life of a name', () => {
  test('imported it is its beneficiary’s; its lease begins with the launch, and again with each renewal', async () => {
    using open = openNew();
    const imported = operated({ op: 'name-import', zonefile: 'one', token: mintTo(bob.address) });
    const one = blockOf(null, 'imported', imported);
    open.ingest.receive(one.event);
    expect(await found(open)).toMatchObject({ owner: bob.address, operation: 'name-import', expireBlock: 0 });

    const two = blockOf(one, 'launched', launched(1000));
    open.ingest.receive(two.event);
    expect(await found(open)).toMatchObject({
      expireBlock: 2 + 1000,
      txId: Uint8Array.fromHex(imported.transaction.id.slice(2)),
    });

    const three = blockOf(two, 'updated', operated({ op: 'name-update', zonefile: 'two' }));
    open.ingest.receive(three.event);
    expect(await found(open)).toMatchObject({ operation: 'name-update', expireBlock: 1002, zonefile: '' });

    const four = blockOf(three, 'renewed', renewed());
    open.ingest.receive(four.event);
    expect(await found(open)).toMatchObject({ operation: 'name-renewal', expireBlock: 1004, owner: bob.address });

    const five = blockOf(four, 'moved', operated({ op: 'name-transfer', token: moveTo(carol.address) }));
    open.ingest.receive(five.event);
    expect(await found(open)).toMatchObject({ operation: 'name-transfer', expireBlock: 1004, owner: carol.address });
    expect(await read(open.directory, ({ names }) => names.ofOwner(carol.address))).toEqual(['alice.btc']);
    expect(await read(open.directory, ({ names }) => names.ofOwner(bob.address))).toEqual([]);
  });

  test('revoked it is hidden with its subdomains, and registered again it is back', async () => {
    using open = openNew();
    const zonefile = 'joe TXT "owner=SP1" "zf0=YQ=="\n';
    const one = blockOf(
      null,
      'one',
      launched(0),
      operated({ op: 'name-register', zonefile: 'first', token: mintTo(bob.address) }),
    );
    const update = operated({ op: 'name-update', zonefile });
    const two = blockOf(one, 'two', update);
    for (const event of [one.event, two.event, attached(update, two, 'name-update', zonefile)])
      open.ingest.receive(event);
    expect(await found(open)).toMatchObject({ zonefile, expireBlock: 1 });
    expect(await subdomain(open)).toMatchObject({ owner: 'SP1', zonefile: 'a', resolver: '' });

    const three = blockOf(two, 'three', operated({ op: 'name-revoke' }));
    open.ingest.receive(three.event);
    const answers = await everyAnswer(open.directory, ['alice.btc', 'joe.alice.btc', 'SP1', bob.address]);
    expect(answers).toMatchObject({
      names: [],
      'alice.btc': [undefined, undefined, '', undefined, [], [], undefined, undefined],
      'joe.alice.btc': [undefined, undefined, '', undefined, [], [], undefined, undefined],
    });

    open.ingest.receive(blockOf(three, 'four', operated({ op: 'name-register', zonefile: 'again' })).event);
    expect(await found(open)).toMatchObject({ operation: 'name-register', zonefile: '', expireBlock: 4 });
    expect(await subdomain(open)).toMatchObject({ owner: 'SP1' });
    const hash = hashOfText(zonefile);
    expect(await read(open.directory, ({ names }) => names.zonefile('alice.btc', hash))).toBe(zonefile);
  });

  test('an operation without a zonefile leaves the one before in place', async () => {
    using open = openNew();
    const registered = operated({ op: 'name-register', zonefile: 'mine', token: mintTo(bob.address) });
    const one = blockOf(null, 'one', registered);
    const two = blockOf(one, 'two', operated({ op: 'name-transfer', token: moveTo(carol.address) }));
    // The attachment comes before both blocks.
    for (const event of [attached(registered, one, 'name-register', 'mine'), one.event, two.event])
      open.ingest.receive(event);
    expect(await found(open)).toMatchObject({
      operation: 'name-transfer',
      zonefile: 'mine',
      zonefileHash: hashOfText('mine'),
    });
  });
});

test('subdomains go with the block that declared them, and come back with it', async () => {
  using open = openNew();
  const declares = (owner: string) => `joe TXT "owner=${owner}"\n_resolver URI 10 1 "https://of.${owner}"\n`;
  const one = blockOf(null, 'one', operated({ op: 'name-register', zonefile: 'first', token: mintTo(bob.address) }));
  const [first, second] = [declares('first'), declares('second')].map((zonefile) => {
    const made = operated({ op: 'name-update', zonefile });
    return { made, zonefile };
  }) as [{ made: Made; zonefile: string }, { made: Made; zonefile: string }];
  const two = blockOf(one, 'two', first.made);
  const three = blockOf(two, 'three', second.made);
  for (const event of [one.event, two.event, three.event]) open.ingest.receive(event);
  open.ingest.receive(attached(second.made, three, 'name-update', second.zonefile));
  open.ingest.receive(attached(first.made, two, 'name-update', first.zonefile));
  expect(await subdomain(open)).toMatchObject({ owner: 'second', resolver: 'https://of.second' });

  // A fork that leaves the second update out.
  const rival = blockOf(two, 'rival three');
  const winner = blockOf(rival, 'rival four');
  for (const { event } of [rival, winner]) open.ingest.receive(event);
  expect(await subdomain(open)).toMatchObject({ owner: 'first' });
  expect(await read(open.directory, ({ names }) => names.resolver('eve.alice.btc'))).toBe('https://of.first');
  expect(await read(open.directory, ({ names }) => names.ofOwner('second'))).toEqual([]);

  const four = blockOf(three, 'four');
  for (const { event } of [four, blockOf(four, 'five')]) open.ingest.receive(event);
  expect(await subdomain(open)).toMatchObject({ owner: 'second' });
  expect(await read(open.directory, ({ names }) => names.ofOwner('first'))).toEqual([]);
});

test('only an update declares subdomains', async () => {
  using open = openNew();
  const zonefile = 'joe TXT "owner=SP1"\n';
  const registered = operated({ op: 'name-register', zonefile, token: mintTo(bob.address) });
  const one = blockOf(null, 'one', registered);
  for (const event of [one.event, attached(registered, one, 'name-register', zonefile)]) open.ingest.receive(event);
  expect(await subdomain(open)).toBeUndefined();
  expect(await found(open)).toMatchObject({ zonefile });
});

test('two names with the same zonefile in one transaction have subdomains each', async () => {
  using open = openNew();
  const zonefile = 'joe TXT "owner=SP1"\n';
  const names = ['alice', 'bob'].map((name) => operated({ op: 'name-update', zonefile, name }));
  const [one, other] = names as [Made, Made];
  const both = {
    transaction: one.transaction,
    events: [...one.events, ...other.events.map((event) => ({ ...event, txid: one.transaction.id, event_index: 2 }))],
  };
  const made = blockOf(null, 'both', both);
  open.ingest.receive(made.event);
  for (const name of ['alice', 'bob']) open.ingest.receive(attached(both, made, 'name-update', zonefile, name));
  for (const name of ['alice', 'bob']) expect(await subdomain(open, `joe.${name}.btc`)).toMatchObject({ owner: 'SP1' });
});

test('a name from before the chain is the chain’s from its first operation on', async () => {
  using directory = dataDirectory();
  const old = {
    kind: 'namespace' as const,
    namespace: 'btc',
    lifetime: 500,
    price: { base: 1n, coefficient: 1n, exponents: [1n], nonalphaDiscount: 1n, noVowelDiscount: 1n },
  };
  await takeOldNames(directory.path, async function* () {
    yield old;
    yield { kind: 'name', name: 'alice.btc', owner: bob.address, zonefileHash: hashOfText('old') };
    yield { kind: 'zonefile', hash: hashOfText('old'), content: 'old' };
  });
  using open = openAt(directory.path);
  const one = blockOf(null, 'one', operated({ op: 'name-register', name: 'other', zonefile: 'x' }));
  const moved = blockOf(one, 'moved', operated({ op: 'name-transfer', token: moveTo(carol.address) }));
  const renewal = blockOf(moved, 'renewed', renewed());
  const revoked = blockOf(renewal, 'revoked', operated({ op: 'name-revoke' }));

  open.ingest.receive(one.event);
  expect(await found(open)).toMatchObject({ owner: bob.address, expireBlock: 501, zonefile: 'old' });
  open.ingest.receive(moved.event);
  expect(await found(open)).toMatchObject({ owner: carol.address, expireBlock: 501, zonefile: 'old' });
  expect(await read(open.directory, ({ names }) => names.ofOwner(bob.address))).toEqual([]);
  open.ingest.receive(renewal.event);
  expect(await found(open)).toMatchObject({ operation: 'name-renewal', expireBlock: 503 });
  open.ingest.receive(revoked.event);
  expect(await found(open)).toBeUndefined();
  expect(await read(open.directory, ({ names }) => names.page(0))).toEqual(['other.btc']);

  // A fork in which nothing was done with it.
  let rival = one;
  for (const label of ['rival 2', 'rival 3', 'rival 4', 'rival 5']) {
    rival = blockOf(rival, label);
    open.ingest.receive(rival.event);
  }
  expect(await found(open)).toMatchObject({ owner: bob.address, operation: 'name-register', expireBlock: 501 });
  expect(await read(open.directory, ({ names }) => names.page(0))).toEqual(['alice.btc', 'other.btc']);
  expect(checkDirectory(directory.path).flatMap(({ problems }) => problems)).toEqual([]);
});

test('names are listed a hundred a page', async () => {
  using open = openNew();
  const names = Array.from({ length: 205 }, (_, index) => `n${index}`);
  const made = names.map((name) => operated({ op: 'name-register', zonefile: name, name }));
  open.ingest.receive(blockOf(null, 'many', launched(1), ...made).event);
  const pages = await read(open.directory, async (reader) => [
    ...(await Promise.all([0, 1, 2, 3].map((page) => reader.names.page(page)))),
    await reader.names.ofNamespace('btc', 2),
  ]);
  expect(pages.map((page) => page?.length)).toEqual([100, 100, 5, 0, 5]);
  expect(pages.slice(0, 3).flat()).toEqual(names.map((name) => `${name}.btc`).sort());
});

describe('check finds', () => {
  let whole: DataDirectory;
  beforeAll(() => {
    const events = [...devnetEvents({ seed: 1, blocks: 60, accounts: 20, transactionsPerBlock: 10, forkEvery: 0 })];
    whole = ingestOf(events.map(received), { journal: false });
    expect(checkDirectory(whole.path).flatMap(({ problems }) => problems)).toEqual([]);
  });
  afterAll(() => whole[Symbol.dispose]());

  const damaged = (sql: string): string[] => {
    using copy = dataDirectory();
    copyFileSync(indexPath(whole.path), indexPath(copy.path));
    using db = new Database(indexPath(copy.path));
    expect(db.run(sql).changes).toBeGreaterThan(0);
    return checkDirectory(copy.path)
      .filter(({ problems }) => problems.length > 0)
      .map(({ name }) => name);
  };
  test.each([
    ['UPDATE names SET active = 1 - active', 'last operation of each name'],
    ['DELETE FROM names', 'last operation of each name'],
    ['UPDATE name_operations SET sender_id = sender_id + 1', 'names and namespaces against events and calls'],
    ['UPDATE namespaces SET lifetime = lifetime + 1', 'names and namespaces against events and calls'],
    ['DELETE FROM namespace_prices', 'names and namespaces against events and calls'],
    ["UPDATE stx_supplies SET supply = supply || '0'", 'STX supply after each block'],
    ['DELETE FROM stx_supplies WHERE height = 1', 'STX supply after each block'],
  ])('%s', (sql, name) => {
    expect(damaged(sql)).toEqual([name]);
  });
});
