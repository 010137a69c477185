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
  isDone = false;
  readonly #world: World;
  readonly #server: Server;
  readonly #prng: Prng;
  #atNextBlock: (() => void)[] = [];

  constructor(world: World, server: Server) {
    this.#world = world;
    this.#server = server;
    this.#prng = world.prng('node');
  }

  async run(events: readonly NodeEvent[]): Promise<void> {
    for (const event of events) {
      await this.#world.pause(this.#prng.below(BETWEEN));
      while (!(await this.#post(event))) await this.#world.pause(RETRY);
    }
    this.isDone = true;
  }

  /** @returns whether the event was acknowledged */
  async #post(event: NodeEvent): Promise<boolean> {
    const fate = this.#prng.weighted<Fate>([
      [88, 'arrives'],
      [3, 'is_lost'],
      [4, 'answer_is_lost'],
      [3, 'doubled'],
      [2, 'late_double'],
    ]);
    await this.#world.pause(this.#prng.below(10));
    if (fate === 'is_lost') return false;
    if (fate === 'doubled') void this.#send(event);
    // What waits or is dropped has no such order: only blocks say what they come after.
    if (fate === 'late_double' && event.path === '/new_block') {
      this.#world.after(this.#prng.below(LATE), () => void this.#send(event));
    }
    const acknowledged = await this.#send(event);
    await this.#world.pause(this.#prng.below(10));
    return acknowledged && fate !== 'answer_is_lost';
  }

  /** Calls it when the next block is sent. */
  atNextBlock(call: () => void): void {
    this.#atNextBlock.push(call);
  }

  /** What {@link atNextBlock} was to do doesn't happen any more: a block may come once more, late. */
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
