/** Reads token contracts, the metadata of their tokens, and the queue of pending lookups. */
import type { Database, SQLQueryBindings } from 'bun:sqlite';
import type { OffsetPage } from '../../model/page.ts';
import type {
  FtFilter,
  FtOrder,
  ListedFt,
  TokenContractDetail,
  TokenCounts,
  TokenDetail,
  TokenFacts,
  TokenJobItem,
  TokenQueue,
} from '../../model/token.ts';
import {
  COUNTER,
  JOB_STATE,
  storedFamily,
  storedJobState,
  storedTokenWork,
  TOKEN_FAMILY,
  TOKEN_WORK,
} from '../../rows/enums.ts';
import { ALL_TOKENS, decimalOf, FT_TOKEN_ID, storedTokenId } from '../../rows/formats.ts';
import { optional, query, type Stored, statements, TooMuchWorkError } from '../../rows/statement.ts';
import type { ChainQueries } from '../blocks/chain.ts';

/** The conditions of the list. A null parameter has no effect. */
const ftConditions = `c.family = ${TOKEN_FAMILY.ft}
    AND (?1 IS NULL OR instr(c.name_key, ?1) > 0) AND (?2 IS NULL OR c.symbol_key = ?2)
    AND (?3 IS NULL OR substr(c.address, 1, length(?3)) = ?3)`;

/** Unknown values come last in an ascending list, and first in a descending one. */
const ftList = (index: string, order: string) =>
  query<ListedRow, [...Conditions, number, number]>`
   SELECT c.contract_id, c.address, a.identifier, x.tx_id, t.name, t.symbol, t.decimals, t.supply, t.uri
     FROM token_contracts c INDEXED BY ${index} CROSS JOIN assets a ON a.id = c.asset_id
     CROSS JOIN transactions x ON x.position = c.position
     CROSS JOIN tokens t ON t.contract_id = c.contract_id AND t.token_id = '${FT_TOKEN_ID}'
    WHERE ${ftConditions} ORDER BY ${order}, c.address LIMIT ?4 OFFSET ?5`;

export const sql = {
  contract: query<ContractRow, [string]>`
    SELECT c.contract_id, c.family, a.identifier, x.tx_id, j.state
      FROM principals p JOIN token_contracts c ON c.contract_id = p.id
      JOIN transactions x ON x.position = c.position LEFT JOIN assets a ON a.id = c.asset_id
      LEFT JOIN token_jobs j ON j.contract_id = c.contract_id AND j.token_id = '${ALL_TOKENS}' AND j.work = ${TOKEN_WORK.last_token_id}
     WHERE p.address = ?1`,
  token: query<FactsRow & Stored<'tokens', 'written_at'>, [string, string]>`
    SELECT t.written_at, t.name, t.symbol, t.decimals, t.supply, t.uri
      FROM principals p JOIN tokens t ON t.contract_id = p.id AND t.token_id = ?2 WHERE p.address = ?1`,
  job: query<JobRow, [string, string, number]>`
    SELECT j.state FROM principals p JOIN token_jobs j ON j.contract_id = p.id AND j.token_id = ?2
       AND j.work = ?3 WHERE p.address = ?1`,
  ftsByNameAsc: ftList('token_contracts_by_name', 'c.name_key NULLS LAST'),
  ftsByNameDesc: ftList('token_contracts_by_name_down', 'c.name_key DESC NULLS FIRST'),
  ftsBySymbolAsc: ftList('token_contracts_by_symbol', 'c.symbol_key NULLS LAST'),
  ftsBySymbolDesc: ftList('token_contracts_by_symbol_down', 'c.symbol_key DESC NULLS FIRST'),
  countFts: query<{ total: number }, Conditions>`
    SELECT count(*) AS total FROM token_contracts c INDEXED BY token_contracts_by_name WHERE ${ftConditions}`,
  families: query<{ family: number; contracts: number; tokens: number }>`
    SELECT CAST(c.key AS INTEGER) AS family, c.count AS contracts, coalesce(t.count, 0) AS tokens
      FROM counters c LEFT JOIN counters t ON t.kind = ${COUNTER.tokens} AND t.key = c.key
     WHERE c.kind = ${COUNTER.tokenContracts} ORDER BY c.key`,
  jobs: query<Stored<'counters', 'key' | 'count'>>`SELECT key, count FROM counters WHERE kind = ${COUNTER.tokenJobs}`,
  version: query<{ version: number }>`SELECT tokens_version AS version FROM progress`,
  ofAsset: query<FactsRow, [string]>`
    SELECT t.name, t.symbol, t.decimals, t.supply, t.uri FROM assets a JOIN token_contracts c ON c.asset_id = a.id
      JOIN tokens t ON t.contract_id = c.contract_id AND t.token_id = '${FT_TOKEN_ID}' WHERE a.identifier = ?1`,
};

/** Maximum number of fungible tokens among which a list with conditions is searched. */
const MAX_SEARCHED = 200_000;

type JobRow = Stored<'token_jobs', 'state'>;
type FactsRow = Stored<'tokens', 'name' | 'symbol' | 'decimals' | 'supply' | 'uri'>;
type ContractRow = Stored<'token_contracts', 'family'> &
  Stored<'transactions', 'tx_id'> & { identifier: string | null; state: number | null };
type ListedRow = FactsRow &
  Stored<'token_contracts', 'address'> &
  Stored<'assets', 'identifier'> &
  Stored<'transactions', 'tx_id'>;
type Conditions = [string | null, string | null, string | null];

/** If a contract burns more than its reported supply, the supply is unknown. */
const factsOf = ({ name, symbol, decimals, supply, uri }: FactsRow): TokenFacts => ({
  name,
  symbol,
  decimals,
  supply: supply?.startsWith('-') === true ? null : supply,
  uri,
});

export function tokenMetadataQueries(db: Database) {
  const read = statements(db, sql);
  const fts = {
    name: { asc: read.ftsByNameAsc, desc: read.ftsByNameDesc },
    symbol: { asc: read.ftsBySymbolAsc, desc: read.ftsBySymbolDesc },
  };

  const jobs = (): TokenCounts['jobs'] =>
    read.jobs.all().map(({ key, count }) => {
      const [work = 0, state = 0] = key.split('/').map(Number);
      return { work: storedTokenWork.nameOf(work), state: storedJobState.nameOf(state), jobs: count };
    });

  const familyCounts = (): TokenCounts['families'] =>
    read.families.all().map(({ family, ...counts }) => ({ family: storedFamily.nameOf(family), ...counts }));

  return {
    /** A contract of tokens; undefined if no contract of the chain has the identifier and the interface of one. */
    contract(contractId: string): TokenContractDetail | undefined {
      const row = read.contract.get(contractId);
      if (row === null) return undefined;
      const { family, identifier: asset, tx_id: txId, state } = row;
      const lastTokenId = state === null ? null : storedJobState.nameOf(state);
      return { contractId, family: storedFamily.nameOf(family), asset, txId, lastTokenId };
    },

    /** A token of a contract; a fungible one has the number 1. Undefined if the contract has none, as far as the index shows. */
    token(contractId: string, token: bigint): TokenDetail | undefined {
      const tokenId = storedTokenId(token);
      const row = read.token.get(contractId, tokenId);
      const facts = read.job.get(contractId, tokenId, TOKEN_WORK.facts);
      if (row === null || facts === null) return undefined;
      return { ...factsOf(row), writtenAt: row.written_at, facts: storedJobState.nameOf(facts.state) };
    },

    /** Fungible tokens by name or symbol in lower case, ties by contract identifier. @throws TooMuchWorkError */
    fts(filter: FtFilter, { by, direction }: FtOrder, limit: number, offset: number): OffsetPage<ListedFt> {
      const { name, symbol, address } = filter;
      const all = familyCounts().find(({ family }) => family === 'ft')?.contracts ?? 0;
      const conditions: Conditions = [name?.toLowerCase() ?? null, symbol?.toLowerCase() ?? null, address];
      const isSearched = [name, symbol, address].some((condition) => condition !== null);
      if (isSearched && all > MAX_SEARCHED) throw new TooMuchWorkError('There are too many fungible tokens to search');
      const total = isSearched ? (read.countFts.get(...conditions)?.total ?? 0) : all;
      const items = fts[by][direction]
        .all(...conditions, limit, offset)
        .map((row) => ({ ...factsOf(row), contractId: row.address, asset: row.identifier, txId: row.tx_id }));
      return { items, total };
    },

    counts: (): TokenCounts => ({ families: familyCounts(), jobs: jobs() }),

    /** Increases with each answer of the node about tokens. A value is never used twice, not even by another index. */
    version: (): number => read.version.get()?.version ?? 0,

    /** The metadata of the fungible token with an asset identifier; undefined if its contract isn't a token contract. */
    ofAsset: (identifier: string): TokenFacts | undefined => optional(read.ofAsset.get(identifier), factsOf),
  };
}

const item = <Values extends SQLQueryBindings[]>(jobs: string) =>
  query<JobItemRow, Values>`
   SELECT j.work, j.token_id, j.tries, c.family, c.address
     FROM (${jobs}) j CROSS JOIN token_contracts c ON c.contract_id = j.contract_id`;

const untriedJobs = `SELECT work, contract_id, token_id, tries FROM token_jobs INDEXED BY token_jobs_new
  WHERE state = ${JOB_STATE.pending} AND tries = 0 AND work = ?1`;

export const tokenJobsSql = {
  oldest: item<[number, number]>(`${untriedJobs} ORDER BY position, contract_id, token_id LIMIT ?2`),
  newest: item<[number, number]>(`${untriedJobs} ORDER BY position DESC, contract_id DESC, token_id DESC LIMIT ?2`),
  // A finished lookup is repeated only if there was a block since then.
  again: item<[number, number, number, number]>(`
    SELECT work, contract_id, token_id, tries FROM token_jobs INDEXED BY token_jobs_again
    WHERE work = ?1 AND not_before <= ?2 AND (state <> ${JOB_STATE.done} OR asked_height < ?3) ORDER BY not_before LIMIT ?4`),
  unfinished: query<Stored<'token_contracts', 'address'>>`
    SELECT address FROM token_contracts INDEXED BY token_contracts_unfinished
     WHERE listed < last_token_id OR queued_up_to IS NOT NULL ORDER BY contract_id LIMIT 1`,
};

type JobItemRow = Stored<'token_jobs', 'work' | 'token_id' | 'tries'> & Stored<'token_contracts', 'family' | 'address'>;

const itemOf = ({ work, token_id, tries, family, address }: JobItemRow): TokenJobItem => ({
  work: storedTokenWork.nameOf(work),
  contract: address,
  family: storedFamily.nameOf(family),
  token: token_id === ALL_TOKENS ? null : decimalOf(token_id),
  tries,
});

export function tokenQueueQueries(db: Database, chain: Pick<ChainQueries, 'tip'>) {
  const { oldest, newest, again, unfinished } = statements(db, tokenJobsSql);

  return {
    /**
     * Returns pending lookups of each kind in three orders, so that first tries don't wait long behind
     * lookups that keep failing.
     * @param now Unix milliseconds
     * @param limit items of each kind and order
     */
    queue(now: number, limit: number): TokenQueue {
      const tip = chain.tip();
      if (tip === null) return { tip: null, oldest: [], newest: [], repeated: [] };
      const each = (read: (work: number) => JobItemRow[]) =>
        Object.values(TOKEN_WORK).flatMap((work) => read(work).map(itemOf));
      return {
        tip: { height: tip.height, indexBlockHash: tip.indexBlockHash },
        oldest: each((work) => oldest.all(work, limit)),
        newest: each((work) => newest.all(work, limit)),
        repeated: each((work) => again.all(work, now, tip.height, limit)),
      };
    },

    /** A contract with tokens to list or queue; null if there is none. */
    toSpread: (): string | null => unfinished.get()?.address ?? null,
  };
}
