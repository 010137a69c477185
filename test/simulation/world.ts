/** Simulated time, which passes when nothing else is left to do, with events in an order that a seed draws. */

import type { Clock, RandomSource } from '../../src/base/clock.ts';
import { Prng } from '../../src/devnet/prng.ts';

/** When every simulation begins: Unix milliseconds. */
const BEGINNING = 1_800_000_000_000;
/** Turns of the event loop for the effects of an event, in this process and without the world's time. */
const TURNS = 3;
/** Milliseconds within which waits for a turn end, in any order. */
const TURN_MS = 2;
/** Milliseconds that pass at most between two looks at the monotonic clock. */
const LOOK_MS = 4;

interface Planned {
  time: number;
  number: number;
  call: () => unknown;
}

export class World {
  time = BEGINNING;
  /** Trace of a run, to compare runs. */
  readonly trace: string[] = [];
  readonly #prng: Prng;
  readonly #planned = new Set<Planned>();
  #number = 0;
  #atSteps: { left: number; call: () => void }[] = [];
  #wrong: Error | null = null;

  constructor(readonly seed: number) {
    this.#prng = new Prng(`simulation/${seed}/world`);
  }

  /** A source of numbers that nobody else draws from. */
  prng(name: string): Prng {
    return new Prng(`simulation/${this.seed}/${name}`);
  }

  /** Milliseconds since the start of the world. */
  get age(): number {
    return this.time - BEGINNING;
  }

  note(line: string): void {
    this.trace.push(`${this.age} ${line}`);
  }

  /** Ends the run with a problem that must not happen. */
  wrong(problem: string, cause?: unknown): void {
    this.#wrong ??= new Error(problem, { cause });
  }

  /** Makes a call after a number of milliseconds. @returns a function that cancels the call */
  after(milliseconds: number, call: () => unknown): () => void {
    const planned = { time: this.time + Math.max(0, milliseconds), number: this.#number++, call };
    this.#planned.add(planned);
    return () => this.#planned.delete(planned);
  }

  /** Calls a function between two steps of the world. @param steps number of steps until then */
  afterSteps(steps: number, call: () => void): void {
    this.#atSteps.push({ left: steps, call });
  }

  /** Cancels the actions of {@link afterSteps}. */
  calm(): void {
    this.#atSteps = [];
  }

  pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.after(milliseconds, resolve));
  }

  /** Runs the world until a condition holds. @throws Error if it doesn't hold within the given milliseconds */
  async until(holds: () => boolean, limit: number, goal: string): Promise<void> {
    const deadline = this.time + limit;
    while (!holds()) {
      if (this.time > deadline) throw new Error(`within ${limit / 1000} s, ${goal} did not come`);
      await this.#step();
    }
  }

  /** Runs the world until a promise settles. @throws as {@link until}, and the promise's error */
  async outcome<T>(promise: Promise<T>, limit: number, goal: string): Promise<T> {
    let isDone = false;
    const end = () => {
      isDone = true;
    };
    promise.then(end, end);
    await this.until(() => isDone, limit, goal);
    return promise;
  }

  /** Number of calls that the world waits for. */
  #busy = 0;

  /** Stops the world's time during work that runs on system threads, such as compression. */
  async busy<T>(work: () => Promise<T>): Promise<T> {
    this.#busy += 1;
    try {
      return await work();
    } finally {
      this.#busy -= 1;
    }
  }

  /** Lets time continue within {@link busy} until a promise settles. */
  async idle<T>(happened: Promise<T>): Promise<T> {
    this.#busy -= 1;
    try {
      return await happened;
    } finally {
      this.#busy += 1;
    }
  }

  /** The clock of work that is {@link busy}. */
  readonly busyClock: Clock = {
    now: () => Math.floor(this.time),
    monotonic: () => this.time,
    after: (milliseconds, call) => {
      this.#busy -= 1;
      let isIdle = true;
      const resume = () => {
        if (isIdle) this.#busy += 1;
        isIdle = false;
      };
      const prevent = this.after(milliseconds, () => {
        resume();
        call();
      });
      return () => {
        prevent();
        resume();
      };
    },
    every: () => {
      throw new Error('who is busy repeats nothing');
    },
    turn: () => this.idle(this.clock.turn()),
  };

  /** Makes the next planned call, and waits for its immediate effects. */
  async #step(): Promise<void> {
    const next = this.#next();
    if (next === undefined) throw new Error('nothing is left that could happen');
    this.#planned.delete(next);
    this.time = Math.max(this.time, next.time);
    await next.call();
    for (let turn = 0; turn < TURNS || this.#busy > 0; turn++) await new Promise((resolve) => setImmediate(resolve));
    if (this.#wrong !== null) throw this.#wrong;
    for (const action of this.#atSteps) if (action.left-- === 0) action.call();
    this.#atSteps = this.#atSteps.filter(({ left }) => left >= 0);
  }

  #next(): Planned | undefined {
    let next: Planned | undefined;
    for (const call of this.#planned) {
      if (next === undefined || call.time < next.time || (call.time === next.time && call.number < next.number))
        next = call;
    }
    return next;
  }

  /** The clock of a server. Waits for a turn end in a random order. */
  readonly clock: Clock = {
    now: () => Math.floor(this.time),
    monotonic: () => this.#look(),
    after: (milliseconds, call) => this.after(milliseconds, call),
    every: (milliseconds, call) => {
      let end: () => void;
      const repeat = () => {
        end = this.after(milliseconds, repeat);
        call();
      };
      end = this.after(milliseconds, repeat);
      return () => end();
    },
    turn: () => this.pause((this.#prng.below(100) / 100) * TURN_MS),
  };

  /** Milliseconds of work, during which the world's time stands still. */
  #worked = 0;
  #look(): number {
    this.#worked += (this.#prng.below(100) / 100) * LOOK_MS;
    return this.time + this.#worked;
  }

  readonly random: RandomSource = {
    number: () => this.#prng.u32() / 0x1_0000_0000,
    uuid: () => {
      const hex = Buffer.from(this.#prng.bytes(16)).toString('hex');
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
    },
  };
}
