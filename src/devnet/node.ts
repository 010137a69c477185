/**
 * A running simulated node. It posts the events of its chain to an observer, accepts transactions, mines at intervals,
 * and follows the commands of tests.
 */
import { type Clock, pause } from '../base/clock.ts';
import { type Loop, startLoop } from '../base/service.ts';
import { atMost } from '../base/turns.ts';
import { DecodeError, decodedOrThrow } from '../codec/bytes-reader.ts';
import { fromHex, toHex } from '../codec/hex.ts';
import { decodeTransaction } from '../codec/transaction.ts';
import { ParameterError } from '../http/errors.ts';
import { type AdmissionView, admit, Pool, Rejection } from './admission.ts';
import type { Block } from './block.ts';
import type { BurnBlock } from './burn-chain.ts';
import { type MineOptions, SimulatedChain } from './chain.ts';
import { type ClarityMiner, withoutResult } from './clarity/miner.ts';
import type { SavedChain, SavedTransaction } from './clarity/state.ts';
import { isMinable } from './execute.ts';
import { MAX_BLOCKS, MAX_CYCLES, MAX_FORK_DEPTH, MAX_MINTED, MAX_STEP } from './limits.ts';
import { type Network, networks } from './network.ts';
import { NodeAccounts } from './node-accounts.ts';
import { type NodeEvent, nodeEvent, type ObserverOptions, observer, postEvent } from './node-event.ts';
import { Scenario } from './scenario.ts';
import {
  hasOneSignature,
  type Mint,
  type SignedTransaction,
  signTransaction,
  tokenTransfer,
  withFee,
} from './transaction.ts';
import { type Account, impersonate } from './wallet.ts';

export interface NodeOptions {
  readonly seed: number;
  /** Seconds between two blocks; 0 to mine only on command. */
  readonly interval: number;
  /**
   * Whether the chain has this machine's time. Otherwise, time passes only on the chain, so that equal commands make
   * equal bytes. Default: with an interval.
   */
  readonly isInRealTime?: boolean;
  /** Number of blocks at the start. */
  readonly history: number;
  /** Average transactions of simulated users per block. */
  readonly traffic: number;
  /** Burn height at which pox-5 replaces pox-4; null for never. */
  readonly pox5Height?: number | null;
  readonly clock: Clock;
  /** Executes the contracts. If it is set, only the network is simulated. */
  readonly clarity?: ClarityMiner;
  /** Named accounts of the network, in addition to the seed's accounts. */
  readonly accounts?: readonly (Account & { readonly name: string })[];
  /** Whether the operator may send transactions of any account without its key. Default false. */
  readonly impersonates?: boolean;
  /** Whether to mine a transaction as soon as it arrives. Default false. */
  readonly automine?: boolean;
  /** A second observer that also receives the node's events. */
  readonly otherObserver?: ObserverOptions | undefined;
  /** A chain to mine again in place of the blocks at the start; only with an engine. */
  readonly saved?: SavedChain | undefined;
}

/** The sender of a transaction. */
export interface Signing {
  readonly account: Account;
  /** False for an impersonated account, since the simulated node doesn't have its key. */
  readonly isSigned: boolean;
}

/** A contract's payload, with its sender. */
export interface Deployment extends Signing {
  readonly payload: Uint8Array;
  /** Network of the account's address. */
  readonly network: Network;
}

/** Thrown if the engine refuses a deployment. */
export class RefusedDeployment extends Error {
  override readonly name = 'RefusedDeployment';
  /** @param index of the deployment */
  constructor(
    readonly index: number,
    message: string,
  ) {
    super(message);
  }
}

/** Thrown if a saved chain can't be mined again as it was. */
export class UnlikeSavedError extends Error {
  override readonly name = 'UnlikeSavedError';
}

/** Thrown if the node rejects a transaction of a request. */
export class RefusedTransaction extends ParameterError {
  /**
   * @param path empty if the request doesn't contain the transaction
   * @param reason the node's name for the reason, such as `NotEnoughFunds`
   * @param details of the node; empty for none
   */
  constructor(
    path: readonly string[],
    readonly reason: string,
    details: string,
  ) {
    const rule = `is refused: ${details === '' ? reason : `${reason}: ${details}`}`;
    super({ location: 'body', path }, (field) => `${path.length === 0 ? 'The transaction' : field} ${rule}`);
  }
}

/** Returns the node's details of a rejection: a message alone as text, others as JSON; empty for none. */
function detailsOf({ data = {} }: Rejection): string {
  const { message, ...others } = data as { message?: unknown };
  if (Object.keys(others).length > 0) return JSON.stringify(data);
  return message === undefined ? '' : String(message);
}

/** Admits a transaction as {@link admit}. @param refusal returns the error to throw for a rejection */
function admitOr(refusal: (rejection: Rejection) => Error, ...parameters: Parameters<typeof admit>): SignedTransaction {
  try {
    return admit(...parameters);
  } catch (error) {
    throw error instanceof Rejection ? refusal(error) : error;
  }
}

/** Returns the error for a field of a request. @param rule that follows the field's name */
const fieldError = (field: string, rule: string): ParameterError =>
  new ParameterError({ location: 'body', path: [field] }, rule);

interface Fork {
  /** The blocks of the new branch, oldest first. */
  readonly blocks: readonly Block[];
  /** The blocks that left the chain, oldest first; empty if the new branch lost. */
  readonly orphaned: readonly Block[];
  /** Ids of transactions that are pending again. */
  readonly pending: readonly string[];
}

/** Facts about a transaction that its bytes don't show. */
interface Submission {
  /** False if the node signed it without the account's key. Default true. */
  readonly isSigned?: boolean;
  /** Tokens that the transaction mints. */
  readonly mint?: Mint | undefined;
}

/** Distance to mine: a number of steps, or up to a height or cycle. */
export type Distance = { readonly count: number } | { readonly until: number };

/** Distance to move the time: by seconds, or to a time in Unix seconds. */
type Move = { readonly seconds?: number | undefined; readonly until_time?: number | undefined };

/** A block by its index block hash, or by the name of a snapshot of the state after it. */
type BlockReference = { readonly index_block_hash?: string | undefined; readonly snapshot?: string | undefined };

/** A state that the chain can go back to. */
interface ChainState {
  readonly block: Block;
  readonly shift: TimeShift;
}

/** A transaction that the node signed, and its block. */
interface Mined {
  readonly id: string;
  readonly block: Block;
}

/** How commands have moved the chain's time. */
interface TimeShift {
  /** Seconds that commands added to this machine's time. */
  readonly skipped: number;
  /** Minimum time of the next block, in Unix seconds; 0 with an engine, because a command then mines up to the time. */
  readonly earliest: number;
}

/** Average simulated seconds per block, rounded up, so that the history ends shortly before the present. */
const SECONDS_PER_BLOCK = 200;
/** Maximum number of removed snapshots that errors can explain. */
const MAX_REMOVED_NAMES = 100;
/** Fee in micro-STX of a token transfer, and minimum fee of other transactions that the node signs. */
const BASE_FEE = 1_000n;
/** Returns the fee in micro-STX of a transaction that the node signs: above the minimum, which is its length. */
const feeOf = (payload: Uint8Array): bigint => {
  const twice = 2n * BigInt(payload.length);
  return twice > BASE_FEE ? twice : BASE_FEE;
};
/** Options for blocks on command, without random behavior. */
const quietly: MineOptions = { transactions: 0, quiet: true };

export class SimulatedNode {
  readonly chain: SimulatedChain;
  /** Executes the contracts; undefined if they are simulated. */
  readonly clarity: ClarityMiner | undefined;
  readonly accounts: NodeAccounts;
  readonly #scenario: Scenario;
  readonly #pool = new Pool();
  readonly #clock: Clock;
  /** Whether time passes only on the chain. */
  readonly #usesChainTime: boolean;
  readonly #mining = atMost(1);
  readonly #posting = atMost(1);
  readonly #stopping = new AbortController();
  readonly #other: ((event: NodeEvent) => void) | null;
  #eventsUrl = '';
  /** Mines at intervals; null until the history is posted. */
  #loop: Loop | null = null;
  /** The last tip that the observer received. */
  #announced: Block;
  #interval: number;
  /** Number of waiting commands. If there are any, the current block is announced at once. */
  #waitingCommands = 0;
  #hurry = new AbortController();
  #shift: TimeShift = { skipped: 0, earliest: 0 };
  /** The shift of the time when each block was mined. */
  readonly #shifts = new WeakMap<Block, TimeShift>();
  /** Time at which the next block is due at the interval, in milliseconds of the monotonic clock; null if no block is due. */
  #dueAt: number | null = null;
  readonly #snapshots = new Map<string, ChainState>();
  /** Height of the branch that removed a snapshot, by its name; the names that were removed last. */
  readonly #removedSnapshots = new Map<string, number>();

  constructor(readonly options: NodeOptions) {
    const { seed, interval, history, traffic, pox5Height, clock, clarity } = options;
    this.#clock = clock;
    this.#interval = interval;
    this.#usesChainTime = !(options.isInRealTime ?? interval !== 0);
    this.clarity = clarity;
    this.#other = options.otherObserver === undefined ? null : observer(options.otherObserver, this.#stopping.signal);
    this.chain = new SimulatedChain({
      seed,
      transactionsPerBlock: traffic,
      semiFungible: true,
      // An engine keeps all blocks, too. Another Stackside may request blocks far below the tip, to fill its index.
      retained: clarity !== undefined || this.#other !== null ? Number.POSITIVE_INFINITY : MAX_FORK_DEPTH + 2,
      keptFrom: () => this.#oldestSnapshot,
      faucet: true,
      // A client that sends one transaction expects a block with only this transaction.
      unlocks: false,
      pox5Height: pox5Height ?? Number.POSITIVE_INFINITY,
      submitted: (world) => this.#pool.waiting(world),
      clock: (kind, proposed, minimum) => this.#time(kind, proposed, minimum),
      ...(this.#usesChainTime ? {} : { startTime: this.#now() - history * SECONDS_PER_BLOCK }),
      ...(clarity === undefined ? {} : { start: clarity.start }),
    });
    this.accounts = new NodeAccounts(this.chain.faucet!, options.accounts ?? [], seed, this.chain.network);
    this.#scenario = new Scenario(this.chain, { seed });
    this.#announced = this.chain.tip;
  }

  get faucet(): Account {
    return this.accounts.faucet;
  }

  /** The tip that the observer has received. */
  get tip(): Block {
    return this.#announced;
  }

  /** Seconds between two blocks; 0 to mine only on command. */
  get interval(): number {
    return this.#interval;
  }

  get pending(): readonly SignedTransaction[] {
    return this.#pool.waiting(this.#announced.world);
  }

  // ── Start and stop ──

  /**
   * Posts block 0 and the history, then starts to mine at intervals.
   * @param eventsUrl URL of the observer, such as `http://127.0.0.1:3700`
   * @returns once the history is posted, or the node was stopped
   * @throws UnlikeSavedError
   */
  async start(eventsUrl: string): Promise<void> {
    this.#eventsUrl = eventsUrl;
    await this.#untilStopped(async () => {
      await this.#mining(() => this.#postHistory());
      this.#stopping.signal.throwIfAborted();
      this.#loop = startLoop({
        clock: this.#clock,
        everyMs: 0,
        turn: async () => {
          await this.#untilStopped(() => this.#mining(() => this.#mineOnTime()));
          return this.#interval === 0 ? null : 0;
        },
        passes: (_): _ is Error => false,
      });
    });
  }

  async #postHistory(): Promise<void> {
    const { saved, history, traffic } = this.options;
    const { mempool } = this.chain;
    // Without traffic, the chain has no users who announce transactions.
    const isPosted = ({ path }: NodeEvent): boolean => traffic > 0 || !path.endsWith('_mempool_tx');
    await this.#post([this.chain.genesis()]);
    if (saved !== undefined) await this.#restore(saved);
    while (this.chain.tip.height < history) {
      if (this.clarity !== undefined) await this.#mineOne(quietly);
      else for (const event of this.#scenario.next()) if (isPosted(event)) await this.#post([event]);
    }
    if (traffic === 0) mempool.drop(mempool.announcedIds);
  }

  /** Stops the node. The observer may lack the last block. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop?.stop();
  }

  /** Returns the chain, to mine it again in another process; only with an engine. */
  savedChain(): SavedChain {
    const blocks = [...this.chain.ancestors(this.chain.tip)].reverse().slice(1);
    return {
      blocks: blocks.map((block) => ({ tenure: block.blocksInTenure === 1, transaction: transactionOf(block) })),
      snapshots: this.snapshots.map(({ name, block, shift }) => ({
        name,
        height: block.height,
        skipped: shift.skipped,
      })),
      pending: this.pending.map(toSaved),
      skipped: this.#shift.skipped,
      names: this.accounts.derivedNames,
    };
  }

  /** Mines a saved chain again. @throws UnlikeSavedError */
  async #restore({ blocks, snapshots, pending, skipped, names }: SavedChain): Promise<void> {
    const shiftOf = (seconds: number): TimeShift => ({ skipped: seconds, earliest: 0 });
    for (const name of names) this.accounts.named(name);
    for (const { tenure, transaction } of blocks) {
      const submitted = transaction === null ? [] : [this.#decodeSaved(transaction)];
      const block = await this.#mineOn(this.chain.tip, { ...quietly, newTenure: tenure, submitted });
      const status = transactionOf(block)?.status ?? null;
      if (status !== (transaction?.status ?? null)) {
        const state = transaction === null ? 'was empty' : `had a transaction with the status ${transaction.status}`;
        throw new UnlikeSavedError(`block ${block.height} ${state}, but is different now`);
      }
      for (const snapshot of snapshots.filter(({ height }) => height === block.height)) {
        this.#snapshots.set(snapshot.name, { block, shift: shiftOf(snapshot.skipped) });
      }
    }
    this.#shift = shiftOf(skipped);
    for (const transaction of pending) await this.#announce(this.#decodeSaved(transaction));
  }

  /** Decodes a transaction of a saved chain, whose signature was checked when it arrived. @throws UnlikeSavedError */
  #decodeSaved({ raw: hex, mint }: SavedTransaction): SignedTransaction {
    const raw = fromHex(hex);
    const decoded = decodeTransaction(raw);
    if (!decoded.ok) throw new UnlikeSavedError(`a transaction can't be read: ${decoded.error.message}`);
    // The deployers of requirements may have addresses of mainnet.
    const isMainnet = decoded.value.version === networks.mainnet.transactionVersion;
    const network = isMainnet ? networks.mainnet : this.chain.network;
    const view = { ...this.#view(), network, wasAdmitted: true };
    const refusal = ({ reason }: Rejection) => new UnlikeSavedError(`a transaction is refused: ${reason}`);
    const transaction = admitOr(refusal, raw, decoded.value, view, false);
    return mint === undefined ? transaction : { ...transaction, mint };
  }

  // ── Mempool ──

  /**
   * Adds a transaction to the mempool.
   * @returns its id with 0x, after the observer was notified; with automine, after it was mined
   * @throws DecodeError if the bytes aren't a transaction; Rejection
   */
  async submit(raw: Uint8Array): Promise<string> {
    const id = await this.#submit(raw);
    if (this.options.automine) await this.#runCommand(() => this.#minePending());
    return id;
  }

  async #submit(raw: Uint8Array, { isSigned = true, mint }: Submission = {}): Promise<string> {
    const decoded = decodedOrThrow(decodeTransaction(raw));
    const id = toHex(decoded.txId);
    if (this.pending.some((transaction) => transaction.id === id)) return id;
    const transaction = admit(raw, decoded, this.#view(), isSigned);
    await this.#announce(mint === undefined ? transaction : { ...transaction, mint });
    return id;
  }

  /** Adds a transaction of a request. @param path its field in the body @throws RefusedTransaction */
  async #submitFrom(path: readonly string[], raw: Uint8Array, submission: Submission = {}): Promise<string> {
    try {
      return await this.#submit(raw, submission);
    } catch (error) {
      if (error instanceof DecodeError) throw new RefusedTransaction(path, 'Deserialization', error.message);
      if (!(error instanceof Rejection)) throw error;
      throw new RefusedTransaction(path, error.reason, detailsOf(error));
    }
  }

  async #announce(transaction: SignedTransaction): Promise<void> {
    const replaced = this.#pool.add(transaction, this.#announced.world);
    const now = this.#clock.now();
    const events = [nodeEvent('/new_mempool_tx', [toHex(transaction.raw)], now)];
    if (replaced.length > 0) {
      const ids = replaced.map(({ id }) => id);
      const drop = { dropped_txids: ids, new_txid: transaction.id, reason: 'ReplaceByFee' };
      events.push(nodeEvent('/drop_mempool_tx', drop, now));
    }
    await this.#post(events);
  }

  #view(): AdmissionView {
    const { world, burnView } = this.#announced;
    const executesClarity = this.clarity !== undefined;
    return { world, burnHeight: burnView.height, network: this.chain.network, executesClarity };
  }

  /** Drops a pending transaction. @throws ParameterError if none has this id */
  drop(id: string): Promise<void> {
    return this.#runCommand(async () => {
      if (!this.chain.mempool.announcedIds.includes(id)) this.#requirePending(id);
      await this.#drop([id]);
    });
  }

  async #drop(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    for (const id of ids) this.#pool.drop(id);
    this.chain.mempool.drop(ids);
    const body = { dropped_txids: ids, reason: 'StaleGarbageCollect' };
    await this.#post([nodeEvent('/drop_mempool_tx', body, this.#clock.now())]);
  }

  /** Returns a pending transaction. @throws ParameterError if none has this id */
  #requirePending(id: string): SignedTransaction {
    const pending = this.pending.find((transaction) => transaction.id === id);
    if (pending !== undefined) return pending;
    throw fieldError('tx_id', 'must be the id of a pending transaction');
  }

  /** Pending transactions that {@link replace} can sign. */
  get replaceable(): readonly SignedTransaction[] {
    return this.pending.filter((transaction) => this.#replacing(transaction) !== null);
  }

  /** Returns the signer of a replacement; null if the node can't sign it. */
  #replacing({ raw, origin }: SignedTransaction): Signing | null {
    if (!hasOneSignature(raw)) return null;
    // A fork makes transactions of simulated users pending again.
    const user = this.chain.mempool.traffic.users.find(({ address }) => address === origin.account.address);
    return user === undefined ? this.#signing(origin.account.address) : { account: user, isSigned: true };
  }

  /**
   * Sends a pending transaction again with another fee.
   * @param fee micro-STX
   * @returns the id of the new transaction; with automine, after it was mined
   * @throws ParameterError if the transaction isn't pending, can't be signed here, or is rejected, for example because
   * of a lower fee
   */
  replace(id: string, fee: bigint): Promise<string> {
    return this.#runCommand(async () => {
      const transaction = this.#requirePending(id);
      const signing = this.#replacing(transaction);
      if (signing === null) {
        throw fieldError('tx_id', 'must have one signature, no sponsor, and an account with a key in this devnet');
      }
      const { raw, origin } = transaction;
      const replacement = withFee(raw, { ...origin, account: signing.account, fee }, this.chain.network);
      const replaced = await this.#submitFrom(['fee'], replacement, signing);
      if (this.options.automine) await this.#minePending();
      return replaced;
    });
  }

  // ── Blocks and time on command ──

  /**
   * Mines blocks with all pending transactions that can be mined.
   * @param distance number of blocks, or height of the last one
   * @param traffic number of simulated users' transactions per block
   * @param transactions transactions in hex to add to the mempool first
   * @throws ParameterError for a rejected transaction, a height that isn't ahead, or traffic with an engine; then nothing is
   *   mined
   */
  mine(distance: Distance, traffic: number, transactions: readonly string[]): Promise<Block[]> {
    return this.#runCommand(async () => {
      if (traffic > 0 && this.clarity !== undefined) {
        throw fieldError('traffic', 'must be 0, because a chain with real contracts has no simulated users');
      }
      const count = steps(distance, this.chain.tip.height, MAX_BLOCKS, 'until_height');
      for (const [index, hex] of transactions.entries()) {
        await this.#submitFrom(['transactions', String(index)], fromHex(hex));
      }
      const blocks: Block[] = [];
      if (count > 0 && 'count' in distance) await this.#catchUp();
      while (blocks.length < count) {
        const submitted = [...this.#pool.waiting(this.chain.tip.world), ...this.chain.mempool.waiting];
        blocks.push(await this.#mineOne({ transactions: traffic, quiet: traffic === 0, submitted }));
      }
      // With an engine, each transaction gets a separate block, so the pending transactions may need more than `count`.
      if ('count' in distance && this.clarity !== undefined) blocks.push(...(await this.#minePending()));
      return blocks;
    });
  }

  /**
   * Makes Bitcoin blocks.
   * @param distance number of blocks, or height of the last one
   * @param withTenures whether each elected miner mines the first block of its tenure
   * @returns the Bitcoin blocks, and the Stacks blocks that were mined with them
   * @throws ParameterError for a height that isn't ahead
   */
  bitcoin(distance: Distance, withTenures: boolean) {
    return this.#runCommand(async () => {
      const count = steps(distance, this.#bitcoinHeight, MAX_BLOCKS, 'until_height');
      return this.#mineBitcoin(count, withTenures);
    });
  }

  /**
   * Makes Bitcoin blocks, and the first block of each tenure, up to the first block of a reward cycle.
   * @param distance number of cycles, or number of the last one
   * @throws ParameterError for a cycle that has started
   */
  cycle(distance: Distance) {
    return this.#runCommand(async () => {
      const { cycles } = this.chain;
      const height = this.#bitcoinHeight;
      const count = steps(distance, cycles.of(height), MAX_CYCLES, 'until_cycle');
      return this.#mineBitcoin(cycles.startOf(cycles.of(height) + count) - height, true);
    });
  }

  /** Height of the Bitcoin block that the next Bitcoin block is built on. */
  get #bitcoinHeight(): number {
    // With an engine, a Bitcoin block that a fork removed from the chain returns with the next tenure.
    return this.clarity === undefined ? this.chain.bitcoinTip.height : this.chain.tip.burnView.height;
  }

  async #mineBitcoin(count: number, withTenures: boolean) {
    const burnBlocks: BurnBlock[] = [];
    const blocks: Block[] = [];
    while (burnBlocks.length < count) {
      if (this.clarity === undefined) {
        const { burnBlock, event } = this.chain.mineBitcoin();
        burnBlocks.push(burnBlock);
        await this.#post([event]);
        if (withTenures) blocks.push(await this.#mineOne(quietly));
      } else {
        // The engine makes both at once.
        const block = await this.#mineOne({ ...quietly, newTenure: true });
        burnBlocks.push(block.burn);
        blocks.push(block);
      }
    }
    return { burnBlocks, blocks };
  }

  /**
   * Moves the time of the next block forward. With an engine, the node mines blocks up to that time: Bitcoin blocks of
   * ten minutes, then blocks of ten seconds. The last block is at most nine seconds late.
   * @param to seconds from the time of the tip, or from now if the chain mines at intervals; or a time in Unix seconds
   * @throws ParameterError for a time that isn't ahead
   */
  advance({ seconds = 0, until_time: time }: Move): Promise<void> {
    return this.#runCommand(async () => {
      const present = this.#present();
      const until = time ?? present + seconds;
      if (until <= present || until > present + MAX_STEP) {
        throw fieldError('until_time', `must be > ${present} and <= ${present + MAX_STEP}`);
      }
      const skipped = this.#shift.skipped + until - present;
      this.#shift = { skipped, earliest: this.clarity === undefined ? until : 0 };
      if (this.clarity !== undefined) await this.#mineUntil(until, this.clarity, quietly);
    });
  }

  /** Returns the time that a command moves forward, in Unix seconds. */
  #present(): number {
    const { time } = this.chain.tip;
    if (this.#usesChainTime) return Math.max(time, this.#shift.earliest);
    return this.clarity === undefined ? this.#now() : Math.max(time, this.#now());
  }

  async #mineUntil(time: number, clarity: ClarityMiner, options: MineOptions): Promise<void> {
    while (clarity.tenureTime(this.chain.tip) <= time) await this.#mineBitcoin(1, true);
    while (this.chain.tip.time < time) await this.#mineOne(options);
  }

  /**
   * Mines empty blocks, so that the next block has the present time. The engine chooses the times of blocks: a block
   * is ten seconds later than its parent, and a tenure starts ten minutes later.
   */
  async #catchUp(): Promise<void> {
    if (this.#usesChainTime || this.clarity === undefined) return;
    await this.#mineUntil(this.#now() - this.clarity.maxLag, this.clarity, { ...quietly, submitted: [] });
  }

  /** Changes the mining interval. @param seconds between two blocks; 0 to stop mining at intervals */
  mineEvery(seconds: number): Promise<void> {
    return this.#runCommand(async () => {
      this.#interval = seconds;
      this.#dueAt = null;
      this.#loop?.wake();
    });
  }

  // ── Forks and snapshots ──

  /**
   * Mines another branch without submitted transactions. Transactions of a losing branch are pending again.
   * @param depth blocks below the tip at which the branch starts
   * @param length blocks of the branch, which wins if it is longer than `depth`
   * @throws ParameterError if the chain is shorter
   */
  fork(depth: number, length: number): Promise<Fork> {
    return this.#runCommand(() => this.#fork(depth, length));
  }

  async #fork(depth: number, length: number): Promise<Fork> {
    const { chain } = this;
    const old = [...chain.ancestors(chain.tip).take(depth + 1)];
    const base = old[depth];
    if (base === undefined) {
      throw fieldError('depth', `must be <= ${old.length - 1}, the number of blocks below the tip`);
    }
    const blocks: Block[] = [];
    for (let parent = base; blocks.length < length; parent = blocks.at(-1)!) {
      blocks.push(await this.#mineOn(parent, { ...quietly, submitted: [] }));
    }
    const wins = chain.tip === blocks.at(-1);
    const orphaned = wins ? old.slice(0, depth).reverse() : [];
    this.#removeSnapshots(orphaned, base.height + 1);
    const orphanedTransactions = orphaned.flatMap(({ transactions }) => transactions.map(withoutResult));
    // The pool doesn't have the transactions of simulated users and the deployments of a project.
    this.#pool.restore(orphanedTransactions, chain.tip.world);
    const orphanedIds = new Set(orphanedTransactions.map(({ id }) => id));
    return { blocks, orphaned, pending: this.pending.map(({ id }) => id).filter((id) => orphanedIds.has(id)) };
  }

  /** The snapshots that the chain can go back to, oldest block first. */
  get snapshots() {
    const reachable = new Set(this.chain.ancestors(this.chain.tip));
    return [...this.#snapshots]
      .map(([name, state]) => ({ name, ...state }))
      .filter(({ block }) => reachable.has(block))
      .sort((a, b) => a.block.height - b.block.height);
  }

  /** Names the state after the tip. An earlier state with this name loses the name. */
  snapshot(name: string): Promise<void> {
    return this.#runCommand(async () => {
      this.#snapshots.set(name, { block: this.chain.tip, shift: this.#shift });
      this.#removedSnapshots.delete(name);
    });
  }

  /** Removes the snapshots of blocks that left the chain. @param height of the first block of the branch that won */
  #removeSnapshots(orphaned: readonly Block[], height: number): void {
    for (const [name, { block }] of this.#snapshots) {
      if (!orphaned.includes(block)) continue;
      this.#snapshots.delete(name);
      this.#removedSnapshots.set(name, height);
      const [oldest = name] = this.#removedSnapshots.keys();
      if (this.#removedSnapshots.size > MAX_REMOVED_NAMES) this.#removedSnapshots.delete(oldest);
    }
  }

  /** Moves snapshots from a block to another with the same state. */
  #moveSnapshots(from: Block, to: Block): void {
    for (const [name, state] of this.#snapshots) {
      if (state.block === from) this.#snapshots.set(name, { ...state, block: to });
    }
  }

  /**
   * Goes back to the state after an earlier block, by an empty branch that is longer than the current one. Drops
   * later Bitcoin blocks, pending transactions and transactions of the lost blocks. Moves snapshots of that state to the
   * new tip, so that tests can go back to the same snapshot again and again.
   * @throws ParameterError if no such block is in memory
   */
  revert(reference: BlockReference): Promise<Fork> {
    return this.#runCommand(async () => {
      const { block, shift } = this.#stateOf(reference);
      const depth = this.chain.tip.height - block.height;
      // The new branch has the time of the state, not the time of the lost blocks.
      this.#shift = shift;
      const fork = depth === 0 ? { blocks: [], orphaned: [] } : await this.#fork(depth, depth + 1);
      this.chain.dropLaterBitcoin();
      await this.#drop([...this.pending.map(({ id }) => id), ...this.chain.mempool.announcedIds]);
      this.#moveSnapshots(block, this.chain.tip);
      return { ...fork, pending: [] };
    });
  }

  /** Returns a state that the chain can go back to. @throws ParameterError if it isn't in memory */
  #stateOf({ snapshot, index_block_hash: id }: BlockReference): ChainState {
    if (snapshot !== undefined) {
      const named = this.snapshots.find(({ name }) => name === snapshot);
      if (named === undefined) throw this.#unknownSnapshot(snapshot);
      return named;
    }
    const block = this.chain.ancestors(this.chain.tip).find(({ indexBlockHash }) => indexBlockHash === id);
    if (block !== undefined) return { block, shift: this.#shifts.get(block) ?? this.#shift };
    const rule = `must be that of one of the newest ${MAX_FORK_DEPTH} blocks, or of a block above the oldest snapshot`;
    throw fieldError('index_block_hash', rule);
  }

  /** Returns the error for a name without a snapshot. */
  #unknownSnapshot(name: string): ParameterError {
    const names = this.snapshots.map((snapshot) => snapshot.name).join(', ') || 'it has none';
    const height = this.#removedSnapshots.get(name);
    const reason = height === undefined ? '' : `: a fork or a revert at height ${height} removed ${name}`;
    return fieldError('snapshot', `must name a snapshot of the chain (${names})${reason}`);
  }

  /** Height of the oldest snapshot; Infinity if there is none. */
  get #oldestSnapshot(): number {
    return Math.min(...[...this.#snapshots.values()].map(({ block }) => block.height));
  }

  /** Maximum number of blocks that a fork or a revert can take from the chain. */
  get #maxDepth(): number {
    if (this.clarity !== undefined) return Number.POSITIVE_INFINITY;
    return Math.max(MAX_FORK_DEPTH, this.chain.tip.height - this.#oldestSnapshot);
  }

  /** Bitcoin height of the lowest block in memory, which a fork or a revert can start from. */
  get lowestFork(): number {
    return this.chain.ancestors(this.chain.tip).reduce((_, block) => block).burnView.height;
  }

  // ── Transactions that the node signs ──

  /**
   * Sends micro-STX from the faucet to a principal, in a separate block.
   * @throws ParameterError if the faucet has too little
   */
  fund(recipient: string, amount: bigint): Promise<Mined> {
    return this.#runCommand(async () => {
      if (amount > this.#faucetFunds) throw this.#overFunds(this.#faucetFunds);
      return this.#pay(recipient, amount);
    });
  }

  /** Sends micro-STX from the faucet, in a separate block. @param mint tokens that the transaction also mints */
  #pay(recipient: string, amount: bigint, mint?: Mint): Promise<Mined> {
    return this.#mineOwn({ account: this.faucet, isSigned: true }, tokenTransfer(recipient, amount, ''), mint);
  }

  /** Micro-STX that the faucet can send. */
  get #faucetFunds(): bigint {
    const { world, burnView } = this.#announced;
    return world.spendable(this.faucet.address, burnView.height) - BASE_FEE;
  }

  /** Returns the error for an amount that the faucet can't pay. @param maximum micro-STX */
  #overFunds(maximum: bigint): ParameterError {
    const remedy = this.clarity === undefined ? '' : '; settings/Devnet.toml can give an account more';
    return fieldError('amount', `must be <= ${maximum}, because the faucet has no more micro-STX${remedy}`);
  }

  /**
   * Gives a principal an exact balance: by a transfer from the faucet, or by a transfer of the principal to the faucet, whose
   * fee is part of the difference. If the difference isn't above the fee, the faucet first pays the fee to the principal.
   * @param amount micro-STX
   * @returns null if the principal has this balance
   * @throws ParameterError if the faucet has too little, or a contract has more
   */
  setBalance(principal: string, amount: bigint): Promise<Mined | null> {
    return this.#runCommand(async () => {
      const balance = this.#announced.world.balance(principal);
      const change = amount - balance;
      if (change === 0n) return null;
      if (change > 0n) {
        if (change > this.#faucetFunds) throw this.#overFunds(balance + this.#faucetFunds);
        return this.#pay(principal, change);
      }
      const signing = this.#signing(principal, true);
      if (signing === null) {
        throw fieldError('amount', `must be >= ${balance}, because only its code can send the STX of a contract`);
      }
      let rest = -change - BASE_FEE;
      if (rest <= 0n) {
        await this.#pay(principal, BASE_FEE);
        rest = -change;
      }
      return this.#mineOwn(signing, tokenTransfer(this.faucet.address, rest, ''));
    });
  }

  /**
   * Mints tokens, so that a principal has an exact balance. The event belongs to a transfer of one micro-STX from the
   * faucet to the boot address.
   * @param asset a fungible token, such as `ST….shop::gold`
   * @param amount base units
   * @returns null if the principal has this balance
   * @throws ParameterError if the token doesn't exist, the principal has more, or the interpreter refuses the amount
   */
  setTokens(principal: string, asset: string, amount: bigint): Promise<Mined | null> {
    return this.#runCommand(async () => {
      const { world } = this.#announced;
      const [contract = '', token] = asset.split('::');
      const tokens = world.contract(contract)?.template.abi.fungible_tokens ?? [];
      if (!tokens.some(({ name }) => name === token)) {
        throw fieldError('asset', 'must be a fungible token of a contract on this chain, such as CONTRACT_ID::NAME');
      }
      const balance = world.fungibleBalance(asset, principal);
      if (amount === balance) return null;
      if (amount < balance) {
        throw fieldError('amount', `must be >= ${balance}, because only the contract can take tokens away`);
      }
      if (amount > balance + MAX_MINTED) {
        throw fieldError('amount', `must be <= ${balance + MAX_MINTED}: one request mints at most ${MAX_MINTED}`);
      }
      const mint = { asset, recipient: principal, amount: String(amount - balance) };
      const mined = await this.#pay(this.chain.network.boot, 1n, mint);
      const error = mined.block.receipts.find(({ txId }) => txId === mined.id)?.vmError ?? null;
      if (error === null) return mined;
      throw fieldError('amount', `is refused by the interpreter: ${error}`);
    });
  }

  /**
   * Signs a payload, and mines it in a separate block.
   * @throws ParameterError if the transaction is rejected; then nothing is mined
   */
  send(signing: Signing, payload: Uint8Array): Promise<Mined> {
    return this.#runCommand(() => this.#mineOwn(signing, payload));
  }

  async #mineOwn({ account, isSigned }: Signing, payload: Uint8Array, mint?: Mint): Promise<Mined> {
    const origin = { account, nonce: this.#nextNonce(account), fee: feeOf(payload) };
    const raw = signTransaction({ payload, origin }, this.chain.network);
    const id = await this.#submitFrom([], raw, { isSigned, mint });
    await this.#catchUp();
    let block = await this.#mineOne(quietly);
    // If each transaction gets a separate block, transactions that a fork reverted come first.
    while (!block.receipts.some(({ txId }) => txId === id) && this.#isDue(block)) block = await this.#mineOne(quietly);
    return { id, block };
  }

  /**
   * Returns the first unused nonce of an account. Transactions that a fork reverted are pending, and are mined first.
   */
  #nextNonce({ address }: Account): number {
    const waiting = this.pending.filter(({ origin }) => origin.account.address === address);
    const used = new Set(waiting.map(({ origin }) => Number(origin.nonce)));
    let nonce = this.#announced.world.nonce(address);
    while (used.has(nonce)) nonce += 1;
    return nonce;
  }

  /** Returns the account of an address with a key that is available here, or an impersonated one; null if neither exists. */
  #signing(address: string, impersonates = this.options.impersonates ?? false): Signing | null {
    const owner = this.accounts.findByAddress(address);
    const account = owner ?? (impersonates ? impersonate(address, this.chain.network) : null);
    return account === null ? null : { account, isSigned: owner !== undefined };
  }

  /**
   * Returns the id of the contract that an account with a key in this process deployed by this name; undefined if there
   * is none.
   */
  contractNamed(name: string): string | undefined {
    const ids = this.accounts.all.map(({ address }) => `${address}.${name}`);
    return ids.find((id) => this.tip.world.contract(id) !== undefined);
  }

  /** Deploys a contract in a separate block. @throws RefusedDeployment if the transaction is invalid */
  deploy(deployment: Deployment): Promise<Mined> {
    return this.#runCommand(async () => {
      await this.#catchUp();
      const { tip } = this.chain;
      const [deployed] = this.#deploymentsOn(tip, [deployment]);
      const block = await this.#mineOn(tip, { ...quietly, submitted: [deployed!] });
      return { id: deployed!.id, block };
    });
  }

  /**
   * Deploys contracts again on the chain's first block, in place of their former deployments. Then mines the later
   * tenures and transactions again, if they can be mined. The new branch becomes longer than the chain only at its end,
   * so the chain stays unchanged if a deployment is refused. Snapshots move to the new branch.
   * @param formerIds ids of the deployments to replace
   * @returns ids of the deployments, and numbers of transactions that were mined again and that could not be
   * @throws RefusedDeployment
   */
  redeploy(deployments: readonly Deployment[], formerIds: ReadonlySet<string>, clarity: ClarityMiner) {
    return this.#runCommand(async () => {
      const [, base, ...later] = [...this.chain.ancestors(this.chain.tip)].reverse();
      const signedTransactions = this.#deploymentsOn(base!, deployments);
      const flaw = await clarity.firstFlaw(base!, signedTransactions);
      if (flaw !== null) throw new RefusedDeployment(flaw.index, flaw.error);
      const lastDeployment = await this.#mineDeployments(base!, signedTransactions);
      const successors = await this.#mineAgain(later, lastDeployment, formerIds);
      let newest = [...successors.values()].at(-1) ?? lastDeployment;
      while (newest !== this.chain.tip) newest = await this.#mineOn(newest, { ...quietly, submitted: [] });
      for (const [from, to] of successors) this.#moveSnapshots(from, to);
      const minedIds = new Set(idsOf([...successors.values()]));
      const repeatedIds = idsOf(later).filter((id) => !formerIds.has(id));
      const lostIds = new Set(repeatedIds.filter((id) => !minedIds.has(id)));
      await this.#drop(this.pending.map(({ id }) => id).filter((id) => lostIds.has(id)));
      const ids = signedTransactions.map(({ id }) => id);
      return { ids, mined: repeatedIds.length - lostIds.size, dropped: lostIds.size };
    });
  }

  /** Mines one block per deployment. @returns the last block @throws RefusedDeployment */
  async #mineDeployments(base: Block, deployments: readonly SignedTransaction[]): Promise<Block> {
    let parent = base;
    for (const [index, deployment] of deployments.entries()) {
      parent = await this.#mineOn(parent, { ...quietly, submitted: [deployment] });
      const receipt = parent.receipts.find(({ txId }) => txId === deployment.id);
      if (receipt?.status !== 'success') throw new RefusedDeployment(index, receipt?.vmError ?? 'it was not mined');
    }
    return parent;
  }

  /**
   * Mines the tenures and transactions of blocks again, without former deployments.
   * @param base block to start from
   * @returns the new block with the state of each block
   */
  async #mineAgain(blocks: readonly Block[], base: Block, formerIds: ReadonlySet<string>): Promise<Map<Block, Block>> {
    const successors = new Map<Block, Block>();
    let parent = base;
    for (const block of blocks) {
      const submitted = block.transactions.filter(({ id }) => !formerIds.has(id)).map(withoutResult);
      const isFormerDeployment = submitted.length === 0 && block.transactions.length > 0;
      if (!isFormerDeployment) {
        parent = await this.#mineOn(parent, { ...quietly, newTenure: block.blocksInTenure === 1, submitted });
      }
      successors.set(block, parent);
    }
    return successors;
  }

  /** Signs payloads as transactions that can be mined one after the other on a block. */
  #deploymentsOn({ world, burnView }: Block, deployments: readonly Deployment[]): SignedTransaction[] {
    const nonces = new Map<string, number>();
    return deployments.map(({ account, payload, network, isSigned }, index) => {
      // A project may have any number of contracts.
      const maxChaining = deployments.length;
      const view = { world, burnHeight: burnView.height, network, executesClarity: true, maxChaining };
      const nonce = nonces.get(account.address) ?? world.nonce(account.address);
      nonces.set(account.address, nonce + 1);
      const raw = signTransaction({ payload, origin: { account, nonce, fee: feeOf(payload) } }, network);
      const decoded = decodeTransaction(raw);
      if (!decoded.ok) throw new RefusedDeployment(index, decoded.error.message);
      return admitOr(({ reason }) => new RefusedDeployment(index, reason), raw, decoded.value, view, isSigned);
    });
  }

  // ── Mining and posting ──

  /** Runs a command after the current block is announced, and before the next block. */
  async #runCommand<T>(work: () => Promise<T>): Promise<T> {
    this.#waitingCommands += 1;
    this.#hurry.abort();
    try {
      return await this.#mining(work);
    } finally {
      this.#waitingCommands -= 1;
      if (this.#waitingCommands === 0) this.#hurry = new AbortController();
    }
  }

  /** Announces the scenario's next block, with mempool events spread over the time before it. */
  async #mineOnTime(): Promise<void> {
    // A command may have stopped mining at intervals since.
    if (this.#interval === 0) return;
    if (this.clarity !== undefined) return this.#mineRealOnTime(this.clarity);
    for (const batch of groupByBlock(this.#scenario.next())) {
      const pauseMs = (this.#interval * 1000) / batch.length;
      for (const event of batch) {
        await this.#pause(pauseMs);
        await this.#post([event]);
      }
    }
  }

  /** Mines after the interval: the pending transactions, or an empty block unless the chain is ahead of the clock. */
  async #mineRealOnTime(clarity: ClarityMiner): Promise<void> {
    const now = this.#clock.monotonic();
    this.#dueAt ??= now + this.#interval * 1000;
    await this.#pause(this.#dueAt - now);
    // A command runs first, and doesn't delay the block.
    if (this.#stopping.signal.aborted || this.#clock.monotonic() < this.#dueAt) return;
    this.#dueAt = null;
    await this.#catchUp();
    const mined = await this.#minePending();
    if (mined.length === 0 && clarity.nextTime(this.chain.tip) <= this.#now()) await this.#mineOne(quietly);
  }

  /** Waits for a time, until a command waits, or until the node is stopped. */
  #pause(milliseconds: number): Promise<void> {
    return pause(this.#clock, milliseconds, AbortSignal.any([this.#stopping.signal, this.#hurry.signal]));
  }

  /** Mines blocks while a submitted transaction can be mined. */
  async #minePending(): Promise<Block[]> {
    const blocks: Block[] = [];
    if (this.#isDue(this.chain.tip)) await this.#catchUp();
    while (this.#isDue(this.chain.tip)) blocks.push(await this.#mineOne(quietly));
    return blocks;
  }

  /** Reports whether a submitted transaction can be mined on a block. */
  #isDue({ world, burnView }: Block): boolean {
    return this.#pool.waiting(world).some((transaction) => isMinable(transaction, world, burnView.height));
  }

  /** Mines on the tip, in a new tenure if Bitcoin has elected one. */
  #mineOne(options: MineOptions): Promise<Block> {
    const tenure = this.chain.bitcoinIsAhead ? { newTenure: true } : {};
    return this.#mineOn(this.chain.tip, { ...tenure, ...options });
  }

  /** With an engine, the block contains the first submitted transaction that can be mined. */
  async #mineOn(parent: Block, options: MineOptions): Promise<Block> {
    const { events, indexBlockHash } =
      this.clarity === undefined
        ? this.chain.mine(parent.indexBlockHash, options)
        : await this.clarity.mine(
            this.chain,
            parent,
            options.newTenure === true,
            options.submitted ?? this.#pool.waiting(parent.world),
          );
    const block = this.chain.block(indexBlockHash)!;
    this.#shifts.set(block, this.#shift);
    await this.#post(events);
    return block;
  }

  /** Posts events after the earlier ones. @throws the signal's reason once the node is stopped */
  #post(events: readonly NodeEvent[]): Promise<void> {
    return this.#posting(async () => {
      for (const event of events) {
        await postEvent(event, this.#eventsUrl, { signal: this.#stopping.signal, clock: this.#clock });
        this.#other?.(event);
        if (event.path !== '/new_block') continue;
        this.#announced = this.chain.tip;
        this.#pool.removeMined(this.#announced.world, this.#announced.height, this.#maxDepth);
      }
    });
  }

  /** Runs work, and ends it without an error if the node is stopped. */
  async #untilStopped(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error !== this.#stopping.signal.reason) throw error;
    }
  }

  #now(): number {
    return Math.floor(this.#clock.now() / 1000) + this.#shift.skipped;
  }

  #time(kind: 'stacks' | 'bitcoin', proposed: number, minimum: number): number {
    if (!this.#usesChainTime) return this.#loop === null ? Math.min(proposed, this.#now()) : this.#now();
    // The first block after a command has exactly the time that the command set.
    const { earliest } = this.#shift;
    const isDue = kind === 'stacks' && earliest > this.#announced.time;
    return Math.max(isDue ? minimum : proposed, earliest);
  }
}

const idsOf = (blocks: readonly Block[]): string[] =>
  blocks.flatMap(({ transactions }) => transactions.map(({ id }) => id));

const toSaved = ({ raw, mint }: SignedTransaction): SavedTransaction => ({
  raw: toHex(raw),
  ...(mint === undefined ? {} : { mint }),
});

/** Returns the transaction of a block that an engine executed, with its status; null if the block is empty. */
function transactionOf({ transactions: [transaction], receipts }: Block): SavedChain['blocks'][number]['transaction'] {
  if (transaction === undefined) return null;
  const { status = '' } = receipts.find(({ txId }) => txId === transaction.id) ?? {};
  return { ...toSaved(transaction), status };
}

/**
 * Returns the number of steps of a distance.
 * @param present the start @param maximum number of steps @param field of the request's body, for the error
 * @throws ParameterError if the end isn't ahead, or is too far
 */
function steps(distance: Distance, present: number, maximum: number, field: string): number {
  if ('count' in distance) return distance.count;
  const count = distance.until - present;
  if (count >= 1 && count <= maximum) return count;
  throw fieldError(field, `must be > ${present} (the current value) and <= ${present + maximum}`);
}

/** Groups events so that each group ends with a block. */
function* groupByBlock(events: Iterable<NodeEvent>): Generator<NodeEvent[]> {
  let batch: NodeEvent[] = [];
  for (const event of events) {
    batch.push(event);
    if (event.path !== '/new_block') continue;
    yield batch;
    batch = [];
  }
}
