/** Chain changes for readers that start late, are killed or resume: pages over generated chains with forks. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { silentMachine } from '../../src/hooks/machine.ts';
import { type OpenApi, openApi } from '../support/api/api.ts';
import { emptyDirectory, openAt, received } from '../support/data/ingest.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { eventsOf, type Forks, forks } from '../support/events/forked-chain.ts';
import { canonicalHashes, fromAnywhere } from '../support/events/from-anywhere.ts';
import { assertProperty, firstSeed, Seen } from '../support/property.ts';

// biome-ignore lint/suspicious/noExplicitAny: changes are looked into
type Change = any;

interface Page {
  text: string;
  results: Change[];
  next: string;
  has_more: boolean;
}

/** Full pages of a case that are read again. */
const MAX_SAMPLED = 5;

const ALL = 'include=transactions&include=decoded_values&include=block_metadata&include=contract_abi';

async function pageOf(api: OpenApi, after: string | null, query: string): Promise<Page> {
  const response = await api.get(`/stackside/v1/changes?${after === null ? '' : `after=${after}&`}${query}`);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  return { text, ...JSON.parse(text) };
}

/** All changes after a cursor, page by page. */
async function changesAfter(api: OpenApi, after: string | null, query = ALL): Promise<Change[]> {
  const changes: Change[] = [];
  for (let cursor = after; ; ) {
    const page = await pageOf(api, cursor, query);
    changes.push(...page.results);
    if (!page.has_more) return changes;
    cursor = page.next;
  }
}

/** A reader that keeps the chain, and the cursor of its last change with it, as a client does in one transaction. */
class Follower {
  cursor: string | null = null;
  readonly chain: { hash: string; transactions: string[] }[] = [];

  apply({ change, cursor, block }: Change): void {
    const { block_identifier: self, parent_block_identifier: parent } = block;
    if (change === 'apply') {
      expect(this.chain.at(-1)?.hash ?? parent.hash).toBe(parent.hash);
      const transactions = block.transactions.map((transaction: Change) => transaction.transaction_identifier.hash);
      this.chain.push({ hash: self.hash, transactions });
    } else {
      expect(this.chain.pop()?.hash).toBe(self.hash);
    }
    this.cursor = cursor;
  }

  get hashes(): string[] {
    return this.chain.map(({ hash }) => hash);
  }
}

const moves = fc.array(
  fc.record({
    /** Events that come before the reader reads. */
    events: fc.nat(12),
    limit: fc.integer({ min: 1, max: 9 }),
    pages: fc.integer({ min: 1, max: 4 }),
    /** Changes of the last page that the reader applies before it is killed, if it is. */
    killed: fc.option(fc.nat(8)),
    restart: fc.boolean(),
  }),
  { minLength: 4, maxLength: 16 },
);

const mined = { mine: 'back' as const, tenure: 'same' as const, transactions: 2 };
/** A branch that lost wins again, so that the same blocks are applied twice. */
const againAndAgain: Forks = {
  seed: 7,
  steps: [
    { ...mined, blocks: 0 },
    { ...mined, blocks: 0 },
    { ...mined, mine: 'overtake', end: 1 },
    { ...mined, blocks: 3 },
    { ...mined, mine: 'overtake', end: 0 },
    { ...mined, mine: 'overtake', end: 1 },
    { ...mined, mine: 'overtake', end: 0 },
  ],
};

test('a killed and resumed reader ends with the canonical chain, and the changes after a cursor never change', async () => {
  const seen = new Seen({ rollbacks: 3, kills: 3, restarts: 3, 'full pages': 3 });
  await assertProperty(
    fc.asyncProperty(forks(), moves, async (generated, plan) => {
      using directory = emptyDirectory();
      let open = openAt(directory.path);
      let api = openApi(directory.path);
      const reopen = (): void => {
        api[Symbol.dispose]();
        open[Symbol.dispose]();
        open = openAt(directory.path);
        api = openApi(directory.path);
      };
      try {
        const events = eventsOf(generated).map(received);
        const reader = new Follower();
        const fullPages: { after: string | null; query: string; text: string }[] = [];
        const changes: Change[] = [];
        for (const { events: count, limit, pages, killed, restart } of plan) {
          for (const event of events.splice(0, count)) open.ingest.receive(event);
          for (let nth = 1; nth <= pages; nth++) {
            const query = `${ALL}&limit=${limit}`;
            const after = reader.cursor;
            const page = await pageOf(api, after, query);
            if (page.has_more) fullPages.push({ after, query, text: page.text });
            const isKilled = nth === pages && killed !== null && killed < page.results.length;
            const applied = isKilled ? page.results.slice(0, killed) : page.results;
            for (const change of applied) reader.apply(change);
            changes.push(...applied);
            if (isKilled) seen.add('kills');
          }
          if (!restart) continue;
          reopen();
          seen.add('restarts');
        }
        for (const event of events) open.ingest.receive(event);
        for (const change of await changesAfter(api, reader.cursor)) {
          reader.apply(change);
          changes.push(change);
        }
        expect(reader.hashes).toEqual(canonicalHashes(open.ingest));
        seen.add('rollbacks', changes.filter(({ change }) => change === 'rollback').length);

        const whole = JSON.stringify(changes);
        const sample = fullPages.filter((_, index) => index % Math.ceil(fullPages.length / MAX_SAMPLED) === 0);
        seen.add('full pages', sample.length);
        const isAsBefore = async (): Promise<void> => {
          expect(JSON.stringify(await changesAfter(api, null))).toBe(whole);
          for (const { after, query, text } of sample) expect((await pageOf(api, after, query)).text).toBe(text);
        };
        await isAsBefore();
        api[Symbol.dispose]();
        open[Symbol.dispose]();
        rebuildIndex({
          directory: directory.path,
          chainId: null,
          machine: silentMachine,
          views: false,
          force: false,
          log: () => {},
        });
        reopen();
        await isAsBefore();
      } finally {
        api[Symbol.dispose]();
        open[Symbol.dispose]();
      }
    }),
    { seen, cases: 1, shrink: false, examples: [[againAndAgain, plain()]] },
  );
});

/** A reader that reads a page after each few events, and is killed in it. */
function plain(): { events: number; limit: number; pages: number; killed: number | null; restart: boolean }[] {
  return Array.from({ length: 12 }, (_, nth) => ({ events: 3, limit: 3, pages: 1, killed: 1, restart: nth % 4 === 0 }));
}

test('a reader that starts at a height gets the canonical chain from there, then each change', async () => {
  await assertProperty(
    fc.asyncProperty(forks(), fc.nat(), fc.nat(), async (generated, cut, start) => {
      using directory = emptyDirectory();
      using open = openAt(directory.path);
      const events = eventsOf(generated).map(received);
      const count = 1 + (cut % events.length);
      for (const event of events.slice(0, count)) open.ingest.receive(event);
      using api = openApi(directory.path);
      const height = 1 + (start % (open.ingest.history.tip().height + 1));
      const reader = new Follower();
      const first = await pageOf(api, null, `from_height=${height}&limit=500`);
      for (const change of first.results) reader.apply(change);
      expect(first.results.every(({ change }) => change === 'apply')).toBe(true);
      expect(reader.hashes).toEqual(canonicalHashes(open.ingest).slice(height - 1));
      for (const event of events.slice(count)) open.ingest.receive(event);
      const later = await changesAfter(api, first.next);
      // A fork from below the height rolls back blocks that the reader never received.
      const below = later.findIndex(
        ({ change, block }) => change === 'rollback' && block.block_identifier.index < height,
      );
      if (below >= 0) return;
      for (const change of later) reader.apply(change);
      expect(reader.hashes).toEqual(canonicalHashes(open.ingest).slice(height - 1));
    }),
    { cases: 2, shrink: false, always: 'each case begins at a height and reads to the end' },
  );
});

test('a reader ends with the canonical chain while the index repeatedly starts at new heights', async () => {
  const seen = new Seen({ again: 1, rollbacks: 5 });
  await assertProperty(
    fc.asyncProperty(forks(), fc.nat(), fc.integer({ min: 1, max: 9 }), async (generated, choice, every) => {
      using directory = emptyDirectory();
      using open = openAt(directory.path);
      using api = openApi(directory.path);
      const { stream, give } = fromAnywhere(eventsOf(generated), choice);
      const reader = new Follower();
      let start = 0;
      async function readOn(): Promise<void> {
        for (const change of await changesAfter(api, reader.cursor)) {
          reader.apply(change);
          if (change.change === 'rollback') seen.add('rollbacks');
        }
        expect(reader.hashes).toEqual(canonicalHashes(open.ingest));
      }
      for (const [number, event] of stream.entries()) {
        give(open.ingest, event);
        open.ingest.publish();
        const next = open.ingest.history.bottom();
        if (start > 0 && next !== start) seen.add('again');
        start = next;
        if (number % every === 0) await readOn();
      }
      await readOn();
    }),
    // With this seed, one round of cases meets every situation.
    { seen, cases: 4, shrink: false, seed: firstSeed + 2 },
  );
});
