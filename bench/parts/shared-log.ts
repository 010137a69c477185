/** Measures the shared log in PostgreSQL: appending, following, reading and filling. */

import { fillLog } from '../../src/cluster/comparing.ts';
import { engineAccess, makeTables } from '../../src/cluster/engine-tables.ts';
import { openPostgresLog, type PostgresLog } from '../../src/cluster/postgres-log.ts';
import { openJournal } from '../../src/store/files/journal.ts';
import { CHAIN_START, compressed, type Entry, type Head, nextChain } from '../../src/store/log/entry.ts';
import { withDirectory } from '../harness.ts';

/** Bytes of an entry's text: a mempool event with one transaction. */
export const TEXT_BYTES = 2_000;

const START: Head = { id: 0, chain: CHAIN_START };

/** Returns a text that compresses like the hex of a transaction. */
const textOf = (id: number): string =>
  JSON.stringify({ id, raw: crypto.getRandomValues(new Uint8Array((TEXT_BYTES - 30) / 2)).toHex() });

function entryAfter(head: Head): Entry {
  const id = head.id + 1;
  const event = { receivedAt: Date.now() * 1000, path: '/new_mempool_tx', text: textOf(id) };
  return { ...event, id, chain: nextChain(head.chain, { ...event, id: id }) };
}

let prefixes = 0;
/** Creates the tables of a log. @returns their prefix */
async function newTables(url: string): Promise<string> {
  prefixes += 1;
  const prefix = `bench${prefixes}_`;
  const access = engineAccess(url, prefix);
  await makeTables(access);
  await access.engine.close();
  return prefix;
}

/** Appends one entry. @returns its time in milliseconds */
async function append(log: PostgresLog, entry: Entry, head: Head): Promise<number> {
  const start = performance.now();
  const outcome = await log.append([entry], head);
  if (outcome !== 'appended') throw new Error(`entry ${entry.id}: ${outcome}`);
  return performance.now() - start;
}

/** Returns the milliseconds of each of several appends, one after the other. */
export async function appendTimes(url: string, count: number): Promise<number[]> {
  const log = await openPostgresLog(url, { prefix: await newTables(url) });
  const times: number[] = [];
  let head = START;
  // The first appends connect and prepare statements.
  for (let n = 0; n < count + 20; n++) {
    const entry = entryAfter(head);
    const time = await append(log, entry, head);
    if (n >= 20) times.push(time);
    head = entry;
  }
  await log.close();
  return times;
}

/** Returns the milliseconds from the end of an append until another client has read the entry. */
export async function lagTimes(url: string, count: number): Promise<number[]> {
  const prefix = await newTables(url);
  const appending = await openPostgresLog(url, { prefix });
  const following = await openPostgresLog(url, { prefix });
  const read = new Map<number, number>();
  const ended = new AbortController();
  const follower = (async () => {
    for (let last = 0; last < count; ) {
      await following.wait(last, ended.signal);
      for (const { id } of await following.read(last, 100)) {
        read.set(id, performance.now());
        last = id;
      }
    }
  })();
  const appended = new Map<number, number>();
  let head = START;
  for (let n = 0; n < count; n++) {
    const entry = entryAfter(head);
    await append(appending, entry, head);
    appended.set(entry.id, performance.now());
    head = entry;
    await Bun.sleep(15 + Math.random() * 20);
  }
  await follower;
  await Promise.all([appending.close(), following.close()]);
  // The follower may have an entry before its writer gets the result.
  return [...appended].map(([id, time]) => Math.max(0, read.get(id)! - time));
}

export interface Bulk {
  /** Entries per second while a journal fills the log. */
  filled: number;
  /** Entries per second that one client reads. */
  read: number;
}

/** Fills a log from a journal, and reads it. */
export const bulkRates = (url: string, count: number): Promise<Bulk> =>
  withDirectory(async (directory) => {
    const journal = openJournal(directory);
    journal.begin();
    let head = START;
    for (let n = 0; n < count; n++) {
      const entry = entryAfter(head);
      journal.append(entry, compressed(entry.text));
      head = entry;
    }
    journal.commit();
    const log = await openPostgresLog(url, { prefix: await newTables(url) });
    const start = performance.now();
    await fillLog(log, journal, () => {});
    const between = performance.now();
    let last = 0;
    while (last < count) last = (await log.read(last, 1_000)).at(-1)!.id;
    const end = performance.now();
    journal.close();
    await log.close();
    return { filled: (count / (between - start)) * 1000, read: (count / (end - between)) * 1000 };
  });
