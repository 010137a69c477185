/** `stackside devnet` and `stackside demo`: serve a simulated chain, for users without a node and for tests of apps. */
import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { EXIT, OperatorError } from '../../base/errors.ts';
import { Services } from '../../base/service.ts';
import { onFile } from '../../base/system-errors.ts';
import { ContractDeployment, isAbortError } from '../../devnet/clarity/contract-deployment.ts';
import { EngineEndedError } from '../../devnet/clarity/engine.ts';
import { RealNetwork } from '../../devnet/clarity/network.ts';
import {
  type ClarinetProject,
  clarinetProject,
  fetchRequirement,
  MANIFEST,
  MissingRequirementError,
} from '../../devnet/clarity/project.ts';
import { readState, unfitState, writeState } from '../../devnet/clarity/state.ts';
import { SBTC_ASSET } from '../../devnet/contracts/token.ts';
import { type NodeOptions, SimulatedNode, UnlikeSavedError } from '../../devnet/node.ts';
import { startRpc } from '../../devnet/rpc.ts';
import { hostNames } from '../../http/hosts.ts';
import { apiListener, isPortTaken, requireFreePort } from '../../http/listener.ts';
import type { Log } from '../../log.ts';
import { eventListener } from '../../node/receiver.ts';
import { readSettings, type Settings, type SettingsOf } from '../../settings/config.ts';
import type { Sources } from '../../settings/describe.ts';
import { type Lock, lockState, lockUnfinished } from '../../store/files/lock.ts';
import { fileSizes } from '../../store/files/status.ts';
import { clarityEngineUrl } from '../../thread-urls.ts';
import { stopSignals } from '../cli/output.ts';
import { type DevnetAccount, devnetPresenter, type ServerInfo, serverOutputs } from '../terminal/presenter.ts';
import { type Environment, realEnvironment } from './environment.ts';
import { nextSignal, serveUntilSignal, startServing } from './serve.ts';

export type DevnetSettings = SettingsOf<'demo'> & SettingsOf<'devnet'>;

/** Returns the settings of a demo: simulated contracts, with a past and users. */
export const demoSettings = (settings: SettingsOf<'demo'>): DevnetSettings => ({
  ...settings,
  clarity: null,
  watch: false,
  fork: null,
  state: null,
  automine: false,
});

/**
 * Returns the settings of a devnet, which has no past and no users.
 * @param directory whose project runs if the settings name none; null for none
 */
export const devnetSettings = (settings: SettingsOf<'devnet'>, directory: string | null): DevnetSettings => ({
  ...settings,
  clarity:
    settings.clarity ?? (directory !== null && existsSync(join(directory, MANIFEST)) ? resolve(directory) : null),
  pastBlocks: 1,
  traffic: 0,
});

/**
 * Refuses a directory with data: the new simulated chain would look like a fork of the existing one.
 * @throws OperatorError
 */
function requireNoData(directory: string): void {
  if (fileSizes(directory).size === 0) return;
  throw new OperatorError(
    `The directory ${directory} already has data, but a devnet starts another chain each time.`,
    `Give an empty directory by --data, or serve the existing data: stackside serve --data ${directory}.`,
  );
}

/** Beginning of the names of temporary directories. */
const TEMPORARY = 'stackside-devnet-';

/**
 * Removes the temporary directories of this user's devnets that were killed. A running devnet has locked its directory since
 * before it made the data files.
 */
function removeAbandoned(): void {
  for (const name of readdirSync(tmpdir()).filter((name) => name.startsWith(TEMPORARY))) {
    const path = join(tmpdir(), name);
    try {
      const stats = lstatSync(path);
      const isOwn = stats.isDirectory() && stats.uid === (process.getuid?.() ?? stats.uid);
      if (!isOwn || fileSizes(path).size === 0) continue;
      lockUnfinished(path)[Symbol.dispose]();
      rmSync(path, { recursive: true, force: true });
    } catch {
      // A running devnet holds the lock. A directory that can't be removed stays.
    }
  }
}

/**
 * Makes a temporary directory, which is removed when the process ends: after the devnet stops or fails to start, or when the
 * process exits at once.
 */
function temporaryData(): { path: string; remove(): void } {
  removeAbandoned();
  const path = mkdtempSync(join(tmpdir(), TEMPORARY));
  const remove = () => {
    process.off('exit', remove);
    rmSync(path, { recursive: true, force: true });
  };
  process.once('exit', remove);
  return { path, remove };
}

/** Resolves when stdin ends, like a closed terminal. */
const stdinEnd = (): Promise<'SIGHUP'> =>
  new Promise((resolve) => {
    for (const event of ['end', 'error', 'close']) process.stdin.once(event, () => resolve('SIGHUP'));
    process.stdin.resume();
  });

/**
 * Serves the chain until a signal.
 * @param sources without a source of the data directory, the data is in a temporary one that is deleted at the end
 * @param untilStdinEnds whether the end of stdin ends it as well
 * @throws OperatorError if it can't serve
 */
export async function runDevnet(settings: DevnetSettings, sources: Sources, untilStdinEnds: boolean): Promise<void> {
  const isOwnDirectory = sources.data != null;
  if (isOwnDirectory) requireNoData(settings.data);
  // Before the directory is made, so that it is always removed.
  const signalled = untilStdinEnds ? Promise.race([nextSignal(stopSignals()), stdinEnd()]) : nextSignal(stopSignals());
  // A second signal ends the process at once. Without a handler it would leave the directory.
  void signalled.then(() => nextSignal(stopSignals())).then(() => process.exit(EXIT.interrupted));
  const temporary = isOwnDirectory ? null : temporaryData();
  try {
    await serveDevnet({ ...settings, data: temporary?.path ?? settings.data }, sources, signalled);
  } finally {
    // Reading stdin would keep the process from ending.
    if (untilStdinEnds) process.stdin.pause();
    temporary?.remove();
  }
}

const shownAccounts = ({ accounts }: ClarinetProject): DevnetAccount[] =>
  accounts.map(({ name, address, secret }) => ({ name, address, secret }));

/**
 * Chooses a free port in place of a default one that another program uses.
 * @throws OperatorError if another program uses a port that the user set
 */
export function withFreePorts(settings: DevnetSettings, sources: Sources, log: Log): DevnetSettings {
  const ports = [
    { name: 'apiPort', listener: apiListener, host: settings.apiHost },
    { name: 'eventPort', listener: eventListener, host: settings.eventHost },
  ] as const;
  const freePorts = { apiPort: settings.apiPort, eventPort: settings.eventPort };
  for (const { name, listener, host: hostname } of ports) {
    const port = settings[name];
    if (port === 0) continue;
    if (sources[name] != null) {
      requireFreePort(listener, { hostname, port });
    } else if (isPortTaken(hostname, port)) {
      log({ event: 'port_in_use', port, flag: listener.flags.port });
      freePorts[name] = 0;
    }
  }
  return { ...settings, ...freePorts };
}

async function serveDevnet(base: DevnetSettings, sources: Sources, signalled: Promise<NodeJS.Signals>): Promise<void> {
  const { env: variables } = process;
  const allSettings = { ...readSettings({}, {}), ...base };
  const presenter = devnetPresenter(
    { settings: allSettings, environment: realEnvironment, ...serverOutputs(), variables },
    base,
  );
  const settings = withFreePorts(base, sources, presenter.log);
  let isEnded = false;
  void signalled.then(() => {
    isEnded = true;
  });
  let running: ServerInfo;
  try {
    running = await startDevnet(settings, presenter.environment, signalled, sources);
  } catch (error) {
    // The stop ended unfinished work.
    if (isEnded && (isAbortError(error) || error instanceof EngineEndedError)) return;
    throw error;
  }
  if (isEnded) await running.stop();
  else await serveUntilSignal(presenter, running, signalled);
}

type ProjectSettings = DevnetSettings & { clarity: string };

/** Reads a project, and downloads its missing requirements with `--fork`. @throws OperatorError */
async function readWhole({ clarity, seed, fork }: ProjectSettings, files: string[]): Promise<ClarinetProject> {
  for (;;) {
    try {
      return clarinetProject(clarity, seed, files);
    } catch (error) {
      if (!(error instanceof MissingRequirementError) || fork === null) throw error;
      await fetchRequirement(error, fork);
    }
  }
}

/** Refuses settings that need a project, without one. @throws OperatorError */
function requireProject({ watch, state, fork, clarity }: DevnetSettings): void {
  const flags = { '--watch': watch, '--state': state !== null, '--fork': fork !== null };
  const [flag] = Object.entries(flags).find(([, isGiven]) => isGiven) ?? [];
  if (clarity !== null || flag === undefined) return;
  throw new OperatorError(
    `${flag} needs a project.`,
    'Start the devnet in the directory of a Clarinet project, or name it with --clarity.',
  );
}

function toNodeOptions(settings: DevnetSettings, clock: Clock, log: Log): NodeOptions {
  const { seed, interval, pastBlocks: history, traffic, pox5Height, observer: url } = settings;
  return {
    seed,
    clock,
    automine: settings.automine ?? interval === null,
    history,
    traffic,
    pox5Height,
    impersonates: settings.unsafeImpersonate,
    interval: interval ?? 0,
    // Only a chain that mines on request has another time than this machine.
    isInRealTime: interval !== 0,
    otherObserver: url === null ? undefined : { url, clock, log },
  };
}

const toServerSettings = (settings: DevnetSettings, node: SimulatedNode, nodeRpc: string): Settings => ({
  // Settings that a devnet doesn't have get the defaults of a server.
  ...readSettings({}, {}),
  ...settings,
  nodeRpc,
  // The account that has the simulated chain's first funds. There are no limits, because they would slow tests down, and
  // no Bitcoin node.
  faucetKeys: `${node.faucet.privateKey.toHex()}01`,
  sbtcFaucet: settings.clarity === null,
  faucetLimits: false,
  // With open access every client is the operator, so there are no other consumers.
  hookKeys: settings.hookAccess === 'open' ? null : settings.hookKeys,
});

/**
 * Locks the file of `--state`, so that no other devnet writes it. Reading the state rejects a missing directory.
 * @throws OperatorError
 */
const lockedState = (path: string | null): Lock | null =>
  path === null || !existsSync(dirname(resolve(path))) ? null : onFile(path, () => lockState(resolve(path)));

/**
 * Starts the server with a simulated node. When this resolves, the index has the node's history.
 * @param environment replaced by tests
 * @param ended ends the start early, with an AbortError or EngineEndedError if its work is unfinished
 * @param sources sources of the settings' values
 * @throws OperatorError if it can't serve
 */
export async function startDevnet(
  settings: DevnetSettings,
  environment: Environment = realEnvironment,
  ended: Promise<unknown> = new Promise(() => {}),
  sources: Sources = {},
): Promise<ServerInfo> {
  requireProject(settings);
  const { clarity: directory, state: file } = settings;
  const { clock, listen, createLog, clarityEngine } = environment;
  const log = createLog(settings.logLevel);
  const project = directory === null ? null : await readWhole({ ...settings, clarity: directory }, []);
  const stateLock = lockedState(settings.state);
  const engine = directory === null ? null : clarityEngine({ directory, module: clarityEngineUrl, clock });
  let isStarting = true;
  // The engine may compute for a minute, which nobody waits for.
  if (engine !== null) void ended.then(() => (isStarting ? engine.stop() : undefined));
  const services = new Services();
  services.use('Clarity engine', engine);
  try {
    const options = toNodeOptions(settings, clock, log);
    const savedState = file === null || project === null ? null : readState(file, settings.seed, project);
    const real =
      engine === null || project === null
        ? null
        : await RealNetwork.open(project, engine, {
            node: options,
            savedNetwork: savedState,
            readAgain: (files) => readWhole({ ...settings, clarity: project.directory }, files),
          });
    const node = real?.node ?? new SimulatedNode(options);
    const rpc = services.use('RPC of the node', startRpc(node, { clock, listen, log }));
    const deployment = real === null ? null : new ContractDeployment(real, log);
    let hasHistory = false;
    const preparation = () =>
      hasHistory ? (deployment?.problem ?? null) : { problem: 'The first blocks are being mined', remedy: 'Wait.' };
    const steering = { node, hosts: [settings.apiHost, ...hostNames(settings.allowedHosts)], preparation };
    const serverSettings = toServerSettings(settings, node, rpc.url);
    const running = services.use(
      'server',
      await startServing(serverSettings, environment, { steering, sbtcAsset: SBTC_ASSET, sources }),
    );
    services.use('node', node);
    const stopping = new AbortController();
    void ended.then(() => {
      stopping.abort();
      return node.stop();
    });
    await node.start(running.events ?? '').catch((error: unknown) => {
      throw error instanceof UnlikeSavedError && file !== null ? unfitState(file, error.message) : error;
    });
    // The chain of a saved file may be incomplete, and must not replace the file.
    stopping.signal.throwIfAborted();
    hasHistory = true;
    if (real === null || deployment === null) return { ...running, stop: () => services.stop() };
    const { watch } = settings;
    await deployment.begin(watch);
    isStarting = false;
    if (watch) {
      services.use('watch of the contracts', { stop: deployment.watch(clock) });
      // A contract may have a mistake, which is corrected later.
      await Promise.race([deployment.done.promise, ended]);
    }
    // A chain that never had its contracts isn't worth a file.
    const hasContracts = savedState !== null || deployment.problem === null;
    const stop = async (): Promise<void> => {
      try {
        await services.stop();
        if (file !== null && hasContracts) writeState(file, real.saved());
      } finally {
        stateLock?.[Symbol.dispose]();
      }
    };
    const contracts = real.contracts.map(({ name, deployer }) => `${deployer}.${name}`);
    return { ...running, accounts: shownAccounts(real.project), contracts, stop };
  } catch (error) {
    await services.stop();
    stateLock?.[Symbol.dispose]();
    throw error;
  }
}
