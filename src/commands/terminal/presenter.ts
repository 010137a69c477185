/** The output of a server: JSON for programs, lines and a screen for people. */
import type { Readiness } from '../../api/operations.ts';
import type { OperatorError } from '../../base/errors.ts';
import { type LossyOutput, lossyOutputs } from '../../base/lossy-output.ts';
import type { Log, LogEvent } from '../../log.ts';
import type { Settings } from '../../settings/config.ts';
import { serverVersion } from '../cli/this-program.ts';
import type { Environment } from '../serve/environment.ts';
import { demoPage, networkLine, type ShownAccount, servePage, statusLine } from './pages.ts';
import { prettyLog, timeOfDay } from './pretty-log.ts';
import { type Abilities, abilitiesOf, type Output, openScreen, type Screen } from './screen.ts';

/** A running server. */
export interface Running {
  /** URL of the API; null if this process doesn't serve it. */
  api: string | null;
  /** URL of the event port; null if this process accepts no events. */
  events: string | null;
  /** Makes the path of a sign-in link; null if this process manages no chainhooks. */
  signInPath: (() => string) | null;
  /** The state as in `/ready`. */
  readiness(): Promise<Readiness>;
  /** The chain of the index; null if unknown. */
  chainId(): Promise<number | null>;
  /** The accounts of a demo whose contracts are real, with what a wallet takes. */
  accounts?: readonly ShownAccount[];
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
  ready(running: Running): Promise<void>;
  /** Restores the terminal. */
  end(): void;
}

export interface PresenterOptions {
  settings: Pick<Settings, 'logLevel' | 'logFormat' | 'nodeRpc' | 'data'>;
  environment: Environment;
  /** Stream for programs. */
  stdout: Output;
  /** Stream for the log, and for people if it is a terminal. */
  stderr: Output;
  variables: NodeJS.ProcessEnv;
}

/** stdout and stderr of the process, whose errors a server ignores. */
export const serverOutputs = ({ stdout, stderr } = lossyOutputs): Pick<PresenterOptions, 'stdout' | 'stderr'> => ({
  stdout: outputTo(process.stdout, stdout),
  stderr: outputTo(process.stderr, stderr),
});

const outputTo = (stream: NodeJS.WriteStream, output: LossyOutput): Output => ({
  isTTY: stream.isTTY,
  // Read each time, since the width may change.
  get columns() {
    return stream.columns;
  },
  write: (text) => output.write(text),
});

/** Milliseconds between two readings of the state. */
const LOOK_MS = 1_000;

function printReadyLine({ stdout }: PresenterOptions, { api, events, accounts }: Running): void {
  stdout.write(`${JSON.stringify({ ready: true, api, events, accounts })}\n`);
}

/** Output for programs. */
function jsonPresenter(options: PresenterOptions): Presenter {
  const { environment, settings } = options;
  return {
    environment,
    log: environment.createLog(settings.logLevel),
    ready: async (running) => printReadyLine(options, running),
    end() {},
  };
}

interface Lines {
  print(line: string): void;
  abilities: Abilities;
  hidden?: ReadonlySet<LogEvent['event']>;
}

/** The environment with a log as lines, also for API threads. */
function linesEnvironment({ environment, settings }: PresenterOptions, { print, abilities, hidden }: Lines) {
  const { colors } = abilities;
  const { now } = environment.clock;
  const log = prettyLog({ level: settings.logLevel, colors, print, now, ...(hidden === undefined ? {} : { hidden }) });
  return { log, environment: { ...environment, createLog: () => log, threadLines: { print, colors } } };
}

/** Output for programs, with a log for people. */
function linesPresenter(options: PresenterOptions): Presenter {
  const print = (line: string) => void options.stderr.write(`${line}\n`);
  return {
    ...linesEnvironment(options, { print, abilities: abilitiesOf(options.stderr, options.variables) }),
    ready: async (running) => printReadyLine(options, running),
    end() {},
  };
}

/** The content of a screen. */
interface Show {
  /** Log events that the screen shows in another way. */
  hidden: ReadonlySet<LogEvent['event']>;
  /** Gets every log event, whatever its level. */
  saw?(event: LogEvent, screen: Screen): void;
  /** Called once the server listens. @returns a function that ends it */
  begin(running: Running, screen: Screen): Promise<() => void>;
}

/** Output for people on a terminal. */
function screenPresenter(options: PresenterOptions, show: Show): Presenter {
  const abilities = abilitiesOf(options.stderr, options.variables);
  const screen = openScreen(options.stderr, abilities.inPlace);
  const made = linesEnvironment(options, { print: screen.print, abilities, hidden: show.hidden });
  const log: Log = (event) => {
    show.saw?.(event, screen);
    made.log(event);
  };
  let close = () => {};
  return {
    environment: { ...made.environment, createLog: () => log },
    log,
    async ready(running) {
      // The reader of a redirected stdout waits for this line.
      if (options.stdout.isTTY !== true) printReadyLine(options, running);
      close = await show.begin(running, screen);
    },
    end() {
      close();
      screen.end();
    },
  };
}

/** Shows the server's addresses, then its progress. */
function serveShow({ settings, environment }: PresenterOptions): Show {
  const { clock } = environment;
  async function begin(running: Running, screen: Screen): Promise<() => void> {
    const [readiness, chainId] = [await running.readiness(), await running.chainId()];
    const { nodeRpc, data } = settings;
    const signInPath = running.signInPath?.() ?? null;
    screen.print(servePage({ ...running, version: serverVersion, signInPath, chainId, nodeRpc, data, readiness }));
    const rate = new BlockRate();
    let isNetworkKnown = chainId !== null;
    let looking = false;
    const look = async () => {
      if (looking) return;
      looking = true;
      const state = await running.readiness();
      const found = isNetworkKnown ? null : await running.chainId();
      if (found !== null) {
        isNetworkKnown = true;
        screen.print(networkLine(found));
      }
      const { kind, text } = statusLine(state, rate.at(clock.monotonic(), state.height ?? 0));
      screen.status(kind, text);
      looking = false;
    };
    await look();
    return clock.every(LOOK_MS, () => void look());
  }
  return { hidden: new Set(['started', 'block_applied', 'stopping']), begin };
}

/** The presenter of `serve`. */
export const servePresenter = (options: PresenterOptions): Presenter => presenterOf(options, serveShow(options));

export interface DemoTempo {
  /** Seconds between two blocks. */
  interval: number;
  /** Height up to which blocks are made at once. */
  history: number;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Shows the progress of the history, then the demo's addresses, then each block. */
function demoShow({ environment }: PresenterOptions, { interval, history }: DemoTempo): Show {
  const { now } = environment.clock;
  let begun = false;
  return {
    hidden: new Set(['started', 'block_applied', 'block_reverted', 'hook_access_open', 'stopping']),
    saw(event, screen) {
      const { event: name } = event;
      if (name !== 'block_applied' && name !== 'block_reverted') return;
      if (!begun) return screen.status('history', `Simulating the first ${history} blocks: ${event.height}`);
      const what = name === 'block_reverted' ? 'replaced by a fork' : counted(event.transactions, 'transaction');
      screen.print(`${timeOfDay(now())}  block ${event.height}  ${what}`);
    },
    async begin({ api, accounts = [] }, screen) {
      begun = true;
      screen.status('history', '');
      screen.print(demoPage({ api: api ?? '', interval, accounts }));
      return () => {};
    },
  };
}

/** The presenter of `demo`. */
export const demoPresenter = (options: PresenterOptions, tempo: DemoTempo): Presenter =>
  presenterOf(options, demoShow(options, tempo));

function presenterOf(options: PresenterOptions, show: Show): Presenter {
  const { settings, stderr } = options;
  const isTerminal = stderr.isTTY === true;
  const format = settings.logFormat ?? (isTerminal ? 'pretty' : 'json');
  if (format === 'json') return jsonPresenter(options);
  return isTerminal ? screenPresenter(options, show) : linesPresenter(options);
}

/** Period of a rate in milliseconds: long enough to be steady, short enough to be current. */
const WINDOW_MS = 10_000;

/** The rate of new blocks. Times are of a monotonic clock, in milliseconds. */
export class BlockRate {
  readonly #seen: { time: number; height: number }[] = [];

  /** Adds the height at a time. @returns blocks per second over the last ten seconds; null with fewer than two heights */
  at(time: number, height: number): number | null {
    this.#seen.push({ time, height });
    while (this.#seen.length > 2 && this.#seen[1]!.time <= time - WINDOW_MS) this.#seen.shift();
    const [first] = this.#seen;
    return first === undefined || first.time === time ? null : ((height - first.height) * 1_000) / (time - first.time);
  }
}
