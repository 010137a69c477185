/**
 * The Clarity engine: the project's @stacks/clarinet-sdk, in a separate process. It has another licence and isn't part
 * of this program. Both communicate by messages, with bytes as hex with 0x and amounts as decimal texts.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Subprocess } from 'bun';
import { type Clock, pause } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import type { Mint } from '../transaction.ts';
import type { TraceReport } from './failure.ts';

/** Micro-STX that an account receives. */
export interface Credit {
  address: string;
  amount: string;
}

/** The action of a transaction, in addition to its fee. */
export type EngineAction =
  /** `mint`: fungible tokens that the recipient of the mint gets in addition. */
  | { kind: 'transfer'; sender: string; recipient: string; amount: string; mint: Mint | null }
  | { kind: 'deploy'; sender: string; name: string; source: string; clarityVersion: number | null }
  | { kind: 'call'; sender: string; contract: string; functionName: string; args: string[] };

/**
 * A block in the engine's form: either a tenure of Bitcoin and Stacks, or a Stacks block with or without a transaction.
 */
export type EngineBlock =
  | { kind: 'tenure'; credits: Credit[] }
  | { kind: 'block'; credits: Credit[]; fee: { payer: string; amount: string } | null; action: EngineAction | null };

export type EngineOutcome =
  | { kind: 'returned'; result: string; events: string[]; costs: string }
  /** The transaction has no result: the engine's error. */
  | { kind: 'failed'; error: string };

/** Position of the engine after a block. */
export interface EnginePosition {
  height: number;
  burnHeight: number;
  /** Unix seconds. */
  time: number;
}

/** The position after the last block, and the outcome of its action; null for a block without an action. */
export interface BlocksResult extends EnginePosition {
  outcome: EngineOutcome | null;
}

export type EngineRead =
  | { kind: 'call'; contract: string; functionName: string; args: readonly string[]; sender: string }
  | { kind: 'variable'; contract: string; name: string }
  | { kind: 'entry'; contract: string; map: string; key: string }
  | { kind: 'source'; contract: string }
  /** A JSON array with the interfaces of contracts; null for a contract that doesn't exist. */
  | { kind: 'interfaces'; contracts: string[] };

/**
 * The engine's chains. `main` makes the blocks, counts their costs, and reads from the newest one. `aside` is for reads
 * from other blocks and for blocks that the chain never contains. It counts no costs, so a block takes a sixth of the
 * time. `traced` reports every expression that it evaluates.
 */
export type EngineSession = 'main' | 'aside' | 'traced';

/** The requests by kind, with their answers. */
interface EngineProtocol {
  /** Starts a new chain, at block 1. `time` is its start in Unix seconds. */
  begin: { request: { epoch: string; time: number; credits: Credit[] }; answer: EnginePosition };
  blocks: { request: { blocks: EngineBlock[] }; answer: BlocksResult };
  /** Null if the value doesn't exist. */
  read: { request: { read: EngineRead }; answer: string | null };
  /** Reads a project's files from this message. The answer is its first error with the place in a file, or null. */
  check: { request: { files: Readonly<Record<string, string>>; manifest: string }; answer: string | null };
  /** Makes a block, and reports its evaluation. `withCosts` adds every evaluated expression. */
  trace: { request: { block: EngineBlock; withCosts: boolean }; answer: TraceReport };
}

type RequestKind = keyof EngineProtocol;

export type EngineRequest<K extends RequestKind = RequestKind> = {
  [Kind in K]: { session: EngineSession; kind: Kind } & EngineProtocol[Kind]['request'];
}[K];

export type EngineAnswer<K extends RequestKind = RequestKind> = EngineProtocol[K]['answer'];

/** A message of the process: the answer to a request, or why the engine refused it. */
export type FromEngine = { id: number } & ({ answer: EngineAnswer } | { refusal: string });

/** The first message of the process. */
export type EngineReady = { kind: 'ready'; version: string } | { kind: 'unfit'; problem: string };

const PACKAGE = '@stacks/clarinet-sdk';
const KNOWN_MAJOR = '3';
const INSTALL = `Install it in that directory: npm install --save-dev ${PACKAGE}@${KNOWN_MAJOR}`;

/**
 * Makes the JavaScript engine wait ten times as long as usual before it compiles WebAssembly for speed. A new chain
 * otherwise spends a third of its start on compiling.
 */
const ENGINE_SETTINGS = { BUN_JSC_thresholdForOMGOptimizeAfterWarmUp: '500000' };

/** Milliseconds for loading the engine, and for an answer. */
const LOADING_MS = 60_000;
const ANSWER_MS = 60_000;

/** Thrown if the engine ended, or was ended because its answer was late. The next request starts it again. */
export class EngineEndedError extends Error {
  override readonly name = 'EngineEndedError';
}

/** Thrown if the engine refused a message. */
export class EngineRefusedError extends Error {
  override readonly name = 'EngineRefusedError';
}

/** Writes the module of the process to a file, because another process can't read it from the compiled executable. */
async function moduleFile(module: URL): Promise<{ path: string; remove(): void }> {
  const path = fileURLToPath(module);
  if (!path.includes('$bunfs')) return { path, remove: () => {} };
  const text = await Bun.file(path.replace(/\.ts$/, '.js')).text();
  const directory = mkdtempSync(join(tmpdir(), 'stackside-clarity-'));
  const file = join(directory, 'engine.js');
  // Removes the line that makes Bun look for compiled code next to the file.
  writeFileSync(file, text.replace(/^\/\/ @bun.*\n/, ''));
  return { path: file, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

type PendingAnswer = PromiseWithResolvers<EngineAnswer>;

interface EngineOptions {
  directory: string;
  module: URL;
  clock: Clock;
}

/** The process of an engine. It is started again after it ended. */
export class ClarityEngine {
  #process: { child: Subprocess; waiting: Map<number, PendingAnswer> } | null = null;
  /** The last process, which may still load the engine. */
  #child: Subprocess | null = null;
  #requests = 0;
  #isStopped = false;

  constructor(readonly options: EngineOptions) {}

  /** Whether a process runs, with the state that it was sent. */
  get isRunning(): boolean {
    return this.#process !== null;
  }

  /**
   * Starts the process.
   * @returns the version of the engine
   * @throws OperatorError if the directory has no engine, or an unsupported version
   */
  async start(): Promise<string> {
    const file = await moduleFile(this.options.module);
    try {
      return await this.#start(file.path);
    } finally {
      file.remove();
    }
  }

  async #start(path: string): Promise<string> {
    const { directory } = this.options;
    const waiting = new Map<number, PendingAnswer>();
    const ready = Promise.withResolvers<EngineReady>();
    const child = Bun.spawn([process.execPath, '--no-install', path, directory], {
      cwd: directory,
      env: { ...ENGINE_SETTINGS, ...process.env, BUN_BE_BUN: '1' },
      // The process prints the output of contracts. --no-install: a missing package isn't fetched.
      stdio: ['ignore', 'ignore', 'ignore'],
      serialization: 'json',
      ipc: (message: EngineReady | FromEngine) => {
        if (!('id' in message)) return ready.resolve(message);
        if ('answer' in message) waiting.get(message.id)?.resolve(message.answer);
        else waiting.get(message.id)?.reject(new EngineRefusedError(message.refusal));
        waiting.delete(message.id);
      },
    });
    this.#child = child;
    const started = { child, waiting };
    void child.exited.then((code) => {
      if (this.#process === started) this.#process = null;
      const error = new EngineEndedError(`The Clarity engine ended with code ${code}.`);
      ready.reject(error);
      for (const { reject } of waiting.values()) reject(error);
    });
    const first = await this.#within(LOADING_MS, ready.promise, child);
    if (first.kind === 'unfit') {
      child.kill();
      throw new OperatorError(`No Clarity engine can be loaded from ${directory}: ${first.problem}`, INSTALL);
    }
    if (first.version.split('.')[0] !== KNOWN_MAJOR) {
      child.kill();
      throw new OperatorError(
        `The Clarity engine of ${directory} has version ${first.version}; this program supports version ${KNOWN_MAJOR}.`,
        INSTALL,
      );
    }
    this.#process = started;
    return first.version;
  }

  /**
   * Sends a message, and starts the process if none runs.
   * @throws EngineEndedError, EngineRefusedError; OperatorError if it can't be started
   */
  async ask<K extends RequestKind>(message: EngineRequest<K>): Promise<EngineAnswer<K>> {
    if (this.#isStopped) throw new EngineEndedError('The Clarity engine was stopped.');
    if (this.#process === null) await this.start();
    const { child, waiting } = this.#process!;
    const id = ++this.#requests;
    const answer: PendingAnswer = Promise.withResolvers();
    waiting.set(id, answer);
    child.send({ id, ...message });
    // The process answers each request in the form of its kind.
    return (await this.#within(ANSWER_MS, answer.promise, child)) as EngineAnswer<K>;
  }

  /** Waits for the process, and ends it if it is late. @throws EngineEndedError */
  async #within<T>(limitMs: number, answer: Promise<T>, child: Subprocess): Promise<T> {
    const answered = new AbortController();
    void pause(this.options.clock, limitMs, answered.signal).then(() => {
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
    this.#child?.kill('SIGKILL');
    await this.#child?.exited;
  }
}
