/** Lists of blocks, Bitcoin blocks and logs against a plain reading of the tables, page by page and at their edges. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ANCHORED_SEQUENCE } from '../../src/chain/block.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { ChainBlock } from '../../src/store/model/block.ts';
import type { EventPlace } from '../../src/store/model/event.ts';
import type { ChainPage, ChainStart } from '../../src/store/model/page.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import type { DataDirectory } from '../support/data-directory.ts';
import { ingestOf, received } from '../support/ingest.ts';

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
/** Of the contract that logged most, newest first. */
let logs: { contract: string; place: EventPlace }[];

beforeAll(() => {
  const options = { seed: 3, blocks: 70, accounts: 12, transactionsPerBlock: 8, forkEvery: 9 };
  directory = ingestOf([...devnetEvents(options)].map(received), { journal: false });
  snapshots = openSnapshots(directory.path);
  using db = new Database(indexPath(directory.path), { readonly: true });
  blocks = db
    .query<BlockRow, []>(
      `SELECT height, index_block_hash AS hash, block_time, tenure_height, hex(burn_block_hash) AS burn,
              announced_transactions AS announced FROM blocks ORDER BY height DESC`,
    )
    .all();
  logs = db
    .query<{ contract: string; position: number; event_index: number; tx_index: number }, []>(
      `SELECT p.address AS contract, e.position, e.event_index, t.tx_index
         FROM events e JOIN principals p ON p.id = e.contract_id JOIN transactions t ON t.position = e.position
        WHERE e.kind = 1 AND e.contract_id = (SELECT contract_id FROM contract_logs ORDER BY logs DESC LIMIT 1)
        ORDER BY e.position DESC, e.event_index DESC`,
    )
    .all()
    .map(({ contract, position, event_index, tx_index }) => ({
      contract,
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

const read = <T>(ask: (reader: Reader) => Promise<T>): Promise<T> => snapshots.read(ask);

/** What a page of a list must be, from the whole list. */
function expected<Key>(keys: Key[], limit: number, start: number): Omit<ChainPage<Key, Key>, 'total'> {
  const inList = start >= 0 && start < keys.length;
  return {
    items: inList ? keys.slice(start, start + limit) : [],
    current: inList ? keys[start]! : null,
    older: (inList ? keys[start + limit] : null) ?? null,
    newer: inList && start > 0 ? keys[Math.max(0, start - limit)]! : null,
  };
}

type Ask<Item, Key> = (limit: number, start: ChainStart<Key>) => Promise<ChainPage<Item, Key> | undefined>;

async function holds<Item, Key>(keys: Key[], keyOf: (item: Item) => Key, ask: Ask<Item, Key>): Promise<void> {
  for (const limit of [1, 3, keys.length, keys.length + 1]) {
    for (const [place, at] of [null, ...keys].entries()) {
      for (const offset of [-2, -1, 0, 1, keys.length]) {
        const start = Math.max(0, place - 1) + offset;
        const page = await ask(limit, { at, offset });
        if (at !== null && (start < 0 || start >= keys.length)) expect(page).toBeUndefined();
        else {
          const { items, ...rest } = page!;
          expect({ ...rest, items: items.map(keyOf) }).toEqual({
            ...expected(keys, limit, start),
            total: keys.length,
          });
        }
      }
    }
  }
}

describe('the blocks', () => {
  test('of the chain, from any of them', async () => {
    const keys = blocks.slice(0, 200).map(({ hash }) => hash);
    await read((reader) => holds(keys, ({ indexHash }: ChainBlock) => indexHash, reader.blocks.page));
  });

  test('of each tenure, and of none that is not', async () => {
    const tenures = new Set(blocks.flatMap(({ tenure_height }) => tenure_height ?? []));
    expect(tenures.size).toBeGreaterThan(5);
    for (const tenure of [...tenures].slice(-12)) {
      const keys = blocks.filter(({ tenure_height }) => tenure_height === tenure).map(({ hash }) => hash);
      await read((reader) =>
        holds(
          keys,
          ({ indexHash }: ChainBlock) => indexHash,
          (...at) => reader.blocks.ofTenure(tenure, ...at),
        ),
      );
    }
    const none = await read((reader) => reader.blocks.ofTenure(10_000, 5, { at: null, offset: 0 }));
    expect(none).toEqual({ items: [], total: 0, current: null, older: null, newer: null });
    const other = blocks.find(({ tenure_height }) => tenure_height !== blocks[0]!.tenure_height)!.hash;
    const strange = { at: other, offset: 0 };
    expect(await read((reader) => reader.blocks.ofTenure(blocks[0]!.tenure_height!, 5, strange))).toBeUndefined();
  });

  test('at any time', async () => {
    const times = blocks.flatMap(({ block_time }) => [block_time - 1, block_time, block_time + 1]);
    for (const time of times) {
      const found = await read((reader) => reader.blocks.at(time));
      const latest = blocks.find(({ block_time }) => block_time <= time)?.block_time;
      expect(found?.height).toBe(blocks.findLast(({ block_time }) => block_time === latest)?.height);
    }
  });

  test('and the mean time between them, in any window', async () => {
    const tip = blocks[0]!.block_time;
    for (const seconds of [-1, 0, 1, 600, 3600, 86_400, 10 ** 9]) {
      const since = [tip - seconds, tip - seconds * 2];
      const inAll = blocks.filter(({ block_time }) => block_time >= Math.min(...since));
      const means = since.map((time) => {
        const differences = inAll
          .slice(0, -1)
          .map((one, index) => ({ time: one.block_time, seconds: one.block_time - inAll[index + 1]!.block_time }))
          .filter((one) => one.time >= time);
        const sum = differences.reduce((total, one) => total + one.seconds, 0);
        return differences.length === 0 ? 0 : sum / differences.length;
      });
      expect(await read((reader) => reader.blocks.averageTimes(since))).toEqual(means);
    }
  });
});

describe('the Bitcoin blocks', () => {
  test('with what is anchored to them', async () => {
    const hashes = [...new Set(blocks.map(({ burn }) => burn))];
    const whole = await read((reader) => reader.burnBlocks.page(10_000, 0));
    expect(whole.items.map(({ hash }) => hash.toHex().toUpperCase())).toEqual(hashes);
    expect(whole.total).toBe(hashes.length);
    expect(whole.items.some((of) => of.blocks.length > 2)).toBe(true);
    for (const of of whole.items) {
      const anchored = blocks.filter(({ burn }) => burn === of.hash.toHex().toUpperCase());
      expect(of.blocks).toHaveLength(anchored.length);
      expect(of.transactions).toBe(anchored.reduce((sum, { announced }) => sum + announced, 0));
      const seconds = anchored[0]!.block_time - anchored.at(-1)!.block_time;
      expect(of.averageBlockTime).toBe(anchored.length === 1 ? 0 : seconds / (anchored.length - 1));
      expect(await read((reader) => reader.burnBlocks.find({ hash: of.hash }))).toEqual(of);
      expect(await read((reader) => reader.burnBlocks.find({ height: of.height }))).toEqual(of);
      const heights = anchored.map(({ height }) => height);
      for (const [limit, offset] of [
        [2, 0],
        [2, 1],
        [0, 0],
        [100, 1],
        [5, heights.length],
      ] as const) {
        const page = await read((reader) => reader.burnBlocks.blocks({ hash: of.hash }, limit, offset));
        expect(page?.items.map(({ height }) => height)).toEqual(heights.slice(offset, offset + limit));
        expect(page?.total).toBe(heights.length);
      }
    }
    expect(await read((reader) => reader.burnBlocks.find('latest'))).toEqual(whole.items[0]);
    for (const [limit, offset] of [
      [3, 0],
      [3, 2],
      [0, 0],
      [50, whole.total - 1],
      [5, whole.total],
      [5, 10 ** 15],
    ] as const) {
      const page = await read((reader) => reader.burnBlocks.page(limit, offset));
      expect(page).toEqual({ items: whole.items.slice(offset, offset + limit), total: whole.total });
    }
  });

  test('are not those of another chain', async () => {
    for (const id of [{ height: 0 }, { height: 10 ** 15 }, { hash: new Uint8Array(32) }]) {
      expect(await read((reader) => reader.burnBlocks.find(id))).toBeUndefined();
      expect(await read((reader) => reader.burnBlocks.blocks(id, 1, 0))).toBeUndefined();
    }
  });
});

describe('the logs of a contract', () => {
  const ask: Ask<unknown, EventPlace> = (...at) => read((reader) => reader.contracts.logs(logs[0]!.contract, ...at));
  const from = (at: EventPlace | null, offset = 0, limit = 1) => ask(limit, { at, offset });

  test('from any of them', async () => {
    expect(logs.length).toBeGreaterThan(6);
    const places = logs.map(({ place }) => place);
    for (const limit of [1, 3, places.length + 1]) {
      for (const [index, at] of places.entries()) {
        for (const offset of [-places.length - 1, -1, 0, 1]) {
          const start = Math.max(0, index + offset);
          const { items: _, ...keys } = expected(places, limit, start);
          const page = await from(at, offset, limit);
          expect(page).toMatchObject({ ...keys, total: places.length });
          expect(page?.items).toHaveLength(Math.max(0, Math.min(limit, places.length - start)));
        }
      }
    }
  });

  test('from a place where none is, it is the next older one', async () => {
    const [newest, second] = [logs[0]!.place, logs[1]!.place];
    const after = { ...newest, eventIndex: newest.eventIndex + 1 };
    for (const at of [after, { ...newest, txIndex: 10_000 }, { ...newest, height: 10 ** 15 }]) {
      expect((await from(at))?.current).toEqual(newest);
    }
    expect((await from({ ...newest, eventIndex: newest.eventIndex - 1 }))?.current).toEqual(second);
    expect(await from({ height: 0, microblockSequence: 0, txIndex: 0, eventIndex: 0 })).toBeUndefined();
  });

  test('past their ends are none, and know the total', async () => {
    expect(await from(null, logs.length)).toEqual({
      items: [],
      total: logs.length,
      current: null,
      older: null,
      newer: null,
    });
    expect((await from(null, -5))?.current).toEqual(logs[0]!.place);
    const nothing = { items: [], total: 0, current: null, older: null, newer: null };
    const start = { at: null, offset: 0 };
    expect(await read((reader) => reader.contracts.logs('nobody.knows', 5, start))).toEqual(nothing);
  });
});
