/**
 * Fee estimates while blocks have room. The node's estimates follow recent fees and stay high after a peak. While
 * blocks are not full, the minimum fee is enough.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { TENURE_BUDGET } from '../chain/tenure-budget.ts';
import type { TenureLoad } from '../store/model/block.ts';
import { type NodeRpc, NodeUnreachableError } from './rpc.ts';

/** Number of tenures before the current one to examine. */
export const PAST_TENURES = 5;
/** Minimum share of a limit for earlier tenures to count as full. */
const PAST_FULLNESS = 0.9;
/** Minimum share of a limit for the current tenure to count as full. */
const CURRENT_FULLNESS = 0.5;
/** Minimum blocks in the current tenure for examining it. */
const MIN_CURRENT_BLOCKS = 5;

export type TenureLimits = Omit<TenureLoad, 'blocks'>;

const DEFAULT_LIMITS: TenureLimits = { ...TENURE_BUDGET, size: 2_097_152 };
const dimensions = ['runtime', 'readCount', 'readLength', 'writeCount', 'writeLength', 'size'] as const;
type Dimension = (typeof dimensions)[number];

const BlockLimit = Type.Object({
  runtime: Type.Number(),
  read_count: Type.Number(),
  read_length: Type.Number(),
  write_count: Type.Number(),
  write_length: Type.Number(),
});
const Pox = Type.Object({ epochs: Type.Array(Type.Object({ block_limit: BlockLimit }), { minItems: 1 }) });

/** Returns the limits of the newest epoch in the node's answer; null if there are none. */
function parseLimits(answer: unknown): TenureLimits | null {
  const limit = Value.Check(Pox, answer) ? answer.epochs.at(-1)?.block_limit : undefined;
  if (limit === undefined) return null;
  return {
    runtime: limit.runtime,
    readCount: limit.read_count,
    readLength: limit.read_length,
    writeCount: limit.write_count,
    writeLength: limit.write_length,
    size: DEFAULT_LIMITS.size,
  };
}

/**
 * Reads the limits of the newest epoch from the node once, and again after a failure. Until the node answers, mainnet's
 * limits are used.
 */
export function tenureLimits(node: NodeRpc): () => Promise<TenureLimits> {
  let cachedLimits: TenureLimits | null = null;
  return async () => {
    if (cachedLimits !== null) return cachedLimits;
    try {
      cachedLimits = parseLimits(await node.json('/v2/pox'));
    } catch (error) {
      if (!(error instanceof NodeUnreachableError)) throw error;
    }
    return cachedLimits ?? DEFAULT_LIMITS;
  };
}

const isBelow = (load: TenureLimits, limits: TenureLimits, fullness: number): boolean =>
  dimensions.every((dimension) => load[dimension] < limits[dimension] * fullness);

/** Returns the weighted mean of tenures. The newest counts most. @param loads newest first */
function weightedMean(loads: readonly TenureLimits[]): TenureLimits {
  const weights = loads.length * (loads.length + 1) * 0.5;
  const mean = (dimension: Dimension): number =>
    Math.round(loads.reduce((sum, load, age) => sum + load[dimension] * (loads.length - age), 0) / weights);
  return Object.fromEntries(dimensions.map((dimension) => [dimension, mean(dimension)])) as Record<Dimension, number>;
}

/**
 * Reports whether tenures are not full, so that the minimum fee is enough.
 * @param loads of the current tenure and of the earlier tenures to examine; newest first
 */
export function isQuiet(loads: readonly TenureLoad[], limits: TenureLimits): boolean {
  const [current, ...past] = loads;
  if (current === undefined || past.length < PAST_TENURES) return true;
  if (current.blocks >= MIN_CURRENT_BLOCKS && isBelow(current, limits, CURRENT_FULLNESS)) return true;
  return isBelow(weightedMean(past), limits, PAST_FULLNESS);
}

const FeeRequest = Type.Object({
  transaction_payload: Type.String(),
  estimated_len: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
});
const FeeAnswer = Type.Object({ estimations: Type.Array(Type.Object({ fee: Type.Number() })) });

/**
 * Replaces the fees in the node's answer by the minimum fee, in micro-STX.
 * @returns null if the request or the answer has another form
 */
export function withMinimumFees(answer: unknown, request: unknown): Static<typeof FeeAnswer> | null {
  if (!Value.Check(FeeAnswer, answer) || !Value.Check(FeeRequest, request)) return null;
  const digits = request.transaction_payload.replace(/^0x/, '');
  const fee = Math.max(request.estimated_len ?? 0, digits.length / 2);
  return { ...answer, estimations: answer.estimations.map((estimation) => ({ ...estimation, fee })) };
}
