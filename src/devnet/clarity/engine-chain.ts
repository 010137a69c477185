/** Keeps the engine at a block of the chain. To undo a block, it builds the chain again up to another block. */
import type {
  ClarityEngine,
  Credit,
  EngineBlock,
  EngineOutcome,
  EnginePosition,
  EngineRead,
  EngineSession,
} from './engine.ts';
import type { TraceReport } from './failure.ts';

/** The start of the chain. */
export interface EngineStart {
  /** Stacks epoch, such as 3.4. */
  epoch: string;
  /** Unix seconds. */
  time: number;
  /** Balances of the accounts. */
  funds: Credit[];
}

interface MadeBlock {
  /** Id of the parent; null for block 1. */
  parent: string | null;
  /** The block in the engine's form; null for block 1, which the engine starts with. */
  block: EngineBlock | null;
}

/** Result and position of the engine after a block. */
export interface Attempt extends EnginePosition {
  outcome: EngineOutcome | null;
}

/** The result of deploying a contract to inspect it. */
export interface ProbeResult {
  outcome: EngineOutcome | null;
  /** Values of constants, by name. */
  values: ReadonlyMap<string, string>;
}

/** Start of the names of functions that return constants; a number follows. */
const PROBE = 'stackside-constant-';

/** Reports whether a function of an interface was added to return a constant. */
export const isProbe = (functionName: string): boolean => functionName.startsWith(PROBE);

/** Returns a block that also deploys functions that return the contract's constants. */
function withProbes(block: EngineBlock, constants: readonly string[]): EngineBlock {
  if (block.kind !== 'block' || block.action?.kind !== 'deploy') return block;
  const probes = constants.map((name, at) => `(define-read-only (${PROBE}${at}) ${name})`);
  const source = [block.action.source, ...probes].join('\n');
  return { ...block, action: { ...block.action, source } };
}

export class EngineChain {
  readonly #engine: ClarityEngine;
  readonly #start: EngineStart;
  /** All blocks of the chain, by id. */
  readonly #made = new Map<string, MadeBlock>();
  /** The current block of each of the engine's chains; null if the chain must be built again. */
  readonly #at: Record<EngineSession, string | null> = { counting: null, quick: null, aside: null, traced: null };
  /** Values of constants, by the block that deployed their contract and the contract's id. */
  readonly #constants = new Map<string, ReadonlyMap<string, string>>();
  /** The chain that made the last block. */
  #last: EngineSession = 'quick';

  constructor(engine: ClarityEngine, start: EngineStart) {
    this.#engine = engine;
    this.#start = start;
  }

  /** Starts the chain. The caller must then call {@link keep} for block 1. @throws any error of the engine */
  async begin(session: EngineSession = 'quick'): Promise<EnginePosition> {
    this.#at[session] = null;
    this.#last = session;
    const { epoch, time, funds } = this.#start;
    const answer = await this.#engine.ask({ session, kind: 'begin', epoch, time, credits: funds });
    if (answer.kind !== 'begun') throw new Error(`the engine answered ${answer.kind}`);
    return answer;
  }

  /**
   * Reads from the current state of a chain. @returns null if the value doesn't exist @throws any error of the engine
   */
  async readNow(read: EngineRead, session: EngineSession = 'quick'): Promise<string | null> {
    const answer = await this.#engine.ask({ session, kind: 'read', read });
    if (answer.kind !== 'value') throw new Error(`the engine answered ${answer.kind}`);
    return answer.value;
  }

  /**
   * Deploys a contract on the current state, in a block that the chain never contains, and reads its constants.
   * @param session has no position afterwards
   * @param block deploys the contract
   * @param names of constants
   * @returns the result of the deployment, and the values
   * @throws any error of the engine
   */
  async probe(session: EngineSession, block: EngineBlock, names: readonly string[]): Promise<ProbeResult> {
    this.#at[session] = null;
    const { outcome } = await this.#make(session, [withProbes(block, names)]);
    const values = new Map<string, string>();
    if (outcome?.kind !== 'returned' || block.kind !== 'block' || block.action?.kind !== 'deploy')
      return { outcome, values };
    const { sender, name } = block.action;
    for (const [at, constant] of names.entries()) {
      const call = { contract: `${sender}.${name}`, functionName: `${PROBE}${at}`, args: [], sender };
      const value = await this.readNow({ kind: 'call', ...call }, session);
      if (value !== null) values.set(constant, value);
    }
    return { outcome, values };
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
  ): Promise<{ at: number; error: string } | null> {
    await this.#goTo('aside', parent);
    this.#at.aside = null;
    for (const [at, block] of blocks.entries()) {
      const { outcome } = await this.#make('aside', [block]);
      if (outcome?.kind === 'failed' && isSought(outcome.error)) return { at, error: outcome.error };
    }
    return null;
  }

  /**
   * Returns the values of a contract's constants on the branch of a block. Only the contract can read them. The
   * contract is therefore deployed again, in the chain `aside`, on the parent of its block, with additional functions
   * that return them.
   * @param names of all constants
   * @returns null if no block deployed the contract
   * @throws any error of the engine
   */
  async constants(id: string, contract: string, names: readonly string[]): Promise<ReadonlyMap<string, string> | null> {
    const deployed = this.#deploymentOf(id, contract);
    if (deployed === null) return null;
    const key = `${deployed.id} ${contract}`;
    const constants = this.#constants.get(key);
    if (constants !== undefined) return constants;
    await this.#goTo('aside', deployed.parent);
    const { values } = await this.probe('aside', deployed.block, names);
    this.#constants.set(key, values);
    return values;
  }

  /** Returns the block of a branch that deployed a contract, and its parent; null if there is none. */
  #deploymentOf(id: string, contract: string): { id: string; parent: string; block: EngineBlock } | null {
    for (let at: string | null = id; at !== null; ) {
      const { parent, block }: MadeBlock = this.#block(at);
      const action = block?.kind === 'block' ? block.action : null;
      if (
        parent !== null &&
        block !== null &&
        action?.kind === 'deploy' &&
        `${action.sender}.${action.name}` === contract
      )
        return { id: at, parent, block };
      at = parent;
    }
    return null;
  }

  /** Makes a block on a parent. The engine has no position until {@link keep}. @throws any error of the engine */
  async attempt(parent: string, block: EngineBlock): Promise<Attempt> {
    const session = block.kind === 'block' && block.action !== null ? 'counting' : 'quick';
    await this.#goTo(session, parent);
    this.#at[session] = null;
    this.#last = session;
    return this.#make(session, [block]);
  }

  /**
   * Keeps the last block that the engine made.
   * @param parent null for block 1
   */
  keep(id: string, parent: string | null, block: EngineBlock | null): void {
    this.#made.set(id, { parent, block });
    this.#at[this.#last] = id;
  }

  /** Reads from the state after a block. @returns null if the value doesn't exist @throws any error of the engine */
  async read(id: string, read: EngineRead): Promise<string | null> {
    await this.#goTo('quick', id);
    return this.readNow(read);
  }

  /**
   * Makes the block of a failed call again, and reports its evaluation.
   * @param id of the block in the chain, which has the same state, because the call changed nothing
   * @param withCosts whether to report every expression
   * @throws any error of the engine
   */
  async trace(parent: string, id: string, block: EngineBlock, withCosts: boolean): Promise<TraceReport> {
    await this.#goTo('traced', parent);
    this.#at.traced = null;
    const answer = await this.#engine.ask({ session: 'traced', kind: 'trace', block, withCosts });
    if (answer.kind !== 'traced') throw new Error(`the engine answered ${answer.kind}`);
    this.#at.traced = id;
    return answer;
  }

  /**
   * Loads a project outside the chain. @param files by path
   * @returns its first error with the place in a file; null if it has none
   * @throws any error of the engine
   */
  async check(files: Readonly<Record<string, string>>, manifest: string): Promise<string | null> {
    const answer = await this.#engine.ask({ session: 'aside', kind: 'check', files, manifest });
    if (answer.kind !== 'checked') throw new Error(`the engine answered ${answer.kind}`);
    return answer.error;
  }

  async #make(session: EngineSession, blocks: EngineBlock[]): Promise<Attempt> {
    const answer = await this.#engine.ask({ session, kind: 'blocks', blocks });
    if (answer.kind !== 'made') throw new Error(`the engine answered ${answer.kind}`);
    return answer;
  }

  async #goTo(session: EngineSession, id: string): Promise<void> {
    // A new process begins without a chain.
    if (!this.#engine.isRunning) Object.assign(this.#at, { counting: null, quick: null, aside: null, traced: null });
    const at = this.#at[session];
    if (at === id) return;
    const blocks: EngineBlock[] = [];
    let from: string | null = id;
    for (; from !== null && from !== at; from = this.#block(from).parent) {
      const { block } = this.#block(from);
      if (block !== null) blocks.unshift(block);
    }
    if (from === null) await this.begin(session);
    this.#at[session] = null;
    if (blocks.length > 0) await this.#make(session, blocks);
    this.#at[session] = id;
  }

  #block(id: string): MadeBlock {
    const madeBlock = this.#made.get(id);
    if (madeBlock === undefined) throw new RangeError(`the engine has no block ${id}`);
    return madeBlock;
  }
}
