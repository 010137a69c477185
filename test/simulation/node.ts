/** The node: posts each event until the answer is 200, over a network that cuts, doubles and delays. */
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import type { Prng } from '../../src/devnet/prng.ts';
import { NoAnswer, type Server } from './server.ts';
import type { World } from './world.ts';

/** Milliseconds. */
const BETWEEN = 80;
const RETRY = 250;
const LATE = 4_000;

type Fate = 'arrives' | 'is_lost' | 'answer_is_lost' | 'doubled' | 'late_double';

export class Node {
  readonly #world: World;
  readonly #server: Server;
  readonly #events: readonly NodeEvent[];
  readonly #prng: Prng;
  #atNextBlock: (() => void)[] = [];
  /** Place of the event that is posted next. */
  #next = 0;
  #isPosting = false;
  /** Number of times that the node returned to earlier events. */
  #returns = 0;

  constructor(world: World, server: Server, events: readonly NodeEvent[]) {
    this.#world = world;
    this.#server = server;
    this.#events = events;
    this.#prng = world.prng('node');
  }

  get isDone(): boolean {
    return !this.#isPosting;
  }

  async run(): Promise<void> {
    this.#isPosting = true;
    for (let isPosted = true; this.#next < this.#events.length; ) {
      await this.#world.pause(isPosted ? this.#prng.below(BETWEEN) : RETRY);
      const event = this.#events[this.#next];
      if (event !== undefined) isPosted = await this.#post(event);
    }
    this.#isPosting = false;
  }

  /** Posts again from an event that the server has lost. Late events in flight are dropped. */
  returnTo(next: number): void {
    this.#next = next;
    this.#returns += 1;
    if (!this.#isPosting) void this.run();
  }

  /** @returns whether the event was acknowledged, or there is another to be posted */
  async #post(event: NodeEvent): Promise<boolean> {
    const returns = this.#returns;
    const fate = this.#prng.weighted<Fate>([
      [88, 'arrives'],
      [3, 'is_lost'],
      [4, 'answer_is_lost'],
      [3, 'doubled'],
      [2, 'late_double'],
    ]);
    await this.#world.pause(this.#prng.below(10));
    if (returns !== this.#returns) return true;
    if (fate === 'is_lost') return false;
    if (fate === 'doubled') void this.#send(event);
    // Mempool events don't have such an order: only blocks name their predecessor.
    if (fate === 'late_double' && event.path === '/new_block') {
      this.#world.after(this.#prng.below(LATE), () => {
        if (returns === this.#returns) void this.#send(event);
      });
    }
    const acknowledged = await this.#send(event);
    await this.#world.pause(this.#prng.below(10));
    if (returns !== this.#returns) return true;
    if (!acknowledged || fate === 'answer_is_lost') return false;
    this.#next += 1;
    return true;
  }

  /** Calls it when the next block is sent. */
  atNextBlock(call: () => void): void {
    this.#atNextBlock.push(call);
  }

  /** Cancels the action of {@link atNextBlock}: a block may come again, late. */
  calm(): void {
    this.#atNextBlock = [];
  }

  async #send({ path, body }: NodeEvent): Promise<boolean> {
    if (path === '/new_block') for (const call of this.#atNextBlock.splice(0)) call();
    try {
      const response = await this.#server.request('The event receiver', path, { method: 'POST', body });
      if (response.status === 200) return true;
      if (response.status !== 503) {
        this.#world.wrong(`${path} was answered with ${response.status}: ${await response.text()}`);
      }
    } catch (error) {
      if (!(error instanceof NoAnswer)) this.#world.wrong(`${path} could not be sent`, error);
    }
    return false;
  }
}
