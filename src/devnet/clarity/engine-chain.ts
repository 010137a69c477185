/** Keeps the engine at a block of the chain. To undo a block, it builds the chain again up to another block. */
import type { ContractInterface } from '../contract.ts';
import type {
  BlocksResult,
  ClarityEngine,
  Credit,
  EngineBlock,
  EnginePosition,
  EngineRead,
  EngineSession,
} from './engine.ts';
import type { TraceReport } from './failure.ts';

export interface EngineStart {
  /** Stacks epoch, such as 3.4. */
  epoch: string;
  /** Unix seconds. */
  time: number;
  funds: Credit[];
}

interface BlockRecord {
  /** Id of the parent; null for block 1. */
  parent: string | null;
  /** The block in the engine's form; null for block 1, which the engine starts with. */
  block: EngineBlock | null;
}

/** Name of a function that returns a constant. */
const PROBE = 'stackside-constant';

/** A longer message could exceed the engine's time limit for an answer. */
const MAX_BLOCKS_PER_MESSAGE = 500;

export class EngineChain {
  /** All blocks of the chain, by id. */
  readonly #blocks = new Map<string, BlockRecord>();
  /** The current block of each of the engine's chains; null if the chain must be built again. */
  readonly #positions: Record<EngineSession, string | null> = { main: null, aside: null, traced: null };

  constructor(
    readonly engine: ClarityEngine,
    readonly start: EngineStart,
  ) {}

  /** Starts the chain. The caller must then call {@link keep} for block 1. @throws any error of the engine */
  async begin(session: EngineSession = 'main'): Promise<EnginePosition> {
    this.#positions[session] = null;
    const { epoch, time, funds } = this.start;
    return this.engine.ask({ session, kind: 'begin', epoch, time, credits: funds });
  }

  /**
   * Reads from the current state of a chain. @returns null if the value doesn't exist @throws any error of the engine
   */
  readNow(read: EngineRead, session: EngineSession = 'main'): Promise<string | null> {
    return this.engine.ask({ session, kind: 'read', read });
  }

  /**
   * Returns the interfaces of contracts in the current state of the main chain; null for a contract that doesn't exist.
   * @throws any error of the engine
   */
  async interfaces(contracts: string[]): Promise<(ContractInterface | null)[]> {
    return JSON.parse((await this.readNow({ kind: 'interfaces', contracts })) ?? '[]');
  }

  /**
   * Makes blocks that the chain never contains on a parent, up to the first block with a failing action.
   * @param isSought whether an error counts; other errors are ignored
   * @returns index and error of the block; null if none fails
   * @throws any error of the engine
   */
  async firstFailing(
    parent: string,
    blocks: readonly EngineBlock[],
    isSought: (error: string) => boolean = () => true,
  ): Promise<{ index: number; error: string } | null> {
    await this.#goTo('aside', parent);
    this.#positions.aside = null;
    for (const [index, block] of blocks.entries()) {
      const { outcome } = await this.#make('aside', [block]);
      if (outcome?.kind === 'failed' && isSought(outcome.error)) return { index, error: outcome.error };
    }
    return null;
  }

  /**
   * Returns the value of a constant on the branch of a block. Only the contract can read it. The contract is therefore
   * deployed again, in the chain `aside`, on the parent of its block, with a function that returns the constant.
   * @param name must be the name of a constant of the contract
   * @returns null if no block deployed the contract
   * @throws any error of the engine
   */
  async constant(id: string, contract: string, name: string): Promise<string | null> {
    for (let { parent, block } = this.#block(id); parent !== null; { parent, block } = this.#block(parent)) {
      if (block?.kind !== 'block' || block.action?.kind !== 'deploy') continue;
      const { action } = block;
      if (`${action.sender}.${action.name}` !== contract) continue;
      const source = `${action.source}\n(define-read-only (${PROBE}) ${name})`;
      await this.#goTo('aside', parent);
      this.#positions.aside = null;
      await this.#make('aside', [{ ...block, action: { ...action, source } }]);
      return this.readNow({ kind: 'call', contract, functionName: PROBE, args: [], sender: action.sender }, 'aside');
    }
    return null;
  }

  /** Makes a block on a parent. The engine has no position until {@link keep}. @throws any error of the engine */
  async attempt(parent: string, block: EngineBlock): Promise<BlocksResult> {
    await this.#goTo('main', parent);
    this.#positions.main = null;
    return this.#make('main', [block]);
  }

  /**
   * Keeps the last block that the engine made.
   * @param parent null for block 1
   */
  keep(id: string, parent: string | null, block: EngineBlock | null): void {
    this.#blocks.set(id, { parent, block });
    this.#positions.main = id;
  }

  /** Reads from the state after a block. @returns null if the value doesn't exist @throws any error of the engine */
  async read(id: string, read: EngineRead): Promise<string | null> {
    // A read from another block leaves the main chain where it is, so that the next block can be made at once.
    const session = this.#positions.main === id ? 'main' : 'aside';
    await this.#goTo(session, id);
    return this.readNow(read, session);
  }

  /**
   * Makes the block of a failed call again, and reports its evaluation.
   * @param id of the block in the chain that has the same state, because the call changed nothing; null for none
   * @param withCosts whether to report every expression
   * @throws any error of the engine
   */
  async trace(parent: string, id: string | null, block: EngineBlock, withCosts: boolean): Promise<TraceReport> {
    await this.#goTo('traced', parent);
    this.#positions.traced = null;
    const report = await this.engine.ask({ session: 'traced', kind: 'trace', block, withCosts });
    this.#positions.traced = id;
    return report;
  }

  /**
   * Loads a project outside the chain. @param files by path
   * @returns its first error with the place in a file; null if it has none
   * @throws any error of the engine
   */
  check(files: Readonly<Record<string, string>>, manifest: string): Promise<string | null> {
    this.#clearEndedPositions();
    return this.engine.ask({ session: 'aside', kind: 'check', files, manifest });
  }

  #make(session: EngineSession, blocks: EngineBlock[]): Promise<BlocksResult> {
    return this.engine.ask({ session, kind: 'blocks', blocks });
  }

  /** Clears the positions if the process ended: the next request starts a new process, without chains. */
  #clearEndedPositions(): void {
    if (!this.engine.isRunning) Object.assign(this.#positions, { main: null, aside: null, traced: null });
  }

  async #goTo(session: EngineSession, id: string): Promise<void> {
    this.#clearEndedPositions();
    const current = this.#positions[session];
    if (current === id) return;
    const blocks: EngineBlock[] = [];
    let from: string | null = id;
    for (; from !== null && from !== current; from = this.#block(from).parent) {
      const { block } = this.#block(from);
      if (block !== null) blocks.unshift(block);
    }
    if (from === null) await this.begin(session);
    this.#positions[session] = null;
    for (let start = 0; start < blocks.length; start += MAX_BLOCKS_PER_MESSAGE)
      await this.#make(session, blocks.slice(start, start + MAX_BLOCKS_PER_MESSAGE));
    this.#positions[session] = id;
  }

  #block(id: string): BlockRecord {
    const record = this.#blocks.get(id);
    if (record === undefined) throw new RangeError(`the engine has no block ${id}`);
    return record;
  }
}
