/** `stackside serve`: accepts the node's events and serves the API, until a signal. */
import { pause } from '../../base/clock.ts';
import { DiskFullError, OperatorError } from '../../base/errors.ts';
import { isTransient, operatorErrorOf } from '../../base/system-errors.ts';
import type { ResolvedSettings, Settings } from '../../settings/config.ts';
import { ignoredVariables } from '../../settings/describe.ts';
import { hasPendingIndex } from '../../store/files/new-index.ts';
import { interruptible, stopSignals } from '../cli/output.ts';
import { type Presenter, type ServerInfo, servePresenter, serverOutputs } from '../terminal/presenter.ts';
import { type Environment, realEnvironment } from './environment.ts';
import { restoreOnStart } from './restore-on-start.ts';
import { type StartOptions, startServer } from './server.ts';
import { crash, newObservations } from './server-context.ts';
import { requireAgreement } from './start-checks.ts';

/** Milliseconds between two checks for a new index. */
const LOOK_FOR_INDEX_MS = 2_000;

/** Milliseconds until a server that a full disk stopped starts again. */
const START_AGAIN_MS = 1_000;

const portOf = (url: string | null): number | null => (url === null ? null : Number(new URL(url).port));

/**
 * Starts a server in the mode of its settings. When a rebuild has made a new index beside the present one, the server stops and
 * starts again on the same ports; the start puts the new index in place.
 * @param environment replaced by tests
 */
export async function startServing(
  settings: Settings,
  environment: Environment = realEnvironment,
  options: StartOptions = {},
): Promise<ServerInfo> {
  const observations = newObservations(settings, environment);
  let server = await startServer(settings, environment, observations, options);
  if (settings.mode === 'read' && settings.cluster === null) return server;
  const { api, events, node, signInPath } = server;
  const { log } = observations.recent;
  const nextSettings = {
    ...settings,
    apiPort: portOf(api) ?? settings.apiPort,
    eventPort: portOf(events) ?? settings.eventPort,
  };
  const failed = Promise.withResolvers<OperatorError>();
  // Callers that await it get the error; others must not see an unhandled rejection.
  failed.promise.catch(() => {});
  const stopping = new AbortController();
  let starting: Promise<void> | null = null;

  const follow = ({ failed: failure }: ServerInfo) => void failure?.then(failed.resolve);
  async function restart(): Promise<void> {
    log({ event: 'new_index', outcome: 'ready' });
    await server.stop();
    while (!stopping.signal.aborted) {
      try {
        server = await startServer(nextSettings, environment, observations, options);
        return follow(server);
      } catch (error) {
        if (!isTransient(error)) throw error;
        log({ event: 'start_failed', cause: error });
        await pause(environment.clock, START_AGAIN_MS, stopping.signal);
      }
    }
  }
  follow(server);
  const cancel = environment.clock.every(LOOK_FOR_INDEX_MS, () => {
    if (starting !== null || !hasPendingIndex(settings.data)) return;
    starting = restart()
      .catch(failed.reject)
      .finally(() => {
        starting = null;
      });
  });
  return {
    api,
    events,
    node,
    signInPath: signInPath === null ? null : () => server.signInPath?.() ?? '/',
    readiness: () => server.readiness(),
    chainId: () => server.chainId(),
    failed: failed.promise,
    async stop() {
      stopping.abort();
      cancel();
      await starting;
      await server.stop();
    },
  };
}

/** Resolves with the first of these signals that the process gets from now on. */
export const nextSignal = (names: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    for (const name of names) process.once(name, () => resolve(name));
  });

/**
 * Prints that the server listens; resolves when a signal has stopped it.
 * @throws OperatorError that ended a host of a cluster
 */
export async function serveUntilSignal(
  { log, ready }: Presenter,
  running: ServerInfo,
  signalled = nextSignal(stopSignals()),
): Promise<void> {
  for (const kind of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(kind, (cause: unknown) => crash(log, cause));
  }
  await ready(running);
  const end = await (running.failed === null ? signalled : Promise.race([signalled, running.failed]));
  if (end instanceof OperatorError) log({ event: 'host_ended', problem: end.message, remedy: end.remedy });
  else log({ event: 'stopping', signal: end });
  await running.stop();
  if (end instanceof OperatorError) throw end;
}

/** The exit code of a server that a signal stopped. The next start continues an unfinished restore. */
const STOPPED = 0;

/** `stackside serve`, from its start until a signal. @throws OperatorError if it can't serve */
export async function runServe({ settings, sources }: ResolvedSettings<'serve'>): Promise<void> {
  const { env: variables } = process;
  const presenter = servePresenter({ settings, environment: realEnvironment, ...serverOutputs(), variables });
  for (const { variable, reason } of ignoredVariables(variables)) {
    const problem = `The variable ${variable} has no effect. ${reason}`;
    presenter.log({ event: 'setup_warning', problem, remedy: 'Correct or remove it.' });
  }
  try {
    const { from } = settings;
    const { log, environment } = presenter;
    if (from !== null) {
      await requireAgreement(settings);
      await interruptible(
        (signal) => log({ event: 'stopping', signal }),
        () => restoreOnStart({ from, settings, clock: environment.clock, log }),
        STOPPED,
      );
    }
    await serveUntilSignal(presenter, await startServing(settings, presenter.environment, { sources }));
  } catch (error) {
    const operatorError = operatorErrorOf(error, settings.data);
    // A supervisor restarts the server, and no event is lost.
    throw operatorError instanceof DiskFullError ? operatorError : error;
  }
}
