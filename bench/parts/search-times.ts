/**
 * Makes indexes that have what a search reads of chains of some lengths, and times searches, in turn: a round searches for every
 * text in every index. Prints what was found.
 */
import { Database } from 'bun:sqlite';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { positionOf } from '../../src/chain/position.ts';
import { stacksAddress } from '../../src/codec/address.ts';
import { searchQueries } from '../../src/store/queries/search.ts';
import { assetNameOf, contractNameOf, type NamePartRow, nameParts } from '../../src/store/rows/name-parts.ts';
import { ROOT } from '../harness.ts';
import { spread } from '../results.ts';

const [place = '', roundCount, repetitionCount, limitText, ...sizes] = process.argv.slice(2);
const rounds = Number(roundCount);
const repetitions = Number(repetitionCount);
const limit = Number(limitText);

const TRANSACTIONS_OF_A_BLOCK = 40;
const TRANSACTIONS_OF_A_CONTRACT = 50;
const TRANSACTIONS_OF_A_NAME = 20;
const CONTRACTS_OF_A_TOKEN = 20;
const CONTRACTS_OF_A_DEPLOYER = 10;
const WORDS = [
  'token',
  'vault',
  'pool',
  'swap',
  'oracle',
  'stake',
  'club',
  'lending',
  'market',
  'dao',
  'bridge',
  'trait',
];

const ALIKE_CONTRACTS = 1_000_000;
const ALIKE_TOKENS = 100_000;

export interface TimedSearches {
  transactions: number;
  isHostile: boolean;
  contracts: number;
  /** Bytes of the pages of the table of parts. */
  partBytes: number;
  searches: { name: string; microseconds: number[] }[];
}

const hashOf = (text: string): Uint8Array => new Bun.CryptoHasher('sha256').update(text).digest();
const addressOf = (number: number): string => stacksAddress(22, hashOf(`account ${number}`).subarray(0, 20));
/** A word that looks drawn, and is the same for the same number. */
const wordOf = (number: number): string => WORDS[Bun.hash.crc32(String(number)) % WORDS.length]!;
const contractOf = (number: number): string =>
  `${addressOf(Math.floor(number / CONTRACTS_OF_A_DEPLOYER))}.${wordOf(number)}-${wordOf(-number)}-${number}`;

/** An index with the indexes that a search uses alone. */
function emptyIndex(path: string): Database {
  const db = new Database(path);
  db.run('PRAGMA journal_mode = OFF');
  db.run('PRAGMA synchronous = OFF');
  db.run(readFileSync(join(ROOT, 'schema.sql'), 'utf8'));
  const unused = db
    .query<{ name: string }, []>(
      `SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('transactions', 'accounts')`,
    )
    .all();
  for (const { name } of unused) db.run(`DROP INDEX ${name}`);
  db.run('CREATE TEMP TABLE drawn (kind, place, part, subject_id)');
  return db;
}

function fill(db: Database, transactions: number, isHostile: boolean): number {
  const part = db.prepare('INSERT INTO drawn VALUES (?1, ?2, ?3, ?4)');
  const add = (rows: readonly NamePartRow[]): void => {
    for (const row of rows) part.run(row.kind, row.place, row.part, row.subject_id);
  };
  const principal = db.prepare<null, [string]>('INSERT INTO principals (address) VALUES (?1)');
  const idOf = (address: string): number => Number(principal.run(address).lastInsertRowid);
  const account = db.prepare('INSERT INTO accounts VALUES (?1, ?2, ?3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)');
  const mined = db.prepare(
    `INSERT INTO transactions (position, tx_id, tx_index, type, status, sender_id, fee, event_count)
     VALUES (?1, ?2, ?3, 0, 1, 1, 'A0', 0)`,
  );
  const zeros = new Uint8Array(32);
  const block = db.prepare(
    `INSERT INTO blocks VALUES (?1, ?2, ?3, ?5, ?5, ?1, ?4, ?1, ?1, NULL, ?5, ?5, 0, NULL, 40, 40, ?1 * 40, 0, 0, 0, 0, 0, 0,
                                NULL, NULL, NULL, NULL, NULL, NULL)`,
  );
  const burnBlock = db.prepare('INSERT INTO anchor_burn_blocks VALUES (?1, ?2, ?1, ?1, ?1, 1, 40, 40)');
  const name = db.prepare("INSERT INTO names VALUES (?1, 'btc', 1, 1, 1)");
  const asset = db.prepare<null, [string]>('INSERT INTO assets (identifier) VALUES (?1)');
  const tokenContract = db.prepare('INSERT INTO token_contracts VALUES (?1, 1, ?2, 1, ?3, ?4, ?5, NULL, 0, NULL, 0)');
  const facts = db.prepare("INSERT INTO tokens VALUES (?1, 'A1', 1, 1, ?2, ?3, '6', '1', NULL)");

  function token(contractId: number, contract: string, called: string, symbol: string): void {
    const identifier = `${contract}::coin`;
    const assetId = Number(asset.run(identifier).lastInsertRowid);
    tokenContract.run(contractId, contract, assetId, called.toLowerCase(), symbol.toLowerCase());
    facts.run(contractId, called, symbol);
    add(nameParts('ft', assetId, assetNameOf(identifier), identifier));
    add(nameParts('token_name', contractId, called, null));
    add(nameParts('token_symbol', contractId, symbol, null));
  }

  const contracts = Math.floor(transactions / TRANSACTIONS_OF_A_CONTRACT);
  db.transaction(() => {
    for (let at = 0; at < transactions; at++) {
      const [height, index] = [Math.floor(at / TRANSACTIONS_OF_A_BLOCK) + 1, at % TRANSACTIONS_OF_A_BLOCK];
      mined.run(positionOf(height, index), hashOf(`transaction ${at}`), index);
      if (index > 0) continue;
      const burnHash = hashOf(`burn ${height}`).fill(0, 0, 8);
      block.run(height, hashOf(`index ${height}`), hashOf(`block ${height}`), burnHash, zeros);
      burnBlock.run(height, burnHash);
    }
    for (let n = 0; n < contracts; n++) {
      const address = addressOf(n);
      account.run(idOf(address), address, `B${n}`);
      const contract = contractOf(n);
      const id = idOf(contract);
      add(nameParts('contract', id, contractNameOf(contract), contract));
      if (n % CONTRACTS_OF_A_TOKEN === 0) token(id, contract, `${wordOf(n)} Coin ${n}`, `${wordOf(n).slice(0, 3)}${n}`);
    }
    for (let n = 0; n < transactions / TRANSACTIONS_OF_A_NAME; n++) name.run(`${wordOf(n)}${n}.btc`);
    for (let n = 0; isHostile && n < ALIKE_CONTRACTS; n++) {
      const contract = `${addressOf(-1)}.a${n}`;
      const id = idOf(contract);
      add(nameParts('contract', id, contractNameOf(contract), contract));
      if (n < ALIKE_TOKENS) token(id, contract, 'US Dollar', 'USDA');
    }
    db.run('INSERT INTO name_parts SELECT * FROM drawn ORDER BY 1, 2, 3, 4');
  })();
  db.run('CREATE INDEX transactions_by_tx_id ON transactions (tx_id)');
  return contracts + (isHostile ? ALIKE_CONTRACTS : 0);
}

/** What is searched for, in the middle of a chain. */
function textsOf(transactions: number): Record<string, string> {
  const contract = contractOf(transactions / TRANSACTIONS_OF_A_CONTRACT / 2);
  const height = transactions / TRANSACTIONS_OF_A_BLOCK / 2;
  return {
    'a part of many names': 'oken',
    'one letter': 'a',
    'a whole name of a contract': contractNameOf(contract),
    'a contract identifier': contract,
    'the beginning of an address': contract.slice(0, 8),
    'the symbol of many tokens': 'usda',
    'the beginning of names': 'club1',
    'the beginning of a transaction id': hashOf(`transaction ${transactions / 2}`)
      .toHex()
      .slice(0, 10),
    'the beginning of a block id': `0x${hashOf(`index ${height}`).toHex().slice(0, 10)}`,
    'the beginning of every Bitcoin block': '0x000000',
    'a height': String(height),
    'a text that is nowhere': 'zzzzzz',
  };
}

const indexes = [
  ...sizes.map((size) => ({ transactions: Number(size), isHostile: false })),
  { transactions: Number(sizes[0]), isHostile: true },
].map(({ transactions, isHostile }) => {
  const path = join(place, `${transactions}${isHostile ? '-alike' : ''}.db`);
  using db = emptyIndex(path);
  const contracts = fill(db, transactions, isHostile);
  const { bytes } = db
    .query<{ bytes: number }, []>("SELECT sum(pgsize) AS bytes FROM dbstat WHERE name = 'name_parts'")
    .get()!;
  process.stderr.write(`made ${path}\n`);
  const reader = new Database(path, { readonly: true });
  const search = searchQueries(reader, () => false);
  const searches = Object.entries(textsOf(transactions)).map(([name, text]) => ({
    name,
    text,
    microseconds: [] as number[],
  }));
  return { transactions, isHostile, contracts, partBytes: bytes, searches, search };
});

function medianOf(search: (text: string, limit: number) => unknown, text: string): number {
  const times: number[] = [];
  for (let n = 0; n < repetitions; n++) {
    const start = performance.now();
    search(text, limit);
    times.push((performance.now() - start) * 1000);
  }
  return spread(times).median;
}

const all = indexes.flatMap(({ search, searches }) => searches.map((one) => ({ search, one })));
for (const { search, one } of all) medianOf(search, one.text);
for (let n = 0; n < rounds; n++) {
  for (const { search, one } of n % 2 === 0 ? all : all.toReversed()) {
    one.microseconds.push(medianOf(search, one.text));
  }
}
const report: TimedSearches[] = indexes.map(({ search: _, ...of }) => of);
process.stdout.write(JSON.stringify(report));
