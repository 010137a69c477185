/**
 * The node's routes, which the server forwards. This server's OpenAPI document doesn't include them, so their types are
 * here.
 */
import { parsedJson } from '../../../base/json.ts';
import { failureOf, RequestError, unreachable } from './api.ts';

/** Maximum characters to show of an error. */
const MAX_ERROR = 500;

/** @throws RequestError if the node rejects the request or can't be reached; DOMException if the request was aborted */
async function askNode(path: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(path, init).catch(unreachable);
  const text = await response.text().catch(unreachable);
  const body = parsedJson(text);
  if (response.ok && body !== undefined) return body;
  // The node's errors are plain text, this server's errors are JSON, and a proxy's errors are HTML.
  const isPlain = response.headers.get('content-type')?.startsWith('text/plain') === true;
  throw failureOf(response, body ?? (isPlain ? { message: text.slice(0, MAX_ERROR) } : undefined));
}

/** Returns the path of a node's route for a contract. */
const pathOf = (route: string, contract: string, ...more: string[]): string =>
  ['/v2', route, ...contract.split('.'), ...more.map(encodeURIComponent)].join('/');

/** Returns the path of a contract's interface. */
export const interfacePath = (contract: string): string => pathOf('contracts/interface', contract);

/** Requests a contract's interface from the node; its form is unchecked. @throws RequestError */
export const contractInterface = (contract: string, signal: AbortSignal): Promise<unknown> =>
  askNode(interfacePath(contract), { signal });

interface Read {
  contract: string;
  kind: 'function' | 'variable' | 'map' | 'constant';
  name: string;
  /** Serialized values in hex: the arguments of a function, the key of a map. */
  args: readonly string[];
  /** The principal that is `tx-sender` during the call of a function. */
  sender: string;
}

/** The node's answer: a serialized value in hex, or the reason why there is none. */
export type ReadResult = { hex: string; cause: null } | { hex: null; cause: string };

const posted = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** Reads from a contract at the node's tip. @throws RequestError */
export async function readContract(
  { contract, kind, name, args, sender }: Read,
  signal: AbortSignal,
): Promise<ReadResult> {
  const [path, init] =
    kind === 'function'
      ? [pathOf('contracts/call-read', contract, name), posted({ sender, arguments: args })]
      : kind === 'map'
        ? [`${pathOf('map_entry', contract, name)}?proof=0`, posted(args[0])]
        : kind === 'variable'
          ? [`${pathOf('data_var', contract, name)}?proof=0`, {}]
          : [pathOf('constant_val', contract, name), {}];
  const answer = await askNode(path, { ...init, signal });
  const member = (of: string): unknown =>
    typeof answer === 'object' && answer !== null ? Reflect.get(answer, of) : null;
  const [hex, cause] = [member(kind === 'function' ? 'result' : 'data'), member('cause')];
  if (typeof hex === 'string') return { hex, cause: null };
  if (typeof cause === 'string') return { hex: null, cause };
  throw new RequestError(0, 'The node’s answer has neither a value nor the cause of a failure.');
}
