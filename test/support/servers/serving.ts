/** The whole server inside the test's process, on free ports. */
import { processesOf } from '../../../src/commands/cli/this-program.ts';
import { type Environment, realEnvironment } from '../../../src/commands/serve/environment.ts';
import { startServing } from '../../../src/commands/serve/serve.ts';
import { type NodeEvent, postEvents } from '../../../src/devnet/node-event.ts';
import { readSettings } from '../../../src/settings/config.ts';
import { command } from '../../e2e/stackside.ts';
import { emptyDirectory } from '../data/ingest.ts';

export interface Serving extends AsyncDisposable {
  readonly directory: string;
  readonly api: string;
  readonly events: string;
  /** Posts to it as a node does. */
  post(events: Iterable<NodeEvent>): Promise<void>;
  /** Sends a request to the API. */
  get(path: string, init?: RequestInit): Promise<Response>;
}

/** Starts commands of the program for a server. If tests run the executable, a command costs half as much as from source. */
export const startOwnProcess = processesOf(command);

/** Nobody listens there. */
export const NO_NODE = 'http://127.0.0.1:1';

/**
 * @param overrides settings by name, as text
 * @param directory its data, which then stays; by default, a new directory that is deleted with it
 * @param variables all environment variables of the process
 * @param environment replacements for parts of the real environment
 */
export async function serving(
  overrides: Record<string, string> = {},
  directory?: string,
  variables: Record<string, string> = {},
  environment: Partial<Environment> = {},
): Promise<Serving> {
  const temporary = directory === undefined ? emptyDirectory(true) : null;
  const path = directory ?? temporary?.path ?? '';
  const fixed = {
    data: path,
    apiHost: '127.0.0.1',
    apiPort: '0',
    eventPort: '0',
    nodeRpc: NO_NODE,
    logLevel: 'silent',
  };
  try {
    const settings = readSettings({ ...fixed, ...overrides }, variables);
    const { api, events, stop } = await startServing(settings, {
      ...realEnvironment,
      startOwnProcess,
      cores: 1,
      archiveSeconds: 0.05,
      ...environment,
      // No client of this process is so slow, however busy the machine is.
      clientLimits: { pingIntervalMs: 300_000, pingTimeoutMs: 300_000, ...environment.clientLimits },
    });
    return {
      directory: path,
      api: api ?? '',
      events: events ?? '',
      async post(list) {
        await postEvents(list, events ?? '');
      },
      get: (target, init) => fetch(`${api}${target}`, { redirect: 'manual', ...init }),
      async [Symbol.asyncDispose]() {
        await stop();
        temporary?.[Symbol.dispose]();
      },
    };
  } catch (error) {
    temporary?.[Symbol.dispose]();
    throw error;
  }
}
