/** Messages between the server and the process of the Clarity engine. Bytes are hex with 0x, amounts decimal texts. */

import type { Mint } from '../transaction.ts';
import type { TraceReport } from './failure.ts';

/** Micro-STX that an account receives. */
export interface Credit {
  address: string;
  amount: string;
}

/** The action of a transaction, in addition to its fee. */
export type EngineAction =
  /** `mint`: fungible tokens that the recipient of the mint gets in addition. */
  | { kind: 'transfer'; sender: string; recipient: string; amount: string; mint: Mint | null }
  | { kind: 'deploy'; sender: string; name: string; source: string; clarityVersion: number | null }
  | { kind: 'call'; sender: string; contract: string; functionName: string; args: string[] };

/**
 * A block in the engine's form: either a tenure of Bitcoin and Stacks, or a Stacks block with or without a transaction.
 */
export type EngineBlock =
  | { kind: 'tenure'; credits: Credit[] }
  | { kind: 'block'; credits: Credit[]; fee: { payer: string; amount: string } | null; action: EngineAction | null };

/** The result of an action. */
export type EngineOutcome =
  | { kind: 'returned'; result: string; events: string[]; costs: string; contractInterface: string | null }
  /** The transaction has no result: the engine's error. */
  | { kind: 'failed'; error: string };

/** Position of the engine after a block. */
export interface EnginePosition {
  height: number;
  burnHeight: number;
  /** Unix seconds. */
  time: number;
}

/** The value to read. */
export type EngineRead =
  | { kind: 'call'; contract: string; functionName: string; args: string[]; sender: string }
  | { kind: 'variable'; contract: string; name: string }
  | { kind: 'entry'; contract: string; map: string; key: string }
  | { kind: 'source'; contract: string }
  /** Whether a contract has the functions of a trait, as `true` or `false`; null if either doesn't exist. */
  | { kind: 'trait'; contract: string; definedIn: string; trait: string };

/**
 * The engine's chains. `counting` counts the costs of transactions, which takes some fifteen times as long. `quick`
 * builds the chain again, reads from it, and makes blocks without transactions. `aside` is for blocks that the chain
 * never contains. `traced` reports every expression that it evaluates.
 */
export type EngineSession = 'counting' | 'quick' | 'aside' | 'traced';

export type ToEngine = { session: EngineSession } & EngineRequest;

type EngineRequest =
  /** Starts a new chain, at block 1. `time` is its start in Unix seconds. */
  | { kind: 'begin'; epoch: string; time: number; credits: Credit[] }
  | { kind: 'blocks'; blocks: EngineBlock[] }
  | { kind: 'read'; read: EngineRead }
  /** Reads a project's files from this message, and reports its first error with the place in a file. */
  | { kind: 'check'; files: Readonly<Record<string, string>>; manifest: string }
  /** Makes a block, and reports its evaluation. `withCosts` adds every evaluated expression. */
  | { kind: 'trace'; block: EngineBlock; withCosts: boolean };

export type EngineAnswer =
  | ({ kind: 'begun' } & EnginePosition)
  /** `outcome` belongs to the last block; null if the block has no action. */
  | ({ kind: 'made'; outcome: EngineOutcome | null } & EnginePosition)
  /** Null if the value doesn't exist. */
  | { kind: 'value'; value: string | null }
  | ({ kind: 'traced' } & TraceReport)
  /** Null if the project has no error. */
  | { kind: 'checked'; error: string | null }
  | { kind: 'refused'; error: string };

/** The first message of the process. */
export type EngineReady = { kind: 'ready'; version: string } | { kind: 'unfit'; problem: string };
