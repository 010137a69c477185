/** Lists of blocks, Bitcoin blocks and logs against a plain reading of the tables, page by page and at their edges. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { bytesEqual } from '../../src/base/bytes-equal.ts';
import { ANCHORED_SEQUENCE } from '../../src/chain/block.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { ChainBlock } from '../../src/store/model/block.ts';
import type { ContractLog } from '../../src/store/model/contract.ts';
import { type Cursor, HEAD, type OffsetStart, type Page } from '../../src/store/model/page.ts';
import type { EventLocation } from '../../src/store/model/transaction.ts';
import { models } from '../../src/store/queries/row-texts.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';

interface BlockRow {
  height: number;
  hash: Uint8Array;
  block_time: number;
  tenure_height: number | null;
  burn: string;
  announced: number;
}

let directory: DataDirectory;
let snapshots: Snapshots;
/** Highest first. */
let blocks: BlockRow[];
/** The logs of the contract with most logs, newest first. */
let logs: { contract: string; txId: Uint8Array; place: EventLocation }[];

beforeAll(() => {
  const options = { seed: 3, blocks: 70, accounts: 12, transactionsPerBlock: 8, forkEvery: 9 };
  directory = ingestOf(simulatedEvents(options));
  snapshots = openSnapshots(directory.path);
  using db = new Database(indexPath(directory.path), { readonly: true });
  blocks = db
    .query<BlockRow, []>(
      `SELECT height, index_block_hash AS hash, block_time, tenure_height, hex(burn_block_hash) AS burn,
              announced_transactions AS announced FROM blocks ORDER BY height DESC`,
    )
    .all();
  logs = db
    .query<{ contract: string; tx_id: Uint8Array; position: number; event_index: number; tx_index: number }, []>(
      `SELECT p.address AS contract, t.tx_id, e.position, e.event_index, t.tx_index
         FROM events e JOIN principals p ON p.id = e.contract_id JOIN transactions t ON t.position = e.position
        WHERE e.kind = 1 AND e.contract_id = (
                SELECT p.id FROM counters c JOIN principals p ON p.address = c.key WHERE c.kind = 6 ORDER BY c.count DESC LIMIT 1)
        ORDER BY e.position DESC, e.event_index DESC`,
    )
    .all()
    .map(({ contract, tx_id, position, event_index, tx_index }) => ({
      contract,
      txId: tx_id,
      place: {
        height: Math.floor(position / 2 ** 20),
        microblockSequence: ANCHORED_SEQUENCE,
        txIndex: tx_index,
        eventIndex: event_index,
      },
    }));
});
afterAll(() => {
  snapshots.close();
  directory[Symbol.dispose]();
});

/** A list without items. */
const NOTHING = { items: [], total: 0, current: HEAD, next: null, previous: null };

const read = <T>(ask: (reader: Reader) => T | Promise<T>): Promise<T> =>
  snapshots.readLong(async (reader) => ask(reader));

type PageOf<Item> = Page<Item> | undefined;
type Ask<Item, Name> = (limit: number, start: OffsetStart<Name>) => PageOf<Item> | Promise<PageOf<Item>>;

/** Returns the keys of the items of a neighbouring page, or null if there is none. */
async function neighbour<Item, Key>(
  cursor: Cursor | null,
  limit: number,
  keyOf: (item: Item) => Key,
  ask: Ask<Item, Key>,
): Promise<Key[] | null> {
  if (cursor === null) return null;
  const page = await ask(limit, { cursor, item: null, offset: 0 });
  return page!.items.map(keyOf);
}

/** Compares a page and its neighbours with the whole list. */
async function isPage<Item, Key>(
  page: Page<Item>,
  { keys, limit, start }: { keys: Key[]; limit: number; start: number },
  keyOf: (item: Item) => Key,
  ask: Ask<Item, Key>,
): Promise<void> {
  const inList = start >= 0 && start < keys.length;
  expect({ items: page.items.map(keyOf), total: page.total }).toEqual({
    items: inList ? keys.slice(start, start + limit) : [],
    total: keys.length,
  });
  expect(await neighbour(page.next, limit, keyOf, ask)).toEqual(
    inList && start + limit < keys.length ? keys.slice(start + limit, start + 2 * limit) : null,
  );
  expect(await neighbour(page.previous, limit, keyOf, ask)).toEqual(
    inList && start > 0 ? keys.slice(Math.max(0, start - limit), start) : null,
  );
}

async function holds<Item, Key>(keys: Key[], keyOf: (item: Item) => Key, ask: Ask<Item, Key>): Promise<void> {
  for (const limit of [1, 3, keys.length, keys.length + 1]) {
    for (const [place, item] of [null, ...keys].entries()) {
      for (const offset of [0, 1, keys.length]) {
        const start = Math.max(0, place - 1) + offset;
        const page = await ask(limit, { cursor: null, item, offset });
        if (item !== null && (start < 0 || start >= keys.length)) expect(page).toBeUndefined();
        else await isPage(page!, { keys, limit, start }, keyOf, ask);
      }
    }
  }
}

describe('blocks', () => {
  test('are listed from any block of the chain', async () => {
    const keys = blocks.slice(0, 200).map(({ hash }) => hash);
    await read((reader) =>
      holds(
        keys,
        ({ indexHash }: ChainBlock) => indexHash,
        (...part) => reader.blocks.page(...part, models),
      ),
    );
  });

  test('are listed by tenure, and an unknown tenure has an empty list', async () => {
    const tenures = new Set(blocks.flatMap(({ tenure_height }) => tenure_height ?? []));
    expect(tenures.size).toBeGreaterThan(5);
    for (const tenure of [...tenures].slice(-12)) {
      const keys = blocks.filter(({ tenure_height }) => tenure_height === tenure).map(({ hash }) => hash);
      await read((reader) =>
        holds(
          keys,
          ({ indexHash }: ChainBlock) => indexHash,
          (...part) => reader.blocks.ofTenure(tenure, ...part, models),
        ),
      );
    }
    const page = await read((reader) =>
      reader.blocks.ofTenure(10_000, 5, { cursor: null, item: null, offset: 0 }, models),
    );
    expect(page).toEqual(NOTHING);
    const foreign = blocks.find(({ tenure_height }) => tenure_height !== blocks[0]!.tenure_height)!.hash;
    const strange = { cursor: null, item: foreign, offset: 0 };
    expect(
      await read((reader) => reader.blocks.ofTenure(blocks[0]!.tenure_height!, 5, strange, models)),
    ).toBeUndefined();
  });

  test('are found at any time', async () => {
    const times = blocks.flatMap(({ block_time }) => [block_time - 1, block_time, block_time + 1]);
    for (const time of times) {
      const block = await read((reader) => reader.blocks.at(time));
      const latest = blocks.find(({ block_time }) => block_time <= time)?.block_time;
      expect(block?.height).toBe(blocks.findLast(({ block_time }) => block_time === latest)?.height);
    }
  });

  test('have a mean time between them in any window', async () => {
    const tip = blocks[0]!.block_time;
    for (const seconds of [-1, 0, 1, 600, 3600, 86_400, 10 ** 9]) {
      const starts = [tip - seconds, tip - seconds * 2];
      const inAll = blocks.filter(({ block_time }) => block_time >= Math.min(...starts));
      const means = starts.map((time) => {
        const differences = inAll
          .slice(0, -1)
          .map((block, index) => ({ time: block.block_time, seconds: block.block_time - inAll[index + 1]!.block_time }))
          .filter((difference) => difference.time >= time);
        const sum = differences.reduce((total, { seconds }) => total + seconds, 0);
        return differences.length === 0 ? 0 : sum / differences.length;
      });
      expect(await read((reader) => reader.blocks.averageTimes(starts))).toEqual(means);
    }
  });
});

describe('Bitcoin blocks', () => {
  test('are listed with their anchored blocks', async () => {
    const hashes = [...new Set(blocks.map(({ burn }) => burn))];
    const whole = await read((reader) => reader.burnBlocks.page(10_000, 0));
    expect(whole.items.map(({ hash }) => hash.toHex().toUpperCase())).toEqual(hashes);
    expect(whole.total).toBe(hashes.length);
    expect(whole.items.some((burnBlock) => burnBlock.blocks.length > 2)).toBe(true);
    for (const burnBlock of whole.items) {
      const anchored = blocks.filter(({ burn }) => burn === burnBlock.hash.toHex().toUpperCase());
      expect(burnBlock.blocks).toHaveLength(anchored.length);
      expect(burnBlock.transactions).toBe(anchored.reduce((sum, { announced }) => sum + announced, 0));
      const seconds = anchored[0]!.block_time - anchored.at(-1)!.block_time;
      expect(burnBlock.averageBlockTime).toBe(anchored.length === 1 ? 0 : seconds / (anchored.length - 1));
      expect(await read((reader) => reader.burnBlocks.find({ hash: burnBlock.hash }))).toEqual(burnBlock);
      expect(await read((reader) => reader.burnBlocks.find({ height: burnBlock.height }))).toEqual(burnBlock);
      const heights = anchored.map(({ height }) => height);
      const page = await read((reader) => reader.burnBlocks.blocks({ hash: burnBlock.hash }, 100, 0));
      expect([page?.items.map(({ height }) => height), page?.total]).toEqual([heights, heights.length]);
    }
    expect(await read((reader) => reader.burnBlocks.find('latest'))).toEqual(whole.items[0]);
  });

  test('omit the blocks of another chain', async () => {
    for (const id of [{ height: 0 }, { height: 10 ** 15 }, { hash: new Uint8Array(32) }]) {
      expect(await read((reader) => reader.burnBlocks.find(id))).toBeUndefined();
      expect(await read((reader) => reader.burnBlocks.blocks(id, 1, 0))).toBeUndefined();
    }
  });
});

describe('the logs of a contract', () => {
  const ask: Ask<ContractLog, EventLocation> = (...part) =>
    read((reader) => reader.contracts.logs(logs[0]!.contract, ...part, models));
  const pageFrom = (item: EventLocation | null, offset = 0, limit = 1) => ask(limit, { cursor: null, item, offset });
  /** Returns the position of a log. */
  const placeOf = ({ txId, eventIndex }: ContractLog): EventLocation =>
    logs.find((log) => bytesEqual(log.txId, txId) && log.place.eventIndex === eventIndex)!.place;
  const firstOf = (page: Page<ContractLog> | undefined) => page?.items.map(placeOf)[0];

  test('are listed from any of them', async () => {
    expect(logs.length).toBeGreaterThan(6);
    const keys = logs.map(({ place }) => place);
    for (const limit of [1, 3, keys.length + 1]) {
      for (const [index, location] of keys.entries()) {
        for (const offset of [0, 1]) {
          const page = await pageFrom(location, offset, limit);
          await isPage(page!, { keys, limit, start: index + offset }, placeOf, ask);
        }
      }
    }
  });

  test('are listed from a cursor and an offset', async () => {
    const keys = logs.map(({ place }) => place);
    const second = (await pageFrom(null, 1, 2))!;
    const pageAt = async (cursor: Cursor | null, offset: number) => (await ask(2, { cursor, item: null, offset }))!;
    expect(firstOf(await pageAt(second.current, 0))).toEqual(keys[1]!);
    expect(firstOf(await pageAt(second.next, 1))).toEqual(keys[4]!);
    expect((await pageAt(second.previous, 2)).items.map(placeOf)).toEqual(keys.slice(1, 3));
    expect((await pageAt(second.next, keys.length)).items).toEqual([]);
  });

  test('start at the next older log if the cursor has none', async () => {
    const [newest, second] = [logs[0]!.place, logs[1]!.place];
    const next = { ...newest, eventIndex: newest.eventIndex + 1 };
    for (const location of [next, { ...newest, txIndex: 10_000 }, { ...newest, height: 10 ** 15 }]) {
      expect(firstOf(await pageFrom(location))).toEqual(newest);
    }
    expect(firstOf(await pageFrom({ ...newest, eventIndex: newest.eventIndex - 1 }))).toEqual(second);
    expect(await pageFrom({ height: 0, microblockSequence: 0, txIndex: 0, eventIndex: 0 })).toBeUndefined();
  });

  test('return the total without items for a page past the end', async () => {
    expect(await pageFrom(null, logs.length)).toEqual({ ...NOTHING, total: logs.length });
    const start = { cursor: null, item: null, offset: 0 };
    expect(await read((reader) => reader.contracts.logs('nobody.knows', 5, start, models))).toEqual(NOTHING);
  });
});
