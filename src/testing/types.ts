/** What test support gives to tests of apps. */

/** Amounts are in micro-STX. */
export type Amount = bigint | number | string;

export interface DevnetOptions {
  /** The path of the executable. Default: STACKSIDE_EXECUTABLE, or else the package's own for this platform. */
  executable?: string;
  /** The port of the API. Default: a free one. */
  port?: number;
  /** Seed of the chain; the same seed and the same calls give the same chain. Default 1. */
  seed?: number;
  /** Blocks that the chain has from the start. Default 1. */
  history?: number;
  /** The limit of every wait, in milliseconds, unless the call names another. Default 60,000. */
  limitMs?: number;
}

export interface Block {
  height: number;
  hash: string;
  index_block_hash: string;
  parent_index_block_hash: string | null;
  /** Unix seconds. */
  time: number;
  tenure_height: number;
  bitcoin_height: number;
  bitcoin_hash: string;
  /** Ids. */
  transactions: string[];
}

export interface Fork {
  /** The blocks of the new branch, oldest first. */
  blocks: Block[];
  /** The blocks that left the chain, oldest first. */
  orphaned: Block[];
  /** Ids of transactions that wait again. */
  pending: string[];
}

/** A transaction that was mined in a block of its own. */
export interface Sent {
  tx_id: string;
  /** `success`, or `abort_by_response` and similar. */
  status: string;
  /** The serialized Clarity value, in hex. */
  result: string;
  /** Why a contract failed at run time. */
  error: string | null;
  sender: string;
  block: Block;
}

export interface Deployed extends Sent {
  /** The address of the deployer, a dot and the name. */
  contract_id: string;
}

export interface Account {
  name: string;
  address: string;
  /** Hex with the byte of a compressed key, as `@stacks/transactions` takes it. Anybody can compute the key. */
  private_key: string;
}

/** Who signs: the name of an account of `chain.account()`. Default: the faucet. */
export interface Sender {
  sender?: string;
}

/** A filter of chainhooks, such as `{ type: 'stx_transfer', sender: 'ST…' }`. */
export interface HookFilter {
  type: string;
  [parameter: string]: unknown;
}

export interface HookDefinition {
  name?: string;
  filters: { events: readonly HookFilter[] };
  /** Options of the chainhook. Default: Clarity values are decoded. */
  options?: Readonly<Record<string, unknown>>;
}

export interface HookTransaction {
  transaction_identifier: { hash: string };
  operations: Record<string, unknown>[];
  metadata: Record<string, unknown>;
}

export interface HookBlock {
  block_identifier: { index: number; hash: string };
  parent_block_identifier: { index: number; hash: string };
  timestamp: number;
  metadata?: Record<string, unknown> | null;
  transactions: HookTransaction[];
}

export interface HookPayload {
  chainhook: { uuid: string; name: string };
  event: { chain: string; network: string; apply: HookBlock[]; rollback: HookBlock[] };
}

/** A delivery whose signature was verified. */
export interface Delivery {
  /** The `webhook-id`: the same for every attempt. */
  id: string;
  /** The uuid of the chainhook. */
  hook: string;
  headers: Record<string, string>;
  /** The exact text that was signed. */
  body: string;
  payload: HookPayload;
  /** The delivery as a request to your handler. @param url of your handler; its default is the receiver's */
  request(url?: string): Request;
}

export interface Limit {
  /** Milliseconds. */
  limitMs?: number;
}

/** A registered chainhook. */
export interface Hook {
  uuid: string;
  /** Waits for the next delivery of this chainhook. @throws DevnetError at the limit */
  next(limit?: Limit): Promise<Delivery>;
}

export interface Hooks {
  /** Registers a chainhook that delivers to the chain's own receiver. */
  add(definition: HookDefinition): Promise<Hook>;
  /** Waits for the next delivery of any chainhook. Each delivery is returned once. @throws DevnetError at the limit */
  next(limit?: Limit): Promise<Delivery>;
  /** The secret that signs deliveries, for your handler (`whsec_…`). */
  secret(): Promise<string>;
}

/** A simulated chain with the API beside it. Every call resolves once the index has the blocks. */
export interface Devnet extends AsyncDisposable {
  /** The address of the API and of the node's routes. */
  readonly url: string;
  readonly hooks: Hooks;
  /** Mines blocks with what waits. @param count default 1 @param transactions hex of signed transactions */
  mine(count?: number, transactions?: readonly string[]): Promise<Block[]>;
  /** Replaces the newest blocks by a branch that is one block longer. @param depth default 1 */
  fork(depth?: number): Promise<Fork>;
  /** Makes Bitcoin blocks, each with a tenure that begins. @param count default 1 */
  bitcoin(count?: number): Promise<Block[]>;
  /** Moves the time of the next block on. @param seconds a whole number */
  advance(seconds: number): Promise<void>;
  /** An account by a name of your choice, which the faucet funds the first time. @param amount default 1,000 STX */
  account(name: string, amount?: Amount): Promise<Account>;
  /** Sends micro-STX. */
  transfer(recipient: string, amount: Amount, options?: Sender & { memo?: string }): Promise<Sent>;
  /** Deploys a contract. The name is `contract-1`, `contract-2` and so on unless it is given. */
  deploy(source: string, options?: Sender & { name?: string; clarityVersion?: number }): Promise<Deployed>;
  /** Calls a public function. @param args literals such as `u1`, or `0x` and a serialized Clarity value */
  call(contract: string, name: string, args?: readonly string[], options?: Sender): Promise<Sent>;
  /** Ends the chain, which leaves nothing behind. */
  stop(): Promise<void>;
}
