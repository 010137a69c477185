/** Logs and calls of a contract, as they are asked for and found by their decoded values. */
import type { TransactionStatus } from '../../chain/block.ts';
import type { ValueCondition } from '../../codec/value-condition.ts';
import type { ContractLog } from './contract.ts';

/** A field and what it must be. */
export interface FieldFilter {
  /** Where the field stands; that of an argument begins with its function and its place. */
  path: string;
  /** What the request calls it. */
  named: string;
  /** All must hold; there is at least one. */
  conditions: readonly ValueCondition[];
}

/** Null for the first block, and for the tip. Both belong to the span. */
export interface HeightSpan {
  from: number | null;
  to: number | null;
}

interface SearchFilter {
  heights: HeightSpan;
  fields: readonly FieldFilter[];
}

export interface LogFilter extends SearchFilter {
  topic: string | null;
}

export interface CallFilter extends SearchFilter {
  functionName: string | null;
  /** Null for all. */
  statuses: readonly TransactionStatus[] | null;
}

export interface FoundLog extends ContractLog {
  height: number;
  /** Unix seconds. */
  time: number;
}

export interface FoundCall {
  txId: Uint8Array;
  height: number;
  /** Unix seconds. */
  time: number;
  sender: string;
  sponsor: string | null;
  status: TransactionStatus;
  functionName: string;
  /** u32 count, then the serialized values. */
  functionArgs: Uint8Array;
  /** Serialized Clarity value. */
  result: Uint8Array;
}
