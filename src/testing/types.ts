/** The types of `stackside/test`. */
import type { HookFilter } from './filters.ts';
import type { Value } from './values.ts';

export type { HookFilter } from './filters.ts';

/** Amounts are in micro-STX. */
export type Amount = bigint | number | string;

export interface DevnetOptions {
  /** Path of the executable. Default: STACKSIDE_EXECUTABLE, or the package's executable for this platform. */
  executable?: string;
  /** Port of the API. Default: a free port. */
  port?: number;
  /** Seed of the chain; the same seed and the same calls give the same chain. Default 1. */
  seed?: number;
  /** Number of blocks at the start, without a project. Default 1. */
  history?: number;
  /** Bitcoin height at which pox-5 replaces pox-4; the chain starts at 214. Default: never. */
  pox5Height?: number;
  /**
   * Directory of a Clarinet project. Its contracts and transactions are executed, and its accounts have their names.
   * The project must have @stacks/clarinet-sdk installed. Default: contracts are simulated.
   */
  clarity?: string;
  /** URL of a node or a Stackside that missing requirements of the project (`clarity`) are downloaded from. Default: none. */
  fork?: string;
  /** File to continue the chain of the project (`clarity`) from. The chain writes it when it stops. Default: none. */
  state?: string;
  /** Whether `sender` can be any address, without its key. Default: only accounts of the project and of `chain.account()`. */
  unsafeImpersonate?: boolean;
  /** Default limit of waits, in milliseconds. Default 180,000, and 4,000 for a delivery. */
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
  /** Transaction ids. */
  transactions: string[];
}

export interface Fork {
  /** The blocks of the new branch, oldest first. */
  blocks: Block[];
  /** The blocks that left the chain, oldest first. */
  orphaned: Block[];
  /** Ids of transactions that are pending again. */
  pending: string[];
}

/** The fork that brought the chain back to an earlier state. */
export type Reverted = Omit<Fork, 'pending'>;

/** A transaction that was mined in a separate block. */
export interface Sent<V extends Value = Value> {
  tx_id: string;
  /** `success`, or `abort_by_response` and similar. */
  status: string;
  /** The result, such as `{ ok: 5n }`. */
  value: V;
  /** The result as Clarity shows it, such as `(ok u5)`. */
  repr: string;
  /** Runtime error of the contract; null if there is none. */
  error: string | null;
  sender: string;
  block: Block;
  /** Why a call of a Clarinet project's contract failed; null if it succeeded, or contracts are simulated. */
  failure: Failure | null;
}

/** Why a call failed. */
export interface Failure {
  /** The `asserts!`, `unwrap!`, `try!` or other expression that made the error; null if it can't be known. */
  place: { contract: string; line: number; column: number; expression: string } | null;
  /** The calls of functions with arguments and results. */
  trace: string;
  /** Runtime cost of each function, without the functions that it calls. */
  costs: { function: string; runtime: number }[];
}

export interface Deployed extends Sent {
  /** Address of the deployer, a dot and the name. */
  contract_id: `${string}.${string}`;
}

/** The types of a function: literals of its arguments, and its result. */
export interface FunctionTypes {
  args: readonly string[];
  value: Value;
}

/** The types of contracts, by name, for {@link Devnet.call} and {@link Devnet.read}. */
export type ContractTypes = Readonly<
  Record<string, { calls: Readonly<Record<string, FunctionTypes>>; reads: Readonly<Record<string, FunctionTypes>> }>
>;

/** The parameters after a function's name. */
type Rest<F extends FunctionTypes> = [] extends F['args']
  ? [args?: Readonly<F['args']>, options?: Sender]
  : [args: Readonly<F['args']>, options?: Sender];

export interface Account {
  name: string;
  address: string;
  /** Private key in hex with the byte of compressed keys, as for `@stacks/transactions`. Anybody can compute it. */
  private_key: string;
}

/**
 * The sender: an account of the project or of `chain.account()`, or its name or address. With `unsafeImpersonate`, any address.
 * Default: the faucet.
 */
export interface Sender {
  sender?: string | Pick<Account, 'name'>;
}

/** An account, its name, or a principal. */
export type Owner = string | Pick<Account, 'address'>;

export type TransactionStatus = 'success' | 'abort_by_response' | 'abort_by_post_condition' | 'problematic_skipped';

export type TenureChangeCause =
  | 'block_found'
  | 'extended'
  | 'extended_runtime'
  | 'extended_read_count'
  | 'extended_read_length'
  | 'extended_write_count'
  | 'extended_write_length';

/** Options of a chainhook. Default: Clarity values are decoded, and the chainhook is enabled. */
export interface HookOptions {
  decode_clarity_values?: boolean | null;
  include_contract_abi?: boolean | null;
  include_contract_source_code?: boolean | null;
  include_post_conditions?: boolean | null;
  include_raw_transactions?: boolean | null;
  include_block_metadata?: boolean | null;
  include_block_signatures?: boolean | null;
  enable_on_registration?: boolean | null;
  /** Number of evaluated blocks after which the chainhook expires; 0 and null mean no limit. */
  expire_after_evaluations?: number | null;
  /** Number of matching blocks after which the chainhook expires; 0 and null mean no limit. */
  expire_after_occurrences?: number | null;
}

export interface HookDefinition<O extends HookOptions = HookOptions> {
  name?: string;
  filters: { events: readonly HookFilter[] };
  options?: O;
}

/** A decoded Clarity value. */
export interface DecodedValue {
  hex: string;
  repr: string;
  type: string;
}

/** A Clarity value; as hex if the chainhook has `decode_clarity_values: false`. */
export type HookValue = DecodedValue | string;

/** The form of Clarity values for a chainhook's options; both forms if the types don't determine the option. */
export type ValueOf<O extends HookOptions> = O extends { decode_clarity_values: false }
  ? string
  : O extends { decode_clarity_values?: true | null | undefined }
    ? DecodedValue
    : HookValue;

type ArgumentsOf<V extends HookValue> = V extends string ? string : (DecodedValue & { name: string })[];

interface HookAccount {
  account: { address: string };
}
interface StxAmount {
  /** `value` is negative if the account lost the amount. */
  amount: { value: string; currency: { symbol: 'STX'; decimals: 6 } };
}
interface TokenAmount {
  amount: {
    value: string;
    currency: {
      symbol: string;
      decimals: number;
      metadata:
        | { token_type: 'ft'; asset_identifier: string }
        | { token_type: 'nft'; asset_identifier: string; value: string };
    };
  };
}
/** A memo as text and hex; only hex if values aren't decoded. */
interface Memo {
  memo: string | null;
  memo_hex?: string;
}

/** Common members of operations. */
interface Numbered {
  operation_identifier: { index: number };
  status: TransactionStatus;
}

/** An operation of a transaction; its members depend on `type`. */
export type HookOperation<V extends HookValue = HookValue> = Numbered &
  (
    | ({ type: 'fee'; metadata: { sponsored: boolean } } & HookAccount & StxAmount)
    | ({ type: 'token_transfer'; metadata?: Memo } & HookAccount & (StxAmount | TokenAmount))
    | ({ type: 'token_mint' | 'token_burn' } & HookAccount & (StxAmount | TokenAmount))
    | ({
        type: 'contract_call';
        metadata: { contract_identifier: string; function_name: string; args: ArgumentsOf<V> };
      } & HookAccount)
    | ({
        type: 'contract_deploy';
        metadata: {
          contract_identifier: string;
          clarity_version: number | null;
          source_code?: string;
          /** JSON. */
          abi?: string;
        };
      } & HookAccount)
    | { type: 'contract_log'; metadata: { contract_identifier: string; topic: string; value: V } }
    | ({
        type: 'stx_lock';
        metadata: { unlock_height: number; locked_address: string; contract_name: string };
      } & HookAccount &
        StxAmount)
    | ({ type: 'coinbase'; metadata: { alt_recipient: string | null; vrf_proof: string | null } } & HookAccount)
    | {
        type: 'tenure_change';
        metadata: {
          tenure_consensus_hash: string;
          prev_tenure_consensus_hash: string;
          burn_view_consensus_hash: string;
          previous_tenure_end: string;
          previous_tenure_blocks: number;
          cause: TenureChangeCause;
          pubkey_hash: string;
        };
      }
    | ({
        type: 'poison_microblock';
        metadata: { microblock_header_1: string; microblock_header_2: string };
      } & HookAccount)
  );

export interface HookTransaction<V extends HookValue = HookValue> {
  transaction_identifier: { hash: string };
  operations: HookOperation<V>[];
  metadata: {
    canonical: boolean;
    microblock_canonical: boolean;
    execution_cost: ExecutionCost;
    /** The whole fee, in micro-STX, despite its name. */
    fee_rate: string;
    nonce: number;
    type: string;
    position: { index: number; microblock_identifier: { index: number; hash: string } | null };
    result: V;
    sender_address: string;
    sponsor_address: string | null;
    sponsored: boolean;
    status: TransactionStatus;
    vm_error: string | null;
    post_conditions?: object;
    raw_tx?: string;
  };
}

export interface ExecutionCost {
  read_count: number;
  read_length: number;
  runtime: number;
  write_count: number;
  write_length: number;
}

export interface HookBlock<V extends HookValue = HookValue> {
  block_identifier: { index: number; hash: string };
  parent_block_identifier: { index: number; hash: string };
  timestamp: number;
  metadata?: Record<string, unknown> | null;
  transactions: HookTransaction<V>[];
}

export interface HookPayload<V extends HookValue = HookValue> {
  chainhook: { uuid: string; name: string };
  event: { chain: string; network: string; apply: HookBlock<V>[]; rollback: HookBlock<V>[] };
}

/** The answer of the receiver to deliveries. */
export interface ReceiverAnswer {
  /** Status of the answer, from 200 to 599. 2xx accepts the delivery, any other status fails it. Default 204. */
  status?: number;
  /** Milliseconds until the answer. Default 0. */
  delayMs?: number;
  /** Whether the receiver reads the request and never answers. */
  hangs?: boolean;
  /** Number of deliveries with this answer. Later ones are accepted at once. Default: all until the next call. */
  times?: number;
}

/** An attempt of a delivery with a verified signature. */
export interface Delivery<V extends HookValue = HookValue> {
  /** The `webhook-id`, the same for every attempt. */
  id: string;
  /** Uuid of the chainhook. */
  hook: string;
  headers: Record<string, string>;
  /** The exact signed text. */
  body: string;
  payload: HookPayload<V>;
  /** Status of the receiver's answer; null if it hangs. */
  answer: number | null;
  /** Returns the delivery as a request to your handler. @param url of your handler; default: the receiver's */
  request(url?: string): Request;
}

export interface Limit {
  /** Milliseconds. Default 4,000, or the `limitMs` of `startDevnet`. */
  limitMs?: number;
}

/** A registered chainhook. */
export interface Hook<V extends HookValue = HookValue> {
  uuid: string;
  /** Parts of the definition that are probably a mistake, such as a filter that can never match. */
  warnings: readonly string[];
  /** Waits for the next delivery of this chainhook. @throws DevnetError at the limit */
  next(limit?: Limit): Promise<Delivery<V>>;
}

export interface Hooks {
  /** Registers a chainhook that delivers to the chain's receiver. */
  add<const O extends HookOptions = Record<never, never>>(definition: HookDefinition<O>): Promise<Hook<ValueOf<O>>>;
  /** Waits for the next delivery of any chainhook. Each delivery is returned once. @throws DevnetError at the limit */
  next(limit?: Limit): Promise<Delivery>;
  /**
   * Sets the receiver's answer from now on. Without an argument, the receiver accepts deliveries at once again.
   * @throws DevnetError for a wrong member
   */
  answer(answer?: ReceiverAnswer): void;
  /** Returns the secret that signs deliveries, for your handler (`whsec_…`). */
  secret(): Promise<string>;
}

/** A simulated chain with an API. Every call resolves after the index contains the blocks. */
export interface Devnet<C extends ContractTypes = ContractTypes> extends AsyncDisposable {
  /** URL of the API and of the node's routes. */
  readonly url: string;
  readonly hooks: Hooks;
  /** Mines blocks with the pending transactions. @param count default 1 @param transactions signed transactions in hex */
  mine(count?: number, transactions?: readonly string[]): Promise<Block[]>;
  /** Replaces the newest blocks by a branch that is one block longer. @param depth default 1 */
  fork(depth?: number): Promise<Fork>;
  /** Makes Bitcoin blocks. Each starts a tenure. @param count default 1 */
  bitcoin(count?: number): Promise<Block[]>;
  /** Moves the time of the next block forward. @param seconds a whole number */
  advance(seconds: number): Promise<void>;
  /** Returns the newest block. */
  tip(): Promise<Block>;
  /** Names the current state. You can `revert` to it any number of times. @param name default `default` */
  snapshot(name?: string): Promise<void>;
  /**
   * Goes back to a named state, or to the state after one of the last 100 blocks, by an empty branch that is longer
   * than the chain. All pending transactions and those of the replaced blocks are dropped. Chainhooks are notified of the
   * rollback. A named state also removes the chainhooks that were added after it, restores the receiver's answer, and
   * drops the deliveries since then that wait for `next()`.
   * @param to default the snapshot `default`
   */
  revert(to?: string | Pick<Block, 'index_block_hash'>): Promise<Reverted>;
  /**
   * Returns the account of a Clarinet project, or makes an account with a name of your choice that the faucet funds. If the
   * project has no account with this name, an amount is required.
   * @param amount of a new account; default 1,000 STX
   */
  account(name: string, amount?: Amount): Promise<Account>;
  /**
   * Returns a balance: micro-STX, or base units of a fungible token.
   * @param owner account, name of an account or a contract, or principal
   * @param asset such as `token::gold`, with the contract's name or identifier
   */
  balance(owner: Owner, asset?: string): Promise<bigint>;
  /** Sends micro-STX. @param recipient account, name of an account, or principal */
  transfer(recipient: Owner, amount: Amount, options?: Sender & { memo?: string }): Promise<Sent>;
  /**
   * Deploys a contract. The default name is `contract-1`, `contract-2` and so on.
   * @throws DevnetError `not_deployed` if the deployment fails
   */
  deploy(source: string, options?: Sender & { name?: string; clarityVersion?: number }): Promise<Deployed>;
  /**
   * Calls a public function.
   * @param contract name of a deployed contract, or its identifier
   * @param rest literals such as `u1`, or `0x` and a serialized Clarity value; then options
   */
  call<N extends keyof C & string, F extends keyof C[N]['calls'] & string>(
    contract: N,
    name: F,
    ...rest: Rest<C[N]['calls'][F]>
  ): Promise<Sent<C[N]['calls'][F]['value']>>;
  call(contract: `${string}.${string}`, name: string, args?: readonly string[], options?: Sender): Promise<Sent>;
  /** Calls a read-only function on the newest block. The parameters are as for `call`. @throws DevnetError if it fails */
  read<N extends keyof C & string, F extends keyof C[N]['reads'] & string>(
    contract: N,
    name: F,
    ...rest: Rest<C[N]['reads'][F]>
  ): Promise<C[N]['reads'][F]['value']>;
  read(contract: `${string}.${string}`, name: string, args?: readonly string[], options?: Sender): Promise<Value>;
  /** Returns a transaction of one of the last 100 blocks, for transactions that your app broadcasts. @throws DevnetError */
  transaction(txId: string): Promise<Sent>;
  /** Ends the chain and removes its files. */
  stop(): Promise<void>;
}
