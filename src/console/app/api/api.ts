/** Calls of the API, typed from its OpenAPI document, and the objects that several pages use. */
import { isObject, parsedJson } from '../../../base/json.ts';
import type { paths } from './openapi.d.ts';

type Method = 'get' | 'post' | 'patch' | 'delete';
type PathWith<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, object> ? P : never }[keyof paths];
type Operation<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;

/** A member of a type; unknown if the type doesn't have it. */
type Member<T, Name extends PropertyKey> = Name extends keyof T ? NonNullable<T[Name]> : unknown;
type Json<T> = Member<Member<T, 'content'>, 'application/json'>;
type Responses<P extends keyof paths, M extends Method> = Member<Operation<P, M>, 'responses'>;

/** The body of an operation's successful response; unknown if it has none. */
export type Answer<P extends keyof paths, M extends Method = 'get'> = Json<
  200 extends keyof Responses<P, M> ? Member<Responses<P, M>, 200> : Member<Responses<P, M>, 202>
>;

/** The JSON body of an operation's requests. */
export type Body<P extends keyof paths, M extends Method> = Json<Member<Operation<P, M>, 'requestBody'>>;

type OperationParams<P extends keyof paths, M extends Method> = Member<Operation<P, M>, 'parameters'>;
type Optional<T> = { [Name in keyof T]: T[Name] | null | undefined };

/** The parameters of an operation's path and query. A query parameter that is null or undefined is left out. */
export type Params<P extends keyof paths, M extends Method = 'get'> = Member<OperationParams<P, M>, 'path'> &
  Optional<Member<OperationParams<P, M>, 'query'>>;

/** Thrown if the API rejects a request, or the request never reached it. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  /**
   * @param status the HTTP status; 0 if there was no response
   * @param isBeforeHistory whether the server lacks the requested data because its history starts later
   */
  constructor(
    readonly status: number,
    message: string,
    readonly isBeforeHistory = false,
  ) {
    super(message);
  }
}

/** Throws an error that isn't a RequestError: only requests may fail. */
export function assertRequestError(error: unknown): asserts error is RequestError {
  if (!(error instanceof RequestError)) throw error;
}

function textOf(body: unknown, name: string): string | null {
  const value = isObject(body) ? body[name] : null;
  return typeof value === 'string' && value !== '' ? value : null;
}

/** A field in a message: the part of the request, and the path of the field. */
const FIELD = /(?<=^| in )(?:body|params|querystring)\/([\w/-]+)/;
/** The end of a rule for JSON. A form's values are texts anyway. */
const AS_TEXT = /, as text$/;

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * Returns the message of an error body: its message, the error of an old route, or the error and details of a hook. It names
 * fields as forms do: `Until height must be > 5` for `body/until_height must be > 5`.
 */
export function messageOf(body: unknown, status: number): string {
  const error = textOf(body, 'error');
  const details = textOf(body, 'details');
  const described = error !== null && details !== null ? `${error}: ${details}` : error;
  const message = textOf(body, 'message') ?? described ?? `The server answered with status ${status}.`;
  if (!FIELD.test(message)) return message;
  const named = message.replace(FIELD, (_, path: string) => capitalized(path.replaceAll(/[_/]/g, ' ')));
  return capitalized(named.replace(AS_TEXT, ''));
}

/** Throws the error of a request without a response. @throws RequestError; DOMException if the request was aborted */
export function throwUnreachable(error: unknown): never {
  if (error instanceof DOMException && error.name === 'AbortError') throw error;
  throw new RequestError(0, 'The server does not answer. It may be starting again.');
}

const HISTORY_HEADER = 'stackside-history-from';

/** Maximum characters to show of an error that is plain text. */
const MAX_ERROR = 500;

/** Sends a request. @throws RequestError if it is rejected or gets no answer; DOMException if it was aborted */
export async function sendRequest(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init).catch(throwUnreachable);
  if (response.ok) return response;
  const { status, headers } = response;
  const text = await response.text().catch(throwUnreachable);
  // The node's errors are plain text, this server's errors are JSON, and a proxy's errors are HTML.
  const isPlain = headers.get('content-type')?.startsWith('text/plain') === true;
  const body = parsedJson(text) ?? (isPlain ? { message: text.slice(0, MAX_ERROR) } : undefined);
  throw new RequestError(status, messageOf(body, status), headers.has(HISTORY_HEADER));
}

/** The member of a response that may lack older items: height of the server's first block. Copies of the response have it. */
const HISTORY_FROM = Symbol('history from');

/** Returns a sentence about the first block of the server if a response lacks older items, otherwise null. */
export function historyNote(data: object): string | null {
  const { [HISTORY_FROM]: from } = data as { [HISTORY_FROM]?: string };
  return from === undefined ? null : `The history of this server begins at block ${from}.`;
}

/** Sends a request for JSON. @throws RequestError, also if the answer isn't JSON; DOMException if it was aborted */
export async function fetchJson(url: string, init: RequestInit = {}): Promise<unknown> {
  const response = await sendRequest(url, init);
  const value = parsedJson(await response.text().catch(throwUnreachable));
  if (value === undefined) throw new RequestError(response.status, messageOf(null, response.status));
  const from = response.headers.get(HISTORY_HEADER);
  return from !== null && isObject(value) ? { ...value, [HISTORY_FROM]: from } : value;
}

/** Returns a path such as `/extended/v2/blocks/{height_or_hash}` with its parameters, lists as repeated keys. */
export function urlOf(path: string, params: unknown): string {
  const all = Object.entries(Object(params) as Record<string, unknown>);
  const query = new URLSearchParams();
  let filled = path;
  for (const [name, value] of all) {
    if (path.includes(`{${name}}`)) filled = filled.replace(`{${name}}`, encodeURIComponent(String(value)));
    else for (const item of [value ?? []].flat()) query.append(name, String(item));
  }
  return query.size === 0 ? filled : `${filled}?${query}`;
}

/** Requests data of the API. @throws RequestError; DOMException if the request was aborted */
export const get = <P extends PathWith<'get'>>(
  path: P,
  params: Params<P>,
  signal?: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer<P>> => fetchJson(urlOf(path, params), { signal: signal ?? null, headers }) as Promise<Answer<P>>;

/** Returns the init of a request with a JSON body. */
export const withBody = (method: string, body: unknown, headers: Readonly<Record<string, string>> = {}): RequestInit =>
  body === undefined
    ? { method, headers }
    : { method, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };

/** Changes data by the API. @returns the body of the response; undefined if it has none @throws RequestError */
const change =
  <M extends Method>(method: M) =>
  async <P extends PathWith<M>>(
    path: P,
    params: Params<P, M>,
    body?: Body<P, M>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer<P, M>> => {
    const response = await sendRequest(urlOf(path, params), withBody(method.toUpperCase(), body, headers));
    return parsedJson(await response.text().catch(throwUnreachable)) as Answer<P, M>;
  };

export const post = change('post');
export const patch = change('patch');
export const remove = change('delete');

type Item<T> = T extends readonly (infer I)[] ? I : never;

type FoundTransaction = Extract<Answer<'/extended/v1/tx/multiple'>[string], { found: true }>;

/** A transaction with all available data, mined or not. */
export type Transaction = FoundTransaction['result'];
export type MinedTransaction = Extract<Transaction, { block_height: number }>;
export type PendingTransaction = Exclude<Transaction, { block_height: number }>;
export type TransactionEvent = Item<MinedTransaction['events']>;
export type PostCondition = Item<Transaction['post_conditions']>;

/** A mined transaction in a list. */
export type ListedTransaction = Item<Answer<'/extended/v3/transactions'>['results']>;
/** A pending transaction in a list. */
export type ListedPending = Item<Answer<'/extended/v3/mempool/transactions'>['results']>;

export type Block = Item<Answer<'/extended/v2/blocks'>['results']>;
export type BitcoinBlock = Item<Answer<'/extended/v2/burn-blocks'>['results']>;

/** The state of the server. */
export type ServerStatus = Answer<'/stackside/v1/status'>;

export const isMined = (transaction: Transaction): transaction is MinedTransaction => 'block_height' in transaction;
