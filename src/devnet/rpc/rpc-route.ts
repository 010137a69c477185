/** How the simulated node's RPC interface is made of routes, and how their errors look: as texts, like a node's. */

import { isTooDeep, MAX_DEPTH } from '../../base/json-depth.ts';
import { DecodeError } from '../../codec/decode-error.ts';
import { fromHex } from '../../codec/hex.ts';
import { BodyError, bodyBytes, bodyText } from '../../http/request-body.ts';
import type { Block } from '../block.ts';
import type { SimulatedNode } from '../node.ts';

/** An answer other than success, as a text. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  constructor(
    readonly status: 400 | 404 | 501,
    message: string,
  ) {
    super(message);
  }
}

/** What a route is asked. */
export interface RpcRequest {
  readonly node: SimulatedNode;
  /** The block whose state is asked for: the tip, unless `?tip=` names another. */
  readonly block: Block;
  /** The values of the path's parameters, in order. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  readonly request: Request;
}

export interface RpcRoute {
  readonly method: 'GET' | 'POST';
  /** `*` stands for a parameter. */
  readonly path: string;
  /** @returns the JSON of the answer, or the answer @throws RpcError */
  answer(asked: RpcRequest): unknown;
}

/** Bytes of the largest body: a transaction of 2 MB in hex, and what is around it. */
export const MAX_RPC_BODY = 5_000_000;

/** A body that is too long or broken off is answered like any that can't be read. @throws RpcError */
async function body<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    throw new RpcError(400, error.message);
  }
}

/** The bytes of a request's body. @throws RpcError */
export const bytesOf = (request: Request): Promise<Uint8Array> => body(bodyBytes(request, MAX_RPC_BODY));

/** The JSON of a request's body. @throws RpcError */
export async function jsonOf(request: Request): Promise<unknown> {
  const text = await body(bodyText(request, MAX_RPC_BODY));
  if (isTooDeep(text)) throw new RpcError(400, `The JSON body is nested deeper than ${MAX_DEPTH} levels`);
  try {
    return JSON.parse(text);
  } catch {
    throw new RpcError(400, 'Failed to parse JSON body');
  }
}

/** The bytes of a hex text. @throws RpcError */
export function hexBytes(text: unknown, what: string): Uint8Array {
  if (typeof text !== 'string') throw new RpcError(400, `${what} must be a hex string`);
  try {
    return fromHex(text);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new RpcError(400, `${what} is not hex: ${error.message}`);
  }
}

/** A hash as the node's JSON has it: without 0x. */
export const bare = (hash: string): string => hash.replace(/^0x/, '');

/** Whether the proof of a value is asked for, which it is by default. There are no proofs: they are empty texts. */
export const withProof = <T extends object>(value: T, query: URLSearchParams, ...names: string[]): T =>
  query.get('proof') === '0' ? value : { ...value, ...Object.fromEntries(names.map((name) => [name, ''])) };
