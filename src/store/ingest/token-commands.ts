/**
 * Stores the node's answers about tokens as commands, so that a rebuild doesn't query the node. An answer counts if the block
 * at which the node was queried is still on the chain and no later block changed the token. Otherwise nothing changes, and
 * Stackside queries the node again.
 */
import type { Database } from 'bun:sqlite';
import { heightOf, positionsOf } from '../../chain/position.ts';
import { FT_TOKEN } from '../../chain/token-contracts.ts';
import { fromHex } from '../../codec/hex.ts';
import { namePartWriter } from '../effects/name-part-writer.ts';
import { type JobRow, notificationHeight, type TokenContractRow, tokenRows } from '../effects/token-metadata-writer.ts';
import type { TokenFacts } from '../model/token.ts';
import { numbers } from '../queries/numbers.ts';
import { EVENT_KIND, JOB_STATE, TOKEN_EVENT, TOKEN_FAMILY } from '../rows/enums.ts';
import { ALL_TOKENS, storedTokenId } from '../rows/formats.ts';
import { folded } from '../rows/name-parts.ts';
import { query, type Stored } from '../rows/statement.ts';
import type { BatchedCommand } from './commands.ts';

export interface FailedTry {
  /** `pending` is shown as work in progress, `failed` as final, though Stackside may retry either. */
  state: 'pending' | 'failed' | 'invalid';
  /** Milliseconds until the next attempt; null if there is none. */
  wait: number | null;
}

interface OfContract {
  contract: string;
  /** Index block hash of the block at which the node was queried; hex. */
  tip: string;
}

/** The result of a lookup. Tokens are decimal numbers. */
export type TokenAnswer =
  /** `last` is null if the contract has more tokens than Stackside lists. */
  | ({ work: 'last_token_id'; answer: { last: number | null } | FailedTry } & OfContract)
  | ({ work: 'facts'; token: string; answer: TokenFacts | FailedTry } & OfContract);

/** Maximum blocks since the query of a supply. For an older answer, too many mints and burns would have to be added. */
const MAX_BLOCKS = 100;
/** Default interval at which a dynamic token is read again, and the shortest one, in seconds. */
const DYNAMIC_SECONDS = 86_400;
const MIN_SECONDS = 3_600;
/** Tokens that a batch lists or queues. */
const BATCH = 100;

const isFailed = (answer: object): answer is FailedTry => 'state' in answer;

/** The commands about tokens. */
export function tokenCommands(db: Database) {
  const rows = tokenRows(db);
  const parts = namePartWriter(db);
  const { principalOf } = numbers(db);
  const findBlock = query<Stored<'blocks', 'height'>, [Uint8Array]>`
    SELECT height FROM blocks WHERE index_block_hash = ?1`.prepared(db);
  const tip = query<{ height: number | null }>`SELECT max(height) AS height FROM blocks`.prepared(db);
  const setFacts = query<null, [number, string, number, ...(string | null)[]]>`
    UPDATE tokens SET written_at = ?3, name = ?4, symbol = ?5, decimals = ?6, supply = ?7, uri = ?8
     WHERE contract_id = ?1 AND token_id = ?2`.prepared(db);
  const setKeys = query<null, [number, string | null, string | null]>`
    UPDATE token_contracts SET name_key = ?2, symbol_key = ?3 WHERE contract_id = ?1`.prepared(db);
  const setLast = query<null, [number, number | null]>`
    UPDATE token_contracts SET last_token_id = ?2 WHERE contract_id = ?1`.prepared(db);
  const setListed = query<null, [number, number]>`
    UPDATE token_contracts SET listed = ?2 WHERE contract_id = ?1`.prepared(db);
  const raise = query<null, [number]>`
    UPDATE progress SET tokens_version = max(tokens_version + 1, ?1) WHERE id = 1`.prepared(db);
  const mintsAndBurns = query<Stored<'events', 'kind' | 'amount'>, [number, number]>`
    SELECT kind, amount FROM events
     WHERE position > ?1 AND +asset_id = ?2 AND +kind IN (${EVENT_KIND.ft_mint}, ${EVENT_KIND.ft_burn})`.prepared(db);
  const tokensAfter = query<Stored<'tokens', 'contract_id' | 'token_id' | 'position'>, [number, string]>`
    SELECT contract_id, token_id, position FROM tokens WHERE contract_id = ?1 AND token_id > ?2
     ORDER BY token_id LIMIT ${BATCH}`.prepared(db);

  const tipHeight = (): number => tip.get()?.height ?? 0;

  const findContract = (contract: string): TokenContractRow | null => rows.contract(principalOf(contract));

  /** Returns whether work waits for an answer. A second answer to the same attempt changes nothing. */
  const isOpen = (job: JobRow | null): job is JobRow =>
    job !== null && (job.state === JOB_STATE.pending || job.not_before !== null);

  /** Returns when to read a token that changes by itself again, in Unix milliseconds; null for other tokens. */
  function readAgainAt(token: Stored<'tokens', 'contract_id' | 'token_id' | 'position'>, time: number): number | null {
    const notification = rows.notification(token.contract_id, token.token_id, token.position);
    if (notification?.kind !== TOKEN_EVENT.dynamic) return null;
    return time + Math.max(notification.ttl ?? DYNAMIC_SECONDS, MIN_SECONDS) * 1_000;
  }

  function recordFailure(job: JobRow, { state, wait }: FailedTry, time: number, asked_height: number) {
    rows.putJob(
      {
        ...job,
        state: JOB_STATE[state],
        tries: job.tries + 1,
        not_before: wait === null ? null : time + wait,
        asked_height,
      },
      job,
    );
  }

  const recordAnswer = (job: JobRow, asked_height: number, not_before: number | null) =>
    rows.putJob({ ...job, state: JOB_STATE.done, tries: 0, not_before, asked_height }, job);

  /** Returns the current supply: the supply that the node returned at a height, with the mints and burns since. */
  function supplyNow(statedSupply: string, asset: number, height: number): string {
    let supply = BigInt(statedSupply);
    for (const { kind, amount } of mintsAndBurns.all(positionsOf(height).last, asset)) {
      supply += kind === EVENT_KIND.ft_mint ? BigInt(amount ?? 0) : -BigInt(amount ?? 0);
    }
    return supply.toString();
  }

  function writeFacts(
    contract: TokenContractRow,
    tokenId: string,
    facts: TokenFacts,
    height: number,
    time: number,
  ): void {
    const { contract_id, asset_id } = contract;
    const { name, symbol, decimals, uri } = facts;
    const supply =
      facts.supply !== null && asset_id !== null ? supplyNow(facts.supply, asset_id, height) : facts.supply;
    setFacts.run(contract_id, tokenId, time, name, symbol, decimals, supply, uri);
    if (contract.family === TOKEN_FAMILY.ft) {
      const [nameKey, symbolKey] = [name, symbol].map((text) => (text === null ? null : folded(text)));
      setKeys.run(contract_id, nameKey ?? null, symbolKey ?? null);
      parts.token('token_name', contract_id, contract.name_key, nameKey ?? null);
      parts.token('token_symbol', contract_id, contract.symbol_key, symbolKey ?? null);
    }
  }

  /** @returns whether the answer counts */
  function answerFacts(answered: Extract<TokenAnswer, { work: 'facts' }>, time: number): boolean {
    const height = findBlock.get(fromHex(answered.tip))?.height;
    const contract = findContract(answered.contract);
    if (height === undefined || contract === null) return false;
    const tokenId = storedTokenId(BigInt(answered.token));
    const token = rows.token(contract.contract_id, tokenId);
    const job = rows.job(contract.contract_id, tokenId, 'facts');
    if (token === null || !isOpen(job) || notificationHeight(rows, token) > height) return false;
    if (tipHeight() - height > MAX_BLOCKS) return false;
    const { answer } = answered;
    if (isFailed(answer)) {
      const nextRead = answer.state === 'failed' && answer.wait === null ? readAgainAt(token, time) : null;
      recordFailure(job, nextRead === null ? answer : { ...answer, wait: nextRead - time }, time, height);
      return true;
    }
    writeFacts(contract, tokenId, answer, height, time);
    recordAnswer(job, height, readAgainAt(token, time));
    return true;
  }

  function answerLast(answered: Extract<TokenAnswer, { work: 'last_token_id' }>, time: number): boolean {
    const height = findBlock.get(fromHex(answered.tip))?.height;
    const contract = findContract(answered.contract);
    const job = contract === null ? null : rows.job(contract.contract_id, ALL_TOKENS, 'last_token_id');
    if (height === undefined || contract === null || !isOpen(job) || heightOf(contract.position) > height) return false;
    const { answer } = answered;
    if (isFailed(answer)) {
      recordFailure(job, answer, time, height);
      return true;
    }
    setLast.run(contract.contract_id, answer.last);
    recordAnswer(job, height, null);
    return true;
  }

  const answer = (answered: TokenAnswer, time: number): boolean =>
    answered.work === 'facts' ? answerFacts(answered, time) : answerLast(answered, time);

  /** Adds tokens up to the last one that the node returned. @returns whether the last token is added */
  function list(contract: TokenContractRow, last: number): boolean {
    const { contract_id, listed } = contract;
    const end = Math.min(last, listed + BATCH);
    const addedAt = positionsOf(tipHeight()).last;
    for (let id = listed + 1; id <= end; id++) rows.addToken(contract, storedTokenId(BigInt(id)), addedAt);
    setListed.run(contract_id, end);
    return end === last;
  }

  /** Queues the tokens after a position that must be read again. @returns whether there are no more */
  function queueAfter({ contract_id, is_forced }: TokenContractRow, place: string): boolean {
    const tokens = tokensAfter.all(contract_id, place);
    for (const token of tokens) {
      const askedHeight = rows.job(contract_id, token.token_id, 'facts')?.asked_height ?? null;
      const notification = rows.notification(contract_id, token.token_id, token.position);
      const isNews = notification !== null && (askedHeight === null || askedHeight < heightOf(notification.position));
      if (is_forced === 1 || isNews)
        rows.queue(contract_id, token.token_id, 'facts', notification?.position ?? token.position);
    }
    const isLast = tokens.length < BATCH;
    rows.setQueueing(contract_id, isLast ? null : tokens.at(-1)!.token_id, !isLast && is_forced === 1);
    return isLast;
  }

  const spread: BatchedCommand<{ contract: string }> = {
    batch:
      ({ contract }) =>
      () => {
        const row = findContract(contract);
        if (row === null) return true;
        const { last_token_id, listed, queued_up_to } = row;
        if (last_token_id !== null && listed < last_token_id) return list(row, last_token_id) && queued_up_to === null;
        return queued_up_to === null || queueAfter(row, queued_up_to);
      },
  };

  return {
    /** Stores the node's answers. @returns how many of them counted */
    'tokens.answer'({ answers }: { answers: readonly TokenAnswer[] }, time: number): number {
      const counted = answers.filter((answered) => answer(answered, time)).length;
      if (counted > 0) raise.run(time * 1_000);
      return counted;
    },

    /** Lists and queues a contract's tokens that haven't been listed or queued yet. */
    'tokens.spread': spread,

    /**
     * Queues tokens of a contract, including frozen ones.
     * @param tokens decimal; null for all
     * @returns `contract` if the contract is unknown, or the unknown tokens: then nothing is queued; null on success
     */
    'tokens.refresh'({
      contract,
      tokens,
    }: {
      contract: string;
      tokens: readonly string[] | null;
    }): 'contract' | string[] | null {
      const row = findContract(contract);
      if (row === null) return 'contract';
      const { contract_id, position } = row;
      if (tokens === null && row.family !== TOKEN_FAMILY.ft) {
        if (row.family === TOKEN_FAMILY.nft) rows.queue(contract_id, ALL_TOKENS, 'last_token_id', position);
        rows.queueAll(row, true);
        return null;
      }
      const tokenIds = tokens ?? [String(FT_TOKEN)];
      const unknown = tokenIds.filter((token) => rows.token(contract_id, storedTokenId(BigInt(token))) === null);
      if (unknown.length > 0) return unknown;
      for (const token of tokenIds) rows.queue(contract_id, storedTokenId(BigInt(token)), 'facts', position);
      return null;
    },
  };
}
export type TokenCommands = ReturnType<typeof tokenCommands>;
