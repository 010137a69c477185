/** Every list of the API, walked page by page on generated chains, while blocks and forks arrive. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { CursorKey, Page } from '../../src/store/model/page.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import { type OpenIngest, openNew, received } from '../support/ingest.ts';
import { assertProperty } from '../support/property.ts';

/** A list, and whether what a new block adds comes before all that it has. */
interface List {
  growsAtTheFront: boolean;
  page(read: Reader, limit: number, from: CursorKey | null): Promise<Page<unknown>>;
}

/** What lists are of: each chosen for the length of its lists. */
interface Subjects {
  principal: string;
  ftHolder: { principal: string; asset: string };
  collector: { principal: string; asset: string };
  instance: { asset: string; value: Uint8Array };
  txIds: Uint8Array[];
  pending: string;
}

function subjectsOf(directory: string): Subjects {
  using db = new Database(indexPath(directory), { readonly: true });
  const first = <Row>(sql: string, none: Row): Row => db.query<Row, []>(sql).get() ?? none;
  const { principal } = first('SELECT address AS principal FROM accounts ORDER BY transactions DESC, address LIMIT 1', {
    principal: '',
  });
  // A short chain may have none of a kind: then its lists are empty.
  const none = { principal, asset: `${principal}.none::none` };
  return {
    principal,
    ftHolder: first(
      'SELECT address AS principal, identifier AS asset FROM ft_balances ORDER BY transfers DESC LIMIT 1',
      none,
    ),
    collector: first(
      `SELECT p.address AS principal, h.identifier AS asset FROM nft_holdings h JOIN principals p ON p.id = h.owner_id
        ORDER BY h.instances DESC LIMIT 1`,
      none,
    ),
    instance: first(
      `SELECT a.identifier AS asset, i.value FROM nft_instances i JOIN assets a ON a.id = i.asset_id
        ORDER BY i.events DESC LIMIT 1`,
      { asset: none.asset, value: new Uint8Array(1) },
    ),
    txIds: db
      .query<{ tx_id: Uint8Array }, []>('SELECT tx_id FROM transactions ORDER BY event_count DESC LIMIT 20')
      .all()
      .map(({ tx_id }) => tx_id),
    pending:
      db
        .query<{ address: string }, []>(
          `SELECT p.address FROM pending_counts c JOIN principals p ON p.id = c.principal_id
            ORDER BY c.transactions DESC LIMIT 1`,
        )
        .get()?.address ?? principal,
  };
}

const found = <T>(page: Page<T> | undefined): Page<T> => {
  if (page === undefined) throw new Error('the list is of something that is gone');
  return page;
};

const listsOf = ({ principal, ftHolder, collector, instance, txIds, pending }: Subjects): Record<string, List> => ({
  transactions: { growsAtTheFront: true, page: (read, ...at) => read.transactions.page(...at) },
  'transactions of a principal': {
    growsAtTheFront: true,
    page: (read, ...at) => read.transactions.ofPrincipal(principal, ...at),
  },
  'transactions of the first block': {
    growsAtTheFront: true,
    page: async (read, ...at) => found(await read.transactions.ofBlock({ height: 1 }, ...at)),
  },
  'events of a transaction': {
    growsAtTheFront: true,
    page: async (read, ...at) => found(await read.events.ofTransaction(txIds[0] ?? new Uint8Array(32), ...at)),
  },
  'STX a principal received': {
    growsAtTheFront: true,
    page: (read, ...at) => read.transfers.stx(principal, 'inbound', ...at),
  },
  'STX a principal sent': {
    growsAtTheFront: true,
    page: (read, ...at) => read.transfers.stx(principal, 'outbound', ...at),
  },
  'transfers of a token': {
    growsAtTheFront: true,
    page: (read, ...at) => read.transfers.ft(ftHolder.principal, ftHolder.asset, ...at),
  },
  'history of an instance': {
    growsAtTheFront: true,
    page: (read, ...at) => read.tokens.nftHistory(instance.asset, instance.value, ...at),
  },
  'balance changes of transactions': {
    growsAtTheFront: true,
    page: (read, ...at) => read.principals.balanceChanges(principal, txIds, ...at),
  },
  mempool: { growsAtTheFront: false, page: (read, ...at) => read.mempool.page(...at) },
  'mempool of a principal': { growsAtTheFront: false, page: (read, ...at) => read.mempool.ofPrincipal(pending, ...at) },
  'tokens of a principal': {
    growsAtTheFront: false,
    page: (read, ...at) => read.principals.ftBalances(ftHolder.principal, ...at),
  },
  'instances of an owner': {
    growsAtTheFront: false,
    page: (read, ...at) => read.principals.nftBalances(collector.principal, null, ...at),
  },
  'instances of one asset': {
    growsAtTheFront: false,
    page: (read, ...at) => read.principals.nftBalances(collector.principal, collector.asset, ...at),
  },
  'holders of STX': { growsAtTheFront: false, page: (read, ...at) => read.tokens.stxHolders(...at) },
  'holders of a token': { growsAtTheFront: false, page: (read, ...at) => read.tokens.ftHolders(ftHolder.asset, ...at) },
});

class World implements Disposable {
  readonly chain: SimulatedChain;
  readonly open: OpenIngest;
  readonly snapshots: Snapshots;
  /** Index block hashes of the chain, genesis first. */
  readonly #hashes: string[];

  constructor(seed: number, blocks: number) {
    this.chain = new SimulatedChain({ seed, accounts: 8 });
    this.open = openNew({ journal: false });
    this.open.ingest.receive(received(this.chain.genesis()));
    this.#hashes = [this.chain.genesisHash];
    for (let i = 0; i < blocks; i++) this.mine(0);
    this.snapshots = openSnapshots(this.open.directory);
  }

  /** Mines on the block that stands `below` the tip; as many blocks as make it the tip. */
  mine(below: number): void {
    const kept = Math.max(1, this.#hashes.length - below);
    const length = this.#hashes.length;
    this.#hashes.length = kept;
    do {
      const { events, indexBlockHash } = this.chain.mine(this.#hashes.at(-1) ?? '', { transactions: 6 });
      for (const event of events) this.open.ingest.take(received(event));
      this.#hashes.push(indexBlockHash);
    } while (this.#hashes.length <= length);
    this.open.ingest.commit();
  }

  page = (list: List, limit: number, from: CursorKey | null) =>
    this.snapshots.read((read) => list.page(read, limit, from));

  [Symbol.dispose](): void {
    this.snapshots.close();
    this.open[Symbol.dispose]();
  }
}

const EVERYTHING = 100_000;
const shown = (items: unknown[]): string[] => items.map((item) => Bun.inspect(item));

/** Walks on from a page until there is none, calling `between` before each step. */
async function walk(
  world: World,
  list: List,
  first: Page<unknown>,
  limit: number,
  link: 'next' | 'previous',
  between: () => void = () => {},
): Promise<Page<unknown>[]> {
  const pages = [first];
  for (let key = first[link]; key !== null; ) {
    between();
    const page = await world.page(list, limit, key);
    pages.push(page);
    key = page[link];
  }
  return pages;
}

const chains = fc.record({ seed: fc.nat({ max: 10_000 }), blocks: fc.integer({ min: 6, max: 14 }) });
const pageSizes = fc.integer({ min: 1, max: 9 });

test('forwards and backwards, a walk visits each item of a list once, in its order', async () => {
  await assertProperty(
    fc.asyncProperty(chains, pageSizes, async ({ seed, blocks }, limit) => {
      using world = new World(seed, blocks);
      for (const [name, list] of Object.entries(listsOf(subjectsOf(world.open.directory)))) {
        const all = await world.page(list, EVERYTHING, null);
        expect(all.items.length, name).toBe(all.total);
        const items = shown(all.items);
        expect(new Set(items).size, name).toBe(items.length);

        const forwards = await walk(world, list, await world.page(list, limit, null), limit, 'next');
        expect(shown(forwards.flatMap((page) => page.items)), name).toEqual(items);
        for (const page of forwards) expect(page.total, name).toBe(all.total);

        const last = forwards.at(-1);
        if (last === undefined || last.current === null) continue;
        const backwards = await walk(world, list, last, limit, 'previous');
        // All but the head are the forward pages again; the head is as long as a page, and so may overlap.
        expect(
          backwards.slice(0, -1).map(({ items: of }) => shown(of)),
          name,
        ).toEqual(
          forwards
            .slice(1)
            .reverse()
            .slice(0, backwards.length - 1)
            .map(({ items: of }) => shown(of)),
        );
        expect(shown(backwards.at(-1)?.items ?? []), name).toEqual(items.slice(0, limit));
      }
    }),
    { cases: 5 },
  );
});

test('blocks that arrive during a walk move nothing that it has yet to visit', async () => {
  await assertProperty(
    fc.asyncProperty(chains, pageSizes, async ({ seed, blocks }, limit) => {
      using world = new World(seed, blocks);
      for (const [name, list] of Object.entries(listsOf(subjectsOf(world.open.directory)))) {
        if (!list.growsAtTheFront) continue;
        const before = shown((await world.page(list, EVERYTHING, null)).items);
        let mined = 0;
        const pages = await walk(world, list, await world.page(list, limit, null), limit, 'next', () => {
          if (mined++ < 2) world.mine(0);
        });
        expect(shown(pages.flatMap((page) => page.items)), name).toEqual(before);
      }
    }),
    { cases: 5 },
  );
});

test('a fork during a walk never shows an item twice, nor ends in an error', async () => {
  await assertProperty(
    fc.asyncProperty(chains, pageSizes, fc.integer({ min: 1, max: 5 }), async ({ seed, blocks }, limit, depth) => {
      using world = new World(seed, blocks);
      const lists = Object.entries(listsOf(subjectsOf(world.open.directory)));
      for (const [name, list] of lists.filter(([, { growsAtTheFront }]) => growsAtTheFront)) {
        // What a list is of may be gone on the new branch: such a list is empty, or says so.
        const first = await world.page(list, limit, null).catch(() => null);
        if (first === null) continue;
        let forked = false;
        const pages = await walk(world, list, first, limit, 'next', () => {
          if (!forked) world.mine(depth);
          forked = true;
        }).catch((error: unknown) => {
          expect(String(error), name).toContain('is of something that is gone');
          return [];
        });
        const keys = pages.map(({ current }) => JSON.stringify(current));
        expect(new Set(keys).size, name).toBe(keys.length);
        for (const page of pages) expect(page.items.length, name).toBeLessThanOrEqual(limit);
      }
    }),
    { cases: 5 },
  );
});
