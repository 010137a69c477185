/**
 * Search as you type: contracts and tokens by parts of their names, names, and ids by their beginning. Each lookup reads a
 * range of an index. The number of rows is bounded, so a search costs the same on every chain and for every text. If more
 * items match, the search returns the first ones in the index. A longer text finds the others.
 */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../chain/position.ts';
import { canonicalPrincipal, splitPrincipal } from '../../codec/address.ts';
import { isBitcoinAddress, stacksOfBitcoin } from '../../codec/bitcoin-address.ts';
import { toHex } from '../../codec/hex.ts';
import type { TransactionType } from '../../codec/transaction.ts';
import {
  mempoolStatus,
  NAME_PART,
  type NamePartKind,
  PART_PLACE,
  storedTransactionStatus,
  typeName,
} from '../rows/enums.ts';
import { isActiveName } from '../rows/expressions.ts';
import { FT_TOKEN_ID } from '../rows/formats.ts';
import { endOf, folded, MAX_PART } from '../rows/name-parts.ts';
import { query, type Stored, statements } from '../rows/statement.ts';
import { numbers } from './numbers.ts';

/** The kinds of search results, in the order in which equal matches are listed. */
export const foundKinds = [
  'block',
  'burn_block',
  'transaction',
  'bitcoin_address',
  'address',
  'token',
  'contract',
  'bns_name',
  'name',
] as const;

/** How a text matches, the best first: it is the name or id, begins it, or is a part of it. */
export const matches = ['exact', 'start', 'part'] as const;
type Match = (typeof matches)[number];

/**
 * A search result. Its id distinguishes it from others of its kind: an index block hash, the hash of a Bitcoin block, a
 * transaction id, an address, an asset identifier, a contract identifier or a name. Hashes are hex with 0x.
 */
export type SearchResult = { match: Match; id: string } & (
  | { kind: 'block'; hash: Uint8Array; height: number; canonical: boolean }
  | { kind: 'burn_block'; height: number }
  /** Type and status are null for a transaction that only orphaned blocks have. The height is null unless it is canonical. */
  | { kind: 'transaction'; type: TransactionType | null; status: string | null; height: number | null }
  | { kind: 'bitcoin_address' }
  /** `bitcoinAddress` is the text of the search, if it was a Bitcoin address. */
  | { kind: 'address'; bitcoinAddress: string | null }
  /** Name and symbol are null if the contract wasn't read. */
  | { kind: 'token'; name: string | null; symbol: string | null }
  | { kind: 'contract' }
  /** A name of BNS-V2. */
  | { kind: 'bns_name' }
  | { kind: 'name' }
);

/** Name and symbol of a fungible token, for a query whose FROM has `token_contracts c`. */
const tokenJoin = `LEFT JOIN tokens t ON t.contract_id = c.contract_id AND t.token_id = '${FT_TOKEN_ID}'`;

const hashRange = (column: string): string => `${column} BETWEEN ?1 AND ?2 ORDER BY ${column} LIMIT ?3`;
const block = 'SELECT height, index_block_hash, block_hash FROM blocks';
// Excludes the Bitcoin block with Stacks blocks below the index's first block: its page doesn't exist.
const burnBlock = `SELECT b.height, b.hash FROM anchor_burn_blocks b
                    WHERE NOT EXISTS (SELECT 1 FROM progress s
                                       WHERE s.id = 1 AND s.start_height = b.first_block AND s.start_burn_block_hash = b.hash)`;
// Blocks below the index's first block may be its ancestors, so they have no pages.
const orphan = `SELECT b.height, b.index_block_hash, b.block_hash FROM orphaned_blocks b
                 WHERE b.height >= ifnull((SELECT start_height FROM progress WHERE id = 1), 0)`;

export const sql = {
  parts: query<PartRow, [number, number, string, string, number]>`
    SELECT part, subject_id FROM name_parts
     WHERE kind = ?1 AND place = ?2 AND part >= ?3 AND part < ?4 ORDER BY part, subject_id LIMIT ?5`,
  tokenOfContract: query<TokenRow, [number]>`
    SELECT a.identifier, t.name, t.symbol FROM token_contracts c
      LEFT JOIN assets a ON a.id = c.asset_id ${tokenJoin} WHERE c.contract_id = ?1`,
  tokenOfAsset: query<TokenRow & { identifier: string }, [number]>`
    SELECT a.identifier, t.name, t.symbol FROM assets a
      LEFT JOIN token_contracts c ON c.asset_id = a.id ${tokenJoin} WHERE a.id = ?1`,
  names: query<{ name: string }, [string, string, number]>`
    SELECT name FROM name_operations WHERE ${isActiveName} AND name >= ?1 AND name < ?2 ORDER BY name LIMIT ?3`,
  // A subquery per row checks whether the chain has something newer, so that the limit bounds the rows that are read.
  oldNames: query<{ name: string; touched: number }, [string, string, number]>`
    SELECT name, EXISTS (SELECT 1 FROM name_operations n WHERE n.name = o.name) AS touched
      FROM old_names o WHERE resolver IS NULL AND name >= ?1 AND name < ?2 ORDER BY name LIMIT ?3`,
  bnsNames: query<{ name: string }, [number, string, string, number]>`
    SELECT name FROM bns_names
     WHERE contract_id = ?1 AND current = 1 AND name >= ?2 AND name < ?3 ORDER BY name, bns_id LIMIT ?4`,
  address: query<{ address: string; transactions: number | null }, [string, string]>`
    SELECT p.address, a.transactions FROM principals p LEFT JOIN accounts a ON a.principal_id = p.id
     WHERE p.address >= ?1 AND p.address < ?2 ORDER BY p.address LIMIT 1`,
  account: query<{ found: number }, [string]>`
    SELECT 1 AS found FROM principals p JOIN accounts a ON a.principal_id = p.id WHERE p.address = ?1`,
  transactions: query<Stored<'transactions', 'tx_id' | 'type' | 'status' | 'position'>, HashRange>`
    SELECT tx_id, type, status, position FROM transactions WHERE ${hashRange('tx_id')}`,
  waiting: query<Stored<'mempool_transactions', 'tx_id' | 'type' | 'state'>, HashRange>`
    SELECT tx_id, type, state FROM mempool_transactions WHERE ${hashRange('tx_id')}`,
  orphanedTransaction: query<{ found: number }, [Uint8Array]>`
    SELECT 1 AS found FROM orphaned_transactions t WHERE t.tx_id = ?1
       AND EXISTS (${orphan} AND b.index_block_hash = t.index_block_hash) LIMIT 1`,
  blocksByHash: query<BlockRow, HashRange>`${block} WHERE ${hashRange('block_hash')}`,
  blocksByIndexHash: query<BlockRow, HashRange>`${block} WHERE ${hashRange('index_block_hash')}`,
  blockAt: query<BlockRow, [number]>`${block} WHERE height = ?1`,
  orphanByHash: query<BlockRow, [Uint8Array]>`${orphan} AND b.block_hash = ?1 ORDER BY b.height DESC LIMIT 1`,
  orphanByIndexHash: query<BlockRow, [Uint8Array]>`${orphan} AND b.index_block_hash = ?1`,
  burnBlocksByHash: query<BurnRow, HashRange>`${burnBlock} AND b.hash BETWEEN ?1 AND ?2 ORDER BY b.hash LIMIT ?3`,
  burnBlockAt: query<BurnRow, [number]>`${burnBlock} AND b.height = ?1 ORDER BY b.ordinal DESC LIMIT 1`,
};

/** Maximum number of rows to read from each range. */
const MAX_ROWS = 100;
/** Minimum number of hex digits, and of address characters, to search for ids. */
const MIN_DIGITS = 6;

const HASH = new RegExp(`^(0x)?([0-9a-f]{${MIN_DIGITS},64})$`, 'i');
const HASH_DIGITS = 64;
const HEIGHT = /^#?([0-9]{1,10})$/;
/** The start of an address, or an address with a suffix. */
const ADDRESS = new RegExp(`^S[0-9A-Z]{${MIN_DIGITS - 1},}(\\.|$)`, 'i');

/** The beginning of a segwit address. */
const SEGWIT = /^(bc|tb|bcrt)1/i;

type PartRow = Stored<'name_parts', 'part' | 'subject_id'>;
type BlockRow = Stored<'blocks', 'height' | 'index_block_hash' | 'block_hash'>;
type BurnRow = Stored<'anchor_burn_blocks', 'height' | 'hash'>;
type HashRange = [Uint8Array, Uint8Array, number];

interface TokenRow extends Stored<'tokens', 'name' | 'symbol'> {
  identifier: string | null;
}

/**
 * Returns the best results, each once: exact matches first, then prefixes, then others. Equal matches are in the order of
 * their kinds. If there is no room for all results, the kinds take turns, so that each kind gets a share.
 */
export function rank(results: Iterable<SearchResult>, limit: number): SearchResult[] {
  const best = new Map<string, SearchResult>();
  for (const result of results) {
    const key = `${result.kind} ${result.id}`;
    const rival = best.get(key);
    if (rival === undefined || matches.indexOf(result.match) < matches.indexOf(rival.match)) best.set(key, result);
  }
  const all = [...best.values()];
  const ranking: SearchResult[] = [];
  for (const match of matches) {
    const byKind = foundKinds.map((kind) => all.filter((result) => result.kind === kind && result.match === match));
    const inTurns = byKind
      .flatMap((group) => group.map((result, turn) => ({ result, turn })))
      .sort((a, b) => a.turn - b.turn);
    const fits = new Set(inTurns.slice(0, limit - ranking.length).map(({ result }) => result));
    ranking.push(...byKind.flat().filter((result) => fits.has(result)));
  }
  return ranking;
}

/**
 * Makes the search. Its third argument is the contract of BNS-V2; without it, no name of BNS-V2 is found.
 * @param isSubdomain whether a name of three parts is a subdomain
 * @param maxRows maximum number of rows to read from each range; tests use another than the default
 */
export function searchQueries(
  db: Database,
  isSubdomain: (name: string) => boolean,
  maxRows = MAX_ROWS,
): (text: string, limit: number, namesContract?: string) => SearchResult[] {
  const read = statements(db, sql);
  const { principalOf, addressOf } = numbers(db);

  const blockOf = (row: BlockRow, match: Match, canonical: boolean): SearchResult => ({
    kind: 'block',
    match,
    id: toHex(row.index_block_hash),
    hash: row.block_hash,
    height: row.height,
    canonical,
  });
  const burnBlockOf = ({ hash, height }: BurnRow, match: Match): SearchResult => ({
    kind: 'burn_block',
    match,
    id: toHex(hash),
    height,
  });

  function* byHeight(text: string): Generator<SearchResult> {
    const digits = HEIGHT.exec(text)?.[1];
    if (digits === undefined) return;
    const height = Number(digits);
    const row = read.blockAt.get(height);
    if (row !== null) yield blockOf(row, 'exact', true);
    const burnRow = read.burnBlockAt.get(height);
    if (burnRow !== null) yield burnBlockOf(burnRow, 'exact');
  }

  /** Ids that begin with hex digits. Orphaned items are found only by their full id. */
  function* byHash(text: string): Generator<SearchResult> {
    const digits = HASH.exec(text)?.[2];
    if (digits === undefined) return;
    const [low, high] = ['0', 'f'].map((fill) => Uint8Array.fromHex(digits.padEnd(HASH_DIGITS, fill)));
    const range: HashRange = [low!, high!, maxRows];
    const match = digits.length === HASH_DIGITS ? 'exact' : 'start';
    let isFound = false;
    for (const { tx_id: txId, type, status, position } of read.transactions.all(...range)) {
      isFound = true;
      const state = { status: storedTransactionStatus.nameOf(status), height: heightOf(position) };
      yield { kind: 'transaction', match, id: toHex(txId), type: typeName(type), ...state };
    }
    for (const { tx_id: txId, type, state } of read.waiting.all(...range)) {
      isFound = true;
      const status = mempoolStatus(state);
      yield { kind: 'transaction', match, id: toHex(txId), type: typeName(type), status, height: null };
    }
    for (const row of [...read.blocksByHash.all(...range), ...read.blocksByIndexHash.all(...range)]) {
      isFound = true;
      yield blockOf(row, match, true);
    }
    for (const row of read.burnBlocksByHash.all(...range)) yield burnBlockOf(row, match);
    if (isFound || match !== 'exact') return;
    if (read.orphanedTransaction.get(low!) !== null) {
      yield { kind: 'transaction', match, id: toHex(low!), type: null, status: null, height: null };
    }
    const orphanRow = read.orphanByIndexHash.get(low!) ?? read.orphanByHash.get(low!);
    if (orphanRow !== null) yield blockOf(orphanRow, match, false);
  }

  /** Whether a contract has transactions but no indexed deployment, for example if the index starts above the deployment. */
  const isAccountOnly = (contractId: string): boolean =>
    read.account.get(contractId) !== null &&
    !byIdentifier('contract', folded(contractId)).some(({ match }) => match === 'exact');

  /** The addresses that a text names in full: every address has a page. */
  function* byWholeAddress(text: string): Generator<SearchResult> {
    if (isBitcoinAddress(text)) {
      // Segwit addresses may be written in capital letters.
      const bitcoinAddress = SEGWIT.test(text) ? text.toLowerCase() : text;
      yield { kind: 'bitcoin_address', match: 'exact', id: bitcoinAddress };
      const stacksAddress = stacksOfBitcoin(text);
      if (stacksAddress !== null) yield { kind: 'address', match: 'exact', id: stacksAddress, bitcoinAddress };
    }
    const principal = canonicalPrincipal(text);
    if (principal !== null && (splitPrincipal(principal).contractName === null || isAccountOnly(principal))) {
      yield { kind: 'address', match: 'exact', id: principal, bitcoinAddress: null };
    }
  }

  /** Addresses that begin with a text. Each step skips all contracts of an address. */
  function* byStartOfAddress(text: string): Generator<SearchResult> {
    const start = text.toUpperCase();
    if (!ADDRESS.test(start) || start.includes('.')) return;
    let from = start;
    for (let rows = 0; rows < maxRows; rows++) {
      const row = read.address.get(from, endOf(start));
      if (row === null) return;
      const { address: standard, contractName } = splitPrincipal(row.address);
      if (contractName === null && (row.transactions ?? 0) > 0) {
        yield { kind: 'address', match: 'start', id: standard, bitcoinAddress: null };
      }
      // '/' is the character behind the dot of a contract.
      from = `${standard}/`;
    }
  }

  interface PartMatch {
    /** The number of a contract or an asset. */
    subject: number;
    match: Match;
  }

  function* partsFrom(kind: NamePartKind, place: keyof typeof PART_PLACE, text: string): Generator<PartMatch> {
    const rows = read.parts.all(NAME_PART[kind], PART_PLACE[place], text, endOf(text), maxRows);
    for (const { part, subject_id: subject } of rows) {
      const match = part === text ? 'exact' : 'start';
      yield { subject, match: place === 'inside' ? 'part' : match };
    }
  }

  /** The best matches for a text in names, one for each contract or asset. @param limit maximum number of matches */
  function byName(kind: NamePartKind, text: string, limit: number): PartMatch[] {
    if ([...text].length > MAX_PART) return [];
    const partMatches = [...partsFrom(kind, 'start', text), ...partsFrom(kind, 'inside', text)];
    const isFirst = ({ subject }: PartMatch, index: number): boolean =>
      partMatches.findIndex((other) => other.subject === subject) === index;
    return partMatches.filter(isFirst).slice(0, limit);
  }

  const byIdentifier = (kind: NamePartKind, text: string): PartMatch[] =>
    ADDRESS.test(text) ? [...partsFrom(kind, 'identifier', text)] : [];

  const contractOf = ({ subject, match }: PartMatch): SearchResult => ({
    kind: 'contract',
    match,
    id: addressOf(subject),
  });

  function tokenOf({ subject, match }: PartMatch): SearchResult {
    const { identifier: id, name, symbol } = read.tokenOfAsset.get(subject)!;
    return { kind: 'token', match, id, name, symbol };
  }

  /** The token of a contract; the contract itself if it declares no asset. */
  function tokenOfContractOf({ subject, match }: PartMatch): SearchResult {
    const { identifier: id = null, name = null, symbol = null } = read.tokenOfContract.get(subject) ?? {};
    return id === null ? contractOf({ subject, match }) : { kind: 'token', match, id, name, symbol };
  }

  /** Identifiers with the text in them, such as the end of an address, a dot and the beginning of a name. */
  function* insideIdentifiers(text: string): Generator<SearchResult> {
    const [contract = '', asset] = text.split('::');
    if (asset === undefined && !contract.includes('.')) return;
    const name = contract.slice(contract.lastIndexOf('.') + 1);
    const contracts = name === '' ? [] : [...partsFrom('contract', 'start', name)];
    const results: SearchResult[] = [];
    if (asset) results.push(...[...partsFrom('ft', 'start', asset), ...partsFrom('nft', 'start', asset)].map(tokenOf));
    // Before its first event, an asset has no parts, but its contract has.
    if (asset !== undefined)
      results.push(...[...byIdentifier('contract', contract), ...contracts].map(tokenOfContractOf));
    else results.push(...contracts.map(contractOf));
    for (const result of results) {
      const id = folded(result.id);
      const partMatch = id.startsWith(text) ? 'start' : 'part';
      if (id.includes(text)) yield { ...result, match: id === text ? 'exact' : partMatch };
    }
  }

  function* byPartOfName(text: string, limit: number): Generator<SearchResult> {
    yield* [...byIdentifier('contract', text), ...byName('contract', text, limit)].map(contractOf);
    yield* [...byName('token_symbol', text, limit), ...byName('token_name', text, limit)].map(tokenOfContractOf);
    for (const kind of ['ft', 'nft'] as const)
      yield* [...byIdentifier(kind, text), ...byName(kind, text, limit)].map(tokenOf);
    yield* insideIdentifiers(text);
  }

  function namesFrom(from: string, end: string): string[] {
    const old = read.oldNames.all(from, end, maxRows).filter(({ touched }) => touched === 0);
    return [...read.names.all(from, end, maxRows), ...old].map(({ name }) => name).sort();
  }

  type NameRange = (from: string, end: string) => string[];

  /** Names that begin with a text, each with its match; names that equal the text before the namespace are exact. */
  function* namesStarting(text: string, namesIn: NameRange): Generator<{ id: string; match: Match }> {
    const labelled = text.includes('.') ? [] : namesIn(`${text}.`, `${text}/`);
    const exact = new Set(labelled).add(text);
    for (const name of [...labelled, ...namesIn(text, endOf(text))]) {
      yield { id: name, match: exact.has(name) ? 'exact' : 'start' };
    }
  }

  /** Names of the first name system. */
  function* namesOf(text: string): Generator<SearchResult> {
    for (const nameMatch of namesStarting(text, namesFrom)) yield { kind: 'name', ...nameMatch };
    if (text.split('.').length === 3 && isSubdomain(text)) yield { kind: 'name', match: 'exact', id: text };
  }

  /** Names of BNS-V2. */
  function* bnsNamesOf(text: string, contractId: string | undefined): Generator<SearchResult> {
    if (contractId === undefined) return;
    const id = principalOf(contractId);
    const namesIn: NameRange = (from, end) => read.bnsNames.all(id, from, end, maxRows).map(({ name }) => name);
    for (const nameMatch of namesStarting(text, namesIn)) yield { kind: 'bns_name', ...nameMatch };
  }

  return (input, limit, namesContract) => {
    const text = input.trim();
    if (text === '') return [];
    const key = folded(text);
    const results = [
      ...byHeight(text),
      ...byHash(text),
      ...byWholeAddress(text),
      ...byStartOfAddress(text),
      ...byPartOfName(key, limit),
      ...namesOf(key),
      ...bnsNamesOf(key, namesContract),
    ];
    return rank(results, limit);
  };
}
