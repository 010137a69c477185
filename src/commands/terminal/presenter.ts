/** The output of a server: JSON for programs; a banner and log lines for people. */
import type { Readiness } from '../../api/operations.ts';
import type { OperatorError } from '../../base/errors.ts';
import { type LossyOutput, lossyOutputs } from '../../base/lossy-output.ts';
import { chainIdText, networkOf } from '../../chain/network.ts';
import type { Log, LogEvent } from '../../log.ts';
import type { Settings } from '../../settings/config.ts';
import { type Output, progressLines } from '../cli/progress.ts';
import { serverVersion } from '../cli/this-program.ts';
import type { Environment } from '../serve/environment.ts';
import { hasColors, prettyLine, prettyLog, stateText } from './pretty-log.ts';

export interface ServerInfo {
  /** URL of the API; null if this process doesn't serve it. */
  api: string | null;
  /** URL of the event port; null if this process accepts no events. */
  events: string | null;
  /** URL of the node's RPC interface, without a password. */
  node: string;
  /** Makes the path of a sign-in link; null if this process manages no chainhooks. */
  signInPath: (() => string) | null;
  readiness(): Promise<Readiness>;
  /** The chain of the index; null if unknown. */
  chainId(): Promise<number | null>;
  /** The accounts of a devnet with real contracts, with their keys for a wallet. */
  accounts?: readonly DevnetAccount[];
  /** Identifiers of the project's contracts, in the order of their deployment. */
  contracts?: readonly string[];
  /** Resolves with the error that ended a host of a cluster; null for other servers. */
  failed: Promise<OperatorError> | null;
  /** Finishes the work under way, then closes the files. */
  stop(): Promise<void>;
}

export interface Presenter {
  /** The environment for the server, with the presenter's log. */
  environment: Environment;
  log: Log;
  /** Prints that the server listens. Readers may send a signal at once. */
  ready(running: ServerInfo): Promise<void>;
}

export interface PresenterOptions {
  settings: Pick<Settings, 'logLevel' | 'logFormat' | 'data'>;
  environment: Environment;
  /** Stream for programs. */
  stdout: Output;
  /** Stream for the log, and for people if it is a terminal. */
  stderr: Output;
  variables: NodeJS.ProcessEnv;
}

/** stdout and stderr of the process. A server ignores their errors. */
export const serverOutputs = (): Pick<PresenterOptions, 'stdout' | 'stderr'> => ({
  stdout: outputTo(process.stdout, lossyOutputs.stdout),
  stderr: outputTo(process.stderr, lossyOutputs.stderr),
});

const outputTo = ({ isTTY }: NodeJS.WriteStream, output: LossyOutput): Output => ({
  isTTY,
  write: (text) => output.write(text),
});

function printReadyLine({ stdout }: PresenterOptions, { api, events, accounts, contracts }: ServerInfo): void {
  stdout.write(`${JSON.stringify({ ready: true, api, events, accounts, contracts })}\n`);
}

/** The contents of a terminal in addition to log lines. */
interface TerminalContent {
  /** The text to print once the server listens. */
  banner(running: ServerInfo): Promise<string>;
  /** Shows an event in another way than a log line. @returns whether it did */
  show?(event: LogEvent): boolean;
}

/** Makes a presenter of JSON, or of lines for people. @param content the additions to lines on a terminal */
function presenterOf(options: PresenterOptions, content: TerminalContent): Presenter {
  const { settings, environment, stdout, stderr, variables } = options;
  const isTerminal = stderr.isTTY === true;
  if ((settings.logFormat ?? (isTerminal ? 'pretty' : 'json')) === 'json') {
    return {
      environment,
      log: environment.createLog(settings.logLevel),
      ready: async (running) => printReadyLine(options, running),
    };
  }
  const print = (line: string) => void stderr.write(`${line}\n`);
  const colors = hasColors(stderr, variables);
  const lines = prettyLog({ level: settings.logLevel, colors, print, now: environment.clock.now });
  const log: Log = (event) => {
    if (!isTerminal || content.show?.(event) !== true) lines(event);
  };
  return {
    environment: { ...environment, createLog: () => log, threadLines: { print, colors } },
    log,
    async ready(running) {
      // The reader of a redirected stdout waits for this line.
      if (!isTerminal || stdout.isTTY !== true) printReadyLine(options, running);
      if (isTerminal) print(await content.banner(running));
    },
  };
}

const isStateChange = ({ event }: LogEvent): boolean => event === 'state_changed' || event === 'state_degraded';

/** The presenter of `serve`. The banner has the first state. */
export function servePresenter(options: PresenterOptions): Presenter {
  let isListening = false;
  return presenterOf(options, {
    show: (event) => !isListening && isStateChange(event),
    async banner(running) {
      const { data } = options.settings;
      const [readiness, chainId] = [await running.readiness(), await running.chainId()];
      const signInPath = running.signInPath?.() ?? null;
      isListening = true;
      return servePage({ ...running, version: serverVersion, signInPath, chainId, data, readiness });
    },
  });
}

export interface DevnetTempo {
  /** Seconds between two blocks; null for blocks when transactions arrive. */
  interval: number | null;
  /** Height that blocks are made up to at once. */
  pastBlocks: number;
}

/**
 * The presenter of `devnet` and `demo`: blocks of the history are progress, and later blocks and deployments are log lines at
 * every log level.
 */
export function devnetPresenter(options: PresenterOptions, { interval, pastBlocks: history }: DevnetTempo): Presenter {
  const { environment, stderr, variables } = options;
  const { now, monotonic } = environment.clock;
  const progress = progressLines(stderr, monotonic);
  let isListening = false;
  /** The deployment of changed contracts; null if there is none. Its blocks are one line together. */
  let deployment: { changed: readonly string[]; startedAt: number } | null = null;
  const print = (event: LogEvent, more = '') =>
    void stderr.write(`${prettyLine(event, now(), hasColors(stderr, variables))}${more}\n`);
  return presenterOf(options, {
    async banner({ api, accounts = [], contracts = [] }) {
      isListening = true;
      progress.erase();
      return devnetPage({ api: api ?? '', interval, accounts, contracts });
    },
    show(event) {
      if (!isListening && isStateChange(event)) return true;
      if (event.event === 'deployment_started') {
        deployment = { changed: event.changed, startedAt: monotonic() };
        progress.begin(`Deploying ${event.changed.join(', ') || 'the contracts'}, and mining the later blocks again`);
        return true;
      }
      const isBlock = event.event === 'block_applied' || event.event === 'block_reverted';
      if (isBlock && deployment !== null) return true;
      if (!isBlock) progress.erase();
      if (event.event === 'contracts_deployed' && deployment !== null) {
        const { changed, startedAt } = deployment;
        deployment = null;
        print({ ...event, contracts: changed }, ` seconds=${Math.round((monotonic() - startedAt) / 1_000)}`);
        return true;
      }
      if (event.event === 'contracts_refused') deployment = null;
      if (!isBlock && event.event !== 'contracts_deployed') return false;
      if (isListening || !isBlock) print(event);
      else if (history > 1) progress.draw(() => `Simulating the first ${history} blocks: ${event.height}`);
      return true;
    },
  });
}

/** A URL for a browser on this machine, which can't open "any address". */
export const browserUrl = (url: string): string => url.replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]');

/** Returns labelled texts in two columns, without those that are null. */
const rows = (pairs: readonly (readonly [label: string, text: string | null])[]): string => {
  const present = pairs.filter(([, text]) => text !== null);
  const width = Math.max(...present.map(([label]) => label.length));
  return present.map(([label, text]) => `  ${label.padEnd(width)}  ${text}`).join('\n');
};

const networkText = (chainId: number | null): string =>
  chainId === null
    ? 'decided by the first block'
    : `${networkOf(chainId).kind}, chain id ${chainIdText(chainId)}${chainId === 1 ? '' : ' (addresses of test networks)'}`;

const nodeText = (node: string, height: number | null): string =>
  height === null ? `no node answers at ${node}` : `${node} answers, at height ${height.toLocaleString('en')}`;

const indent = (lines: readonly string[]): string => lines.map((line) => `    ${line}`).join('\n');

export interface ServePage extends Pick<ServerInfo, 'api' | 'events' | 'node'> {
  version: string;
  /** Path of a sign-in link; null if this process manages no chainhooks. */
  signInPath: string | null;
  /** Null if unknown. */
  chainId: number | null;
  data: string;
  readiness: Readiness;
}

/** The first page of `serve`, with the state of the server and the next step. */
export function servePage({ version, api, events, signInPath, chainId, node, data, readiness }: ServePage): string {
  const url = api === null ? null : browserUrl(api);
  const console = url === null ? null : new URL(signInPath ?? '/', url).href;
  const isLink = signInPath !== null && signInPath !== '/';
  const lines: (readonly [string, string | null])[] = [
    ['Console', console],
    ['', isLink ? 'signs one browser in, once; `stackside console` prints another link' : null],
    ['API', api && `${api}, described at /docs`],
    ['Events', events],
    ['Network', networkText(chainId)],
    ["Node's RPC", nodeText(node, readiness.node_height)],
    ['Data', data],
    ['State', readiness.state === 'live' ? 'live' : null],
  ];
  const { state, reason, next, observer } = readiness;
  const page = `${version}: Stacks chain data and chainhooks next to your node\n\n${rows(lines)}\n`;
  if (state === 'live') return page;
  const toml = observer === null ? '' : `\n${indent(observer.trimEnd().split('\n'))}\n`;
  return `${page}\n${stateText(state, reason)}\n${next}\n${toml}`;
}

/** An account that a wallet can use. */
export interface DevnetAccount {
  name: string;
  address: string;
  /** Its mnemonic, or its private key in hex. */
  secret: string;
}

export interface DevnetPage extends Required<Pick<ServerInfo, 'accounts' | 'contracts'>> {
  api: string;
  /** Seconds between two blocks; 0 for blocks on demand, null for blocks when transactions arrive. */
  interval: number | null;
}

function tempoText(interval: DevnetPage['interval']): string {
  if (interval === null) return 'that mines a block when a transaction arrives';
  if (interval === 0) return 'that mines only on request (stackside devnet mine)';
  return `with a new block every ${interval === 1 ? 'second' : `${interval} seconds`}`;
}

/** The first page of `devnet` and `demo`. */
export function devnetPage({ api, interval, accounts, contracts }: DevnetPage): string {
  const url = browserUrl(api);
  const lines = rows([
    ['Console', url],
    ['Try', `curl ${url}/extended/v2/blocks/latest`],
    ['', `curl ${url}/extended/v3/mempool/transactions`],
  ]);
  const texts = accounts.map(({ name, address, secret }) => `${name}\n${indent([address, secret])}`);
  const deployed = contracts.length === 0 ? '' : `\nContracts:\n${indent([...contracts])}\n`;
  const keys = texts.length === 0 ? '' : `\nAnyone can know these keys: use them only here.\n\n${texts.join('\n')}\n`;
  const chain = accounts.length === 0 ? 'simulated Stacks chain' : 'Stacks chain with real contracts';
  return `Stackside serves a ${chain} ${tempoText(interval)}. Ctrl-C stops it.\n\n${lines}\n${deployed}${keys}`;
}
