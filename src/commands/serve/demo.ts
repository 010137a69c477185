/** `stackside demo`: serves a simulated chain, for those who have no node and for tests of apps. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT, OperatorError } from '../../base/errors.ts';
import { TESTNET_CHAIN_ID } from '../../chain/network.ts';
import { SBTC_ASSET } from '../../devnet/contracts/token.ts';
import { SimulatedNode } from '../../devnet/node.ts';
import { startRpc } from '../../devnet/rpc.ts';
import { hostNames } from '../../http/hosts.ts';
import { type Reading, readSettings, type SettingsOf } from '../../settings/config.ts';
import { fileSizes } from '../../store/files/status.ts';
import { demoPresenter, type Running, serverOutputs } from '../terminal/presenter.ts';
import { type Environment, realEnvironment } from './environment.ts';
import { nextSignal, serveUntilSignal, startServing } from './serve.ts';
import type { Sources } from './server-readings.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

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
 * Makes a directory that is removed when the process ends: when the demo is stopped, or fails to start, and when something
 * ends the process at once.
 */
function temporaryData(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'stackside-demo-'));
  const remove = () => {
    process.off('exit', remove);
    rmSync(path, { recursive: true, force: true });
  };
  process.once('exit', remove);
  return { path, remove };
}

/** Resolves when stdin ends, as if a terminal were closed. */
const stdinEnd = (): Promise<'SIGHUP'> =>
  new Promise((resolve) => {
    for (const event of ['end', 'error', 'close']) process.stdin.once(event, () => resolve('SIGHUP'));
    process.stdin.resume();
  });

/**
 * Serves the demo until a signal.
 * @param reading where it names no data directory, the data is kept in a temporary one that is deleted at the end
 * @throws OperatorError where it can't serve
 */
export async function runDemo({ settings, sources }: Reading<'demo'>): Promise<void> {
  const isOwnDirectory = sources.data !== null;
  if (isOwnDirectory) requireNoData(settings.data);
  // Before there is anything to remove, and SIGHUP, too: a terminal that is closed sends it.
  const signalled = settings.untilStdinEnds ? Promise.race([nextSignal(SIGNALS), stdinEnd()]) : nextSignal(SIGNALS);
  // Who signals again doesn't want to wait; a signal without a handler would end the process before anything is removed.
  void signalled.then(() => nextSignal(SIGNALS)).then(() => process.exit(EXIT.interrupted));
  const own = isOwnDirectory ? null : temporaryData();
  try {
    await serveDemo({ ...settings, data: own?.path ?? settings.data }, sources, signalled);
  } finally {
    // A process that reads its stdin does not end before that does.
    if (settings.untilStdinEnds) process.stdin.pause();
    own?.remove();
  }
}

async function serveDemo(settings: DemoSettings, sources: Sources, signalled: Promise<NodeJS.Signals>): Promise<void> {
  const { env: variables } = process;
  const shown = { ...readSettings({}, {}), ...settings };
  const presenter = demoPresenter(
    { settings: shown, environment: realEnvironment, ...serverOutputs(), variables },
    settings,
  );
  await serveUntilSignal(presenter, await startDemo(settings, presenter.environment, signalled, sources), signalled);
}

/**
 * Starts the server and the simulated node beside it, whose history is in the index when this resolves.
 * @param environment replaced by tests
 * @param ended ends the start early
 * @param sources where the values of the settings come from
 * @throws OperatorError where it can't serve
 */
export async function startDemo(
  settings: DemoSettings,
  environment: Environment = realEnvironment,
  ended?: Promise<unknown>,
  sources: Sources = {},
): Promise<Running> {
  const { seed, interval, history, traffic, pox5Height, allowedHosts, apiHost } = settings;
  const { clock, listen, createLog } = environment;
  const node = new SimulatedNode({ seed, interval, history, traffic, pox5Height, clock });
  const rpc = startRpc(node, { clock, listen, log: createLog(settings.logLevel) });
  const served = {
    // What a demo doesn't take is as a server has it by default.
    ...readSettings({}, {}),
    ...settings,
    chainId: TESTNET_CHAIN_ID,
    nodeRpc: rpc.url,
    // The account that the simulated chain begins with. Whoever tests isn't held up; there is no Bitcoin node to ask.
    faucetKeys: `${node.faucet.privateKey.toHex()}01`,
    sbtcFaucet: true,
    sbtcFaucetAsset: SBTC_ASSET,
    faucetLimits: false,
    // Where everybody is the operator there are no other consumers.
    hookKeys: settings.hookAccess === 'open' ? null : settings.hookKeys,
  };
  const closing: (() => Promise<void>)[] = [() => rpc.stop()];
  const stop = async () => {
    for (const close of closing.splice(0)) await close();
  };
  try {
    const steering = { node, hosts: [apiHost, ...hostNames(allowedHosts)] };
    const running = await startServing(served, environment, { steering, sources });
    closing.unshift(() => node.stop(), running.stop);
    void ended?.then(() => node.stop());
    await node.start(running.events ?? '');
    return { ...running, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
