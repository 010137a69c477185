/**
 * Mines blocks with transactions that a Clarity engine executes. Each transaction gets a separate block, so that it
 * fails without affecting others. The engine and the chain have the same heights, times and STX.
 */
import { lruCache } from '../../base/cache.ts';
import { atMost } from '../../base/turns.ts';
import { count, tupleOf } from '../../chain/pox/print.ts';
import { decodeClarity } from '../../codec/clarity.ts';
import { fromHex, toHex } from '../../codec/hex.ts';
import type { Block } from '../block.ts';
import type { ChainStart, MinedBlock, SimulatedChain } from '../chain.ts';
import { type ContractInterface, contractInterface, type Execution, executedContract } from '../contract.ts';
import { findBreach, isMinable } from '../execute.ts';
import { EPOCH_VERSION } from '../limits.ts';
import { networks } from '../network.ts';
import { type RewardCycles, rewardCycles } from '../pox.ts';
import { formPositions } from '../source-forms.ts';
import { payerOf, type SignedTransaction } from '../transaction.ts';
import {
  type BlocksResult,
  type ClarityEngine,
  type Credit,
  type EngineAction,
  type EngineBlock,
  EngineEndedError,
  type EngineOutcome,
  type EnginePosition,
  type EngineRead,
  EngineRefusedError,
} from './engine.ts';
import { EngineChain } from './engine-chain.ts';
import { explainFailure, type Failure } from './failure.ts';
import { toExecution, toVmError } from './outcome.ts';

/** Epoch of the chain: the last one with an active pox-4. */
export const EPOCH = '3.4';
/** Contracts of the boot address in the engine. */
const BOOT_CONTRACTS = [
  ...['pox', 'pox-2', 'pox-3', 'pox-4', 'bns', 'lockup', 'costs', 'costs-2', 'costs-3', 'costs-4', 'cost-voting'],
  ...['signers', 'signers-voting'],
];

/** Seconds that the engine adds per block, and minimum seconds between two Bitcoin blocks. */
export const BLOCK_SECONDS = 10;
export const BITCOIN_SECONDS = 600;

const toCredit = ({ recipient, amount }: { recipient: string; amount: bigint }): Credit => ({
  address: recipient,
  amount: String(amount),
});

function toEngineAction({ origin, action, mint }: SignedTransaction): EngineAction {
  const sender = origin.account.address;
  switch (action.kind) {
    case 'transfer':
      return {
        kind: 'transfer',
        sender,
        recipient: action.recipient,
        amount: String(action.amount),
        mint: mint ?? null,
      };
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

/** Returns the transaction with its result, in the form that the chain mines. */
function withResult(transaction: SignedTransaction, result: Execution): SignedTransaction {
  const { action, origin } = transaction;
  const isDeployed = action.kind === 'deploy' && result.status === 'success' && result.abi !== null;
  const deployed = isDeployed
    ? { id: `${origin.account.address}.${action.name}`, template: { ...action.template, abi: result.abi! } }
    : null;
  return { ...transaction, action: { kind: 'executed', result, deployed, input: action } };
}

/**
 * Returns the interface of a deployment without functions and traits, because the engine has none for it; null for other
 * transactions.
 */
function emptyInterface({ action }: SignedTransaction): ContractInterface | null {
  if (action.kind !== 'deploy') return null;
  const { clarityVersion = EPOCH_VERSION } = action.template;
  return contractInterface({ clarity_version: `Clarity${clarityVersion}`, epoch: `Epoch${EPOCH.replace('.', '')}` });
}

/** Returns the boot contracts with the engine's analysis. @param chain must be started */
async function readBootContracts(chain: EngineChain): Promise<ChainStart['contracts']> {
  const ids = BOOT_CONTRACTS.map((name) => `${networks.testnet.boot}.${name}`);
  const interfaces = await chain.interfaces(ids);
  const contracts: ChainStart['contracts'][number][] = [];
  for (const [index, name] of BOOT_CONTRACTS.entries()) {
    const id = ids[index]!;
    const source = await chain.readNow({ kind: 'source', contract: id });
    const abi = interfaces[index] ?? null;
    if (source !== null && abi !== null)
      contracts.push({ id, template: executedContract(name, source, undefined, abi) });
  }
  return contracts;
}

/** Returns the reward cycles of the engine's stacking contract. @param chain must be started */
async function readCycles(chain: EngineChain): Promise<RewardCycles> {
  const contract = `${networks.testnet.boot}.pox-4`;
  const call = {
    kind: 'call',
    contract,
    functionName: 'get-pox-info',
    args: [],
    sender: networks.testnet.boot,
  } as const;
  const info = decodeClarity(fromHex((await chain.readNow(call)) ?? '0x'));
  const fields = info.ok && info.value.type === 'ok' ? tupleOf(info.value.value) : null;
  if (fields === null) throw new Error("the engine's pox-4 returns no cycles");
  return rewardCycles(count('reward-cycle-length')(fields), count('prepare-cycle-length')(fields));
}

/** Returns a transaction of a block in its form before the execution. */
export const withoutResult = (transaction: SignedTransaction): SignedTransaction =>
  transaction.action.kind === 'executed' ? { ...transaction, action: transaction.action.input } : transaction;

/** A block that the engine has made. */
interface MadeBlock {
  /** Makes the block again; null for block 1. */
  block: EngineBlock | null;
  position: EnginePosition;
  /** Its transactions, with their results. */
  transactions: readonly SignedTransaction[];
}

/** A failed call, to execute it again. */
interface FailedCall {
  parent: string;
  block: EngineBlock;
  /** Whether the report includes every expression: not for errors without a result, or for very long calls. */
  withCosts: boolean;
  /** The post-condition that it broke, and the assets that it moved; undefined if it failed otherwise. */
  breach: string | undefined;
}

/** Maximum number of failed calls in memory. They are explained right after they are mined. */
const MAX_FAILED = 100;
/** Maximum runtime cost of a call whose expressions are reported, about one byte per unit. */
const MAX_TRACED_RUNTIME = 20_000_000;

export class ClarityMiner {
  /** Mining and reading, one at a time, because the engine has one position. */
  readonly #turns = atMost(1);
  /** Rewards that each block paid to miners, by block id. */
  readonly #rewards = new Map<string, MinedBlock['rewards']>();
  /** The newest failed calls, by transaction id. */
  readonly #failed = lruCache<string, FailedCall>(MAX_FAILED);

  private constructor(
    readonly engine: EngineChain,
    readonly start: ChainStart,
  ) {}

  /**
   * Starts a chain.
   * @param funds micro-STX of all accounts, including the faucet
   * @param time of its start, in Unix seconds
   * @throws OperatorError if the engine can't be started
   */
  static async begin(engine: ClarityEngine, funds: ChainStart['funds'], time: number): Promise<ClarityMiner> {
    const credits = funds.map(({ address: recipient, amount }) => toCredit({ recipient, amount }));
    const chain = new EngineChain(engine, { epoch: EPOCH, time, funds: credits });
    await chain.begin();
    const cycles = await readCycles(chain);
    const contracts = await readBootContracts(chain);
    return new ClarityMiner(chain, { time, firstBurnHeight: 0, cycles, contracts, funds });
  }

  /** Maximum seconds by which the time of a block is behind the present, if empty blocks come before the block. */
  readonly maxLag = 2 * BLOCK_SECONDS - 1;

  /** Returns the time of the next block of a tenure, in Unix seconds. */
  nextTime({ time }: Block): number {
    return time + BLOCK_SECONDS;
  }

  /** Returns the time of a tenure's first block on a parent, in Unix seconds. */
  tenureTime({ time, burnView }: Block): number {
    return Math.max(burnView.time + BITCOIN_SECONDS, time + BLOCK_SECONDS) + BLOCK_SECONDS;
  }

  /**
   * Mines a block: the first block of a tenure, without transactions, or a block with the first transaction that can be
   * mined.
   */
  mine(
    chain: SimulatedChain,
    parent: Block,
    newTenure: boolean,
    pending: readonly SignedTransaction[],
  ): Promise<MinedBlock> {
    return this.#turns(async () => {
      const beginsTenure = newTenure || parent.parent === null;
      const made = beginsTenure ? await this.#makeTenure(parent) : await this.#makeBlock(parent, pending);
      return this.#assemble(chain, parent, made, beginsTenure);
    });
  }

  /** Reads from the state after a block. @throws EngineEndedError, EngineRefusedError */
  read(block: Block, read: EngineRead): Promise<string | null> {
    return this.#turns(() => this.engine.read(block.indexBlockHash, read));
  }

  /**
   * Returns the value of a constant on the branch of a block; null if no block deployed the contract.
   * @param name must be the name of a constant of the contract
   * @throws EngineEndedError, EngineRefusedError
   */
  constant(block: Block, contract: string, name: string): Promise<string | null> {
    return this.#turns(() => this.engine.constant(block.indexBlockHash, contract, name));
  }

  /**
   * Executes transactions on a block, each in a separate block that the chain never contains.
   * @returns error and index of the first transaction without a result; null if all have one
   * @throws EngineEndedError, EngineRefusedError
   */
  firstFlaw(parent: Block, candidates: readonly SignedTransaction[]): Promise<{ index: number; error: string } | null> {
    return this.#turns(async () => {
      const blocks = candidates.map(
        (transaction): EngineBlock => ({ kind: 'block', credits: [], fee: null, action: toEngineAction(transaction) }),
      );
      const failure = await this.engine.firstFailing(parent.indexBlockHash, blocks);
      return failure === null ? null : { index: failure.index, error: toVmError(failure.error) };
    });
  }

  /**
   * Returns the place at which a deployment failed: the start of the first definition that causes the error, or the unbalanced
   * bracket.
   * @param parent id of the parent of the deployment's block
   * @param vmError of the deployment
   * @returns null if no definition causes the error, or the engine ended while it looked
   */
  failingForm(
    parent: string,
    deployment: EngineAction & { kind: 'deploy' },
    vmError: string,
  ): Promise<{ line: number; column: number } | null> {
    const { complete: places, unbalanced } = formPositions(deployment.source);
    const blocks = places.map(({ end }, index): EngineBlock => {
      const action = { ...deployment, name: `first-${index + 1}`, source: deployment.source.slice(0, end) };
      return { kind: 'block', credits: [], fee: null, action };
    });
    return this.#explain(async () => {
      const failure = await this.engine.firstFailing(parent, blocks, (error) => toVmError(error) === vmError);
      return failure === null ? unbalanced : places[failure.index]!;
    });
  }

  /**
   * Finds the first mistake in a project. The engine reports places only for files.
   * @param files by path, with the manifest
   * @param path file that has the mistake
   * @returns null if the engine reports no mistake in this file, or ended while it looked
   */
  findMistake(
    files: Readonly<Record<string, string>>,
    manifest: string,
    path: string,
  ): Promise<{ line: number; column: number; error: string } | null> {
    return this.#explain(async () => {
      const report = (await this.engine.check(files, manifest)) ?? '';
      const [, file, line, column] = /^--> (.*):(\d+):(\d+)$/m.exec(report) ?? [];
      const [, error = ''] = /^error: (.*)/.exec(report) ?? [];
      return file === path ? { line: Number(line), column: Number(column), error } : null;
    });
  }

  /** Looks for the cause of a failure. @returns null if the engine ended, or if its version refuses the request */
  #explain<T>(work: () => Promise<T>): Promise<T | null> {
    return this.#turns(async () => {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof EngineEndedError || error instanceof EngineRefusedError)) throw error;
        return null;
      }
    });
  }

  #credits(parent: Block): Credit[] {
    return (this.#rewards.get(parent.indexBlockHash) ?? []).map(toCredit);
  }

  async #makeTenure(parent: Block): Promise<MadeBlock> {
    if (parent.parent === null) return { block: null, position: await this.engine.begin(), transactions: [] };
    const block: EngineBlock = { kind: 'tenure', credits: this.#credits(parent) };
    return { block, position: await this.engine.attempt(parent.indexBlockHash, block), transactions: [] };
  }

  async #makeBlock(parent: Block, pending: readonly SignedTransaction[]): Promise<MadeBlock> {
    const next = pending.find((transaction) => isMinable(transaction, parent.world, parent.burnView.height));
    if (next !== undefined) return this.#makeWith(parent, next);
    const block: EngineBlock = { kind: 'block', credits: this.#credits(parent), fee: null, action: null };
    return { block, position: await this.engine.attempt(parent.indexBlockHash, block), transactions: [] };
  }

  /** Executes a transaction in a block. If the transaction fails, the block contains only its fee. */
  async #makeWith(parent: Block, transaction: SignedTransaction): Promise<MadeBlock> {
    const { id, action, mint, postConditions, origin } = transaction;
    const payer = payerOf(transaction);
    const fee = { payer: payer.account.address, amount: String(payer.fee) };
    const block = { kind: 'block' as const, credits: this.#credits(parent), fee, action: toEngineAction(transaction) };
    const { attempt, outcome, abi } = await this.#executeOnce(parent, block);
    const result = toExecution(outcome, action.kind === 'deploy', abi ?? emptyInterface(transaction));
    const isSuccess = result.status === 'success';
    const isTransfer = action.kind === 'transfer';
    // A mint fails above the token's maximum supply, or if contracts were deployed again without the token.
    if (isTransfer && !isSuccess && mint === undefined) throw new Error(`it refused the transfer ${id}`);
    // A node checks no mode of a transfer, which has no post-conditions.
    const breach = isSuccess && !isTransfer ? findBreach(postConditions, result.events, origin.account.address) : null;
    const report: Execution =
      breach === null ? result : { ...result, status: 'abort_by_post_condition', events: [], vmError: breach.error };
    if (report.status === 'success') {
      // The chain executes a transfer itself, because only the transaction contains the memo.
      const mined = isTransfer ? transaction : withResult(transaction, report);
      return { block, position: attempt!, transactions: [mined] };
    }

    const isOverLimit = /BalanceExceeded/.test(result.vmError ?? '');
    if (action.kind === 'call' && attempt !== null && !isOverLimit) {
      const withCosts = outcome.kind === 'returned' && result.cost.runtime <= MAX_TRACED_RUNTIME;
      this.#failed.set(id, { parent: parent.indexBlockHash, block, withCosts, breach: breach?.report }, 1);
    }
    const hasUnknownEvent = outcome.kind === 'returned' && result.vmError !== null;
    // Only these failures leave changes in the engine: a mint fails after a part of it.
    const hasChanges = breach !== null || hasUnknownEvent || mint !== undefined;
    // The chain is built again without the transaction, which might succeed when costs aren't counted.
    const onlyFee: EngineBlock = { ...block, action: null };
    const position =
      attempt === null || hasChanges ? await this.engine.attempt(parent.indexBlockHash, onlyFee) : attempt;
    return { block: onlyFee, position, transactions: [withResult(transaction, report)] };
  }

  /**
   * Explains why a call failed.
   * @param id of the transaction
   * @param block that contains it
   * @returns null if the call succeeded, was followed by too many failed calls, or can't be executed again
   */
  failure(id: string, { indexBlockHash, world }: Block): Promise<Failure | null> {
    return this.#explain(async () => {
      const failedCall = this.#failed.get(id);
      if (failedCall === undefined) return null;
      const { parent, block, withCosts, breach } = failedCall;
      // A call that broke a post-condition changed the engine's state, but not the chain's.
      const end = breach === undefined ? indexBlockHash : null;
      const report = await this.engine.trace(parent, end, block, withCosts);
      const templateOf = (contract: string) => world.contract(contract)?.template;
      const failure = explainFailure(report, {
        source: (contract) => templateOf(contract)?.source ?? null,
        hasFunction: (contract, name) =>
          templateOf(contract)?.abi.functions.some((declared) => declared.name === name) ?? false,
      });
      // No expression made the error.
      return breach === undefined ? failure : { ...failure, place: null, trace: `${failure.trace}\n\n${breach}` };
    });
  }

  /** Executes a transaction. If the engine ends, the transaction failed, and the returned attempt is null. */
  async #executeOnce(
    parent: Block,
    block: EngineBlock & { kind: 'block' },
  ): Promise<{ attempt: BlocksResult | null; outcome: EngineOutcome; abi: ContractInterface | null }> {
    try {
      const attempt = await this.engine.attempt(parent.indexBlockHash, block);
      const { outcome } = attempt;
      if (outcome === null) throw new Error('the engine executed no transaction');
      const { action } = block;
      const [abi = null] =
        action?.kind === 'deploy' ? await this.engine.interfaces([`${action.sender}.${action.name}`]) : [];
      return { attempt, outcome, abi };
    } catch (error) {
      if (!(error instanceof EngineEndedError)) throw error;
      return { attempt: null, outcome: { kind: 'failed', error: error.message }, abi: null };
    }
  }

  /** Makes the chain's block that matches the engine's block. */
  #assemble(
    chain: SimulatedChain,
    parent: Block,
    { block, position: { height, burnHeight, time }, transactions }: MadeBlock,
    newTenure: boolean,
  ): MinedBlock {
    const mined = chain.mine(parent.indexBlockHash, {
      newTenure,
      transactions: 0,
      quiet: true,
      submitted: transactions,
      clock: (kind) => (kind === 'stacks' ? time : time - BLOCK_SECONDS),
    });
    const { burnView } = chain.block(mined.indexBlockHash)!;
    if (mined.height !== height || burnView.height !== burnHeight) {
      const heights = [height, burnHeight, mined.height, burnView.height];
      throw new Error(`the heights of engine and chain differ: ${heights.join(', ')}`);
    }
    this.engine.keep(mined.indexBlockHash, block === null ? null : parent.indexBlockHash, block);
    this.#rewards.set(mined.indexBlockHash, mined.rewards);
    return mined;
  }
}
