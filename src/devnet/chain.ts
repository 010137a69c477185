/** A simulated chain with its forks, its genesis block and its attachments. */
import { bytesEqual } from '../base/bytes-equal.ts';
import { principalBytes } from '../codec/address.ts';
import { deploymentPayload } from '../codec/boot-transaction.ts';
import { clarity } from '../codec/clarity-encode.ts';
import { sha512_256 } from '../codec/hash.ts';
import { toHex } from '../codec/hex.ts';
import { indexBlockHash } from '../codec/nakamoto-block.ts';
import {
  type Block,
  type BlockBody,
  BlockBuilder,
  type BlockContext,
  blockPayload,
  bootReceipt,
  earningsAt,
  isPaid,
  matureRewards,
  newlyChosenCycle,
  rewardSet,
  sealedHeader,
  type Tenure,
  type Unlock,
} from './block.ts';
import { type BurnBlock, BurnChain, burnBlocksBetween, firstBurnHeight } from './burn-chain.ts';
import { u64 } from './bytes.ts';
import { type ChainEvent, type ContractTemplate, networkContract } from './contract.ts';
import { bns } from './contracts/bns.ts';
import { pox4 } from './contracts/pox-4.ts';
import { pox5 } from './contracts/pox-5.ts';
import { SBTC_ASSET, SBTC_DEPLOYER, sbtcRegistry, sbtcToken } from './contracts/token.ts';
import type { Receipt } from './execute.ts';
import { type Network, networks } from './network.ts';
import { type NodeEvent, nodeEvent } from './node-event.ts';
import { cycles, type RewardCycles } from './pox.ts';
import { Prng } from './prng.ts';
import { Traffic, type TrafficOptions, UserMempool } from './traffic.ts';
import { type SignedTransaction, tokenTransfer } from './transaction.ts';
import { type Account, accounts } from './wallet.ts';
import { World } from './world.ts';

export interface ChainOptions extends TrafficOptions {
  /** Seed of all random values. The same seed and the same calls give the same bytes. */
  readonly seed: number;
  /** Average users' transactions per block. Default 10. */
  readonly transactionsPerBlock?: number;
  /** Number of users who send transactions. Default 100. */
  readonly accounts?: number;
  /** Whether transactions are announced before they are mined. Default true. */
  readonly mempool?: boolean;
  /** Default testnet. */
  readonly network?: 'mainnet' | 'testnet';
  /** Unix seconds of the genesis block, unless `start` has its time. Default 2025-01-01. */
  readonly startTime?: number;
  /**
   * Chooses the times of blocks, for chains that run in real time, or that commands move in time. Default: the proposed
   * time.
   */
  readonly clock?: ChainClock;
  /** Number of generations of blocks that can be parents. Default: all. */
  readonly retained?: number;
  /** Returns the lowest height whose blocks can be parents at any depth. Default: Infinity. */
  readonly keptFrom?: () => number;
  /** Returns the submitted transactions that are pending on a state. All that can be mined are mined. Default: none. */
  readonly submitted?: (world: World) => readonly SignedTransaction[];
  /**
   * Burn height at which pox-5 replaces pox-4, as on a network; Infinity for never. Default: both are active at all
   * heights, so that a short chain has calls of both.
   */
  readonly pox5Height?: number | undefined;
  /** Whether the node's transactions unlock STX of the genesis block at some heights. Default true. */
  readonly unlocks?: boolean;
  /** Whether Bitcoin blocks contain operations on Stacks (SIP-007). Default true. */
  readonly operations?: boolean;
  /** Whether block 0 funds a faucet account. Default false. */
  readonly faucet?: boolean;
  /** Start of the chain that replaces simulated users and boot contracts. Default: none. */
  readonly start?: ChainStart;
}

/**
 * Chooses the time of a new block, in Unix seconds.
 * @param proposed by the chain
 * @param minimum that its parent and its Bitcoin block allow
 */
export type ChainClock = (kind: 'stacks' | 'bitcoin', proposed: number, minimum: number) => number;

/** The start of a chain with contracts that an engine executes. */
export interface ChainStart {
  /** Unix seconds of the genesis block. */
  readonly time: number;
  readonly firstBurnHeight: number;
  readonly cycles: RewardCycles;
  readonly contracts: readonly { id: string; template: ContractTemplate }[];
  /** Micro-STX by address. */
  readonly funds: readonly { address: string; amount: bigint }[];
}

export interface MineOptions {
  /** Number of users' transactions in the block. Default: random, around the average. */
  readonly transactions?: number;
  /** Starts a tenure. This needs a sortition, so a burn block is announced unless the burn chain is already ahead. */
  readonly newTenure?: boolean;
  /** Announces a burn block first. Without `newTenure` it elects no miner, and the current tenure is extended. */
  readonly newBurnBlock?: boolean;
  /**
   * Builds the new burn block on the burn block that the parent has seen, even if the burn chain is ahead: a Bitcoin
   * fork.
   */
  readonly burnFork?: boolean;
  /** Submitted transactions. All that can be mined are mined. Default: those of the chain's options. */
  readonly submitted?: readonly SignedTransaction[];
  /** Default: the clock of the chain's options. */
  readonly clock?: ChainClock;
  /** Whether to leave out random behavior, in the mempool and in the tenure's budget. Default false. */
  readonly quiet?: boolean;
}

export interface MinedBlock {
  /** Index block hash with 0x, which `mine` accepts as a parent. */
  readonly indexBlockHash: string;
  readonly height: number;
  readonly burnBlockHash: string;
  /**
   * Events in order: a new burn block, mempool events, attachments of this and earlier blocks, and the block.
   */
  readonly events: readonly NodeEvent[];
  /** Ids of all transactions in the block in order, including operations on Bitcoin. */
  readonly txIds: readonly string[];
  /** Micro-STX that the block paid to miners. */
  readonly rewards: readonly { recipient: string; amount: bigint }[];
}

/** Returns the text that seeds all random values of a chain. */
const seedOf = (seed: number): string => `stackside-devnet-${seed}`;

/** Returns the faucet account of a chain by its seed. */
export const faucetOf = (seed: number, network: Network): Account => accounts(seedOf(seed), 'faucet', 1, network)[0]!;

/** Default time of the genesis block, in Unix seconds. */
export const DEFAULT_START = Date.UTC(2025, 0, 1) / 1000;

/** A simulated chain that grows by one block at a time. The caller chooses each parent, so any fork is possible. */
export class SimulatedChain {
  readonly network: Network;
  readonly faucet: Account | undefined;
  readonly cycles: RewardCycles;
  /** Empty if simulated users announce nothing. */
  readonly mempool: UserMempool;
  readonly #announces: boolean;
  readonly #prng: Prng;
  readonly #burns: BurnChain;
  readonly #builder: BlockBuilder;
  readonly #attachments: Attachments;
  readonly #miners: readonly Account[];
  readonly #signers: readonly Account[];
  readonly #mean: number;
  readonly #retained: number;
  readonly #keptFrom: () => number;
  /** Lowest height of blocks in memory. */
  #lowest = 0;
  readonly #clock: ChainClock;
  readonly #submitted: NonNullable<ChainOptions['submitted']>;
  /**
   * Whether an engine executes the contracts. Each coinbase then goes to its miner, and each Bitcoin block starts a
   * tenure.
   */
  readonly #isReal: boolean;
  readonly #genesis: Block;
  readonly #genesisBody: object;
  readonly #blocks = new Map<string, Block>();
  readonly #byHeight = new Map<number, Block[]>();
  readonly #elected = new WeakMap<BurnBlock, Tenure>();
  readonly #burnBlocks = new Map<string, BurnBlock>();
  #burnTip: BurnBlock;
  #tip: Block;
  #mined = 0;
  /** Time of the last event, in Unix milliseconds. */
  #sentAt = 0;

  constructor(options: ChainOptions) {
    const seed = seedOf(options.seed);
    const prng = new Prng(`${seed}/chain`);
    const network = networks[options.network ?? 'testnet'];
    const { start } = options;
    this.#isReal = start !== undefined;
    const users = accounts(seed, 'user', start === undefined ? (options.accounts ?? 100) : 0, network);
    const sponsors = accounts(seed, 'sponsor', start === undefined ? 3 : 0, network);
    const traffic = new Traffic(new Prng(`${seed}/traffic`), { ...options, users, sponsors, network });
    this.network = network;
    this.cycles = start?.cycles ?? cycles;
    this.#prng = prng;
    this.#miners = accounts(seed, 'miner', 3, network);
    this.#signers = accounts(seed, 'signer', 6, network);
    const operators = options.operations === false ? [] : users;
    this.#burns = new BurnChain(new Prng(`${seed}/burn`), operators, this.#signers, network, start?.firstBurnHeight);
    const unlocks = unlocksFor(options.unlocks === false ? [] : users);
    this.#builder = new BlockBuilder(new Prng(`${seed}/block`), traffic, network, unlocks);
    this.mempool = new UserMempool(new Prng(`${seed}/mempool`), traffic);
    this.#announces = options.mempool !== false;
    this.#attachments = new Attachments(new Prng(`${seed}/attachments`));
    this.#mean = options.transactionsPerBlock ?? 10;
    this.#retained = options.retained ?? Number.POSITIVE_INFINITY;
    this.#keptFrom = options.keptFrom ?? (() => Number.POSITIVE_INFINITY);
    this.#clock = options.clock ?? ((_, proposed) => proposed);
    this.#submitted = options.submitted ?? (() => []);
    this.faucet = options.faucet === true ? faucetOf(options.seed, network) : undefined;

    this.#burnTip = this.#burns.first(start?.time ?? options.startTime ?? DEFAULT_START);
    this.#burnBlocks.set(this.#burnTip.consensusHash.toHex(), this.#burnTip);
    const world = new World(undefined, options.pox5Height);
    const { contracts, events } =
      start === undefined
        ? simulatedStart([...users, ...sponsors], unlocks, this.faucet, world.pox5Height, prng, network)
        : { contracts: start.contracts, events: start.funds.map(mintEvent) };
    const receipts = genesisReceipts(world, contracts, events, network);
    this.#genesis = this.#makeGenesis(world, receipts);
    this.#genesisBody = blockPayload(this.#genesis, null, [], prng);
    this.#tip = this.#genesis;
    this.#remember(this.#genesis);
  }

  /** Returns the event of block 0, which every node posts first. */
  genesis(): NodeEvent {
    return this.#correctTime(nodeEvent('/new_block', this.#genesisBody, this.#genesis.time * 1000));
  }

  /** Returns the event of block 0 that a node posts after a restart: without transactions and events. */
  restart(): NodeEvent {
    return this.#correctTime(nodeEvent('/new_block', { ...this.#genesisBody, events: [], transactions: [] }, 0));
  }

  get genesisHash(): string {
    return this.#genesis.indexBlockHash;
  }

  /** The highest block. At equal heights, the first one: the tip for an indexer. */
  get tip(): Block {
    return this.#tip;
  }

  /** Returns a block in memory, on any branch; undefined if there is none. */
  block(indexBlockHash: string): Block | undefined {
    return this.#blocks.get(indexBlockHash);
  }

  /**
   * Returns the tenure that a Bitcoin block elected; undefined if it elected none, or no block of the tenure was mined
   * yet.
   */
  elected(burn: BurnBlock): Tenure | undefined {
    return this.#elected.get(burn);
  }

  /** Returns a Bitcoin block on any branch, by its consensus hash in hex; undefined if there is none. */
  burnBlock(consensusHash: string): BurnBlock | undefined {
    return this.#burnBlocks.get(consensusHash);
  }

  /** Generates a block and its ancestors down to block 0, if they are in memory. */
  *ancestors(from: Block): Generator<Block> {
    for (let block: Block | undefined = from; block !== undefined; ) {
      yield block;
      block = block.parent === null ? undefined : this.#blocks.get(block.parent);
    }
  }

  /** Whether Bitcoin has blocks that the tip hasn't seen, which the next tenure can use. */
  get bitcoinIsAhead(): boolean {
    return this.#isAhead(this.#tip);
  }

  /** The Bitcoin block that the next Bitcoin block is built on. */
  get bitcoinTip(): BurnBlock {
    return this.bitcoinIsAhead ? this.#burnTip : this.#tip.burnView;
  }

  /** Makes the tip's Bitcoin block the newest one. The next Bitcoin block is then a fork of the later blocks. */
  dropLaterBitcoin(): void {
    this.#burnTip = this.#tip.burnView;
  }

  /** Makes a Bitcoin block that elects a miner, without a Stacks block. */
  mineBitcoin(): { burnBlock: BurnBlock; event: NodeEvent } {
    const burnBlock = this.#nextBurnBlock(this.bitcoinTip, this.#tip.time, this.#clock);
    // The Bitcoin tip moves even without a Stacks block, so that this Bitcoin block can elect the next tenure.
    this.#burnTip = burnBlock;
    return { burnBlock, event: this.#correctTime(this.#burnBlockEvent(burnBlock)) };
  }

  /**
   * Mines a block.
   *
   * @param parent index block hash of a block that is still in memory; null for the genesis block
   */
  mine(parent: string | null, options: MineOptions = {}): MinedBlock {
    const parentBlock = parent === null ? this.#genesis : this.#retainedBlock(parent);
    const newTenure = options.newTenure ?? (options.newBurnBlock === true || parentBlock === this.#genesis);
    const clock = options.clock ?? this.#clock;
    const newBurnBlock = this.#makeBurnBlock(parentBlock, newTenure, options, clock);
    const burnView = newBurnBlock ?? this.#seenBurnBlock(parentBlock, newTenure);
    const burn = newTenure ? burnView : parentBlock.burn;
    const proposed = Math.max(parentBlock.time, burnView.time) + this.#prng.between(3, 30);
    const minimum = Math.max(parentBlock.time + 1, burnView.time);
    const time = Math.max(clock('stacks', proposed, minimum), parentBlock.time + 1);

    const world = parentBlock.world.fork();
    const miner = newTenure ? this.#prng.pick(this.#miners) : parentBlock.tenure.miner;
    const recipient = this.#isReal ? miner.address : this.#coinbaseRecipient(miner, world);
    const context: BlockContext = {
      parent: parentBlock,
      burn,
      burnView,
      world,
      miner,
      newTenure: newTenure ? { recipient } : undefined,
      quiet: options.quiet === true,
    };
    const count = options.transactions ?? this.#prng.between(0, 2 * this.#mean);
    const rivals = (this.#byHeight.get(parentBlock.height + 1) ?? []).flatMap(({ transactions }) => transactions);
    const body = this.#fill(context, count, rivals, options.submitted ?? this.#submitted(world));

    const block = this.#assemble(context, body, time);
    const earnings = newTenure ? earningsAt(parentBlock) : [];
    const maturedRewards = matureRewards(earnings, block.tenure.height, world, this.network.boot);

    const events = newBurnBlock === null ? [] : [this.#burnBlockEvent(newBurnBlock)];
    const start = events.at(-1)?.time ?? parentBlock.time * 1000;
    if (options.quiet !== true) events.push(...this.#announcements(body, rivals, block, start));
    this.mempool.removeMined(world);
    events.push(...this.#attachments.announce(body.receipts, block, time * 1000));
    const payload = blockPayload(block, parentBlock, maturedRewards, this.#prng);
    events.push(nodeEvent('/new_block', payload, time * 1000));
    this.#remember(block);
    const { indexBlockHash, height } = block;
    return {
      indexBlockHash,
      height,
      burnBlockHash: burn.hash,
      events: events.map((event) => this.#correctTime(event)),
      txIds: body.receipts.map(({ txId }) => txId),
      rewards: maturedRewards.map(({ recipient, coinbase_amount, tx_fees_streamed_produced }) => ({
        recipient,
        amount: BigInt(coinbase_amount) + BigInt(tx_fees_streamed_produced),
      })),
    };
  }

  #burnBlockEvent(block: BurnBlock): NodeEvent {
    return nodeEvent('/new_burn_block', this.#burns.payload(block), block.time * 1000);
  }

  /** Makes the burn block that is announced before a block; null if none is. */
  #makeBurnBlock(parent: Block, newTenure: boolean, options: MineOptions, clock: ChainClock): BurnBlock | null {
    const ahead = this.#isAhead(parent);
    const hasNewBurnBlock = options.newBurnBlock ?? (options.burnFork === true || (newTenure && !ahead));
    if (!hasNewBurnBlock) return null;
    const base = ahead && options.burnFork !== true ? this.#burnTip : parent.burnView;
    const block = this.#nextBurnBlock(base, parent.time, clock);
    // As in Bitcoin, the first of two branches of equal height stays.
    if (block.height > this.#burnTip.height) this.#burnTip = block;
    return block;
  }

  /** Reports whether Bitcoin has newer blocks than a block has seen. */
  #isAhead({ burnView }: Block): boolean {
    return this.#burnTip !== burnView && burnBlocksBetween(burnView, this.#burnTip) !== undefined;
  }

  #nextBurnBlock(base: BurnBlock, earliest: number, clock: ChainClock): BurnBlock {
    const burnBlock = this.#burns.next(base, earliest);
    const block = { ...burnBlock, time: Math.max(clock('bitcoin', burnBlock.time, base.time + 1), base.time + 1) };
    this.#burnBlocks.set(block.consensusHash.toHex(), block);
    return block;
  }

  /** Returns the burn block that a miner uses if none is announced. */
  #seenBurnBlock(parent: Block, newTenure: boolean): BurnBlock {
    if (!newTenure) return parent.burnView;
    const [next] = burnBlocksBetween(parent.burnView, this.#burnTip) ?? [];
    if (next !== undefined) return this.#isReal ? next : this.#burnTip;
    throw new RangeError('a new tenure needs a burn block the parent has not seen: leave newBurnBlock out');
  }

  /** Returns the recipient of a coinbase: the miner, or for a fifth of the coinbases, a contract or any miner. */
  #coinbaseRecipient(miner: Account, world: World): string {
    if (!this.#prng.chance(0.2)) return miner.address;
    const contracts = world.userContracts;
    return contracts.length > 0 && this.#prng.chance(0.5)
      ? this.#prng.pick(contracts).id
      : this.#prng.pick(this.#miners).address;
  }

  /** Fills a block: first transactions of other branches at this height and pending transactions, then new ones. */
  #fill(
    context: BlockContext,
    count: number,
    rivals: Block['transactions'],
    submitted: readonly SignedTransaction[],
  ): BlockBody {
    const repeats = rivals.filter(() => this.#prng.chance(0.7));
    const due = this.mempool.waiting.filter(() => this.#prng.chance(0.5));
    return this.#builder.fill(context, count, [...repeats, ...due], this.mempool.busy(context.world), submitted);
  }

  #assemble(context: BlockContext, body: BlockBody, time: number): Block {
    const { parent, burn, burnView, world, miner, newTenure } = context;
    this.#mined += 1;
    // The state root is a counter, so that no two blocks are equal.
    const state = sha512_256(u64(this.#mined));
    const header = sealedHeader(context, body.receipts, time, state, this.#signers, this.#prng);
    const { blockHash, indexBlockHash } = header;
    const hashes = { blockHash, indexBlockHash };
    const position = { ...hashes, header, parent: parent.indexBlockHash, height: parent.height + 1 };
    const { transactions, receipts, fees } = body;
    const cycle = newTenure === undefined ? null : newlyChosenCycle(parent.burn.height, burn.height, this.cycles);
    let { rewardSets } = parent;
    if (cycle !== null) {
      const isOfPox5 = this.cycles.startOf(cycle) >= (world.pox5Height ?? Number.POSITIVE_INFINITY);
      rewardSets = [...rewardSets, { cycle, set: rewardSet(this.#prng, this.#signers, this.network, isOfPox5) }];
    }
    const common = { ...position, time, burn, burnView, world, transactions, receipts, rewardSets };
    if (newTenure === undefined) {
      const { tenure, earnings } = parent;
      const blocksInTenure = parent.blocksInTenure + 1;
      return { ...common, tenure, blocksInTenure, fees: parent.fees + fees, earnings };
    }
    const tenure: Tenure = {
      height: parent.tenure.height + 1,
      miner,
      recipient: newTenure.recipient,
      minerTxId: toHex(this.#prng.bytes(32)),
      consensusHash: burn.consensusHash,
      parentConsensusHash: parent.tenure.consensusHash,
      parentIndexBlockHash: parent.tenure.indexBlockHash,
      ...hashes,
    };
    const earnings = earningsAt(parent).filter((earning) => !isPaid(earning, tenure.height));
    return { ...common, tenure, blocksInTenure: 1, fees, earnings };
  }

  #announcements(body: BlockBody, rivals: Block['transactions'], block: Block, start: number): NodeEvent[] {
    if (!this.#announces) return [];
    const mined = new Set(body.transactions.map(({ id }) => id));
    const replaced = rivals.filter(({ id }) => !mined.has(id));
    const { world, burn, time } = block;
    return this.mempool.announce(body.fresh, replaced, world, burn.height, start, time * 1000);
  }

  /**
   * Corrects an event's time. A rival block may be older than events sent before it was mined, but it is sent later.
   */
  #correctTime(event: NodeEvent): NodeEvent {
    this.#sentAt = Math.max(event.time, this.#sentAt + 1);
    return { ...event, time: this.#sentAt };
  }

  #makeGenesis(world: World, receipts: Block['receipts']): Block {
    const burn = this.#burnTip;
    const hash = this.#prng.bytes(32);
    const hashes = { blockHash: toHex(hash), indexBlockHash: toHex(indexBlockHash(hash, burn.consensusHash)) };
    const miner = this.#miners[0]!;
    const minerTxId = `0x${'00'.repeat(32)}`;
    const { consensusHash } = burn;
    const parentHashes = { parentConsensusHash: null, parentIndexBlockHash: null };
    const tenure = { height: 0, miner, recipient: miner.address, minerTxId, consensusHash, ...parentHashes, ...hashes };
    return {
      ...hashes,
      header: null,
      rewardSets: [],
      parent: null,
      height: 0,
      time: burn.time,
      burn,
      burnView: burn,
      tenure,
      blocksInTenure: 0,
      fees: 0n,
      earnings: [],
      world,
      transactions: [],
      receipts,
    };
  }

  #retainedBlock(indexBlockHash: string): Block {
    const block = this.block(indexBlockHash);
    if (block === undefined) throw new RangeError(`no block ${indexBlockHash} is in memory`);
    return block;
  }

  #remember(block: Block): void {
    this.#blocks.set(block.indexBlockHash, block);
    if (!this.#elected.has(block.burn)) this.#elected.set(block.burn, block.tenure);
    this.#byHeight.set(block.height, [...(this.#byHeight.get(block.height) ?? []), block]);
    if (block.height > this.#tip.height) this.#tip = block;
    const lowestHeight = Math.min(this.#tip.height - this.#retained + 1, this.#keptFrom());
    for (; this.#lowest < lowestHeight; this.#lowest += 1) {
      for (const old of this.#byHeight.get(this.#lowest) ?? []) this.#blocks.delete(old.indexBlockHash);
      this.#byHeight.delete(this.#lowest);
    }
  }
}

/** Returns a boot contract without functions, so that readers find the contract. */
const quietContract = (name: string): ContractTemplate =>
  networkContract(name, `The boot contract ${name}`, {}, { clarity_version: 'Clarity1' });
const costs = quietContract('costs');

type Unlocks = ReadonlyMap<number, readonly Unlock[]>;

/** Returns the STX of the genesis block that are unlocked by height, like the investors' STX on mainnet. */
function unlocksFor([first, second = first]: readonly Account[]): Unlocks {
  if (first === undefined || second === undefined) return new Map();
  return new Map([
    [7, [{ recipient: first.address, amount: 12_345_678n }]],
    [
      35,
      [
        { recipient: second.address, amount: 500_000_000n },
        { recipient: first.address, amount: 1n },
      ],
    ],
  ]);
}

const lockup = (unlocks: Unlocks): ContractTemplate => ({
  ...quietContract('lockup'),
  maps: {
    lockups(_, key) {
      const height = [...unlocks.keys()].find((unlockHeight) => bytesEqual(clarity.uint(unlockHeight), key));
      const due = height === undefined ? undefined : unlocks.get(height);
      return due === undefined
        ? undefined
        : clarity.list(
            due.map(({ recipient, amount }) =>
              clarity.tuple({ recipient: clarity.principal(recipient), amount: clarity.uint(amount) }),
            ),
          );
    },
  },
});

/** Micro-STX of the faucet at the start: a billion STX. */
export const FAUCET_FUNDS = 1_000_000_000_000_000n;
/** Sats of the faucet at the start, as sBTC: ten thousand BTC. */
const FAUCET_SATS = 1_000_000_000_000n;

/** Returns the event of micro-STX that block 0 mints. */
const mintEvent = ({ address: recipient, amount }: ChainStart['funds'][number]): ChainEvent => ({
  type: 'stx_mint_event',
  recipient,
  amount,
});

/** Returns the contracts and the events of block 0 of a chain with simulated users. */
function simulatedStart(
  holders: readonly Account[],
  unlocks: Unlocks,
  faucet: Account | undefined,
  pox5Height: number | undefined,
  prng: Prng,
  network: Network,
): { contracts: ChainStart['contracts']; events: readonly ChainEvent[] } {
  const hasPox5 = pox5Height === undefined || pox5Height <= firstBurnHeight;
  const boot = [costs, lockup(unlocks), bns, pox4, ...(hasPox5 ? [pox5] : [])];
  const sbtc = faucet === undefined ? [] : [sbtcToken, sbtcRegistry(faucet.publicKey)];
  const contracts = [
    ...boot.map((template) => ({ id: `${network.boot}.${template.name}`, template })),
    ...sbtc.map((template) => ({ id: `${SBTC_DEPLOYER}.${template.name}`, template })),
  ];
  // 10,000 to 4,300 million STX, mostly small, so that balances differ in length.
  const funds = holders.map(({ address }) => ({
    address,
    amount: 10_000_000_000n + BigInt(prng.u32()) * 10n ** BigInt(prng.below(7)),
  }));
  if (faucet === undefined) return { contracts, events: funds.map(mintEvent) };
  const { address: recipient } = faucet;
  const coins: ChainEvent = { type: 'ft_mint_event', asset: SBTC_ASSET, recipient, amount: FAUCET_SATS };
  return { contracts, events: [...[...funds, { address: recipient, amount: FAUCET_FUNDS }].map(mintEvent), coins] };
}

/**
 * Makes the receipts of block 0, which deploys contracts and mints the initial STX.
 *
 * All transactions are unsigned, and all but the deployments of sBTC are from the boot address. The mints are events of
 * a transfer of 0 from that address to itself.
 */
function genesisReceipts(
  world: World,
  contracts: ChainStart['contracts'],
  events: readonly ChainEvent[],
  network: Network,
): Receipt[] {
  const deployments = contracts.map(({ id, template }) => {
    world.install({ id, template, height: 0 });
    const isOfBoot = id.startsWith(`${network.boot}.`);
    const { name, source, abi, clarityVersion = null } = template;
    const signers = isOfBoot ? undefined : principalBytes(SBTC_DEPLOYER)!.subarray(1);
    return bootReceipt(deploymentPayload(name, source, isOfBoot ? null : clarityVersion), network, { abi }, signers);
  });
  if (world.contract(`${SBTC_DEPLOYER}.${sbtcToken.name}`) !== undefined) world.useNonce(SBTC_DEPLOYER);
  for (const event of events) world.apply(event);
  return [...deployments, bootReceipt(tokenTransfer(network.boot, 0n, ''), network, { events })];
}

/**
 * Delivers attachments as nodes do, which download them from peers: some before the event of the block that names them,
 * most a little later, a few twice, and a few never. Attachments of losing forks are also delivered.
 */
class Attachments {
  #waiting: object[] = [];

  constructor(readonly prng: Prng) {}

  /** Returns the events before a block, with attachments of this and earlier blocks. @param time Unix milliseconds */
  announce(receipts: readonly Receipt[], { indexBlockHash, height }: Block, time: number): NodeEvent[] {
    const due = this.#waiting.filter(() => this.prng.chance(0.6));
    this.#waiting = this.#waiting.filter((body) => !due.includes(body));
    for (const { txId, attachments = [] } of receipts) {
      for (const attachment of attachments) {
        const body = {
          attachment_index: attachment.index,
          block_height: height,
          content: toHex(attachment.content),
          content_hash: toHex(attachment.hash),
          contract_id: attachment.contract,
          index_block_hash: indexBlockHash,
          metadata: toHex(attachment.metadata),
          tx_id: txId,
        };
        const timing = this.prng.weighted([
          [16, 'later'],
          [2, 'at once'],
          [1, 'twice'],
          [1, 'never'],
        ] as const);
        if (timing === 'at once' || timing === 'twice') due.push(body);
        if (timing === 'later' || timing === 'twice') this.#waiting.push(body);
      }
    }
    return due.length === 0 ? [] : [nodeEvent('/attachments/new', due, time)];
  }
}
