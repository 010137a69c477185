/**
 * A running simulated node: it posts the events of its chain to an observer, accepts transactions, mines at intervals, and
 * follows the commands of tests.
 */
import { type Clock, pause, systemClock } from '../base/clock.ts';
import { atMost } from '../base/turns.ts';
import { fromHex, toHex } from '../codec/hex.ts';
import { decodeTransaction } from '../codec/transaction.ts';
import { ParameterError } from '../http/errors.ts';
import { type AdmissionView, admitted, Pool, Rejection } from './admission.ts';
import type { Block } from './block.ts';
import type { BurnBlock } from './burn-chain.ts';
import { type MineOptions, SimulatedChain } from './chain.ts';
import type { ClarityMiner } from './clarity/miner.ts';
import { isMinable } from './execute.ts';
import { type NodeEvent, nodeEvent, type PostOptions, postEvent } from './node-event.ts';
import { cycles } from './pox.ts';
import { Scenario } from './scenario.ts';
import { type SignedTransaction, signTransaction, tokenTransfer } from './transaction.ts';
import { type Account, accounts } from './wallet.ts';

interface NodeOptions {
  readonly seed: number;
  /** Seconds between two blocks; 0 to mine only on command, with time passing only on the chain. */
  readonly interval: number;
  /** Number of blocks at the start. */
  readonly history: number;
  /** Average transactions of simulated users per block. */
  readonly traffic: number;
  /** Burn height from which pox-5 replaces pox-4; null for never. */
  readonly pox5Height?: number | null;
  readonly clock?: Clock;
  /** Executes the contracts, where they are real: then nothing is simulated but the network. */
  readonly clarity?: ClarityMiner;
  /** Accounts by name that the network has besides those of the seed. */
  readonly accounts?: readonly (Account & { readonly name: string })[];
  /** Whether the operator may speak for any account without its key. Default false. */
  readonly impersonates?: boolean;
  /** Whether a transaction is mined as soon as it comes. Default false. */
  readonly automine?: boolean;
}

/** The bytes are not a transaction. */
export class UndecodableError extends Error {
  override readonly name = 'UndecodableError';
}

/** The node rejects a transaction of a request. */
export class RefusedTransaction extends ParameterError {
  /** @param reason the node's name for it, such as `NotEnoughFunds` @param data the node's details */
  constructor(
    path: readonly string[],
    readonly reason: string,
    data: string,
  ) {
    super({ location: 'body', path }, `is refused: ${reason} ${data}`.trimEnd());
  }
}

/** The result of a fork. */
interface Fork {
  /** The blocks of the new branch, oldest first. */
  readonly blocks: readonly Block[];
  /** The blocks that left the chain, oldest first; none if the new branch lost. */
  readonly orphaned: readonly Block[];
  /** Ids of submitted transactions that are pending again. */
  readonly pending: readonly string[];
}

/** Maximum depth of a fork, in blocks. */
export const MAX_FORK_DEPTH = 100;
/** Average simulated seconds per block, rounded up, so that the history ends shortly before the present. */
const SECONDS_PER_BLOCK = 200;
/** Seconds by which a Bitcoin block moves the time where contracts are real. */
const BITCOIN_SECONDS = 600;
/** Fee in micro-STX of a faucet's transfer. */
const GIFT_FEE = 1_000n;
/** Fee in micro-STX of a transaction that the node signs: above the minimum, which is its length. */
const feeOf = (payload: Uint8Array): bigint => {
  const twice = 2n * BigInt(payload.length);
  return twice > GIFT_FEE ? twice : GIFT_FEE;
};
/** Options for blocks on command, in which nothing random happens. */
const quietly: MineOptions = { transactions: 0, quiet: true };

export class SimulatedNode {
  readonly chain: SimulatedChain;
  /** Executes the contracts, where they are real. */
  readonly clarity: ClarityMiner | undefined;
  readonly seed: number;
  /** Whether the operator may speak for any account without its key. */
  readonly impersonates: boolean;
  /** The faucet's account. */
  readonly faucet: Account;
  readonly #scenario: Scenario;
  readonly #pool = new Pool();
  readonly #clock: Clock;
  readonly #history: number;
  /** Whether time passes only on the chain, so that equal commands make equal bytes. */
  readonly #isSteered: boolean;
  readonly #automine: boolean;
  readonly #accounts: NonNullable<NodeOptions['accounts']>;
  readonly #mining = atMost(1);
  readonly #posting = atMost(1);
  readonly #stopping = new AbortController();
  #eventsUrl = '';
  /** Null while the node doesn't mine at intervals. */
  #running: Promise<void> | null = null;
  /** The tip that the observer was told last. */
  #announced: Block;
  /** Seconds between two blocks. */
  #interval: number;
  #wake: PromiseWithResolvers<void> = Promise.withResolvers();
  /** Commands that wait for their turn; if there are any, the present block is announced at once. */
  #impatient = 0;
  #hurry = new AbortController();
  #isHistory = true;
  /** Seconds by which commands moved the time forward. */
  #skipped = 0;
  /** Minimum time of the next block, in Unix seconds. */
  #earliest = 0;

  constructor(options: NodeOptions) {
    const { seed, interval, history, traffic, pox5Height, clock = systemClock, clarity, automine = false } = options;
    this.seed = seed;
    this.#clock = clock;
    this.#history = history;
    this.#interval = interval;
    this.#isSteered = interval === 0;
    this.clarity = clarity;
    this.#automine = automine;
    this.#accounts = options.accounts ?? [];
    this.impersonates = options.impersonates ?? false;
    this.chain = new SimulatedChain({
      seed,
      transactionsPerBlock: traffic,
      semiFungible: true,
      retained: MAX_FORK_DEPTH + 2,
      faucet: true,
      // Whoever sends one transaction finds a block with one.
      unlocks: false,
      pox5Height: pox5Height ?? Number.POSITIVE_INFINITY,
      submitted: (world) => clarity?.included ?? this.#pool.waiting(world),
      clock: (simulated) => this.#time(simulated),
      ...(this.#isSteered ? {} : { startTime: this.#now() - history * SECONDS_PER_BLOCK }),
      ...(clarity === undefined ? {} : { beginning: clarity.beginning, startTime: clarity.time }),
    });
    clarity?.serve(this.chain);
    this.faucet = this.chain.faucet!;
    this.#scenario = new Scenario(this.chain, { seed });
    this.#announced = this.chain.tip;
  }

  /** The tip as the observer knows it. */
  get tip(): Block {
    return this.#announced;
  }

  /** Seconds between two blocks; 0 to mine only on command. */
  get interval(): number {
    return this.#interval;
  }

  /** Pending submitted transactions. */
  get pending(): readonly SignedTransaction[] {
    return this.#pool.waiting(this.#announced.world);
  }

  /**
   * Posts block 0 and the history, then begins to mine at intervals.
   * @param eventsUrl URL of the observer, such as `http://127.0.0.1:3700`
   * @returns once the history is posted, or the node was stopped
   */
  async start(eventsUrl: string): Promise<void> {
    this.#eventsUrl = eventsUrl;
    await this.#untilStopped(async () => {
      await this.#mining(async () => {
        await this.#post([this.chain.genesis()]);
        while (this.chain.tip.height < this.#history) {
          if (this.clarity !== undefined) await this.#mineOne(quietly);
          else for (const event of this.#scenario.next()) await this.#post([event]);
        }
      });
      this.#isHistory = false;
      this.#running = this.#untilStopped(() => this.#mineByClock());
    });
  }

  /** Stops the node. The observer may lack the last block. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake.resolve();
    await this.#running;
  }

  /** The state for checking a transaction. */
  #view(): AdmissionView {
    const { world, burnView } = this.#announced;
    const executesClarity = this.clarity !== undefined;
    return { world, burnHeight: burnView.height, network: this.chain.network, executesClarity };
  }

  /**
   * Adds a transaction to the mempool.
   * @returns its id with 0x, once the observer was told, and it was mined where each transaction is mined at once
   * @throws UndecodableError, Rejection
   */
  async submit(raw: Uint8Array): Promise<string> {
    const id = await this.#submit(raw);
    if (this.#automine) await this.#steered(() => this.#minePending());
    return id;
  }

  async #submit(raw: Uint8Array, isSigned = true): Promise<string> {
    const decoded = decodeTransaction(raw);
    if (!decoded.ok) throw new UndecodableError(decoded.error.message);
    const id = toHex(decoded.value.txId);
    if (this.pending.some((waiting) => waiting.id === id)) return id;
    await this.#announce(admitted(raw, decoded.value, this.#view(), isSigned));
    return id;
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

  /**
   * Mines blocks with all pending transactions that can be mined.
   * @param traffic number of simulated users' transactions per block
   * @param transactions transactions in hex that are added to the mempool first
   * @throws ParameterError for a rejected transaction; then nothing is mined
   */
  mine(count: number, traffic: number, transactions: readonly string[]): Promise<Block[]> {
    return this.#steered(async () => {
      for (const [at, hex] of transactions.entries())
        await this.#submitFrom(fromHex(hex), ['transactions', String(at)]);
      const blocks: Block[] = [];
      while (blocks.length < count) blocks.push(await this.#mineOne({ transactions: traffic, quiet: traffic === 0 }));
      return [...blocks, ...(this.clarity === undefined ? [] : await this.#minePending())];
    });
  }

  /** Adds a transaction of a request. @param path its field in the body @param isSigned false where its signature is nobody's */
  async #submitFrom(raw: Uint8Array, path: readonly string[], isSigned = true): Promise<string> {
    try {
      return await this.#submit(raw, isSigned);
    } catch (error) {
      if (!(error instanceof UndecodableError || error instanceof Rejection)) throw error;
      if (error instanceof UndecodableError) throw new RefusedTransaction(path, 'Deserialization', error.message);
      throw new RefusedTransaction(path, error.reason, error.data === undefined ? '' : JSON.stringify(error.data));
    }
  }

  /** Mines on the tip, in a new tenure if Bitcoin has elected one. */
  #mineOne(options: MineOptions): Promise<Block> {
    const tenure = this.chain.bitcoinIsAhead ? { newTenure: true } : {};
    return this.#mineOn(this.chain.tip.indexBlockHash, { ...tenure, ...options });
  }

  /** Whether a submitted transaction can be mined on a block. */
  #isDue({ world, burnView }: Block): boolean {
    return this.#pool.waiting(world).some((one) => isMinable(one, world, burnView.height));
  }

  /** Mines blocks while a submitted transaction can be mined. */
  async #minePending(): Promise<Block[]> {
    const blocks: Block[] = [];
    while (this.#isDue(this.chain.tip)) blocks.push(await this.#mineOne(quietly));
    return blocks;
  }

  async #mineOn(parent: string, options: MineOptions): Promise<Block> {
    const before = this.chain.block(parent)!;
    const { events, indexBlockHash } =
      this.clarity === undefined
        ? this.chain.mine(parent, options)
        : await this.clarity.mine(
            before,
            options.newTenure === true,
            options.submitted === false ? [] : this.#pool.waiting(before.world),
          );
    await this.#post(events);
    return this.chain.block(indexBlockHash)!;
  }

  /**
   * Mines another branch without submitted transactions; those of a losing branch are pending again.
   * @param depth blocks below the tip at which the branch begins
   * @param length blocks of the branch, which wins if it is longer than `depth`
   * @throws ParameterError if the chain is shorter
   */
  fork(depth: number, length: number): Promise<Fork> {
    return this.#steered(async () => {
      const { chain } = this;
      const old = [...chain.ancestors(chain.tip).take(depth + 1)];
      const base = old[depth];
      if (base === undefined) {
        throw new ParameterError(
          { location: 'body', path: ['depth'] },
          `must be <= ${old.length - 1}, the blocks there are`,
        );
      }
      const blocks: Block[] = [];
      for (let parent = base; blocks.length < length; parent = blocks.at(-1)!) {
        blocks.push(await this.#mineOn(parent.indexBlockHash, { ...quietly, submitted: false }));
      }
      const wins = chain.tip === blocks.at(-1);
      const orphaned = wins ? old.slice(0, depth).reverse() : [];
      const lost = new Set(orphaned.flatMap(({ transactions }) => transactions.map(({ id }) => id)));
      return { blocks, orphaned, pending: this.pending.map(({ id }) => id).filter((id) => lost.has(id)) };
    });
  }

  /**
   * Goes back to the state after an earlier block, by an empty branch that is longer than the present one. Transactions of the blocks that
   * are lost, and what is pending, are dropped.
   * @param indexBlockHash of a block of the present chain, with 0x
   * @throws ParameterError where the chain has no such block within the depth of a fork
   */
  async revert(indexBlockHash: string): Promise<Fork> {
    const depth = [...this.chain.ancestors(this.chain.tip).take(MAX_FORK_DEPTH + 1)].findIndex(
      (block) => block.indexBlockHash === indexBlockHash,
    );
    if (depth < 0) {
      const rule = `must be the index block hash of the tip or of one of the ${MAX_FORK_DEPTH} blocks below it`;
      throw new ParameterError({ location: 'body', path: ['index_block_hash'] }, rule);
    }
    const fork = depth === 0 ? { blocks: [], orphaned: [], pending: [] } : await this.fork(depth, depth + 1);
    for (const { id } of this.pending) await this.drop(id);
    return { ...fork, pending: [] };
  }

  /** Drops a pending transaction. @throws ParameterError where none has this id */
  drop(id: string): Promise<void> {
    return this.#steered(async () => {
      if (!this.#pool.drop(id, this.#announced.world)) {
        throw new ParameterError({ location: 'body', path: ['tx_id'] }, 'must be the id of a pending transaction');
      }
      const body = { dropped_txids: [id], reason: 'StaleGarbageCollect' };
      await this.#post([nodeEvent('/drop_mempool_tx', body, this.#clock.now())]);
    });
  }

  /**
   * Makes Bitcoin blocks.
   * @param withTenures whether each elected miner mines the first block of its tenure
   */
  bitcoin(count: number, withTenures: boolean): Promise<{ burnBlocks: BurnBlock[]; blocks: Block[] }> {
    return this.#steered(() => this.#mineBitcoin(count, withTenures));
  }

  /** Makes Bitcoin blocks, and the first block of each tenure, up to the first block of a reward cycle. */
  cycle(count: number): Promise<{ burnBlocks: BurnBlock[]; blocks: Block[] }> {
    return this.#steered(() => {
      const { height } = this.chain.tip.burnView;
      return this.#mineBitcoin(cycles.startOf(cycles.of(height) + count) - height, true);
    });
  }

  async #mineBitcoin(count: number, withTenures: boolean) {
    const burnBlocks: BurnBlock[] = [];
    const blocks: Block[] = [];
    while (burnBlocks.length < count) {
      const { burnBlock, event } = this.chain.mineBitcoin();
      burnBlocks.push(burnBlock);
      await this.#post([event]);
      if (withTenures || this.clarity !== undefined) blocks.push(await this.#mineOne(quietly));
    }
    return { burnBlocks, blocks };
  }

  /**
   * Moves the time of the next block forward. Where contracts are real, it moves by Bitcoin blocks of ten minutes.
   * @param seconds a whole number
   */
  advance(seconds: number): Promise<void> {
    return this.#steered(async () => {
      if (this.clarity !== undefined) return void (await this.#mineBitcoin(Math.ceil(seconds / BITCOIN_SECONDS), true));
      this.#skipped += seconds;
      this.#earliest = Math.max(this.#earliest, this.chain.tip.time) + seconds;
    });
  }

  /** Changes the mining interval. @param seconds between two blocks; 0 to stop mining at intervals */
  mineEvery(seconds: number): Promise<void> {
    return this.#steered(async () => {
      this.#interval = seconds;
      this.#wake.resolve();
      this.#wake = Promise.withResolvers();
    });
  }

  /**
   * Sends micro-STX from the faucet to a principal, in a block of its own.
   * @throws ParameterError if the faucet has too little
   */
  fund(recipient: string, amount: bigint): Promise<{ id: string; block: Block }> {
    return this.#steered(async () => {
      const account = this.faucet;
      const { world, burnView } = this.#announced;
      const funds = world.spendable(account.address, burnView.height) - GIFT_FEE;
      if (amount > funds) throw new ParameterError({ location: 'body', path: ['amount'] }, `must be <= ${funds}`);
      return this.#mineOwn(account, tokenTransfer(recipient, amount, ''));
    });
  }

  /** The account with a name: one of the network's, or else derived from the seed, which has only what it was sent. */
  account(name: string): Account {
    const known = this.#accounts.find((one) => one.name === name);
    return known ?? accounts(`${this.seed}/${name}`, 'named', 1, this.chain.network)[0]!;
  }

  /**
   * Signs a payload, and mines it in a block of its own.
   * @param isSigned false for an account whose key nobody has here
   * @throws ParameterError if the transaction is rejected; then nothing is mined
   */
  send(account: Account, payload: Uint8Array, isSigned = true): Promise<{ id: string; block: Block }> {
    return this.#steered(() => this.#mineOwn(account, payload, isSigned));
  }

  async #mineOwn(account: Account, payload: Uint8Array, isSigned = true): Promise<{ id: string; block: Block }> {
    const origin = { account, nonce: this.#nextNonce(account), fee: feeOf(payload) };
    const id = await this.#submitFrom(signTransaction({ payload, origin }, this.chain.network), [], isSigned);
    let block = await this.#mineOne(quietly);
    // Where each transaction has a block of its own, those that a fork reverted come first.
    while (!block.receipts.some(({ txId }) => txId === id) && this.#isDue(block)) block = await this.#mineOne(quietly);
    return { id, block };
  }

  /** The first unused nonce of an account. Transactions that a fork reverted are pending, and are mined first. */
  #nextNonce({ address }: Account): number {
    const waiting = this.pending.filter(({ origin }) => origin.account.address === address);
    const used = new Set(waiting.map(({ origin }) => Number(origin.nonce)));
    let nonce = this.#announced.world.nonce(address);
    while (used.has(nonce)) nonce += 1;
    return nonce;
  }

  /** Runs a command after the present block is announced, and before the next one. */
  async #steered<T>(work: () => Promise<T>): Promise<T> {
    this.#impatient += 1;
    this.#hurry.abort();
    try {
      return await this.#mining(work);
    } finally {
      this.#impatient -= 1;
      if (this.#impatient === 0) this.#hurry = new AbortController();
    }
  }

  async #mineByClock(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      if (this.#interval === 0) await this.#wake.promise;
      else await this.#mining(() => this.#mineOnTime());
    }
  }

  /** Announces the scenario's next block, with mempool events spread over the time before it. */
  async #mineOnTime(): Promise<void> {
    // A command may have ended mining at intervals meanwhile.
    if (this.#interval === 0) return;
    if (this.clarity !== undefined) return this.#mineRealOnTime(this.clarity);
    for (const batch of untilBlock(this.#scenario.next())) {
      const pauseMs = (this.#interval * 1000) / batch.length;
      for (const event of batch) {
        await pause(this.#clock, pauseMs, AbortSignal.any([this.#stopping.signal, this.#hurry.signal]));
        await this.#post([event]);
      }
    }
  }

  /** Mines after the interval: what is pending, and at least one block. */
  async #mineRealOnTime(clarity: ClarityMiner): Promise<void> {
    await pause(this.#clock, this.#interval * 1000, AbortSignal.any([this.#stopping.signal, this.#hurry.signal]));
    if (this.#stopping.signal.aborted) return;
    await this.#mineOne({ ...quietly, ...(clarity.endsTenure(this.chain.tip) ? { newTenure: true } : {}) });
    await this.#minePending();
  }

  /** Posts events after those before. @throws the signal's reason once the node is stopped */
  #post(events: readonly NodeEvent[]): Promise<void> {
    const options: PostOptions = { signal: this.#stopping.signal, clock: this.#clock };
    return this.#posting(async () => {
      for (const event of events) {
        await postEvent(event, this.#eventsUrl, options);
        if (event.path !== '/new_block') continue;
        this.#announced = this.chain.tip;
        this.#pool.forgetMined(this.#announced.world, this.#announced.height, MAX_FORK_DEPTH);
      }
    });
  }

  /** Runs work, which ends without an error if the node is stopped. */
  async #untilStopped(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error !== this.#stopping.signal.reason) throw error;
    }
  }

  #now(): number {
    return Math.floor(this.#clock.now() / 1000) + this.#skipped;
  }

  /** The time of a block in Unix seconds. @param simulated the chain's proposal */
  #time(simulated: number): number {
    if (this.clarity !== undefined) return this.clarity.time;
    if (this.#isSteered) return Math.max(simulated, this.#earliest);
    return this.#isHistory ? Math.min(simulated, this.#now()) : this.#now();
  }
}

/** Groups events; each group ends with a block. */
function* untilBlock(events: Iterable<NodeEvent>): Generator<NodeEvent[]> {
  let batch: NodeEvent[] = [];
  for (const event of events) {
    batch.push(event);
    if (event.path !== '/new_block') continue;
    yield batch;
    batch = [];
  }
}
