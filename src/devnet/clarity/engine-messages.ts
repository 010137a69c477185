/** What the server and the process of the Clarity engine say to each other. Bytes are hex with 0x, amounts decimal texts. */

/** Micro-STX that an account gets. */
export interface Credit {
  address: string;
  amount: string;
}

/** What a transaction does, besides its fee. */
export type EngineAction =
  | { kind: 'transfer'; sender: string; recipient: string; amount: string }
  | { kind: 'deploy'; sender: string; name: string; source: string; clarityVersion: number | null }
  | { kind: 'call'; sender: string; contract: string; functionName: string; args: string[] };

/** A block, as the engine makes it: of Bitcoin and Stacks, or of Stacks alone with a transaction or without. */
export type EngineBlock =
  | { kind: 'tenure'; credits: Credit[] }
  | { kind: 'block'; credits: Credit[]; fee: { payer: string; amount: string } | null; action: EngineAction | null };

/** What came of an action. */
export type EngineOutcome =
  | { kind: 'returned'; result: string; events: string[]; costs: string; contractInterface: string | null }
  /** The transaction made no result: the engine's words. */
  | { kind: 'failed'; error: string };

/** Where the engine is, after a block. */
export interface EnginePosition {
  height: number;
  burnHeight: number;
  /** Unix seconds. */
  time: number;
}

/** What a read asks for. */
export type EngineRead =
  | { kind: 'call'; contract: string; functionName: string; args: string[]; sender: string }
  | { kind: 'variable'; contract: string; name: string }
  | { kind: 'entry'; contract: string; map: string; key: string }
  | { kind: 'source'; contract: string }
  /** Whether a contract has the functions of a trait, as `true` or `false`; null where either isn't there. */
  | { kind: 'trait'; contract: string; definedIn: string; trait: string };

/**
 * The engine's chains: one counts the costs of transactions, which takes some fifteen times as long. The quick one makes the chain
 * anew, reads from it, and makes blocks without transactions. The third one is for what the chain never has.
 */
export type EngineSession = 'counting' | 'quick' | 'aside';

export type ToEngine = { session: EngineSession } & EngineRequest;

type EngineRequest =
  /** A new chain, at block 1. `time` is its beginning in Unix seconds. */
  | { kind: 'begin'; epoch: string; time: number; credits: Credit[] }
  | { kind: 'blocks'; blocks: EngineBlock[] }
  | { kind: 'read'; read: EngineRead };

export type EngineAnswer =
  | ({ kind: 'begun' } & EnginePosition)
  /** `outcome` is of the last block; null where it has no action. */
  | ({ kind: 'made'; outcome: EngineOutcome | null } & EnginePosition)
  /** Null where there is no such thing. */
  | { kind: 'value'; value: string | null }
  | { kind: 'refused'; error: string };

/** The first message of the process. */
export type EngineReady = { kind: 'ready'; version: string } | { kind: 'unfit'; problem: string };
