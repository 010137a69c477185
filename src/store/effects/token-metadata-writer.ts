/** Writes contracts of tokens, their tokens, and the queue of lookups at the node. */
import type { Database } from 'bun:sqlite';
import type { EffectOf } from '../../chain/effect.ts';
import { heightOf } from '../../chain/position.ts';
import type { TokenFamily } from '../../chain/token-contracts.ts';
import {
  COUNTER,
  JOB_STATE,
  storedTokenEvent,
  storedTokenWork,
  TOKEN_EVENT,
  TOKEN_FAMILY,
  TOKEN_WORK,
  type TokenWork,
} from '../rows/enums.ts';
import { ALL_TOKENS, FT_TOKEN_ID, storedTokenId } from '../rows/formats.ts';
import { query, type Stored } from '../rows/statement.ts';
import { table } from '../rows/table.ts';
import { tokenContractsTable, tokenEventsTable, tokenJobsTable, tokensTable } from '../rows/tables.ts';
import type { Dictionaries } from './dictionary.ts';
import { counter } from './hot-rows.ts';
import { namePartWriter } from './name-part-writer.ts';

/** Maximum stored seconds between two lookups of a dynamic token: a contract may print any number. */
const MAX_TTL = 10n ** 10n;

export type JobRow = Stored<'token_jobs'>;
export type TokenContractRow = Stored<'token_contracts'>;
type Notification = Stored<'token_events', 'position' | 'event_index' | 'kind' | 'ttl'>;

/** Reads and changes rows of tokens, in the open transaction. */
export function tokenRows(db: Database) {
  const contracts = table(db, tokenContractsTable);
  const tokens = table(db, tokensTable);
  const jobs = table(db, tokenJobsTable);
  const countJobs = counter(db, COUNTER.tokenJobs);
  const countContracts = counter(db, COUNTER.tokenContracts);
  const countTokens = counter(db, COUNTER.tokens);
  const setQueueing = query<null, [number, string | null, number]>`
    UPDATE token_contracts SET queued_up_to = ?2, is_forced = ?3 WHERE contract_id = ?1`.prepared(db);
  // Finds notifications about one token, or about all tokens of a contract, from a position on.
  const notifications = (order: string) =>
    query<Notification, [number, string, number, number]>`
      SELECT position, event_index, kind, ttl FROM token_events
       WHERE contract_id = ?1 AND token_id = ?2 AND kind = ?3 AND position >= ?4
       ORDER BY ${order} LIMIT 1`.prepared(db);
  const oldest = notifications('position');
  const newest = notifications('position DESC, event_index DESC');
  const lastMint = query<Stored<'token_events', 'position'>, [number, string]>`
    SELECT position FROM token_events WHERE contract_id = ?1 AND token_id = ?2 AND kind = ${TOKEN_EVENT.mint}
     ORDER BY position DESC LIMIT 1`.prepared(db);

  const countJob = (work: number, state: number, by: 1 | -1): void => countJobs(`${work}/${state}`, by);

  function putJob(row: JobRow, previous: JobRow | null): void {
    jobs.put(row);
    if (previous?.state === row.state) return;
    countJob(row.work, row.state, 1);
    if (previous !== null) countJob(previous.work, previous.state, -1);
  }

  const findJob = (contractId: number, tokenId: string, work: TokenWork): JobRow | null =>
    jobs.find({ contract_id: contractId, token_id: tokenId, work: TOKEN_WORK[work] });

  function removeJob(contractId: number, tokenId: string, work: TokenWork): void {
    const row = findJob(contractId, tokenId, work);
    if (row === null) return;
    jobs.remove(row);
    countJob(row.work, row.state, -1);
  }

  /** Queues work, as if it had never been tried. Work that waits for its first try stays where it is. */
  function queue(contractId: number, tokenId: string, work: TokenWork, position: number): void {
    const previous = findJob(contractId, tokenId, work);
    if (previous?.state === JOB_STATE.pending && previous.tries === 0) return;
    const key = { contract_id: contractId, token_id: tokenId, work: TOKEN_WORK[work] };
    const asked_height = previous?.asked_height ?? null;
    const row = { ...key, state: JOB_STATE.pending, tries: 0, position, not_before: null, asked_height };
    putJob(row, previous);
  }

  return {
    contract: (id: number) => contracts.find({ contract_id: id }),
    token: (contractId: number, tokenId: string) => tokens.find({ contract_id: contractId, token_id: tokenId }),
    job: findJob,
    putJob,
    removeJob,
    countContracts,
    countTokens,
    queue,

    /** Adds a token and queues its metadata lookups. @returns whether the token is new */
    addToken({ contract_id, family }: TokenContractRow, tokenId: string, position: number): boolean {
      const facts = { written_at: null, name: null, symbol: null, decimals: null, supply: null, uri: null };
      if (tokens.addIfAbsent({ contract_id, token_id: tokenId, position, ...facts }) === null) return false;
      countTokens(family, 1);
      queue(contract_id, tokenId, 'facts', position);
      return true;
    },

    removeToken({ contract_id, family }: TokenContractRow, tokenId: string): void {
      if (!tokens.removeIfPresent({ contract_id, token_id: tokenId })) return;
      removeJob(contract_id, tokenId, 'facts');
      countTokens(family, -1);
    },

    /** Begins to queue all tokens of a contract, one after the other. */
    queueAll({ contract_id, queued_up_to, is_forced }: TokenContractRow, isForced: boolean): void {
      const forced = isForced || (queued_up_to !== null && is_forced === 1);
      setQueueing.run(contract_id, ALL_TOKENS, Number(forced));
    },

    /** Notes how far all tokens of a contract are queued; null at the end. */
    setQueueing: (contractId: number, upTo: string | null, isForced: boolean) =>
      void setQueueing.run(contractId, upTo, Number(isForced)),

    /**
     * Returns the notification that applies to a token: the one that froze it, else the newest; null if none does. A
     * notification about all tokens applies only to the tokens that the contract had at that time.
     * @param added position at which the token was added
     */
    notification(contractId: number, tokenId: string, added: number): Notification | null {
      const both = [tokenId, ALL_TOKENS];
      const froze = both.flatMap((id) => oldest.get(contractId, id, TOKEN_EVENT.frozen, added) ?? []);
      if (froze.length > 0) return froze.reduce((a, b) => (b.position < a.position ? b : a));
      const last = [TOKEN_EVENT.standard, TOKEN_EVENT.dynamic].flatMap((kind) =>
        both.flatMap((id) => newest.get(contractId, id, kind, added) ?? []),
      );
      const [notification = null] = last.sort((a, b) => b.position - a.position || b.event_index - a.event_index);
      return notification;
    },

    /** Position of a token's last mint; null if no block minted it. */
    lastMint: (contractId: number, tokenId: string): number | null =>
      lastMint.get(contractId, tokenId)?.position ?? null,
  };
}
export type TokenRows = ReturnType<typeof tokenRows>;

/** Appliers of effects on contracts of tokens and their tokens, by kind of effect. */
export function metadataWriters(db: Database, { principals, assets }: Dictionaries) {
  const rows = tokenRows(db);
  const contracts = table(db, tokenContractsTable);
  const events = table(db, tokenEventsTable);
  const deletions = ['tokens', 'token_events', 'token_jobs'].map((table) =>
    query<null, [number]>`DELETE FROM ${table} WHERE contract_id = ?1`.prepared(db),
  );
  const tokensOfContract = query<{ tokens: number }, [number]>`
    SELECT count(*) AS tokens FROM tokens WHERE contract_id = ?1`.prepared(db);
  const jobs = query<JobRow, [number]>`SELECT * FROM token_jobs WHERE contract_id = ?1`.prepared(db);
  const parts = namePartWriter(db);
  const anyEvent = query<{ found: number }, [number, string]>`
    SELECT 1 AS found FROM token_events WHERE contract_id = ?1 AND token_id = ?2 LIMIT 1`.prepared(db);
  const unlist = query<null, [number]>`UPDATE token_contracts SET listed = 0 WHERE contract_id = ?1`.prepared(db);
  const contractOfAsset = query<Stored<'token_contracts', 'contract_id'>, [number]>`
    SELECT contract_id FROM token_contracts WHERE asset_id = ?1`.prepared(db);
  const setSupply = query<null, [number, string, string]>`
    UPDATE tokens SET supply = ?3 WHERE contract_id = ?1 AND token_id = ?2`.prepared(db);
  const jobsSince = query<JobRow, [number]>`SELECT * FROM token_jobs WHERE asked_height >= ?1`.prepared(db);

  const findContract = (contract: string): TokenContractRow | null => rows.contract(principals.find(contract));
  const isOf = (row: TokenContractRow | null, family: TokenFamily): row is TokenContractRow =>
    row?.family === TOKEN_FAMILY[family];

  function deploy({ position, contract, token }: EffectOf<'token_contract'>): void {
    const contract_id = principals.id(contract);
    if (rows.contract(contract_id) !== null) return;
    const row: TokenContractRow = {
      contract_id,
      family: TOKEN_FAMILY[token.family],
      address: contract,
      position,
      asset_id: token.asset === null ? null : assets.id(`${contract}::${token.asset}`),
      name_key: null,
      symbol_key: null,
      last_token_id: null,
      listed: 0,
      queued_up_to: null,
      is_forced: 0,
    };
    contracts.add(row);
    rows.countContracts(row.family, 1);
    if (token.family === 'ft') rows.addToken(row, FT_TOKEN_ID, position);
    else if (token.family === 'nft') rows.queue(contract_id, ALL_TOKENS, 'last_token_id', position);
  }

  function undeploy({ position, contract }: EffectOf<'token_contract'>): void {
    const row = findContract(contract);
    if (row?.position !== position) return;
    const id = row.contract_id;
    const tokens = tokensOfContract.get(id)?.tokens ?? 0;
    for (const { token_id, work } of jobs.all(id)) rows.removeJob(id, token_id, storedTokenWork.nameOf(work));
    for (const statement of deletions) statement.run(id);
    parts.token('token_name', id, row.name_key, null);
    parts.token('token_symbol', id, row.symbol_key, null);
    contracts.remove(row);
    rows.countContracts(row.family, -1);
    if (tokens > 0) rows.countTokens(row.family, -tokens);
  }

  /** Called after a mint is removed. If it was the token's only mint, deletes the token, even if the node returned it before. */
  function unmint(row: TokenContractRow, tokenId: string): void {
    if (rows.lastMint(row.contract_id, tokenId) !== null) return;
    rows.removeToken(row, tokenId);
    if (row.last_token_id === null) return;
    unlist.run(row.contract_id);
    rows.queue(row.contract_id, ALL_TOKENS, 'last_token_id', row.position);
  }

  function update({ position, index, update }: EffectOf<'token_update'>, row: TokenContractRow): void {
    const { mode, ttl } = update;
    const event = {
      contract_id: row.contract_id,
      position,
      event_index: index,
      kind: storedTokenEvent.numberOf(mode),
      ttl: ttl === null ? null : ttl > MAX_TTL ? MAX_TTL : ttl,
    };
    for (const tokenId of tokenIds(row, update.tokens)) {
      if (tokenId === ALL_TOKENS) {
        events.add({ ...event, token_id: tokenId });
        rows.queueAll(row, false);
        continue;
      }
      const token = rows.token(row.contract_id, tokenId);
      if (token === null) continue;
      const isFrozen = rows.notification(row.contract_id, tokenId, token.position)?.kind === TOKEN_EVENT.frozen;
      events.add({ ...event, token_id: tokenId });
      if (!isFrozen) rows.queue(row.contract_id, tokenId, 'facts', position);
    }
  }

  function tokenIds(row: TokenContractRow, tokens: readonly bigint[] | null): string[] {
    if (tokens !== null) return tokens.map(storedTokenId);
    return [isOf(row, 'ft') ? FT_TOKEN_ID : ALL_TOKENS];
  }

  function unupdate({ position, index, update }: EffectOf<'token_update'>, row: TokenContractRow): void {
    const kind = storedTokenEvent.numberOf(update.mode);
    const event = { contract_id: row.contract_id, kind, position, event_index: index };
    for (const tokenId of tokenIds(row, update.tokens)) events.removeIfPresent({ ...event, token_id: tokenId });
    if (row.queued_up_to === null || row.is_forced === 1 || anyEvent.get(row.contract_id, ALL_TOKENS) !== null) return;
    rows.setQueueing(row.contract_id, null, false);
  }

  return {
    token_contract(effect: EffectOf<'token_contract'>): void {
      if (effect.sign === 1) deploy(effect);
      else undeploy(effect);
    },

    token_mint({ sign, position, index, mint }: EffectOf<'token_mint'>): void {
      const row = findContract(mint.contract);
      if (!isOf(row, mint.family)) return;
      const tokenId = storedTokenId(mint.token);
      const token = { contract_id: row.contract_id, token_id: tokenId };
      const event = { ...token, kind: TOKEN_EVENT.mint, position, event_index: index };
      if (sign === -1) {
        if (events.removeIfPresent(event)) unmint(row, tokenId);
        return;
      }
      events.add({ ...event, ttl: null });
      if (!rows.addToken(row, tokenId, position)) rows.queue(row.contract_id, tokenId, 'facts', position);
    },

    token_update(effect: EffectOf<'token_update'>): void {
      const row = findContract(effect.update.contract);
      if (row === null) return;
      if (effect.sign === 1) update(effect, row);
      else unupdate(effect, row);
    },

    /** Adds to or subtracts from the supply that the node returned for a fungible token. */
    moveSupply({ sign, asset, supply }: EffectOf<'ft_token'>): void {
      if (supply === 0n) return;
      const contract = contractOfAsset.get(assets.id(asset));
      const supplyBefore = contract === null ? null : (rows.token(contract.contract_id, FT_TOKEN_ID)?.supply ?? null);
      if (contract === null || supplyBefore === null) return;
      setSupply.run(contract.contract_id, FT_TOKEN_ID, String(BigInt(supplyBefore) + BigInt(sign) * supply));
    },

    /** Queues lookups again that were made at an orphaned block or above: the answers may only be true on that fork. */
    requeueFrom(height: number): void {
      for (const row of jobsSince.all(height)) {
        const reset = { state: JOB_STATE.pending, tries: 0, not_before: null, asked_height: null };
        rows.putJob({ ...row, ...reset }, row);
      }
    },
  };
}

/** Returns the height of the newest block with a mint or notification of a token. Lookups at earlier blocks are stale. */
export function notificationHeight(
  rows: TokenRows,
  token: Pick<Stored<'tokens'>, 'contract_id' | 'token_id' | 'position'>,
) {
  const { contract_id, token_id, position } = token;
  const mint = rows.lastMint(contract_id, token_id) ?? 0;
  const update = rows.notification(contract_id, token_id, position)?.position ?? 0;
  return heightOf(Math.max(position, mint, update));
}
