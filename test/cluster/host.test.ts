/** The laws of a host that shares a log, one by one. */
import { beforeAll, expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { StoreUnavailableError } from '../../src/base/system-errors.ts';
import { fillHole } from '../../src/cluster/comparing.ts';
import type { ClusterEvent } from '../../src/cluster/events.ts';
import { LogUnavailableError } from '../../src/cluster/shared-log.ts';
import { startVerifying, VERIFY_INTERVAL_MS } from '../../src/cluster/verifying.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { type Entry, nextChain } from '../../src/store/log/entry.ts';
import { faultStore } from '../faults/fault-store.ts';
import { simulatedEvents } from '../support/data/ingest.ts';
import { directWay, type Fate, MemoryLog, type Way } from '../support/data/memory-log.ts';
import { everything, journalRows, wholeIndex } from '../support/data/tables.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { openFollower, openHost } from './open-host.ts';

const events = simulatedEvents({ seed: 3, blocks: 3, accounts: 3, transactionsPerBlock: 1, forkEvery: 2 });
/** Milliseconds until a host tries again. */
const RETRY_MS = 500;

const chunks = (label: number): ReceivedEvent => ({
  path: '/stackerdb_chunks',
  text: `{"label":${label}}`,
  receivedAt: 1_000_000 * label,
});

/** A connection on which the next appends have these outcomes. */
function wayOf(...fates: Fate[]): Way {
  return { ...directWay, fate: (call) => (call === 'append' ? (fates.shift() ?? 'done') : 'done') };
}

interface Around {
  way?: Way;
  before?: (head: { id: number }) => unknown;
  after?: () => unknown;
}

/** A client of a log that records the texts of each append, and acts before and after the append. */
function recording(log: MemoryLog, { way, before, after }: Around = {}) {
  const client = log.client(way);
  const appends: string[][] = [];
  const append: typeof client.append = async (entries, head) => {
    appends.push(entries.map(({ text }) => text));
    await before?.(head);
    const outcome = await client.append(entries, head);
    await after?.();
    return outcome;
  };
  return { client: { ...client, append }, appends };
}

/** A log with the entries of a host that no longer runs. */
const filled = new MemoryLog();
beforeAll(async () => {
  await using hostA = openHost(filled.client());
  for (const event of events) await hostA.host.receive(event);
});

/** A log that all events were appended to. */
function filledLog(): MemoryLog {
  const log = new MemoryLog();
  log.entries = [...filled.entries];
  return log;
}

/** Another host that follows the log gets the same journal and tables. */
async function expectSameElsewhere(log: MemoryLog, { directory }: ReturnType<typeof openHost>): Promise<void> {
  await using other = await openFollower(log);
  expect(everything(other.directory)).toEqual(everything(directory));
}

test('an event is in the log before it is in the journal, and in both and the index before it is answered', async () => {
  const log = new MemoryLog();
  const arrived = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const after = () => {
    arrived.resolve();
    return goOn.promise;
  };
  await using hostA = openHost(recording(log, { after }).client);
  const accepted = hostA.host.receive(events[0]!);
  await arrived.promise;
  const meanwhile = [log.head.id, journalRows(hostA.directory).length, hostA.position()];
  goOn.resolve();
  // The entry that gives the log its identity comes with the first event.
  expect(meanwhile).toEqual([2, 0, 0]);
  expect(await accepted).toBe('applied');
  expect([journalRows(hostA.directory).length, hostA.position()]).toEqual([2, 2]);
  expect(hostA.seconds).toHaveLength(1);
});

test.each([
  ['SQLite ended in the index', indexPath],
  ['SQLite ended in the journal', journalPath],
  ['was rolled back', null],
])('an event whose transaction %s during its append is rejected, then followed and repeated', async (_, fileOf) => {
  const log = filledLog();
  const store = faultStore();
  let meanwhile = () => {};
  const { client } = recording(log, { after: () => meanwhile() });
  await using hostA = await openFollower(log, undefined, { client, connect: store.connect });
  // The same happens if a reader's call fails.
  meanwhile =
    fileOf === null ? hostA.ingest.rollback : () => store.opened.get(fileOf(hostA.directory))?.run('ROLLBACK');
  await expect(hostA.host.receive(chunks(1))).rejects.toBeInstanceOf(StoreUnavailableError);
  meanwhile = () => {};
  expect(await hostA.host.receive(chunks(1))).toBe('repeated');
  await expectSameElsewhere(log, hostA);
});

test.each([
  ['between two of them', indexPath, 5],
  ['between two of them', journalPath, 5],
  ['after the last', indexPath, events.length],
  ['after the last', journalPath, events.length],
] as const)('a host follows the entries although SQLite ended the transaction %s', async (_, fileOf, lostTurn) => {
  const log = filledLog();
  const store = faultStore();
  let turns = 0;
  const clock = heldClock([RETRY_MS]);
  const turn = async () => {
    turns += 1;
    if (turns === lostTurn) store.opened.get(fileOf(hostA.directory))?.run('ROLLBACK');
  };
  await using hostA = openHost(log.client(), undefined, { clock: { ...clock, turn }, connect: store.connect });
  hostA.host.start();
  await until(() => {
    clock.pass(RETRY_MS);
    return hostA.position() === log.head.id;
  }, 'all entries');
  expect(turns).toBeGreaterThan(log.head.id);
  await expectSameElsewhere(log, hostA);
});

test('during an append, readers see only committed data, and other writes wait', async () => {
  let goOn = Promise.withResolvers<void>();
  goOn.resolve();
  const { client, appends } = recording(new MemoryLog(), { before: () => goOn.promise });
  await using hostA = openHost(client);
  const [, , second] = events.filter(({ path }) => path === '/new_block');
  for (const event of events.slice(0, events.indexOf(second!))) await hostA.host.receive(event);
  const { hooks, history, faucetRequests } = hostA.ingest;
  const before = history.tip();
  expect(before.height).toBe(1);

  goOn = Promise.withResolvers();
  const previous = appends.length;
  const accepted = hostA.host.receive(second!);
  await until(() => appends.length > previous);
  let written = false;
  const write = hostA.ingest.local(() => {
    written = true;
    // Each write sees the writes before it.
    return history.tip().height;
  });
  const address = 'ST000000000000000000002AMW42H';
  const request = hostA.faucets.run('faucet.add', { currency: 'stx', address, ip: '127.0.0.1' });
  expect(history.tip()).toEqual(before);
  expect(history.hashAt(2)).toBeUndefined();
  expect(hooks.records.live()).toEqual([]);
  expect(faucetRequests.count('stx', address, 0)).toBe(0);
  expect(written).toBe(false);
  goOn.resolve();
  expect(await accepted).toBe('applied');
  expect(await write).toBe(2);
  await request;
  expect(faucetRequests.count('stx', address, 0)).toBe(1);
  expect(history.tip().height).toBe(2);
});

test('hosts that take the same events come to the same journal and tables; who loses a race finds a repetition', async () => {
  const log = new MemoryLog();
  await using hostA = openHost(log.client());
  await using hostB = openHost(log.client());
  for (const event of events) {
    const outcomes = await Promise.all([hostA.host.receive(event), hostB.host.receive(event)]);
    expect(outcomes.filter((outcome) => outcome === 'applied').length).toBeLessThan(2);
  }
  const outcomes = await Promise.all([hostA, hostB].map(({ host }) => host.receive(chunks(1))));
  expect(outcomes.toSorted()).toEqual(['applied', 'repeated']);
  expect(hostA.host.state().conflicts + hostB.host.state().conflicts).toBeGreaterThan(0);
  for (const each of [hostA, hostB]) await each.follow(log.head.id);
  expect(everything(hostB.directory)).toEqual(everything(hostA.directory));
  expect(journalRows(hostA.directory).length).toBe(log.entries.length);
});

/** Sends events at once. @returns the outcome or the error's name of each */
const outcomesOf = ({ host }: ReturnType<typeof openHost>, ...list: ReceivedEvent[]): Promise<string[]> =>
  Promise.all(list.map((event) => host.receive(event).catch(({ name }: Error) => name)));

const answers: [fate: Fate, first: string, then: string][] = [
  ['lost', 'applied', 'repeated'],
  ['never', 'LogUnavailableError', 'applied'],
  ['unavailable', 'LogUnavailableError', 'applied'],
  ['refused', 'LogUnavailableError', 'applied'],
  ['late', 'LogUnavailableError', 'repeated'],
];

test.each(answers)(
  'the outcome of an append is %s: the event is answered with %s, and its repetition with %s',
  async (fate, first, then) => {
    const log = new MemoryLog();
    const arrives = Promise.withResolvers<void>();
    await using hostA = openHost(log.client({ ...wayOf(fate), late: () => arrives.promise }));
    expect(await outcomesOf(hostA, chunks(1))).toEqual([first]);
    arrives.resolve();
    await arrives.promise;
    expect(await outcomesOf(hostA, chunks(1))).toEqual([then]);
    // The first entry gives the log its identity.
    expect(log.entries).toHaveLength(2);
    expect(journalRows(hostA.directory)).toHaveLength(2);
  },
);

const lastBlock = events.findLast(({ path }) => path === '/new_block')!;
/** A block without a parent. */
const orphan = {
  ...lastBlock,
  text: JSON.stringify({
    ...JSON.parse(lastBlock.text),
    parent_index_block_hash: `0x${'07'.repeat(32)}`,
    index_block_hash: `0x${'08'.repeat(32)}`,
  }),
};

test('a block is applied if another host appended its parent', async () => {
  const log = new MemoryLog();
  await using hostA = openHost(log.client());
  await using hostB = openHost(log.client());
  for (const event of events.slice(0, events.indexOf(lastBlock))) await hostA.host.receive(event);
  expect(await hostB.host.receive(lastBlock)).toBe('applied');
  expect(hostB.position()).toBe(log.head.id);
  await expect(hostB.host.receive(orphan)).rejects.toThrow('does not contain a parent block');
});

test('a lost append is a conflict if another host appended first', async () => {
  const log = new MemoryLog();
  await using hostB = openHost(log.client());
  const before = ({ id }: { id: number }) => hostB.host.receive(chunks(id + 8));
  await using hostA = openHost(recording(log, { way: wayOf('never'), before }).client);
  // Before each try, the other host appends an entry. After 20 conflicts, this host gives up.
  await expect(hostA.host.receive(chunks(1))).rejects.toThrow("this host is behind the cluster's log");
  expect(hostA.host.state().conflicts).toBe(20);
  // The log accepted none of its entries, so no duration was recorded.
  expect(hostA.seconds).toEqual([]);
  expect(journalRows(hostA.directory)).toEqual(journalRows(hostB.directory));
});

test('a log that lost its last entries gets them back from a journal, and the event that found it is accepted', async () => {
  const log = filledLog();
  const { client, appends } = recording(log);
  await using hostA = await openFollower(log, undefined, { client });
  const lostEntries = log.entries.slice(-4);
  log.lose(4);
  // The host notices it without an append.
  await until(() => hostA.host.state().healed === 4, 'what was lost');
  expect(appends).toHaveLength(1);
  expect(log.entries.slice(-4)).toEqual(lostEntries);
  expect(hostA.logged).toContainEqual({ event: 'log_restored', first: lostEntries[0]!.id, last: lostEntries[3]!.id });

  log.entries.splice(-2);
  expect(await hostA.host.receive(chunks(9))).toBe('applied');
  await expectSameElsewhere(log, hostA);
});

test.each(['late', 'lost'] as const)(
  'entries that a log lost are reported as restored although its answer to their append was %s',
  async (fate) => {
    const log = filledLog();
    const arrives = Promise.withResolvers<void>();
    let isCut = false;
    const way: Way = {
      ...directWay,
      late: () => arrives.promise,
      fate(call) {
        if (call === 'append') isCut = true;
        else if (isCut && call === 'read') return 'unavailable';
        return call === 'append' ? fate : 'done';
      },
    };
    await using hostA = await openFollower(log, undefined, { client: log.client(way) });
    const { id } = log.head;
    log.lose(4);
    await until(() => isCut, 'an append');
    isCut = false;
    arrives.resolve();
    await until(() => hostA.host.state().healed === 4, 'the restored entries');
    const restored = hostA.logged.filter(({ event }) => event === 'log_restored');
    expect(restored).toEqual([{ event: 'log_restored', first: id - 3, last: id }]);
  },
);

/** An entry with another text, but with its former chain value. */
const edited = (entry: Entry): Entry => ({ ...entry, text: `${entry.text} ` });

/** The log with one entry replaced by another, and all that follow it chained to that. */
function rewritten(entries: readonly Entry[], changedId: number): Entry[] {
  const list: Entry[] = [];
  for (const entry of entries) {
    const receivedAt = entry.id === changedId ? entry.receivedAt + 1 : entry.receivedAt;
    const previous = list.at(-1)?.chain ?? new Uint8Array(32);
    const chain = nextChain(previous, { ...entry, receivedAt });
    list.push({ ...entry, receivedAt, chain });
  }
  return list;
}

test.each([
  ['as long', 0],
  ['longer', 3],
  ['shorter', -3],
])('a log that has another entry and is %s ends the host, which names the entry', async (_, change) => {
  const log = filledLog();
  await using hostA = openHost(log.client());
  const entries = log.entries;
  log.entries = entries.slice(0, -3);
  await hostA.follow(log.head.id);
  log.entries = rewritten(entries, 5).slice(0, entries.length - 3 + change);
  log.wake();
  await until(() => hostA.ended.length > 0, 'the end');
  const before = journalRows(hostA.directory);
  expect(hostA.ended[0]).toMatchObject({
    message: "Entry 5 of the cluster's log differs from entry 5 of this host's journal.",
    exitCode: 1,
  });
  await expect(hostA.host.receive(chunks(1))).rejects.toBeInstanceOf(LogUnavailableError);
  expect(journalRows(hostA.directory)).toEqual(before);
});

test.each([
  ['is missing', (entries: Entry[]) => entries.splice(6, 1)],
  ['is damaged: its chain value is wrong', (entries: Entry[]) => entries.splice(6, 1, edited(entries[6]!))],
])('an entry that %s ends the host after the entries before it', async (fault, damage) => {
  const log = filledLog();
  damage(log.entries);
  await using hostA = await openFollower(log);
  expect(hostA.ended.map(({ message }) => message)).toEqual([`Entry 7 of the cluster's log ${fault}.`]);
  expect(hostA.position()).toBe(6);
});

test('hosts keep running if the newest entry of the log was changed: each logs it, and continues after the repair', async () => {
  const log = new MemoryLog();
  await using hostA = openHost(log.client());
  for (const event of events) await hostA.host.receive(event);
  hostA.host.start();
  const whole = [...log.entries];
  const { id } = log.head;
  const changed = { ...whole.at(-1)!, chain: new Uint8Array(32) };
  log.entries = [...whole.slice(0, -1), changed];
  log.wake();
  const named = () => hostA.logged.filter(({ event }) => event === 'log_corrupt');
  await expect(hostA.host.receive(chunks(1))).rejects.toThrow(`the cluster's log is corrupt: entry ${id} is damaged`);
  await until(() => named().length > 0, 'what is wrong');
  await expect(hostA.host.receive(chunks(1))).rejects.toThrow(LogUnavailableError);
  expect(named()).toEqual([
    {
      event: 'log_corrupt',
      first: id,
      last: id,
      fault: 'is damaged: its chain value is wrong',
      remedy: expect.stringContaining('The shared log is damaged'),
    },
  ]);
  log.entries = whole;
  log.wake();
  expect(await hostA.host.receive(chunks(1))).toBe('applied');
  expect(hostA.ended).toEqual([]);
});

/** Creates the background verifier of a host's log. Each range starts when the test allows it. */
function verifier(hostA: ReturnType<typeof openHost>, log: Pick<MemoryLog, 'client'>, hasLease = () => true) {
  const clock = heldClock([VERIFY_INTERVAL_MS]);
  const logged: ClusterEvent[] = [];
  const verification = startVerifying({
    log: log.client(),
    entries: hostA.ingest.entries!,
    hasLease,
    clock,
    say: (event) => logged.push(event),
  });
  return {
    logged,
    state: verification.state,
    stop: verification.stop,
    /** Lets one interval pass. */
    pass: () => clock.pass(VERIFY_INTERVAL_MS),
    /** Verifies until a condition holds. Many intervals pass between the ranges. */
    until: (holds: () => boolean) =>
      until(async () => {
        for (let interval = 0; interval < 400 && !holds(); interval++) {
          clock.pass(VERIFY_INTERVAL_MS);
          await clock.turn();
        }
        return holds();
      }, 'a verification'),
    [Symbol.asyncDispose]: () => verification.stop(),
  };
}

test('the host that holds the lease finds holes and changed entries, and fills the holes from its journal', async () => {
  const log = filledLog();
  await using hostA = await openFollower(log);
  const whole = [...log.entries];
  log.entries[9] = edited(whole[9]!);
  log.entries.splice(4, 3);
  let isHeld = false;
  await using verification = verifier(hostA, log, () => isHeld);
  await verification.until(() => true);
  expect(verification.state()).toEqual({ verified: 0, corrupt: 0, filled: 0 });
  isHeld = true;
  await verification.until(() => verification.state().verified === whole.length && verification.logged.length > 1);
  expect(verification.state()).toEqual({ verified: whole.length, corrupt: 1, filled: 3 });
  expect(verification.logged).toEqual([
    { event: 'log_restored', first: 5, last: 7 },
    expect.objectContaining({ event: 'log_corrupt', first: 10, last: 10 }),
  ]);
  // An operator deletes the damaged row, and it comes back.
  log.entries.splice(9, 1);
  await verification.until(() => verification.state().corrupt === 0);
  expect(log.entries).toEqual(whole);
});

test('a verification begins again an hour after it reached the end, although entries arrive all the time', async () => {
  const log = filledLog();
  await using hostA = await openFollower(log);
  const { length } = log.entries;
  const client = log.client();
  const busy: typeof client = {
    ...client,
    async read(...values) {
      appended(log, '/stackside/none', '{}');
      return client.read(...values);
    },
  };
  await using verification = verifier(hostA, { client: () => busy });
  await verification.until(() => verification.state().verified > length);
  log.entries[4] = edited(log.entries[4]!);
  await verification.until(() => verification.state().corrupt === 1);
  expect(verification.logged).toMatchObject([{ event: 'log_corrupt', first: 5, last: 5 }]);
});

test('stopping a verification waits for its read and starts no other', async () => {
  const log = filledLog();
  await using hostA = await openFollower(log);
  const mayRead = Promise.withResolvers<void>();
  let reads = 0;
  const client = log.client();
  const slow: typeof client = {
    ...client,
    async read(...args) {
      reads += 1;
      await mayRead.promise;
      return client.read(...args);
    },
  };
  await using verification = verifier(hostA, { client: () => slow });
  verification.pass();
  await until(() => reads === 1);
  const stopped = verification.stop();
  await systemClock.turn();
  expect(Bun.peek.status(stopped)).toBe('pending');
  mayRead.resolve();
  await stopped;
  const { verified } = verification.state();
  expect(verified).toBeGreaterThan(0);
  verification.pass();
  await systemClock.turn();
  expect({ reads, verified: verification.state().verified }).toEqual({ reads: 1, verified });
});

test('a host fills no hole if its journal differs from the log', async () => {
  const log = filledLog();
  await using hostA = await openFollower(log);
  const stored = hostA.ingest.entries!;
  const [hole] = log.entries.splice(4, 1);
  const elsewhere = { ...stored, chainAt: (id: number) => (id === 6 ? new Uint8Array(32) : stored.chainAt(id)) };
  expect(await fillHole(log.client(), elsewhere, { first: 5, last: 5 })).toBe(false);
  expect(await fillHole(log.client(), { ...stored, chainAt: () => null }, { first: 5, last: 5 })).toBe(false);
  expect(await fillHole(log.client(), stored, { first: 5, last: 5 })).toBe(true);
  expect(log.entries[4]).toEqual(hole);
});

/** Entries that a newer program appended to the end of a log. */
function appended(log: MemoryLog, path: string, text: string): void {
  const { id, chain } = log.head;
  const entry = { id: id + 1, receivedAt: 1, path, text };
  log.add({ ...entry, chain: nextChain(chain, { ...entry }) }, { id, chain });
}

test('an entry with an unknown path is stored, and changes no other table', async () => {
  const log = filledLog();
  await using hostA = await openFollower(log);
  const before = wholeIndex(hostA.directory, ['progress.journal_id', 'progress.journal_chain']);
  appended(log, '/stackside/hooks', '{"of":"a newer program"}');
  await until(() => hostA.position() === log.head.id);
  expect(await hostA.host.receive(chunks(1))).toBe('applied');
  expect(wholeIndex(hostA.directory, ['progress.journal_id', 'progress.journal_chain'])).toEqual(before);
  expect(journalRows(hostA.directory).at(-2)?.path).toBe('/stackside/hooks');
});

test("an entry that this program can't apply stops the host, and the error names it", async () => {
  const log = filledLog();
  appended(log, '/new_block', '{"of":"a newer program"}');
  await using hostA = await openFollower(log);
  expect(hostA.ended[0]?.message).toStartWith(`Entry ${log.head.id} of the log can't be applied: Missing field `);
  expect(hostA.ended[0]?.remedy).toContain('Run the same Stackside version as the newest host');
  expect(hostA.position()).toBe(log.head.id - 1);
});

/** The events about the log's outages. */
const outages = ({ logged }: ReturnType<typeof openHost>) =>
  logged.filter(({ event }) => /^service_/.test(event)).map(({ event }) => event);

test('while the log is unavailable, events are refused, which is logged once; then all continue', async () => {
  const log = filledLog();
  await using hostA = await openFollower(log);
  log.isAway = true;
  log.wake();
  for (const _ of [1, 2]) await expect(hostA.host.receive(chunks(1))).rejects.toThrow('the log is away');
  const { length } = log.entries;
  expect(hostA.host.state()).toMatchObject({ reachable: false, position: length, head: length });
  log.isAway = false;
  expect(await hostA.host.receive(chunks(1))).toBe('applied');
  expect(hostA.host.state()).toMatchObject({ reachable: true, lagSeconds: 0 });
  expect(outages(hostA)).toEqual(['service_failing', 'service_resumed']);
});

/** Waits until a host has read a log that has no new entries. */
const readAgain = ({ host }: ReturnType<typeof openHost>, log: MemoryLog): Promise<void> =>
  until(() => {
    log.wake();
    return host.state().lagSeconds === 0;
  }, 'a successful read');

test('a log that answers reads, but is unavailable for writes, is unreachable until an entry succeeds', async () => {
  const refusal = new LogUnavailableError('no standby');
  const log = filledLog();
  let failure: LogUnavailableError | null = refusal;
  const client = log.client();
  const append: typeof client.append = async (...values) => {
    if (failure !== null) throw failure;
    return client.append(...values);
  };
  await using hostA = await openFollower(log, undefined, { client: { ...client, append } });
  for (const label of [1, 2]) {
    await expect(hostA.host.receive(chunks(label))).rejects.toThrow(refusal.message);
    await readAgain(hostA, log);
    expect(hostA.host.state()).toMatchObject({ reachable: false, failure: refusal.message });
  }
  expect(outages(hostA)).toEqual(['service_failing']);
  failure = null;
  expect(await hostA.host.receive(chunks(1))).toBe('applied');
  expect(hostA.host.state()).toMatchObject({ reachable: true, failure: null });
  expect(outages(hostA)).toEqual(['service_failing', 'service_resumed']);
});

test('entries of another host show that the log accepts writes again', async () => {
  const log = filledLog();
  const client = log.client();
  const append: typeof client.append = () => Promise.reject(new LogUnavailableError('permission denied'));
  await using hostA = await openFollower(log, undefined, { client: { ...client, append } });
  await using hostB = await openFollower(log);
  await expect(hostA.host.receive(chunks(1))).rejects.toThrow('permission denied');
  expect(hostA.host.state().reachable).toBe(false);
  await hostB.host.receive(chunks(1));
  await until(() => hostA.host.state().reachable, 'the entry of the other host');
});

test("while the log doesn't answer, only the event waits", async () => {
  const log = filledLog();
  const client = log.client();
  const requested = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const head = async () => {
    requested.resolve();
    await goOn.promise;
    return client.head();
  };
  await using hostA = openHost({ ...client, head });
  const accepted = hostA.host.receive(chunks(1));
  await requested.promise;
  await hostA.ingest.local(() => {});
  goOn.resolve();
  expect(await accepted).toBe('applied');
});

test('a host asks the log again after a wait if it returns no entries', async () => {
  const log = filledLog();
  let reads = 0;
  const read = async () => {
    reads += 1;
    return [];
  };
  const waits: number[] = [];
  const after = (milliseconds: number) => {
    waits.push(milliseconds);
    return () => {};
  };
  await using hostA = openHost({ ...log.client(), read }, undefined, { clock: { ...systemClock, after } });
  hostA.host.start();
  await until(() => waits.length > 0);
  expect([reads, waits]).toEqual([2, [RETRY_MS]]);
});

test('a host that appends an entry while it asks the log follows further entries without a wait', async () => {
  const log = filledLog();
  const client = log.client();
  let isHeld = false;
  const asked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const head = async () => {
    const answer = await client.head();
    if (!isHeld) return answer;
    asked.resolve();
    await goOn.promise;
    return answer;
  };
  const waits: number[] = [];
  const wait: typeof client.wait = (lastId, signal) => {
    waits.push(lastId);
    return client.wait(lastId, signal);
  };
  const clock = heldClock([RETRY_MS]);
  await using hostA = await openFollower(log, undefined, { client: { ...client, head, wait }, clock });
  await until(() => waits.length > 0, 'the end of the log');
  isHeld = true;
  log.wake();
  await asked.promise;
  isHeld = false;
  expect(await hostA.host.receive(chunks(1))).toBe('applied');
  goOn.resolve();
  await until(() => clock.waiting(RETRY_MS) > 0 || waits.length > 1, 'the next request');
  expect([waits.at(-1), clock.waiting(RETRY_MS)]).toEqual([log.head.id, 0]);
});

test("an event is accepted if another host's entry arrives between the two requests that follow a conflict", async () => {
  const log = filledLog();
  const client = log.client();
  let reads = 0;
  const read: typeof client.read = async (...parameters) => (++reads === 1 ? [] : client.read(...parameters));
  await using hostA = openHost({ ...client, read });
  expect(await hostA.host.receive(chunks(1))).toBe('applied');
  expect([hostA.position(), log.head.id]).toEqual([filled.head.id + 1, filled.head.id + 1]);
});

test('a host that is far behind rejects events, and reports how far', async () => {
  const log = filledLog();
  for (let more = 0; more < 600; more++) appended(log, '/stackside/none', '{}');
  await using hostA = openHost(log.client());
  await expect(hostA.host.receive(chunks(1))).rejects.toThrow("this host is behind the cluster's log");
  expect(hostA.host.state()).toMatchObject({ position: 0, head: log.head.id });
  await hostA.follow(log.head.id);
  expect(await hostA.host.receive(chunks(1))).toBe('applied');
});

/** Many commands at once, as one client of the API sends them. */
const asksOf = ({ faucets }: ReturnType<typeof openHost>): Promise<unknown>[] =>
  Array.from({ length: 8 }, () => faucets.run('faucet.add', { currency: 'stx', address: 'ST1', ip: '127.0.0.1' }));

test('events and commands that wait together are appended together, so that an event waits for one append at most', async () => {
  const log = filledLog();
  const { client, appends } = recording(log);
  await using hostA = await openFollower(log, undefined, { client });
  const requests = asksOf(hostA);
  expect(await hostA.host.receive(chunks(1))).toBe('applied');
  await Promise.all(requests);
  expect(appends.map(({ length }) => length)).toEqual([1, 8]);
  expect(hostA.entries).toEqual([1, 8]);
  await expectSameElsewhere(log, hostA);
});

test("in a batch, repeated events add no entries, and a rejected event doesn't affect the others", async () => {
  const log = filledLog();
  const { client, appends } = recording(log);
  await using hostA = await openFollower(log, undefined, { client });
  const sent: [ReceivedEvent, string][] = [
    [chunks(1), 'applied'],
    [chunks(2), 'applied'],
    [{ ...chunks(3), path: '/new_block' }, 'PayloadError'],
    [chunks(2), 'repeated'],
    [lastBlock, 'repeated'],
    [orphan, 'UnknownParentError'],
    [chunks(4), 'applied'],
  ];
  expect(await outcomesOf(hostA, ...sent.map(([event]) => event))).toEqual(sent.map(([, outcome]) => outcome));
  expect(appends).toEqual([[chunks(1).text], [chunks(2).text, chunks(4).text]]);
  expect(journalRows(hostA.directory)).toHaveLength(log.head.id);
});

test('many waiting events are appended in batches, and other writes get their turn in between', async () => {
  const log = filledLog();
  const { client, appends } = recording(log);
  await using hostA = await openFollower(log, undefined, { client });
  const large = (label: number): ReceivedEvent => ({
    ...chunks(label),
    text: `{"label":${label},"of":"${'x'.repeat(600_000)}"}`,
  });
  const many = [...Array.from({ length: 150 }, (_, index) => chunks(index)), large(1), large(2), large(3)];
  let turns = 0;
  await Promise.all([
    ...many.map((event) => hostA.host.receive(event)),
    hostA.ingest.local(() => (turns = appends.length)),
  ]);
  expect(appends.map(({ length }) => length)).toEqual([1, 100, 50, 1, 1]);
  expect(turns).toBeLessThan(3);
});

test.each(answers)(
  'the outcome of the append of a batch is %s: its events are answered with %s, and their repetitions with %s',
  async (fate, first, then) => {
    const log = filledLog();
    const arrives = Promise.withResolvers<void>();
    const way = { ...wayOf('done', fate), late: () => arrives.promise };
    const { client, appends } = recording(log, { way });
    await using hostA = await openFollower(log, undefined, { client });
    const before = log.head.id;
    const post = () => outcomesOf(hostA, ...[1, 2, 3, 4].map(chunks));
    expect(await post()).toEqual(['applied', first, first, first]);
    arrives.resolve();
    await arrives.promise;
    expect(await post()).toEqual(['repeated', then, then, then]);
    expect(appends[1]).toHaveLength(3);
    expect(log.head.id).toBe(before + 4);
    expect(journalRows(hostA.directory)).toHaveLength(log.head.id);
  },
);

test.each([
  ['if the first append was lost', wayOf('done', 'never'), 9, 'applied'],
  ['without the events in that entry', directWay, 3, 'repeated'],
] as const)("a batch is appended after another host's entry, %s", async (_, way, label, outcome) => {
  const log = filledLog();
  await using hostB = await openFollower(log);
  const { client, appends } = recording(log, {
    way,
    before: () => (appends.length === 2 ? hostB.host.receive(chunks(label)) : undefined),
  });
  await using hostA = await openFollower(log, undefined, { client });
  expect(await outcomesOf(hostA, ...[1, 2, 3, 4].map(chunks))).toEqual(['applied', 'applied', outcome, 'applied']);
  expect(hostA.host.state().conflicts).toBe(1);
  const texts = [2, 3, 4].map((label) => chunks(label).text);
  expect(appends.slice(1)).toEqual([texts, texts.filter((text) => text !== chunks(label).text)]);
  await hostB.follow(log.head.id);
  expect(journalRows(hostB.directory)).toEqual(journalRows(hostA.directory));
});

test("if the log doesn't answer an append, all waiting events and commands are rejected at once", async () => {
  const log = filledLog();
  const answer = Promise.withResolvers<never>();
  const { client, appends } = recording(log, { before: () => answer.promise });
  await using hostA = await openFollower(log, undefined, { client });
  const refused = Promise.allSettled([...asksOf(hostA), hostA.host.receive(chunks(1))]);
  await until(() => appends.length > 0, 'an append');
  answer.reject(new LogUnavailableError('no standby'));
  for (const outcome of await refused) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(LogUnavailableError) });
  }
  expect(appends).toHaveLength(1);
});
