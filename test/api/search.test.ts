/**
 * Search while typing: it finds everything on the canonical chain by each searchable part, and nothing else. A search never
 * reads many rows, for any text and chain.
 */
import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { assetNameOf, contractNameOf } from '../../src/codec/address.ts';
import { stacksOfBitcoin } from '../../src/codec/bitcoin-address.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { matches, rank, type SearchResult, searchQueries } from '../../src/store/queries/search.ts';
import { nameParts } from '../../src/store/rows/name-parts.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { forks, grown } from '../support/events/forked-chain.ts';
import { treesOf, winningChain } from '../support/events/winning-chain.ts';
import { assertProperty, firstSeed, Seen } from '../support/property.ts';
import { sampleIndex, testApp } from './test-app.ts';

const MAX_RESULTS = 50;

interface OnChain {
  contracts: string[];
  assets: string[];
  names: string[];
  addresses: string[];
  txIds: string[];
  blocks: { index: string; hash: string; height: number }[];
}

/** Reads the content of an index after events that orphan nothing. */
function onChain(events: readonly NodeEvent[]): OnChain {
  using directory = ingestOf(events.map(received));
  using db = new Database(indexPath(directory.path), { readonly: true });
  const texts = (sql: string): string[] =>
    db
      .query<{ text: string }, []>(sql)
      .all()
      .map(({ text }) => text);
  return {
    contracts: texts(`SELECT DISTINCT p.address AS text FROM transactions t
                        JOIN principals p ON p.id = t.contract_id WHERE t.type IN (1, 6) AND t.status = 1`),
    assets: texts(
      `SELECT DISTINCT a.identifier AS text FROM events e JOIN assets a ON a.id = e.asset_id WHERE e.kind <> 9`,
    ),
    names: texts('SELECT name AS text FROM name_operations WHERE current = 1 AND operation <> 6'),
    addresses: texts("SELECT address AS text FROM accounts WHERE transactions > 0 AND address NOT LIKE '%.%'"),
    txIds: texts('SELECT lower(hex(tx_id)) AS text FROM transactions'),
    blocks: db
      .query<OnChain['blocks'][number], []>(
        'SELECT lower(hex(index_block_hash)) AS "index", lower(hex(block_hash)) AS hash, height FROM blocks',
      )
      .all(),
  };
}

const idsOf = (results: readonly SearchResult[]): string[] => results.map(({ id }) => id.replace(/^0x/, ''));

const anyCase = (text: string, prng: Prng): string =>
  [...text].map((letter) => (prng.chance(0.5) ? letter.toUpperCase() : letter.toLowerCase())).join('');

function partOf(text: string, fewest: number, prng: Prng): string {
  const start = prng.below(Math.max(1, text.length - fewest));
  return text.slice(start, start + fewest + prng.below(text.length));
}

const startOf = (text: string, fewest: number, prng: Prng): string =>
  text.slice(0, fewest + prng.below(text.length - fewest + 1));

describe('over forked chains', () => {
  test('finds everything on the canonical chain by its parts, and nothing orphaned', async () => {
    const seen = new Seen({ contract: 2, asset: 1, name: 1, address: 2, transaction: 7, block: 4, orphan: 2 });
    await assertProperty(
      fc.asyncProperty(forks(), async (generated) => {
        const { events } = grown(generated);
        const is = onChain(winningChain(events));
        const prng = new Prng(`search ${generated.seed}`);
        const snapshots = memoryIndex(events.map(received), { foundRows: 10_000 });
        await snapshots.readLong(async (read) => {
          const find = async (text: string) => idsOf(read.search(text, MAX_RESULTS));
          /** A page that is full may have left something out. */
          async function finds(kind: string, text: string, id: string): Promise<void> {
            const ids = await find(text);
            if (ids.length < MAX_RESULTS)
              expect({ kind, text, ids }).toMatchObject({ ids: expect.arrayContaining([id]) });
            seen.add(kind);
          }
          for (const id of is.contracts) {
            await finds('contract', anyCase(partOf(contractNameOf(id), 1, prng), prng), id);
            await finds('contract', anyCase(startOf(id, 6, prng), prng), id);
            await finds('contract', anyCase(id.slice(prng.below(id.indexOf('.') + 1)), prng), id);
            expect((await find(id))[0]).toBe(id);
          }
          for (const id of is.assets) {
            await finds('asset', anyCase(partOf(assetNameOf(id), 1, prng), prng), id);
            await finds('asset', anyCase(startOf(id, 6, prng), prng), id);
            await finds('asset', anyCase(id.slice(prng.below(id.indexOf('::') + 1)), prng), id);
          }
          for (const name of is.names) await finds('name', anyCase(startOf(name, 1, prng), prng), name);
          for (const id of is.addresses) await finds('address', anyCase(startOf(id, 6, prng), prng), id);
          for (const id of is.txIds) {
            await finds('transaction', `${prng.chance(0.5) ? '0x' : ''}${anyCase(startOf(id, 6, prng), prng)}`, id);
          }
          for (const { index, hash, height } of is.blocks) {
            await finds('block', startOf(prng.chance(0.5) ? index : hash, 6, prng), index);
            await finds('block', `${prng.chance(0.5) ? '#' : ''}${height}`, index);
          }
          const { blocks } = treesOf(events);
          const orphans = [...blocks.blocks.values()].filter(
            ({ head }) =>
              head.block_height > 0 && is.blocks.every(({ index }) => `0x${index}` !== head.index_block_hash),
          );
          for (const { head, event } of orphans) {
            seen.add('orphan');
            const id = head.index_block_hash.slice(2);
            expect(await find(id.slice(0, -1))).toEqual([]);
            expect(read.search(id, MAX_RESULTS)).toMatchObject([{ kind: 'block', canonical: false }]);
            for (const [contract] of event.body.matchAll(/\bST[0-9A-Z]{28,41}\.[a-z][\w-]*/g)) {
              if (is.contracts.includes(contract)) continue;
              const results = read.search(contract, MAX_RESULTS);
              expect(results.filter((result) => result.kind === 'contract' && result.id === contract)).toEqual([]);
            }
          }
        });
      }),
      // With this seed, one round of cases meets every situation.
      { cases: 1, seen, seed: firstSeed + 9 },
    );
  });
});

test('ranks equal matches first, then prefixes, and shows every kind', () => {
  const resultOf = (kind: 'contract' | 'name') => (match: SearchResult['match'], n: number) =>
    ({ kind, match, id: `${match}.${n}` }) as const;
  const [contract, name] = [resultOf('contract'), resultOf('name')];
  const many = Array.from({ length: 30 }, (_, n) => contract('start', n));
  const ranked = rank([...many, name('part', 0), contract('exact', 0), name('start', 0), contract('part', 0)], 10);
  expect(ranked).toHaveLength(10);
  expect(ranked[0]).toEqual(contract('exact', 0));
  expect(ranked.at(-1)).toEqual(name('start', 0));
  const same = [contract('part', 1), contract('exact', 1)].map((result) => ({ ...result, id: 'x' }));
  expect(rank(same, 10)).toEqual([{ kind: 'contract', match: 'exact', id: 'x' }]);
  const order = rank([name('part', 0), contract('part', 0), name('exact', 1), ...many.slice(0, 2)], 10);
  expect(order.map(({ match }) => matches.indexOf(match))).toEqual([0, 1, 1, 2, 2]);
});

/** An empty index in memory. */
function emptyTables(): Database {
  const db = new Database(':memory:');
  db.run(readFileSync(join(import.meta.dir, '../../schema.sql'), 'utf8'));
  return db;
}

const ATTACKER = 'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7';
const OWNER = 'SP2J6ZZ8GGZ3XD2VNXQSG0Y1YKXEKBPDAC1WH9V2S';
const HOSTILE = 2_000;

test('reads a bounded number of rows for any number of matches, and shows every kind', async () => {
  using db = emptyTables();
  const principal = db.prepare('INSERT INTO principals (id, address) VALUES (?1, ?2)');
  const part = db.prepare('INSERT INTO name_parts VALUES (?1, ?2, ?3, ?4)');
  db.transaction(() => {
    for (let id = 1; id <= HOSTILE; id++) {
      const contract = `${ATTACKER}.a${id}`;
      principal.run(id, contract);
      for (const { kind, place, part: text } of nameParts('contract', id, `a${id}`, contract))
        part.run(kind, place, text, id);
      for (const { kind, place, part: text } of nameParts('token_symbol', id, 'usda', null))
        part.run(kind, place, text, id);
      db.run('INSERT INTO token_contracts VALUES (?1, 1, ?2, 1, NULL, NULL, NULL, NULL, 0, NULL, 0)', [id, contract]);
      db.run("INSERT INTO name_operations VALUES (?1, 'btc', 1, 1, 2, 1, NULL, 1)", [`a${id}.btc`]);
      db.run("INSERT INTO old_names VALUES (?1, 'btc', 'x', x'', NULL, NULL)", [`a${id}.btc`]);
    }
    principal.run(HOSTILE + 1, OWNER);
    db.run(`INSERT INTO accounts VALUES (${HOSTILE + 1}, '${OWNER}', 'A0', 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)`);
  })();
  let rows = 0;
  const countedDb = new Proxy(db, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== 'prepare') return typeof value === 'function' ? value.bind(target) : value;
      return (sql: string) => {
        const statement = target.prepare(sql);
        return {
          all: (...values: never[]) => {
            const results = statement.all(...values);
            rows += results.length;
            return results;
          },
          get: (...values: never[]) => {
            rows += 1;
            return statement.get(...values);
          },
        };
      };
    },
  });
  const mostRows = 20;
  const search = searchQueries(countedDb, () => false, mostRows);
  const costs: Record<string, number> = {};
  const ofAttacker = [ATTACKER, `${ATTACKER}.a`, ATTACKER.slice(0, 6)];
  for (const text of ['a', 'A1', 'usd', 'usda', ...ofAttacker, '7.a1', '0x000000', 'a1.btc']) {
    rows = 0;
    search(text, MAX_RESULTS);
    costs[text] = rows;
  }
  // Two ranges of each of five kinds of names, the ranges of identifiers, ids and names, and the subject of each row.
  expect(Math.max(...Object.values(costs))).toBeLessThan(30 * mostRows);
  expect(idsOf(search(ATTACKER.slice(0, 6), 5))).toContain(OWNER);
  expect(new Set(search('a', 10).map(({ kind }) => kind))).toEqual(new Set(['contract', 'name']));
});

test.each([
  ...["'", '"', '* OR NEAR(a b) -x ^y:z', '%', '_', '\\', '🦊', '\u0000', 'a\u0000b', '\u202e', '\u{10FFFF}'],
  ...['0x', '#', '::', '.', '...', 'SP.', '0xzzzzzz', '9'.repeat(64), 'z'.repeat(256)],
])('treats %j as plain text', async (text) => {
  const { json, logged } = testApp();
  const { status, body } = await json(`/stackside/v1/search?q=${encodeURIComponent(text)}`);
  expect([status, body, logged]).toEqual([200, { results: expect.any(Array) }, []]);
});

test('returns nothing for an empty text, and rejects a text that is too long', async () => {
  const { json } = testApp();
  for (const query of ['q=', 'q=%20%20%09']) {
    expect((await json(`/stackside/v1/search?${query}`)).body).toEqual({ results: [] });
  }
  const { status, body } = await json(`/stackside/v1/search?q=${'a'.repeat(10_000)}`);
  expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('querystring/q')]);
  expect((await json('/stackside/v1/search')).status).toBe(400);
});

test('finds a Bitcoin address, and the Stacks address of the same key', async () => {
  // BIP-173's first example: the key of the address 1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH.
  const stacks = stacksOfBitcoin('1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH');
  const segwit = 'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4';
  expect(stacksOfBitcoin(segwit)).toBe(stacks);
  expect(stacksOfBitcoin('bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3')).toBeNull();
  expect(stacksOfBitcoin('bc1q')).toBeNull();
  await sampleIndex().readLong(async (read) => {
    expect(read.search(` ${segwit} `, MAX_RESULTS)).toEqual([
      { kind: 'bitcoin_address', match: 'exact', id: segwit.toLowerCase() },
      { kind: 'address', match: 'exact', id: stacks!, bitcoinAddress: segwit.toLowerCase() },
    ]);
    const ofScript = 'bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3';
    expect(read.search(ofScript, MAX_RESULTS)).toEqual([{ kind: 'bitcoin_address', match: 'exact', id: ofScript }]);
  });
});

test('finds a Bitcoin block by its height, its hash and a prefix of the hash', async () => {
  const events = [...devnetEvents({ seed: 5, blocks: 12, forkEvery: 0 })];
  const { burn_block_hash: hash, burn_block_height: height } = JSON.parse(
    events.findLast(({ path }) => path === '/new_block')!.body,
  );
  await memoryIndex(events.map(received)).readLong(async (read) => {
    for (const text of [String(height), hash, hash.slice(0, 12), hash.slice(2, 9)]) {
      expect(read.search(text, MAX_RESULTS)).toContainEqual(expect.objectContaining({ kind: 'burn_block', height }));
    }
  });
});
