/** Keeps the engine at a block of the chain: what has to be undone is undone by making the chain anew up to the block. */
import { type ClarityEngine, EngineEndedError } from './engine.ts';
import type { Credit, EngineBlock, EngineOutcome, EnginePosition, EngineRead } from './engine-messages.ts';

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
  /** The block that the engine is at; null where it has to begin. */
  #at: string | null = null;

  constructor(engine: ClarityEngine, start: EngineStart) {
    this.#engine = engine;
    this.#start = start;
  }

  /** Begins the chain. The caller keeps block 1 with {@link keep}. @throws as the engine does */
  async begin(): Promise<EnginePosition> {
    this.#at = null;
    const { epoch, time, funds } = this.#start;
    const answer = await this.#engine.ask({ kind: 'begin', epoch, time, credits: funds });
    if (answer.kind !== 'begun') throw new EngineAstrayError(`the engine answered ${answer.kind}`);
    return answer;
  }

  /** Reads from where the engine is. @returns null where there is no such thing @throws as the engine does */
  async readNow(read: EngineRead): Promise<string | null> {
    const answer = await this.#engine.ask({ kind: 'read', read });
    if (answer.kind !== 'value') throw new EngineAstrayError(`the engine answered ${answer.kind}`);
    return answer.value;
  }

  /** Makes a block on another one. The engine is nowhere until it is kept. @throws as the engine does */
  async attempt(parent: string, block: EngineBlock): Promise<Attempt> {
    await this.#goTo(parent);
    this.#at = null;
    return this.#make([block]);
  }

  /**
   * Keeps a block.
   * @param isThere whether the engine has made it just now, and nothing else
   */
  keep(id: string, parent: string | null, block: EngineBlock | null, isThere: boolean): void {
    this.#made.set(id, { parent, block });
    this.#at = isThere ? id : null;
  }

  /** Reads from the state after a block. @returns null where there is no such thing @throws as the engine does */
  async read(id: string, read: EngineRead): Promise<string | null> {
    await this.#goTo(id);
    return this.readNow(read);
  }

  async #make(blocks: EngineBlock[]): Promise<Attempt> {
    const answer = await this.#engine.ask({ kind: 'blocks', blocks });
    if (answer.kind !== 'made') throw new EngineAstrayError(`the engine answered ${answer.kind}`);
    return answer;
  }

  async #goTo(id: string): Promise<void> {
    if (this.#at === id && this.#engine.isRunning) return;
    const at = this.#engine.isRunning ? this.#at : null;
    const blocks: EngineBlock[] = [];
    let from: string | null = id;
    for (; from !== null && from !== at; from = this.#block(from).parent) {
      const { block } = this.#block(from);
      if (block !== null) blocks.unshift(block);
    }
    if (from === null) await this.begin();
    this.#at = null;
    if (blocks.length > 0) await this.#make(blocks);
    if (!this.#engine.isRunning) throw new EngineEndedError('The Clarity engine ended.');
    this.#at = id;
  }

  #block(id: string): MadeBlock {
    const made = this.#made.get(id);
    if (made === undefined) throw new RangeError(`the engine has no block ${id}`);
    return made;
  }
}
