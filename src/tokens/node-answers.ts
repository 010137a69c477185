/** Reads token metadata from the node: calls read-only functions of token contracts at a block. */
import { parsedJson } from '../base/json.ts';
import { splitPrincipal } from '../codec/address.ts';
import { type ClarityValue, decodeClarity } from '../codec/clarity.ts';
import { clarity } from '../codec/clarity-encode.ts';
import { toHex } from '../codec/hex.ts';
import { strictText, utf8Bytes } from '../codec/utf8.ts';
import { infoOrNull, type NodeRpc, NodeUnreachableError } from '../node/rpc.ts';
import type { TokenFacts, TokenJobItem } from '../store/model/token.ts';

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
export class AnswerError extends Error {
  override readonly name = 'AnswerError';
  constructor(
    message: string,
    readonly state: 'invalid' | 'failed' | 'pending' = 'invalid',
  ) {
    super(message);
  }
}

export interface NodeCalls {
  node: NodeRpc;
  signal: AbortSignal;
  tip: { height: number; indexBlockHash: Uint8Array };
}

/** Returns the sender of calls: the address of the boot contracts on the contract's network. */
const callerOf = (contract: string): string =>
  /^S[PM]/.test(contract) ? 'SP000000000000000000002Q6VF78' : 'ST000000000000000000002AMW42H';

/** Reports whether the node responds at all. */
async function isThere({ node, signal }: NodeCalls): Promise<boolean> {
  try {
    await node.request('/v2/info', { signal });
    return true;
  } catch (error) {
    if (error instanceof NodeUnreachableError) return false;
    throw error;
  }
}

/** @returns the status, and the body; null if it is too long @throws NodeUnreachableError */
async function post({ node, signal, tip }: NodeCalls, contract: string, name: string, args: readonly Uint8Array[]) {
  const { address, contractName } = splitPrincipal(contract);
  const path = `/v2/contracts/call-read/${address}/${contractName}/${name}?tip=${tip.indexBlockHash.toHex()}`;
  const response = await node.request(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sender: callerOf(contract), arguments: args.map(toHex) }),
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
    if (calls.signal.aborted || !(await isThere(calls))) throw new NodeUnreachableError("the node can't be reached");
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
export async function requestTokenFacts(
  calls: NodeCalls,
  { contract, family, token }: TokenJobItem,
): Promise<TokenFacts> {
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
export async function requestLastToken(calls: NodeCalls, { contract }: TokenJobItem): Promise<number | null> {
  const last = requireNumber(await call(calls, contract, 'get-last-token-id'));
  return last > MAX_LISTED ? null : Number(last);
}
