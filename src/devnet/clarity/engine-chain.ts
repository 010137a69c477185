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

/** The heights of the engine and of the chain differ. */
export class EngineAstrayError extends Error {
  override readonly name = 'EngineAstrayError';
}

export class EngineChain {
  readonly #engine: ClarityEngine;
  readonly #start: EngineStart;
  /** Every block that the chain has, by its id. */
  readonly #made = new Map<string, MadeBlock>();
  /** The block that each of the engine's chains is at; null where it has to begin. */
  readonly #at: Record<EngineSession, string | null> = { counting: null, quick: null };
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
    if (answer.kind !== 'begun') throw new EngineAstrayError(`the engine answered ${answer.kind}`);
    return answer;
  }

  /** Reads from where the engine is. @returns null where there is no such thing @throws as the engine does */
  async readNow(read: EngineRead): Promise<string | null> {
    const answer = await this.#engine.ask({ session: 'quick', kind: 'read', read });
    if (answer.kind !== 'value') throw new EngineAstrayError(`the engine answered ${answer.kind}`);
    return answer.value;
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
    if (answer.kind !== 'made') throw new EngineAstrayError(`the engine answered ${answer.kind}`);
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
