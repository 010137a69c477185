/**
 * The Clarity engine: the project's own @stacks/clarinet-sdk, in a process of its own. It is not part of this program, whose
 * licence is another; the two speak by messages.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Subprocess } from 'bun';
import { type Clock, pause, systemClock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import type { EngineAnswer, EngineReady, ToEngine } from './engine-messages.ts';

/** The package that a project installs. */
const PACKAGE = '@stacks/clarinet-sdk';
/** Major version whose interface is known. */
const KNOWN_MAJOR = '3';
const INSTALL = `Install it in that directory: npm install --save-dev ${PACKAGE}@${KNOWN_MAJOR}`;

/** Milliseconds for loading the engine, and for an answer, in which the chain may be made anew. */
const LOADING_MS = 60_000;
const ANSWER_MS = 60_000;

/** The engine ended, or didn't answer in time and was ended. It begins anew with the next request. */
export class EngineEndedError extends Error {
  override readonly name = 'EngineEndedError';
}

/** The engine refused a message. */
export class EngineRefusedError extends Error {
  override readonly name = 'EngineRefusedError';
}

/** The module of the process in a file: the compiled executable holds it, where no other process can read it. */
async function moduleFile(module: URL): Promise<{ path: string; remove(): void }> {
  const path = fileURLToPath(module);
  if (!path.includes('$bunfs')) return { path, remove: () => {} };
  const text = await Bun.file(path.replace(/\.ts$/, '.js')).text();
  const directory = mkdtempSync(join(tmpdir(), 'stackside-clarity-'));
  const file = join(directory, 'engine.js');
  // Without the line that sends Bun to look for compiled code beside the file.
  writeFileSync(file, text.replace(/^\/\/ @bun.*\n/, ''));
  return { path: file, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

interface Waiting {
  resolve(answer: EngineAnswer): void;
  reject(error: Error): void;
}

interface EngineOptions {
  /** The directory of the project whose engine is loaded. */
  directory: string;
  /** The module that its process runs. */
  module: URL;
  clock?: Clock;
}

/** An engine's process, which is started anew after it ended. */
export class ClarityEngine {
  readonly #directory: string;
  readonly #module: URL;
  readonly #clock: Clock;
  #process: { child: Subprocess; waiting: Map<number, Waiting> } | null = null;
  #requests = 0;
  #isStopped = false;

  constructor({ directory, module, clock = systemClock }: EngineOptions) {
    this.#directory = directory;
    this.#module = module;
    this.#clock = clock;
  }

  /** Whether a process runs, with what it was told. */
  get isRunning(): boolean {
    return this.#process !== null;
  }

  /**
   * Starts the process.
   * @returns the version of the engine
   * @throws OperatorError where the directory has no engine, or one of another version
   */
  async start(): Promise<string> {
    const file = await moduleFile(this.#module);
    try {
      return await this.#start(file.path);
    } finally {
      file.remove();
    }
  }

  async #start(path: string): Promise<string> {
    const waiting = new Map<number, Waiting>();
    const ready = Promise.withResolvers<EngineReady>();
    const child = Bun.spawn([process.execPath, '--no-install', path, this.#directory], {
      cwd: this.#directory,
      env: { ...process.env, BUN_BE_BUN: '1' },
      // It prints what contracts print. A package that isn't there is not fetched: --no-install.
      stdio: ['ignore', 'ignore', 'ignore'],
      serialization: 'json',
      ipc: (message: EngineReady | ({ id: number } & EngineAnswer)) => {
        if (!('id' in message)) return ready.resolve(message);
        const { id, ...answer } = message;
        waiting.get(id)?.resolve(answer);
        waiting.delete(id);
      },
    });
    const own = { child, waiting };
    void child.exited.then((code) => {
      if (this.#process === own) this.#process = null;
      const error = new EngineEndedError(`The Clarity engine ended with code ${code}.`);
      ready.reject(error);
      for (const { reject } of waiting.values()) reject(error);
    });
    const first = await this.#within(LOADING_MS, ready.promise, child);
    if (first.kind === 'unfit') {
      child.kill();
      throw new OperatorError(`No Clarity engine can be loaded from ${this.#directory}: ${first.problem}`, INSTALL);
    }
    if (first.version.split('.')[0] !== KNOWN_MAJOR) {
      child.kill();
      throw new OperatorError(
        `The Clarity engine of ${this.#directory} has version ${first.version}; this program knows version ${KNOWN_MAJOR}.`,
        INSTALL,
      );
    }
    this.#process = own;
    return first.version;
  }

  /**
   * Sends a message, and starts the process where none runs.
   * @throws EngineEndedError, EngineRefusedError; OperatorError where it can't be started
   */
  async ask(message: ToEngine): Promise<EngineAnswer> {
    if (this.#isStopped) throw new EngineEndedError('The Clarity engine was stopped.');
    if (this.#process === null) await this.start();
    const { child, waiting } = this.#process!;
    const id = ++this.#requests;
    const { promise, resolve, reject } = Promise.withResolvers<EngineAnswer>();
    waiting.set(id, { resolve, reject });
    child.send({ id, ...message });
    const answer = await this.#within(ANSWER_MS, promise, child);
    if (answer.kind === 'refused') throw new EngineRefusedError(answer.error);
    return answer;
  }

  /** Waits for the process, and ends it where it is late. @throws EngineEndedError */
  async #within<T>(most: number, answer: Promise<T>, child: Subprocess): Promise<T> {
    const answered = new AbortController();
    void pause(this.#clock, most, answered.signal).then(() => {
      if (!answered.signal.aborted) child.kill('SIGKILL');
    });
    try {
      return await answer;
    } finally {
      answered.abort();
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const child = this.#process?.child;
    child?.kill('SIGKILL');
    await child?.exited;
  }
}
