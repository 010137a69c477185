/** A demo or a devnet in the test's process, steered, on free ports. */
import { demoSettings, devnetSettings, startDevnet } from '../../src/commands/serve/devnet.ts';
import { type Environment, realEnvironment } from '../../src/commands/serve/environment.ts';
import { readSettingsOf } from '../../src/settings/config.ts';
import { lentEngine } from '../support/clarity.ts';
import { dataDirectory } from '../support/data/data-directory.ts';

interface SteeredBlock {
  height: number;
  hash: string;
  index_block_hash: string;
  parent_index_block_hash: string;
  time: number;
  tenure_height: number;
  bitcoin_height: number;
  transactions: string[];
}

/** The parts of the answers of /stackside/v1/devnet that tests read. */
export interface Steered {
  tip: SteeredBlock;
  bitcoin: { height: number; time: number };
  cycle: { number: number; length: number; blocks_left: number };
  interval: number;
  pending: string[];
  snapshots: { name: string; height: number }[];
  faucet: { address: string; balance: string };
  tx_id: string;
  status: string;
  repr: string;
  block: SteeredBlock;
  blocks: SteeredBlock[];
  orphaned: SteeredBlock[];
  bitcoin_blocks: { height: number; hash: string; time: number }[];
}

/** The parts of a rejection that tests read. */
interface Refusal {
  message: string;
  field?: string;
  reason?: string;
}

export interface Demo extends AsyncDisposable {
  readonly api: string;
  /** Requests a path of the API. */
  get(path: string, init?: RequestInit): Promise<Response>;
  /** The JSON of an answer. @template T its expected type */
  json<T>(path: string): Promise<T>;
  /** Posts JSON to the API. @template T the expected type of the body */
  post<T = unknown>(path: string, body?: unknown): Promise<{ status: number; body: T }>;
  /** Steers the demo by the last part of a route, such as `mine`, and expects that it succeeds. */
  steer<T = Steered>(command: string, body?: unknown): Promise<T>;
  /** Steers the demo, and expects that it answers with 400. */
  refuses(command: string, body?: unknown): Promise<Refusal>;
  /** The state of the devnet. */
  state(): Promise<Steered>;
}

/** Whether only `stackside devnet` has one of the settings. */
const isDevnet = (settings: Record<string, string | undefined>): boolean =>
  ['clarity', 'watch', 'automine', 'fork', 'state'].some((name) => name in settings);

/** @param options settings by name, as text; undefined for a default */
export async function demo(
  options: Record<string, string | undefined> = {},
  environment: Partial<Environment> = {},
): Promise<Demo> {
  const directory = dataDirectory();
  const fixed = {
    data: directory.path,
    apiPort: '0',
    eventPort: '0',
    logLevel: 'silent',
    interval: '0',
    pastBlocks: '1',
  };
  // Most tests of a project expect that their transactions are mined.
  const mining = 'clarity' in options ? { automine: 'true' } : {};
  try {
    const settings = isDevnet(options)
      ? devnetSettings(readSettingsOf('devnet', { ...fixed, ...mining, ...options }, {}).settings, null)
      : demoSettings(readSettingsOf('demo', { ...fixed, ...options }, {}).settings);
    const { api, stop } = await startDevnet(settings, {
      ...realEnvironment,
      ...environment,
      clarityEngine: lentEngine,
    });
    const post = async (path: string, body: unknown = {}) => {
      const response = await fetch(`${api}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const text = await response.text();
      return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
    };
    const json = async <T>(path: string) => (await fetch(`${api}${path}`)).json() as Promise<T>;
    const steer = (expected: number) => async (command: string, body?: unknown) => {
      const { status, body: answer } = await post(`/stackside/v1/devnet/${command}`, body);
      if (status !== expected) throw new Error(`${command}: ${status} ${JSON.stringify(answer)}`);
      return answer;
    };
    return {
      api: api ?? '',
      get: (path, init) => fetch(`${api}${path}`, init),
      json,
      post,
      steer: steer(200),
      refuses: steer(400),
      state: () => json<Steered>('/stackside/v1/devnet'),
      async [Symbol.asyncDispose]() {
        await stop();
        directory[Symbol.dispose]();
      },
    };
  } catch (error) {
    directory[Symbol.dispose]();
    throw error;
  }
}
