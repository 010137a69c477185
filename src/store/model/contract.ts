/** What queries of contracts answer: deployments, and searches by decoded values with the indexes that they use. */
import type { TransactionStatus } from '../../chain/block.ts';
import { heightOf, positionsOf } from '../../chain/position.ts';
import type { AbiFunction } from '../../codec/abi.ts';
import type { ValueCondition } from '../../codec/value-condition.ts';
import type { TransactionPosition } from './transaction.ts';

/** How a contract declares its functions, by their names. */
export type ContractFunctions = ReadonlyMap<string, AbiFunction>;

export interface ContractLog {
  txId: Uint8Array;
  eventIndex: number;
  topic: string;
  /** Serialized Clarity value. */
  value: Uint8Array;
}

/** What became of a contract's newest deployment, or of one that waits. */
export type Deployment =
  | { status: TransactionStatus; txId: Uint8Array; height: number }
  | { status: 'pending'; txId: Uint8Array };

/** A deployment as v1 shows it: of any fork, and whatever came of it. */
export interface ContractDeployment {
  contractId: string;
  txId: Uint8Array;
  canonical: boolean;
  height: number;
  clarityVersion: number | null;
  /** Wire bytes, with the source. */
  raw: Uint8Array;
  /** The node's JSON; null where it sent none, as for a deployment that failed. */
  contractInterface: string | null;
}

/** A contract that is deployed. */
export interface SmartContract extends TransactionPosition {
  contractId: string;
  /** Null for a deployment that names no version. */
  clarityVersion: number | null;
  burnBlock: { height: number; time: number };
  /** Wire bytes of the deployment, with the source. */
  raw: Uint8Array;
}

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

/** What is found by them. */
export type ValueSubject = 'logs' | 'calls';

/** What an operator asks for. */
export interface ValueIndexChoice {
  subject: ValueSubject;
  contract: string;
  /** A field of the logs, with all fields inside it, or a function; empty for all. */
  scope: string;
}

/** A place in the chain: a transaction and an event of it, which is 0 for a call. */
export interface EventPosition {
  position: number;
  eventIndex: number;
}

/** An index as it stands. */
export interface ValueIndex extends ValueIndexChoice {
  id: number;
  /** Whether the operator still asks for it; else its entries are being removed. */
  wanted: boolean;
  /** The index has the entries of all that stands here or behind. */
  from: EventPosition;
}

/** Less than zero where the first is before the second in the chain. */
export const compared = (a: EventPosition, b: EventPosition): number =>
  a.position - b.position || a.eventIndex - b.eventIndex;

/** Whether an index has all entries, from the first block on. */
export const isWhole = ({ from }: ValueIndex): boolean => from.position === 0;

/** The height from which on an index has all entries. */
export function lowestWholeHeight({ from: { position, eventIndex } }: ValueIndex): number {
  const height = heightOf(position);
  return eventIndex === 0 && position === positionsOf(height).first ? height : height + 1;
}
