/** Keeps the engine at a block of the chain: what has to be undone is undone by making the chain anew up to the block. */
import type { ClarityEngine } from './engine.ts';
import type {
  Credit,
  EngineBlock,
  EngineOutcome,
  EnginePosition,
  EngineRead,
  EngineSession,
} from './engine-messages.ts';

/** The beginning of the chain. */
export interface EngineStart {
  /** Stacks epoch, such as 3.4. */
  epoch: string;
  /** Unix seconds. */
  time: number;
  /** What accounts have. */
  funds: Credit[];
}

interface MadeBlock {
  /** Id of the parent; null for block 1. */
  parent: string | null;
  /** What the engine makes for it; null for block 1, with which it begins. */
  block: EngineBlock | null;
}

/** What the engine came to. */
export interface Attempt extends EnginePosition {
  outcome: EngineOutcome | null;
}

/** What came of a contract that was deployed to be looked at. */
export interface Probed {
  outcome: EngineOutcome | null;
  /** Constants by name. */
  values: ReadonlyMap<string, string>;
}

/** How the names of functions begin that return constants; a number follows. */
const PROBE = 'stackside-constant-';

/** Whether a function of an interface is one that was added to return a constant. */
export const isProbe = (functionName: string): boolean => functionName.startsWith(PROBE);

/** A block whose deployment has functions, too, that return constants. */
function withProbes(block: EngineBlock, constants: readonly string[]): EngineBlock {
  if (block.kind !== 'block' || block.action?.kind !== 'deploy') return block;
  const probes = constants.map((name, at) => `(define-read-only (${PROBE}${at}) ${name})`);
  const source = [block.action.source, ...probes].join('\n');
  return { ...block, action: { ...block.action, source } };
}

export class EngineChain {
  readonly #engine: ClarityEngine;
  readonly #start: EngineStart;
  /** Every block that the chain has, by its id. */
  readonly #made = new Map<string, MadeBlock>();
  /** The block that each of the engine's chains is at; null where it has to begin. */
  readonly #at: Record<EngineSession, string | null> = { counting: null, quick: null, aside: null };
  /** Values of constants by the block that deployed their contract and its id. */
  readonly #constants = new Map<string, ReadonlyMap<string, string>>();
  /** The chain that made a block last. */
  #last: EngineSession = 'quick';

  constructor(engine: ClarityEngine, start: EngineStart) {
    this.#engine = engine;
    this.#start = start;
  }

  /** Begins the chain. The caller keeps block 1 with {@link keep}. @throws as the engine does */
  async begin(session: EngineSession = 'quick'): Promise<EnginePosition> {
    this.#at[session] = null;
    this.#last = session;
    const { epoch, time, funds } = this.#start;
    const answer = await this.#engine.ask({ session, kind: 'begin', epoch, time, credits: funds });
    if (answer.kind !== 'begun') throw new Error(`the engine answered ${answer.kind}`);
    return answer;
  }

  /** Reads from where a chain is. @returns null where there is no such thing @throws as the engine does */
  async readNow(read: EngineRead, session: EngineSession = 'quick'): Promise<string | null> {
    const answer = await this.#engine.ask({ session, kind: 'read', read });
    if (answer.kind !== 'value') throw new Error(`the engine answered ${answer.kind}`);
    return answer.value;
  }

  /**
   * Deploys a contract where the engine is, in a block that the chain never has, and reads its constants.
   * @param session is nowhere afterwards
   * @param block deploys the contract
   * @param names of constants
   * @returns what came of the deployment, and the values
   * @throws as the engine does
   */
  async probe(session: EngineSession, block: EngineBlock, names: readonly string[]): Promise<Probed> {
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
   * Makes blocks on another one, which the chain never has, up to the first one whose action fails.
   * @param isSought whether an error counts; the others are passed over
   * @returns its place and error; null where none fails
   * @throws as the engine does
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
   * The values of constants of a contract on the branch of a block, as its deployment made them. Nothing but the contract itself can read
   * them, so the contract is deployed once more, aside, on the block below that of its deployment, with functions that return them.
   * @param names of all constants
   * @returns null for a contract that no block deployed
   * @throws as the engine does
   */
  async constants(id: string, contract: string, names: readonly string[]): Promise<ReadonlyMap<string, string> | null> {
    const deployed = this.#deploymentOf(id, contract);
    if (deployed === null) return null;
    const key = `${deployed.id} ${contract}`;
    const known = this.#constants.get(key);
    if (known !== undefined) return known;
    await this.#goTo('aside', deployed.parent);
    const { values } = await this.probe('aside', deployed.block, names);
    this.#constants.set(key, values);
    return values;
  }

  /** The block of a branch that deployed a contract, and the one below; null where none did. */
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

  /** Makes a block on another one. The engine is nowhere until it is kept. @throws as the engine does */
  async attempt(parent: string, block: EngineBlock): Promise<Attempt> {
    const session = block.kind === 'block' && block.action !== null ? 'counting' : 'quick';
    await this.#goTo(session, parent);
    this.#at[session] = null;
    this.#last = session;
    return this.#make(session, [block]);
  }

  /**
   * Keeps the block that the engine has made just now.
   * @param parent null for block 1
   */
  keep(id: string, parent: string | null, block: EngineBlock | null): void {
    this.#made.set(id, { parent, block });
    this.#at[this.#last] = id;
  }

  /** Reads from the state after a block. @returns null where there is no such thing @throws as the engine does */
  async read(id: string, read: EngineRead): Promise<string | null> {
    await this.#goTo('quick', id);
    return this.readNow(read);
  }

  async #make(session: EngineSession, blocks: EngineBlock[]): Promise<Attempt> {
    const answer = await this.#engine.ask({ session, kind: 'blocks', blocks });
    if (answer.kind !== 'made') throw new Error(`the engine answered ${answer.kind}`);
    return answer;
  }

  async #goTo(session: EngineSession, id: string): Promise<void> {
    // Another process knows nothing of either chain.
    if (!this.#engine.isRunning) [this.#at.counting, this.#at.quick] = [null, null];
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
    const made = this.#made.get(id);
    if (made === undefined) throw new RangeError(`the engine has no block ${id}`);
    return made;
  }
}
