/** Models of contracts: deployments, and searches by decoded values with their indexes. */
import type { TransactionStatus } from '../../chain/block.ts';
import { heightOf, positionsOf } from '../../chain/position.ts';
import type { TokenFamily } from '../../chain/token-contracts.ts';
import type { AbiFunction } from '../../codec/abi.ts';
import type { ValueCondition } from '../../codec/value-condition.ts';
import type { HeightSpan } from './block.ts';
import type { ListOrder } from './page.ts';
import type { TransactionPosition } from './transaction.ts';

/** Declared functions of a contract, by name. */
export type ContractFunctions = ReadonlyMap<string, AbiFunction>;

export interface DeclaredFunctions {
  functions: ContractFunctions;
  /** Height of the deployment's block; null if the block is orphaned. */
  height: number | null;
}

export interface ContractLog {
  contractId: string;
  txId: Uint8Array;
  eventIndex: number;
  topic: string;
  /** Serialized Clarity value. */
  value: Uint8Array;
}

/** A contract's newest mined deployment, or a pending one. */
export type Deployment =
  | { status: TransactionStatus; txId: Uint8Array; height: number }
  | { status: 'pending'; txId: Uint8Array };

/** A deployment as v1 shows it: of any fork, with any status. */
export interface ContractDeployment {
  contractId: string;
  txId: Uint8Array;
  canonical: boolean;
  height: number;
  clarityVersion: number | null;
  /** Wire bytes, with the source. */
  raw: Uint8Array;
  /** The node's JSON; null if it sent none, as for a deployment that failed. */
  contractInterface: string | null;
}

export interface SmartContract extends TransactionPosition {
  contractId: string;
  /** Null for a deployment that names no version. */
  clarityVersion: number | null;
  burnBlock: { height: number; time: number };
  /** Wire bytes of the deployment, with the source. */
  raw: Uint8Array;
}

/** Conditions and order of a directory of contracts. */
export interface ContractsFilter {
  /** Newest deployment first, or most calls of a day first: those without any are left out. */
  order: 'newest' | 'calls';
  /** The token standard that the contract implements; null for any. */
  family: TokenFamily | null;
}

export interface ListedContract {
  contractId: string;
  /** Null if no indexed transaction deployed it. */
  deployment: { height: number; time: number; txId: Uint8Array } | null;
  /** Number of calls in all indexed blocks. */
  calls: number;
  callsOfDay: number;
  family: TokenFamily | null;
}

export interface FieldFilter {
  /** Path of the field. The path of an argument starts with its function and its index. */
  path: string;
  /** The parameter of the request. */
  named: string;
  /** All must hold; at least one. */
  conditions: readonly ValueCondition[];
}

interface SearchFilter {
  order: ListOrder;
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

/** The contracts of a list of logs: some contracts, or all contracts that a standard principal deployed. */
export type LoggingContracts = { contracts: readonly string[] } | { deployer: string };

/** Which logs of several contracts a list has. */
export interface LogsFilter extends LogFilter {
  contracts: LoggingContracts;
  /** Origin of the transaction; null for any. */
  sender: string | null;
  /** Function that the transaction called, of any contract; null for any transaction. */
  functionName: string | null;
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

/** The contents of an index of decoded values. */
export type ValueSubject = 'logs' | 'calls';

/** An index of decoded values that an operator configured. */
export interface ValueIndexChoice {
  subject: ValueSubject;
  contract: string;
  /** A field of the logs, with all fields inside it, or a function; empty for all. */
  scope: string;
}

/** Position of an event: its transaction's position, and its index in the transaction (0 for a call). */
export interface EventPosition {
  position: number;
  eventIndex: number;
}

export interface ValueIndex extends ValueIndexChoice {
  id: number;
  /** Whether it is still configured. If not, its entries are being removed. */
  wanted: boolean;
  /** The index has the entries of this position and of all after it. */
  from: EventPosition;
}

/** Negative if `a` is before `b` in the chain. */
export const compared = (a: EventPosition, b: EventPosition): number =>
  a.position - b.position || a.eventIndex - b.eventIndex;

/** Whether an index has all entries, from the first block on. */
export const isWhole = ({ from }: ValueIndex): boolean => from.position === 0;

/** Returns the lowest height from which the index has all entries, up to its newest. */
export function lowestWholeHeight({ from: { position, eventIndex } }: ValueIndex): number {
  const height = heightOf(position);
  return eventIndex === 0 && position === positionsOf(height).first ? height : height + 1;
}
