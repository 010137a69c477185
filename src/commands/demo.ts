/** `stackside demo`: serves a simulated chain that grows, for those who have no node. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '../base/errors.ts';
import { TESTNET_CHAIN_ID } from '../chain/network.ts';
import { runDevnet } from '../devnet/live.ts';
import { readSettings, type SettingsOf } from '../settings/config.ts';
import { fileSizes } from '../store/files/status.ts';
import { realEnvironment } from './environment.ts';
import { serveUntilSignal, startServing } from './serve.ts';
import { demoPresenter } from './terminal/presenter.ts';

export interface DemoOptions {
  seed: number;
  /** Seconds between two blocks. */
  interval: number;
}

type DemoSettings = SettingsOf<'demo'>;

/**
 * Refuses a directory with data: a new simulated chain would be taken for a fork of the one there.
 * @throws OperatorError
 */
function requireNoData(directory: string): void {
  if (fileSizes(directory).size === 0) return;
  throw new OperatorError(
    `The directory ${directory} already has data, but a demo starts another chain each time.`,
    `Give an empty directory by --data, or serve the existing data: stackside serve --data ${directory}.`,
  );
}

/**
 * Serves the demo until a signal.
 * @param keepData whether a data directory was given; without one, the data is kept in a temporary one that is deleted at the end
 * @throws OperatorError where it can't serve
 */
export async function runDemo(settings: DemoSettings, keepData: boolean, options: DemoOptions): Promise<void> {
  if (keepData) requireNoData(settings.data);
  const data = keepData ? settings.data : mkdtempSync(join(tmpdir(), 'stackside-demo-'));
  try {
    await serveDemo({ ...settings, data }, options);
  } finally {
    if (!keepData) rmSync(data, { recursive: true, force: true });
  }
}

/** Blocks that are there from the start. */
const HISTORY = 100;

async function serveDemo(settings: DemoSettings, { seed, interval }: DemoOptions): Promise<void> {
  const served = {
    // What a demo doesn't take is as a server has it by default.
    ...readSettings({}, {}),
    ...settings,
    chainId: TESTNET_CHAIN_ID,
    // Where everybody is the operator there are no other consumers.
    hookKeys: settings.hookAccess === 'open' ? null : settings.hookKeys,
  };
  const { stdout, stderr, env: variables } = process;
  const presenter = demoPresenter(
    { settings: served, environment: realEnvironment, stdout, stderr, variables },
    { interval, history: HISTORY },
  );
  const running = await startServing(served, presenter.environment);
  const simulation = new AbortController();
  const simulated = runDevnet({
    seed,
    eventsUrl: running.events ?? '',
    blockIntervalMs: interval * 1000,
    history: HISTORY,
    signal: simulation.signal,
  });
  await serveUntilSignal(presenter, {
    ...running,
    async stop() {
      simulation.abort();
      await simulated;
      await running.stop();
    },
  });
}
