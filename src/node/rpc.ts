/** A client of the node's RPC interface. */
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type Clock, systemClock } from '../base/clock.ts';
import { withoutCredentials } from '../base/credentials.ts';
import { parsedJson } from '../base/json.ts';
import { indexBlockHash } from '../codec/nakamoto-block.ts';
import { UnreachableError, wholeAnswer } from '../http/direct-fetch.ts';

/** Thrown if the node can't be reached, or doesn't answer in time. */
export class NodeUnreachableError extends UnreachableError {
  override readonly name = 'NodeUnreachableError';
}

/** Thrown if the server that answers isn't a Stacks node. The message describes its answer. */
class NotANodeError extends NodeUnreachableError {}

const Info = Type.Object({
  network_id: Type.Integer(),
  stacks_tip_height: Type.Integer(),
  burn_block_height: Type.Integer(),
  stacks_tip: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
  stacks_tip_consensus_hash: Type.Optional(Type.String({ pattern: '^[0-9a-f]{40}$' })),
});

export interface NodeInfo {
  chainId: number;
  height: number;
  burnBlockHeight: number;
  /** Index block hash; null if the node doesn't return it. */
  indexBlockHash: Uint8Array | null;
}

export interface NodeRpc {
  /** The URL for messages, without a password. */
  location: string;
  /**
   * Sends a request, and returns the whole response with any status.
   * @param path with the query, such as `/v2/info`
   * @throws NodeUnreachableError
   */
  request(path: string, init?: RequestInit): Promise<Response>;
  /**
   * GETs a JSON value; returns undefined if the answer isn't JSON, or has a status other than 200.
   * @param path with the query
   * @throws NodeUnreachableError
   */
  json(path: string): Promise<unknown>;
  /** Returns the node's chain tip, at most a moment old. @throws NodeUnreachableError */
  info(): Promise<NodeInfo>;
}

const TIMEOUT_MS = 5_000;
const INFO_FRESH_MS = 200;

/**
 * Makes a client of the node's RPC interface.
 * @param url without a trailing slash
 * @param clock its monotonic time decides how long an answer counts as new, because the wall clock may be set back
 */
export function nodeRpc(url: string, clock: Pick<Clock, 'monotonic'> = systemClock): NodeRpc {
  let cachedInfo: { time: number; info: Promise<NodeInfo> } | null = null;

  async function request(path: string, init: RequestInit = {}): Promise<Response> {
    try {
      return await wholeAnswer(url + path, init, { server: 'the node', timeoutMs: TIMEOUT_MS });
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
      throw new NodeUnreachableError(error.message, { cause: error.cause });
    }
  }

  async function getJson(path: string): Promise<{ status: number; body: unknown }> {
    const response = await request(path);
    const text = await response.text();
    return { status: response.status, body: response.ok ? parsedJson(text) : undefined };
  }

  async function requestInfo(): Promise<NodeInfo> {
    const { status, body } = await getJson('/v2/info');
    if (!Value.Check(Info, body)) throw new NotANodeError(wrongInfo(status, body));
    const { network_id: chainId, stacks_tip_height: height, burn_block_height: burnBlockHeight } = body;
    const { stacks_tip: tip, stacks_tip_consensus_hash: consensusHash } = body;
    const isNamed = tip !== undefined && consensusHash !== undefined;
    const id = isNamed ? indexBlockHash(Uint8Array.fromHex(tip), Uint8Array.fromHex(consensusHash)) : null;
    return { chainId, height, burnBlockHeight, indexBlockHash: id };
  }

  return {
    location: withoutCredentials(url),
    request,
    json: async (path) => (await getJson(path)).body,
    info() {
      const now = clock.monotonic();
      if (cachedInfo === null || now - cachedInfo.time > INFO_FRESH_MS) cachedInfo = { time: now, info: requestInfo() };
      return cachedInfo.info;
    },
  };
}

/** Explains why an answer to /v2/info isn't a node's. @param body its JSON; undefined for another body or status */
function wrongInfo(status: number, body: unknown): string {
  const answer = 'the answer to /v2/info';
  if (status !== 200) return `${answer} has status ${status}`;
  const field = body === undefined ? undefined : Value.Errors(Info, body).First()?.path.slice(1);
  if (field === undefined || field === '') return `${answer} is not a JSON object`;
  return `${answer} has no valid ${field}`;
}

/** The node's chain tip, or a clause that says why it is unknown: `no node answers at http://127.0.0.1:20443`. */
export type InfoOrReason = { info: NodeInfo; reason: null } | { info: null; reason: string };

/** Returns the node's chain tip, or the reason why it is unknown. */
export async function infoOrReason(node: Pick<NodeRpc, 'info' | 'location'>): Promise<InfoOrReason> {
  try {
    return { info: await node.info(), reason: null };
  } catch (error) {
    if (!(error instanceof NodeUnreachableError)) throw error;
    const reason =
      error instanceof NotANodeError
        ? `no Stacks node answers at ${node.location}: ${error.message}`
        : `no node answers at ${node.location}`;
    return { info: null, reason };
  }
}

/** Returns the node's chain tip; null if the node can't be reached. */
export const infoOrNull = async (node: Pick<NodeRpc, 'info' | 'location'>): Promise<NodeInfo | null> =>
  (await infoOrReason(node)).info;
