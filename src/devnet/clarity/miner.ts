/**
 * Mines blocks whose transactions a Clarity engine executes. Each transaction has a block of its own, so that it fails alone; the
 * engine and the chain have the same heights, times and STX.
 */
import { atMost } from '../../base/turns.ts';
import { type ClarityValue, decodeClarity } from '../../codec/clarity.ts';
import { fromHex, toHex } from '../../codec/hex.ts';
import type { Block } from '../block.ts';
import type { Beginning, MinedBlock, MineOptions, SimulatedChain } from '../chain.ts';
import { type Executed, executedContract, fieldOf, uintOf } from '../contract.ts';
import { formPlaces, readSource } from '../contract-source.ts';
import { brokenPostCondition, isMinable } from '../execute.ts';
import { networks } from '../network.ts';
import { type RewardCycles, rewardCycles } from '../pox.ts';
import { payerOf, type SignedTransaction } from '../transaction.ts';
import { type ClarityEngine, EngineEndedError } from './engine.ts';
import { type Attempt, EngineChain, isProbe } from './engine-chain.ts';
import type { Credit, EngineAction, EngineBlock, EngineOutcome, EngineRead } from './engine-messages.ts';
import { executedOf, vmErrorOf } from './outcome.ts';

/** The epoch of the chain: the last one in which pox-4 is active. */
const EPOCH = '3.4';
/** Contracts of the boot address that the engine has, with their versions of Clarity. */
const BOOT_CONTRACTS = {
  ...{
    pox: 1,
    'pox-2': 2,
    'pox-3': 2,
    'pox-4': 2,
    bns: 1,
    lockup: 1,
    costs: 1,
    'costs-2': 1,
    'costs-3': 1,
    'costs-4': 1,
  },
  ...{ 'cost-voting': 1, signers: 2, 'signers-voting': 2 },
};

/** Seconds by which the engine moves the time with a block, and from a Bitcoin block to the next one at least. */
const BLOCK_SECONDS = 10;
const BITCOIN_SECONDS = 600;

/** Blocks of a tenure that are mined by the clock. */
const BLOCKS_IN_TENURE = 4;

const creditOf = ({ recipient, amount }: { recipient: string; amount: bigint }): Credit => ({
  address: recipient,
  amount: String(amount),
});

function actionOf({ origin, action }: SignedTransaction): EngineAction {
  const sender = origin.account.address;
  switch (action.kind) {
    case 'transfer':
      return { kind: 'transfer', sender, recipient: action.recipient, amount: String(action.amount) };
    case 'deploy': {
      const { source, clarityVersion = null } = action.template;
      return { kind: 'deploy', sender, name: action.name, source, clarityVersion };
    }
    case 'call': {
      const { functionName, args } = action.call;
      return { kind: 'call', sender, contract: action.contract, functionName, args: args.map((bytes) => toHex(bytes)) };
    }
    case 'system':
    case 'executed':
      throw new Error(`no ${action.kind} transaction is submitted`);
  }
}

/** The transaction with what came of it, in the form in which the chain mines it. */
function executed(transaction: SignedTransaction, result: Executed): SignedTransaction {
  const { action, origin } = transaction;
  const isDeployed = action.kind === 'deploy' && result.status === 'success' && result.abi !== null;
  const deployed = isDeployed
    ? { id: `${origin.account.address}.${action.name}`, template: { ...action.template, abi: result.abi! } }
    : null;
  return { ...transaction, action: { kind: 'executed', executed: result, deployed, asked: action } };
}

/**
 * The boot contracts, as the engine's analysis describes them. It tells of contracts that are deployed alone, so a copy of each is.
 * @param chain has begun, and has to begin again
 */
async function bootContracts(chain: EngineChain): Promise<Beginning['contracts']> {
  const { boot } = networks.testnet;
  const contracts: Beginning['contracts'][number][] = [];
  for (const [name, clarityVersion] of Object.entries(BOOT_CONTRACTS)) {
    const id = `${boot}.${name}`;
    const source = await chain.readNow({ kind: 'source', contract: id });
    if (source === null) continue;
    const { template } = readSource(name, source, null, boot);
    const constants = template.abi.variables.filter(({ access }) => access === 'constant').map((one) => one.name);
    const action = { kind: 'deploy' as const, sender: boot, name: `${name}-copy`, source, clarityVersion };
    const { outcome, values } = await chain.probe(
      'quick',
      { kind: 'block', credits: [], fee: null, action },
      constants.filter((one) => !Object.hasOwn(template.constants ?? {}, one)),
    );
    const made = outcome === null ? null : executedOf(outcome, true).abi;
    // A source that the engine of another version doesn't take as it is has what can be read of it without an analysis.
    const abi =
      made === null ? template.abi : { ...made, functions: made.functions.filter((one) => !isProbe(one.name)) };
    const known = Object.fromEntries([...values].map(([constant, value]) => [constant, fromHex(value)]));
    contracts.push({
      id,
      template: {
        ...executedContract(name, source, undefined, abi),
        constants: { ...template.constants, ...known },
        isPartial: made === null,
      },
    });
  }
  return contracts;
}

/** The reward cycles of the engine's stacking contract. @param chain has begun */
async function cyclesOf(chain: EngineChain): Promise<RewardCycles> {
  const contract = `${networks.testnet.boot}.pox-4`;
  const call = {
    kind: 'call' as const,
    contract,
    functionName: 'get-pox-info',
    args: [],
    sender: networks.testnet.boot,
  };
  const info = decodeClarity(fromHex((await chain.readNow(call)) ?? '0x'));
  if (!info.ok || info.value.type !== 'ok') throw new Error('pox-4 of the engine says nothing of its cycles');
  const blocks = (name: string) => Number(uintOf(fieldOf((info.value as { value: ClarityValue }).value, name)));
  return rewardCycles(blocks('reward-cycle-length'), blocks('prepare-cycle-length'));
}

/** A transaction of a block as it was before it was executed. */
export const askedOf = (transaction: SignedTransaction): SignedTransaction =>
  transaction.action.kind === 'executed' ? { ...transaction, action: transaction.action.asked } : transaction;

type Deployment = EngineAction & { kind: 'deploy' };

export class ClarityMiner {
  readonly #engine: EngineChain;
  /** Mining and reading, one at a time: the engine is at one block. */
  readonly #turns = atMost(1);
  /** What each block paid to miners, by its id. */
  readonly #rewards = new Map<string, MinedBlock['rewards']>();
  #chain: SimulatedChain | null = null;
  /** Unix seconds of the block that is mined now. */
  #time: number;
  /** What the block that is mined now has. */
  #included: SignedTransaction[] = [];

  private constructor(
    engine: EngineChain,
    time: number,
    readonly beginning: Beginning,
  ) {
    this.#engine = engine;
    this.#time = time;
  }

  /**
   * Begins a chain.
   * @param funds micro-STX of all accounts, the faucet's too
   * @param time of its beginning, in Unix seconds
   * @throws OperatorError where the engine can't be started
   */
  static async begin(engine: ClarityEngine, funds: Beginning['funds'], time: number): Promise<ClarityMiner> {
    const credits = funds.map(({ address: recipient, amount }) => creditOf({ recipient, amount }));
    const chain = new EngineChain(engine, { epoch: EPOCH, time, funds: credits });
    await chain.begin();
    const cycles = await cyclesOf(chain);
    const contracts = await bootContracts(chain);
    return new ClarityMiner(chain, time, { firstBurnHeight: 0, cycles, contracts, funds });
  }

  /** The time of the block that is mined now, in Unix seconds. */
  get time(): number {
    return this.#time;
  }

  /** The time of the Bitcoin block with which the block that is mined now begins a tenure, in Unix seconds. */
  get bitcoinTime(): number {
    return this.#time - BLOCK_SECONDS;
  }

  /** The time of a tenure's first block on another block, in Unix seconds. */
  tenureTime({ time, burnView }: Block): number {
    return Math.max(burnView.time + BITCOIN_SECONDS, time + BLOCK_SECONDS) + BLOCK_SECONDS;
  }

  /** The transactions of the block that is mined now. */
  get included(): readonly SignedTransaction[] {
    return this.#included;
  }

  serve(chain: SimulatedChain): void {
    this.#chain = chain;
  }

  /** Whether the next block by the clock begins a tenure. */
  endsTenure({ blocksInTenure }: Block): boolean {
    return blocksInTenure >= BLOCKS_IN_TENURE;
  }

  /** Mines a block: the first of a tenure, which has no transactions, or one with the first transaction that can be mined. */
  mine(parent: Block, newTenure: boolean, pending: readonly SignedTransaction[]): Promise<MinedBlock> {
    return this.#turns(async () => {
      if (newTenure || parent.parent === null) return this.#mineTenure(parent);
      const next = pending.find((one) => isMinable(one, parent.world, parent.burnView.height));
      return next === undefined ? this.#mineEmpty(parent) : this.#mineWith(parent, next);
    });
  }

  /** Reads from the state after a block. @throws EngineEndedError, EngineRefusedError */
  read(block: Block, read: EngineRead): Promise<string | null> {
    return this.#turns(() => this.#engine.read(block.indexBlockHash, read));
  }

  /**
   * Executes transactions on a block, each in a block of its own, which the chain never has.
   * @returns the error of the first one that makes no result, with its place; null where all do
   * @throws EngineEndedError, EngineRefusedError
   */
  firstFlaw(parent: Block, transactions: readonly SignedTransaction[]): Promise<{ at: number; error: string } | null> {
    return this.#turns(async () => {
      const blocks = transactions.map(
        (one): EngineBlock => ({ kind: 'block', credits: [], fee: null, action: actionOf(one) }),
      );
      const at = await this.#engine.firstFailing(parent.indexBlockHash, blocks);
      return at === null ? null : { at: at.at, error: vmErrorOf(at.error) };
    });
  }

  /**
   * The value of a constant of a contract that was deployed on the branch of a block.
   * @param names of all its constants
   * @returns null where the contract has none of this name
   * @throws EngineEndedError, EngineRefusedError
   */
  constant(block: Block, contract: string, name: string, names: readonly string[]): Promise<string | null> {
    return this.#turns(async () => {
      const values = await this.#engine.constants(block.indexBlockHash, contract, names);
      return values?.get(name) ?? null;
    });
  }

  /**
   * The line at which a deployment failed: where the first definition begins with which the source has the error.
   * @param parent id of the block below the deployment
   * @param vmError of the deployment
   * @returns null where no definition makes the error, or the engine ended with it
   */
  mistakeLine(parent: string, deployment: Deployment, vmError: string): Promise<number | null> {
    const places = formPlaces(deployment.source);
    const blocks = places.map(({ end }, at): EngineBlock => {
      const action = { ...deployment, name: `first-${at + 1}`, source: deployment.source.slice(0, end) };
      return { kind: 'block', credits: [], fee: null, action };
    });
    return this.#turns(async () => {
      try {
        const found = await this.#engine.firstFailing(parent, blocks, (error) => vmErrorOf(error) === vmError);
        return found === null ? null : places[found.at]!.line;
      } catch (error) {
        if (!(error instanceof EngineEndedError)) throw error;
        return null;
      }
    });
  }

  #credits(parent: Block): Credit[] {
    return (this.#rewards.get(parent.indexBlockHash) ?? []).map(creditOf);
  }

  async #mineTenure(parent: Block): Promise<MinedBlock> {
    if (parent.parent === null) {
      const position = await this.#engine.begin();
      return this.#assemble(parent, null, { ...position, outcome: null }, { newTenure: true });
    }
    const block: EngineBlock = { kind: 'tenure', credits: this.#credits(parent) };
    const attempt = await this.#engine.attempt(parent.indexBlockHash, block);
    return this.#assemble(parent, block, attempt, { newTenure: true });
  }

  async #mineEmpty(parent: Block): Promise<MinedBlock> {
    const block: EngineBlock = { kind: 'block', credits: this.#credits(parent), fee: null, action: null };
    return this.#assemble(parent, block, await this.#engine.attempt(parent.indexBlockHash, block), {});
  }

  async #mineWith(parent: Block, transaction: SignedTransaction): Promise<MinedBlock> {
    const payer = payerOf(transaction);
    const fee = { payer: payer.account.address, amount: String(payer.fee) };
    const block: EngineBlock = { kind: 'block', credits: this.#credits(parent), fee, action: actionOf(transaction) };
    const { attempt, outcome } = await this.#tried(parent, block);
    const isDeployment = transaction.action.kind === 'deploy';
    const result = executedOf(outcome, isDeployment);
    const isTransfer = transaction.action.kind === 'transfer';
    if (isTransfer && result.status !== 'success') throw new Error(`it refused the transfer ${transaction.id}`);
    const broken =
      result.status === 'success'
        ? brokenPostCondition(transaction.postConditions, result.events, transaction.origin.account.address)
        : null;
    // The engine has done what it reports in a way that isn't known.
    const isUnknown = outcome.kind === 'returned' && result.vmError !== null;
    const isUndone = attempt === null || isUnknown || broken !== null;
    const made: EngineBlock = isUndone ? { ...block, action: null } : block;
    const at = isUndone ? await this.#engine.attempt(parent.indexBlockHash, made) : attempt;
    const reported =
      broken === null ? result : { ...result, status: 'abort_by_post_condition' as const, events: [], vmError: broken };
    // The memo of a transfer is in the transaction alone.
    this.#included = [isTransfer ? transaction : executed(transaction, reported)];
    try {
      // What failed changed nothing, and without a count of costs it might succeed when the chain is made anew.
      const kept: EngineBlock = reported.status === 'success' ? made : { ...made, action: null };
      return this.#assemble(parent, kept, at, {});
    } finally {
      this.#included = [];
    }
  }

  /** Executes a transaction. An engine that ended with it has failed it. @returns a null attempt then */
  async #tried(parent: Block, block: EngineBlock): Promise<{ attempt: Attempt | null; outcome: EngineOutcome }> {
    try {
      const attempt = await this.#engine.attempt(parent.indexBlockHash, block);
      if (attempt.outcome === null) throw new Error('the engine executed no transaction');
      return { attempt, outcome: attempt.outcome };
    } catch (error) {
      if (!(error instanceof EngineEndedError)) throw error;
      return { attempt: null, outcome: { kind: 'failed', error: error.message } };
    }
  }

  /** Makes the chain's block of what the engine made. */
  #assemble(parent: Block, block: EngineBlock | null, attempt: Attempt, options: MineOptions): MinedBlock {
    const { height, burnHeight, time } = attempt;
    this.#time = time;
    const mined = this.#chain!.mine(parent.indexBlockHash, { transactions: 0, quiet: true, ...options });
    const { burnView } = this.#chain!.block(mined.indexBlockHash)!;
    if (mined.height !== height || burnView.height !== burnHeight) {
      const heights = [height, burnHeight, mined.height, burnView.height];
      throw new Error(`the heights of engine and chain differ: ${heights.join(', ')}`);
    }
    this.#engine.keep(mined.indexBlockHash, block === null ? null : parent.indexBlockHash, block);
    this.#rewards.set(mined.indexBlockHash, mined.rewards);
    return mined;
  }
}
