/** Contracts as queries answer them: deployments, functions and logs. */
import type { TransactionStatus } from '../../chain/block.ts';
import type { AbiFunction } from '../../codec/abi.ts';
import type { TransactionPlace } from './transaction.ts';

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
export interface SmartContract extends TransactionPlace {
  contractId: string;
  /** Null for a deployment that names no version. */
  clarityVersion: number | null;
  burnBlock: { height: number; time: number };
  /** Wire bytes of the deployment, with the source. */
  raw: Uint8Array;
}
