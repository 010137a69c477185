/** Transactions that are broadcast, and what they would cost. */
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { BytesReader } from '../../codec/bytes-reader.ts';
import { decoded } from '../../codec/decode-error.ts';
import { readPayload } from '../../codec/payload.ts';
import { transactionId } from '../../codec/transaction.ts';
import { Rejection } from '../admission.ts';
import { UndecodableError } from '../node.ts';
import { bare, bytesOf, hexBytes, jsonOf, RpcError, type RpcRequest, type RpcRoute } from './rpc-route.ts';

const Broadcast = Type.Object({ tx: Type.String() });
/** Bytes of the longest transaction that a node takes. */
const MAX_TRANSACTION = 2_097_152;

/** The bytes of a transaction: the whole body, or in hex in JSON. @throws RpcError */
async function rawTransaction(request: Request): Promise<Uint8Array> {
  if (request.headers.get('content-type')?.startsWith('application/json') !== true) return bytesOf(request);
  const body = await jsonOf(request);
  if (!Value.Check(Broadcast, body)) throw new RpcError(400, 'The body must have tx, a transaction in hex');
  return hexBytes(body.tx, 'tx');
}

/** Micro-STX per byte that a transaction costs at least. */
const FEE_RATE = 1;

async function broadcast({ node, request }: RpcRequest) {
  const raw = await rawTransaction(request);
  if (raw.length > MAX_TRANSACTION) {
    throw new RpcError(400, `Failed to decode transaction: it is longer than ${MAX_TRANSACTION} bytes`);
  }
  try {
    return bare(await node.submit(raw));
  } catch (error) {
    if (error instanceof UndecodableError) throw new RpcError(400, `Failed to decode transaction: ${error.message}`);
    if (!(error instanceof Rejection)) throw error;
    const { reason, data } = error;
    const txid = transactionId(raw).toHex();
    const body = { error: 'transaction rejected', reason, ...(data === undefined ? {} : { reason_data: data }), txid };
    return Response.json(body, { status: 400 });
  }
}

const FeeRequest = Type.Object({
  transaction_payload: Type.String(),
  estimated_len: Type.Optional(Type.Union([Type.Null(), Type.Integer({ minimum: 0 })])),
});

/** What a call costs, more or less. */
const cost = { read_count: 8, read_length: 6_400, runtime: 450_000, write_count: 2, write_length: 160 };
/** The low, middle and high estimate, as multiples of the least fee. */
const multiples = [1, 2, 10] as const;

async function estimate({ request }: RpcRequest) {
  const body = await jsonOf(request);
  if (!Value.Check(FeeRequest, body)) {
    throw new RpcError(400, 'The body must have transaction_payload, a payload in hex, and may have estimated_len');
  }
  const payload = hexBytes(body.transaction_payload, 'transaction_payload');
  const read = decoded(() => {
    const reader = new BytesReader(payload);
    readPayload(reader);
    return reader.left;
  });
  if (!read.ok) throw new RpcError(400, `Failed to deserialize transaction_payload: ${read.error.message}`);
  if (read.value > 0) throw new RpcError(400, `Failed to deserialize transaction_payload: ${read.value} more bytes`);
  const least = Math.max(payload.length, body.estimated_len ?? 0) * FEE_RATE;
  return {
    cost_scalar_change_by_byte: 0.00476837158203125,
    estimated_cost: cost,
    estimated_cost_scalar: least,
    estimations: multiples.map((factor) => ({ fee: least * factor, fee_rate: factor })),
  };
}

export const transactionRoutes: readonly RpcRoute[] = [
  { method: 'POST', path: '/v2/transactions', answer: broadcast },
  { method: 'GET', path: '/v2/fees/transfer', answer: () => FEE_RATE },
  { method: 'POST', path: '/v2/fees/transaction', answer: estimate },
];
