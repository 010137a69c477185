/**
 * A simulated node that lives: it posts what happens on its chain to an observer, takes transactions, mines by the clock,
 * and does what a test asks of it.
 */
import { type Clock, pause, systemClock } from '../base/clock.ts';
import { fromHex, toHex } from '../codec/hex.ts';
import { decodeTransaction } from '../codec/transaction.ts';
import { ParameterError } from '../http/errors.ts';
import { type AdmissionView, admitted, Pool, Rejection } from './admission.ts';
import type { Block } from './block.ts';
import type { BurnBlock } from './burn-chain.ts';
import { type MineOptions, SimulatedChain } from './chain.ts';
import { type NodeEvent, nodeEvent, type PostOptions, postEvent } from './node-event.ts';
import { cycles } from './pox.ts';
import { Scenario } from './scenario.ts';
import { type SignedTransaction, signTransaction, tokenTransfer } from './transaction.ts';
import { type Account, accounts } from './wallet.ts';

interface NodeOptions {
  readonly seed: number;
  /** Seconds between two blocks; 0 mines only what is asked for, and lets time pass only on the chain. */
  readonly interval: number;
  /** Blocks that are there from the start. */
  readonly history: number;
  /** Transactions that simulated users send for each block, on average. */
  readonly traffic: number;
  /** Burn height from which pox-5 is active in place of pox-4; null for never. */
  readonly pox5Height?: number | null;
  readonly clock?: Clock;
}

/** Bytes that are no transaction. */
export class UndecodableError extends Error {
  override readonly name = 'UndecodableError';
}

/** A transaction of a request that the node doesn't accept. */
export class RefusedTransaction extends ParameterError {
  /** @param reason the node's word, such as `NotEnoughFunds` @param data what it says besides, as it follows */
  constructor(
    path: readonly string[],
    readonly reason: string,
    data: string,
  ) {
    super({ location: 'body', path }, `is refused: ${reason} ${data}`.trimEnd());
  }
}

/** What a fork did. */
interface Fork {
  /** The blocks of the new branch, oldest first. */
  readonly blocks: readonly Block[];
  /** The blocks that left the chain, oldest first; none where the new branch lost. */
  readonly orphaned: readonly Block[];
  /** Ids of transactions from outside that wait again. */
  readonly pending: readonly string[];
}

/** Deepest fork that can be asked for, in blocks. */
export const MAX_FORK_DEPTH = 100;
/** Simulated seconds a block takes on average, rounded up: history then ends shortly before the present. */
const SECONDS_PER_BLOCK = 200;
/** Micro-STX that a gift costs the faucet. */
const GIFT_FEE = 1_000n;
/** The fee in micro-STX of a transaction that the node signs: more than its length, which is the least that is accepted. */
const feeOf = (payload: Uint8Array): bigint => {
  const twice = 2n * BigInt(payload.length);
  return twice > GIFT_FEE ? twice : GIFT_FEE;
};
/** What a steered block is mined with: nothing happens that nobody asked for. */
const quietly: MineOptions = { transactions: 0, quiet: true };

export class SimulatedNode {
  readonly chain: SimulatedChain;
  readonly seed: number;
  /** The account that gives STX away. */
  readonly faucet: Account;
  readonly #scenario: Scenario;
  readonly #pool = new Pool();
  readonly #clock: Clock;
  readonly #history: number;
  /** Whether time passes only on the chain, so that equal calls give equal bytes. */
  readonly #isSteered: boolean;
  readonly #mining = new Turns();
  readonly #posting = new Turns();
  readonly #stopping = new AbortController();
  #eventsUrl = '';
  /** Null where nothing is mined by the clock. */
  #running: Promise<void> | null = null;
  /** The block that the observer knows as the tip. */
  #announced: Block;
  /** Seconds between two blocks. */
  #interval: number;
  #wake: PromiseWithResolvers<void> = Promise.withResolvers();
  /** Calls that wait for their turn; while there are any, the block under way is announced at once. */
  #impatient = 0;
  #hurry = new AbortController();
  #isHistory = true;
  /** Seconds that the clock was moved on. */
  #skipped = 0;
  /** Unix seconds before which no block is made. */
  #earliest = 0;

  constructor({ seed, interval, history, traffic, pox5Height, clock = systemClock }: NodeOptions) {
    this.seed = seed;
    this.#clock = clock;
    this.#history = history;
    this.#interval = interval;
    this.#isSteered = interval === 0;
    this.chain = new SimulatedChain({
      seed,
      transactionsPerBlock: traffic,
      retained: MAX_FORK_DEPTH + 2,
      faucet: true,
      pox5Height: pox5Height ?? Number.POSITIVE_INFINITY,
      submitted: (world) => this.#pool.waiting(world),
      clock: (simulated) => this.#time(simulated),
      ...(this.#isSteered ? {} : { startTime: this.#now() - history * SECONDS_PER_BLOCK }),
    });
    this.faucet = this.chain.faucet!;
    this.#scenario = new Scenario(this.chain, { seed });
    this.#announced = this.chain.tip;
  }

  /** The tip that the observer knows. */
  get tip(): Block {
    return this.#announced;
  }

  /** Seconds between two blocks; 0 where only those that are asked for are mined. */
  get interval(): number {
    return this.#interval;
  }

  /** Transactions from outside that wait. */
  get pending(): readonly SignedTransaction[] {
    return this.#pool.waiting(this.#announced.world);
  }

  /**
   * Posts block 0 and the history, then begins to mine by the clock.
   * @param eventsUrl where the observer listens, such as `http://127.0.0.1:3700`
   * @returns once the history is posted, or the node was stopped
   */
  async start(eventsUrl: string): Promise<void> {
    this.#eventsUrl = eventsUrl;
    await this.#untilStopped(async () => {
      await this.#mining.run(async () => {
        await this.#post([this.chain.genesis()]);
        while (this.chain.tip.height < this.#history) {
          for (const event of this.#scenario.step()) await this.#post([event]);
        }
      });
      this.#isHistory = false;
      this.#running = this.#untilStopped(() => this.#mineByClock());
    });
  }

  /** Ends what is under way. The observer may lack the last block. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake.resolve();
    await this.#running;
  }

  /** What a transaction is checked against. */
  #view(): AdmissionView {
    const { world, burnView } = this.#announced;
    return { world, burnHeight: burnView.height, network: this.chain.network };
  }

  /**
   * Adds a transaction to the mempool.
   * @returns its id with 0x, once the observer knows of it
   * @throws UndecodableError, Rejection
   */
  async submit(raw: Uint8Array): Promise<string> {
    const decoded = decodeTransaction(raw);
    if (!decoded.ok) throw new UndecodableError(decoded.error.message);
    const id = toHex(decoded.value.txId);
    if (this.pending.some((waiting) => waiting.id === id)) return id;
    await this.#announce(admitted(raw, decoded.value, this.#view()));
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
   * Mines blocks with all transactions that wait and can be mined.
   * @param traffic transactions of simulated users in each
   * @param transactions bytes of transactions that are added to the mempool first
   * @throws ParameterError for a transaction that is refused; nothing is mined then
   */
  mine(count: number, traffic: number, transactions: readonly string[]): Promise<Block[]> {
    return this.#steered(async () => {
      for (const [at, hex] of transactions.entries())
        await this.#submitFrom(fromHex(hex), ['transactions', String(at)]);
      const blocks: Block[] = [];
      while (blocks.length < count) blocks.push(await this.#mineOne({ transactions: traffic, quiet: traffic === 0 }));
      return blocks;
    });
  }

  /** Accepts a transaction of a request. @param path the field of the body that it is in */
  async #submitFrom(raw: Uint8Array, path: readonly string[]): Promise<string> {
    try {
      return await this.submit(raw);
    } catch (error) {
      if (!(error instanceof UndecodableError || error instanceof Rejection)) throw error;
      if (error instanceof UndecodableError) throw new RefusedTransaction(path, 'Deserialization', error.message);
      throw new RefusedTransaction(path, error.reason, error.data === undefined ? '' : JSON.stringify(error.data));
    }
  }

  /** Mines on the tip; in a new tenure where Bitcoin has elected one. */
  #mineOne(options: MineOptions): Promise<Block> {
    const tenure = this.chain.bitcoinIsAhead ? { newTenure: true } : {};
    return this.#mineOn(this.chain.tip.indexBlockHash, { ...tenure, ...options });
  }

  async #mineOn(parent: string, options: MineOptions): Promise<Block> {
    const { events, indexBlockHash } = this.chain.mine(parent, options);
    await this.#post(events);
    return this.chain.block(indexBlockHash)!;
  }

  /**
   * Mines another branch, without the transactions from outside, which wait again where the branch wins.
   * @param depth blocks below the tip where the branch begins
   * @param length blocks of the branch, which wins if it is longer than `depth`
   * @throws ParameterError where the chain is not that long
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
   * Makes Bitcoin blocks.
   * @param withTenures whether the miner that each elects begins its tenure with a block
   */
  bitcoin(count: number, withTenures: boolean): Promise<{ burnBlocks: BurnBlock[]; blocks: Block[] }> {
    return this.#steered(() => this.#mineBitcoin(count, withTenures));
  }

  /** Makes Bitcoin blocks, and the first block of each tenure, up to the beginning of a reward cycle. */
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
      if (withTenures) blocks.push(await this.#mineOne(quietly));
    }
    return { burnBlocks, blocks };
  }

  /** Moves the time of the next block on. @param seconds a whole number */
  advance(seconds: number): Promise<void> {
    return this.#steered(async () => {
      this.#skipped += seconds;
      this.#earliest = Math.max(this.#earliest, this.chain.tip.time) + seconds;
    });
  }

  /** Mines by the clock from now on. @param seconds between two blocks; 0 for not at all */
  mineEvery(seconds: number): Promise<void> {
    return this.#steered(async () => {
      this.#interval = seconds;
      this.#wake.resolve();
      this.#wake = Promise.withResolvers();
    });
  }

  /**
   * Gives micro-STX to an account or a contract, in a block of its own.
   * @throws ParameterError where the faucet doesn't have as much
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

  /** The account that a name stands for, which the seed decides. Such accounts have what they were given. */
  account(name: string): Account {
    return accounts(`${this.seed}/${name}`, 'named', 1, this.chain.network)[0]!;
  }

  /**
   * Signs a payload, and mines it in a block of its own.
   * @throws ParameterError where the transaction is refused; nothing is mined then
   */
  send(account: Account, payload: Uint8Array): Promise<{ id: string; block: Block }> {
    return this.#steered(() => this.#mineOwn(account, payload));
  }

  async #mineOwn(account: Account, payload: Uint8Array): Promise<{ id: string; block: Block }> {
    const origin = { account, nonce: this.#nextNonce(account), fee: feeOf(payload) };
    const id = await this.#submitFrom(signTransaction({ payload, origin }, this.chain.network), []);
    return { id, block: await this.#mineOne(quietly) };
  }

  /** The first nonce that no transaction of an account has; what a fork undid waits, and is mined before the next one. */
  #nextNonce({ address }: Account): number {
    const waiting = this.pending.filter(({ origin }) => origin.account.address === address);
    const used = new Set(waiting.map(({ origin }) => Number(origin.nonce)));
    let nonce = this.#announced.world.nonce(address);
    while (used.has(nonce)) nonce += 1;
    return nonce;
  }

  /** Does what was asked for once the block under way is announced, and before the next one. */
  async #steered<T>(work: () => Promise<T>): Promise<T> {
    this.#impatient += 1;
    this.#hurry.abort();
    try {
      return await this.#mining.run(work);
    } finally {
      this.#impatient -= 1;
      if (this.#impatient === 0) this.#hurry = new AbortController();
    }
  }

  async #mineByClock(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      if (this.#interval === 0) await this.#wake.promise;
      else await this.#mining.run(() => this.#mineOnTime());
    }
  }

  /** Announces the next block of the scenario, with what is said of the mempool spread over the time before it. */
  async #mineOnTime(): Promise<void> {
    // While this waited for its turn, somebody may have stopped the clock.
    if (this.#interval === 0) return;
    for (const batch of untilBlock(this.#scenario.step())) {
      const pauseMs = (this.#interval * 1000) / batch.length;
      for (const event of batch) {
        await pause(this.#clock, pauseMs, AbortSignal.any([this.#stopping.signal, this.#hurry.signal]));
        await this.#post([event]);
      }
    }
  }

  /** Posts events, after those that were to be posted before. @throws the signal's reason once the node is stopped */
  #post(events: readonly NodeEvent[]): Promise<void> {
    const options: PostOptions = { signal: this.#stopping.signal, clock: this.#clock };
    return this.#posting.run(async () => {
      for (const event of events) {
        await postEvent(event, this.#eventsUrl, options);
        if (event.path !== '/new_block') continue;
        this.#announced = this.chain.tip;
        this.#pool.forgetMined(this.#announced.world, this.#announced.height, MAX_FORK_DEPTH);
      }
    });
  }

  /** Work that ends without an error when the node is stopped. */
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

  /** The time of a block, in Unix seconds. @param simulated what the chain proposes */
  #time(simulated: number): number {
    if (this.#isSteered) return Math.max(simulated, this.#earliest);
    return this.#isHistory ? Math.min(simulated, this.#now()) : this.#now();
  }
}

/** The events in groups that end with a block. */
function* untilBlock(events: Iterable<NodeEvent>): Generator<NodeEvent[]> {
  let batch: NodeEvent[] = [];
  for (const event of events) {
    batch.push(event);
    if (event.path !== '/new_block') continue;
    yield batch;
    batch = [];
  }
}

/** Lets one piece of work at a time change what it shares with others, in the order in which they asked. */
class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the work once all before it is done, however that ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    // The caller of this turn gets its failure; the next turn doesn't.
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
