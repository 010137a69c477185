/**
 * Looks up token metadata at the node: takes jobs from the queue in the index, and writes their results as commands. A
 * job stays in the queue until its result is written, even if the process is killed. The node calls read-only functions of
 * the token contracts at a block.
 */
import type { Clock, RandomSource } from '../base/clock.ts';
import { parsedJson } from '../base/json.ts';
import type { ServiceEvent } from '../base/log-events.ts';
import { backoff, startLoop } from '../base/service.ts';
import { atMost } from '../base/turns.ts';
import { BOOT_ADDRESS, splitPrincipal } from '../codec/address.ts';
import { type ClarityValue, decodeClarity } from '../codec/clarity.ts';
import { clarity } from '../codec/clarity-encode.ts';
import { toHex } from '../codec/hex.ts';
import { strictText, utf8Bytes } from '../codec/utf8.ts';
import { type Commander, commandsOf } from '../store/ingest/commands.ts';
import type { CommitCount } from '../store/ingest/commit-count.ts';
import type { FailedTry, TokenAnswer, TokenCommands } from '../store/ingest/token-commands.ts';
import type { TokenFacts, TokenJobItem, TokenQueue } from '../store/model/token.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import { infoOrNull, type NodeRpc, NodeUnreachableError } from './rpc.ts';

/** Maximum bytes of an answer. The longest stored text takes some thousands. */
const MAX_ANSWER = 65_536;
/**
 * Maximum bytes of a text. The standards allow 32 characters for names and 256 for URIs; a contract may declare more.
 */
const MAX_NAME = 256;
const MAX_URI = 2_048;
/** Maximum last token id for listing a contract's tokens. Above it, only mints add tokens. */
const MAX_LISTED = 50_000n;

/** Inserts a token's id into a URI: `{id}` and `$TOKEN_ID` become the id in decimal, and `{locale}` becomes empty. */
const filledUri = (uri: string, token: bigint): string =>
  uri.replace(/\{id\}|\$token_id/gi, () => String(token)).replace(/\{locale\}/gi, '');

/**
 * Thrown without a valid answer. `state` of the job: `invalid` for good if the call failed, or if the result has another
 * type or length than the standard allows; `failed` or `pending` until the next attempt if the node has no answer for now.
 */
class AnswerError extends Error {
  override readonly name = 'AnswerError';
  constructor(
    message: string,
    readonly state: 'invalid' | 'failed' | 'pending' = 'invalid',
  ) {
    super(message);
  }
}

interface NodeCalls {
  node: NodeRpc;
  signal: AbortSignal;
  tip: { height: number; indexBlockHash: Uint8Array };
}

/** @returns the status, and the body; null if it is too long @throws NodeUnreachableError */
async function post({ node, signal, tip }: NodeCalls, contract: string, name: string, args: readonly Uint8Array[]) {
  const { address, contractName } = splitPrincipal(contract);
  const sender = /^S[PM]/.test(contract) ? BOOT_ADDRESS.mainnet : BOOT_ADDRESS.testnet;
  const path = `/v2/contracts/call-read/${address}/${contractName}/${name}?tip=${tip.indexBlockHash.toHex()}`;
  const response = await node.request(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sender, arguments: args.map(toHex) }),
    signal,
  });
  const body = await response.bytes();
  return { status: response.status, body: body.length > MAX_ANSWER ? null : body };
}

/** Reports whether the node's height is below the block of the call. */
async function isBehind({ node, tip }: NodeCalls): Promise<boolean> {
  const info = await infoOrNull(node);
  return info !== null && info.height < tip.height;
}

/** Returns the value in an answer, without the `ok` and `some` around it. */
function valueIn(result: unknown): ClarityValue {
  const text = typeof result === 'string' ? result : '';
  const decoded = /^0x([0-9a-f]{2})+$/i.test(text) ? decodeClarity(Uint8Array.fromHex(text.slice(2))) : null;
  if (decoded?.ok !== true) throw new AnswerError("the answer isn't a Clarity value");
  let { value } = decoded;
  while (value.type === 'ok' || value.type === 'some') ({ value } = value);
  return value;
}

/**
 * Calls a read-only function.
 * @throws NodeUnreachableError if the node is away or behind, AnswerError
 */
async function call(calls: NodeCalls, contract: string, name: string, ...args: Uint8Array[]): Promise<ClarityValue> {
  let answer: Awaited<ReturnType<typeof post>>;
  try {
    answer = await post(calls, contract, name, args);
  } catch (error) {
    if (!(error instanceof NodeUnreachableError)) throw error;
    // If the node still responds, only this contract's job waits.
    if (calls.signal.aborted || (await infoOrNull(calls.node)) === null) {
      throw new NodeUnreachableError("the node can't be reached");
    }
    throw new AnswerError(`${name} of ${contract} gives no answer`, 'failed');
  }
  const { status, body } = answer;
  if (status === 404 && (await isBehind(calls))) throw new NodeUnreachableError('the node is behind');
  if (status >= 400) throw new AnswerError(`the node answers ${name} of ${contract} with ${status}`, 'failed');
  if (body === null) throw new AnswerError(`the answer of ${name} is too long`);
  const json = parsedJson(strictText(body) ?? '');
  if (typeof json !== 'object' || json === null || !('okay' in json)) {
    throw new AnswerError(`the node's answer to ${name} of ${contract} isn't the result of a call`, 'failed');
  }
  const { okay, result, cause } = json as { okay: unknown; result?: unknown; cause?: unknown };
  if (okay === true) return valueIn(result);
  const reason = typeof cause === 'string' ? cause : '';
  if (reason.startsWith('Runtime') || reason.includes('NoSuchContract')) throw new AnswerError(reason, 'pending');
  throw new AnswerError(reason);
}

/**
 * Returns a text unchanged. Control characters and characters that change the direction of writing are data of the
 * chain; the client must make them visible. Returns null for `none`. @throws AnswerError
 */
function requireText(value: ClarityValue, maxBytes: number): string | null {
  if (value.type === 'none') return null;
  if (value.type !== 'string-ascii' && value.type !== 'string-utf8') throw new AnswerError("it isn't a text");
  if (utf8Bytes(value.value).length > maxBytes) throw new AnswerError('it is too long');
  return value.value;
}

/** @throws AnswerError */
function requireNumber(value: ClarityValue): bigint {
  if (value.type !== 'uint') throw new AnswerError("it isn't a number");
  return value.value;
}

/** @returns null if the contract doesn't return a supply */
async function ftSupply(calls: NodeCalls, contract: string): Promise<string | null> {
  try {
    return requireNumber(await call(calls, contract, 'get-total-supply')).toString();
  } catch (error) {
    if (error instanceof AnswerError && error.state === 'invalid') return null;
    throw error;
  }
}

/**
 * Reads the metadata of a token from its contract.
 * @throws NodeUnreachableError if the node is away, AnswerError
 */
async function requestTokenFacts(calls: NodeCalls, { contract, family, token }: TokenJobItem): Promise<TokenFacts> {
  const number = BigInt(token ?? 0);
  const id = clarity.uint(number);
  const none = { name: null, symbol: null, decimals: null, supply: null };
  const tokenUri = requireText(await call(calls, contract, 'get-token-uri', ...(family === 'ft' ? [] : [id])), MAX_URI);
  const uri = tokenUri === null || tokenUri === '' ? null : filledUri(tokenUri, number);
  switch (family) {
    case 'nft':
      return { ...none, uri };
    case 'sft': {
      const decimals = requireNumber(await call(calls, contract, 'get-decimals', id)).toString();
      const supply = requireNumber(await call(calls, contract, 'get-total-supply', id)).toString();
      return { ...none, decimals, supply, uri };
    }
    case 'ft': {
      const name = requireText(await call(calls, contract, 'get-name'), MAX_NAME);
      const symbol = requireText(await call(calls, contract, 'get-symbol'), MAX_NAME);
      const decimals = requireNumber(await call(calls, contract, 'get-decimals')).toString();
      return { name, symbol, decimals, supply: await ftSupply(calls, contract), uri };
    }
  }
}

/**
 * Reads the last token id of a contract; returns null if it is too large to list the tokens. @throws like
 * {@link requestTokenFacts}
 */
async function requestLastToken(calls: NodeCalls, { contract }: TokenJobItem): Promise<number | null> {
  const last = requireNumber(await call(calls, contract, 'get-last-token-id'));
  return last > MAX_LISTED ? null : Number(last);
}

/** Maximum concurrent requests. */
const MAX_CONCURRENT = 5;
/** Number of jobs of a round, and number of jobs of each kind and order to take from the queue. */
const MAX_JOBS = 25;
const JOBS_PER_ORDER = 8;
/** Milliseconds until the queue is read again without a commit: for jobs that are due, and after the node or the store failed. */
const POLL_MS = 5_000;
/** Milliseconds between two turns of listing and queueing tokens, so that other work can write. */
const SPREAD_MS = 50;
/** Maximum consecutive attempts without an answer. Then the job fails. */
const MAX_ATTEMPTS = 10;
/** Milliseconds after the first attempt. The wait doubles with each attempt, up to a maximum, plus a random part. */
const BACKOFF = { firstMs: 5_000, maxMs: 600_000 };

export type TokenLogEvent =
  | ServiceEvent
  | { event: 'token_not_read'; contract: string; token: string | null; work: string; state: string; reason: string };

export interface MetadataFetcherOptions {
  snapshots: Snapshots;
  node: NodeRpc;
  commander: Commander;
  /** The commits that may add jobs. */
  commits: Pick<CommitCount, 'follow'>;
  /** Reports whether this host does the look-ups. In a cluster, one host does. */
  hasLease: () => boolean;
  clock: Clock;
  random: Pick<RandomSource, 'number'>;
  log: (event: TokenLogEvent) => void;
}

const keyOf = ({ work, contract, token }: TokenJobItem): string => `${work} ${contract} ${token ?? ''}`;

/** Generates the jobs of each order in turn, each job once. */
function* inTurn({ oldest, newest, repeated }: TokenQueue): Generator<TokenJobItem> {
  const seen = new Set<string>();
  const orders = [oldest, repeated, newest];
  for (let index = 0; orders.some((order) => index < order.length); index++) {
    for (const order of orders) {
      const item = order[index];
      if (item === undefined || seen.has(keyOf(item))) continue;
      seen.add(keyOf(item));
      yield item;
    }
  }
}

/** Starts the look-ups. */
export function startMetadataFetcher(options: MetadataFetcherOptions) {
  const { snapshots, node, commits, hasLease, clock, random, log } = options;
  const commands = commandsOf<TokenCommands>(options.commander);

  /** Returns an attempt without an answer, and logs the last one. */
  function failedTry({ contract, token, work, tries }: TokenJobItem, error: AnswerError): FailedTry {
    const isLast = error.state === 'invalid' || tries + 1 >= MAX_ATTEMPTS;
    if (!isLast) return { state: error.state, wait: backoff(tries + 1, { ...BACKOFF, random: random.number }) };
    const state = error.state === 'invalid' ? 'invalid' : 'failed';
    log({ event: 'token_not_read', contract, token, work, state, reason: error.message });
    return { state, wait: null };
  }

  /** Requests the answer for a job. @returns the answer, or the failed attempt @throws NodeUnreachableError */
  async function tryRequest<T>(item: TokenJobItem, request: () => Promise<T>): Promise<T | FailedTry> {
    try {
      return await request();
    } catch (error) {
      if (error instanceof AnswerError) return failedTry(item, error);
      throw error;
    }
  }

  /** @throws NodeUnreachableError */
  async function askNode(item: TokenJobItem, calls: NodeCalls): Promise<TokenAnswer> {
    const { contract, token } = item;
    const subject = { contract, tip: toHex(calls.tip.indexBlockHash) };
    if (item.work === 'facts') {
      const answer = await tryRequest(item, () => requestTokenFacts(calls, item));
      return { work: 'facts', ...subject, token: token ?? '', answer };
    }
    const answer = await tryRequest(item, async () => ({ last: await requestLastToken(calls, item) }));
    return { work: 'last_token_id', ...subject, answer };
  }

  /**
   * Requests answers for jobs, and writes them with one command.
   * @throws NodeUnreachableError after the other answers are written
   */
  async function answerJobs(items: readonly TokenJobItem[], calls: NodeCalls): Promise<void> {
    let isAway = false;
    const limited = atMost(MAX_CONCURRENT);
    const ask = async (item: TokenJobItem): Promise<TokenAnswer | null> => {
      if (isAway || calls.signal.aborted || !hasLease()) return null;
      try {
        return await askNode(item, calls);
      } catch (error) {
        isAway = true;
        throw error;
      }
    };
    const results = await Promise.allSettled(items.map((item) => limited(() => ask(item))));
    const answers = results.flatMap((result) => (result.status === 'fulfilled' ? (result.value ?? []) : []));
    if (answers.length > 0) await commands.run('tokens.answer', { answers });
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** Lists and queues tokens of one contract, and answers some jobs. @returns milliseconds until the next round */
  async function round(signal: AbortSignal): Promise<number> {
    if (!hasLease()) return POLL_MS;
    const { contract, queue } = snapshots.read(({ tokenMetadata }) => ({
      contract: tokenMetadata.toSpread(),
      queue: tokenMetadata.queue(clock.now(), JOBS_PER_ORDER),
    }));
    if (contract !== null) await commands.runBatches('tokens.spread', { contract });
    // One request shows whether the node is back.
    const items = [...inTurn(queue)].slice(0, loop.failure() === null ? MAX_JOBS : 1);
    if (queue.tip !== null) await answerJobs(items, { node, signal, tip: queue.tip });
    if (contract !== null) return SPREAD_MS;
    return items.length === 0 ? POLL_MS : 0;
  }

  const loop = startLoop({
    clock,
    everyMs: POLL_MS,
    firstMs: 0,
    turn: round,
    failed: ({ message: reason }) => log({ event: 'service_failing', service: 'token_metadata', reason }),
  });
  const endFollowing = commits.follow(clock, loop.wake);
  return {
    async stop(): Promise<void> {
      endFollowing();
      await loop.stop();
    },
  };
}
