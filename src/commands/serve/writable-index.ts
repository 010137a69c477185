/** The data directory of a server that writes: it is opened and checked, and its files are kept up. */
import type { Every } from '../../base/clock.ts';
import { type OperatorError, TemporaryError } from '../../base/errors.ts';
import { startThread, type Thread } from '../../base/thread.ts';
import { type HookMachine, openWithHooks } from '../../hooks/machine.ts';
import type { Log } from '../../log.ts';
import { storeMetrics } from '../../metrics/server.ts';
import { valueIndexesIn } from '../../settings/data.ts';
import { startCheckpointer } from '../../store/files/checkpointer.ts';
import { pathsOpenToOthers } from '../../store/files/private-files.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import { startValueIndexing } from '../../store/ingest/value-indexes.ts';
import { checkpointThreadUrl } from '../../thread-urls.ts';
import { requiresWhole, requireWholeHistory } from './history-start.ts';
import { crash, type ServerContext } from './server-context.ts';
import { requireNodeChain } from './start-checks.ts';

export interface WritableIndex {
  ingest: Ingest;
  machine: HookMachine;
}

interface WritableIndexOptions
  extends Pick<ServerContext, 'settings' | 'environment' | 'registry' | 'log' | 'services'> {
  /** The node's chain; null if unknown. */
  nodeChain: number | null;
  /** Called if another process may write to the directory. */
  lockLost: (error: OperatorError) => void;
}

/**
 * Opens the data directory for a process that writes, and starts the upkeep of its files.
 * @returns null for a process that only reads
 * @throws OperatorError if the directory can't be opened, or has another chain or history than the settings need
 */
export function openWritableIndex(options: WritableIndexOptions): WritableIndex | null {
  const { settings, environment, nodeChain, registry, log, services, lockLost } = options;
  const isShared = settings.cluster !== null;
  if (settings.mode === 'read' && !isShared) return null;
  const { clock, connect, random, walLimitBytes: limitBytes } = environment;
  const { ingest, machine } = openWithHooks({
    directory: settings.data,
    chainId: settings.network,
    valueIndexes: valueIndexesIn(settings),
    history: requiresWhole(settings) ? 'full' : 'any',
    connect,
    random,
    log,
    lockLost,
    // With a shared log each entry is committed by itself, so that a conflict with another host rolls back only that entry.
    ...(isShared ? {} : { clock }),
  });
  services.use('writer', { stop: () => ingest.queue.run(ingest.close) });
  requireNodeChain(nodeChain, { data: settings.data, chain: ingest.chainId() });
  if (nodeChain !== null) ingest.holdTo(nodeChain);
  requireWholeHistory(settings, ingest.history);
  warnOfOthers(settings.data, log);
  if (!isShared) warnOfCluster(settings.data, ingest, log);
  const { publish: beforeTruncate, local: write, valueIndexes } = ingest;
  const every = inTurn(ingest, clock.every);
  const { copy } = services.use(
    'copies of logs',
    checkpointClient((cause) => crash(log, cause)),
  );
  services.use('checkpoints', {
    stop: startCheckpointer({
      directory: settings.data,
      log,
      limitBytes,
      copy,
      now: clock.monotonic,
      every,
      beforeTruncate,
    }),
  });
  services.use('value indexes', startValueIndexing({ write, batch: valueIndexes.batch, clock, log }));
  storeMetrics(registry, ingest.health, ingest.unknownCounts);
  services.use('test writes', { stop: probeWrites(ingest, every) });
  return { ingest, machine };
}

/** Runs repeated work in the writer's turn, between writes. */
const inTurn =
  ({ queue }: Ingest, every: Every): Every =>
  (ms, call) =>
    every(ms, () => void queue.run(call));

/** Milliseconds between two test writes. */
const PROBE_MS = 2_000;

/**
 * Detects that writes succeed again even if no event comes. By a timer, not at requests of `/ready`: the index's lag behind the
 * journal, and deliveries of chainhooks, wait for it in any case.
 * @param probe costs nothing while writes succeed
 * @returns a function that ends the probes
 */
export const probeWrites = ({ probe }: { probe: () => void }, every: Every): (() => void) => every(PROBE_MS, probe);

/** Warns if other users may read the data directory, since its files have secrets. */
function warnOfOthers(directory: string, log: Log): void {
  const paths = pathsOpenToOthers(directory);
  if (paths.length === 0) return;
  const problem = `Other users can access ${paths.join(', ')}.`;
  log({ event: 'setup_warning', problem, remedy: `chmod 700 ${directory}; chmod 600 ${directory}/*` });
}

/**
 * Warns if a cluster delivered chainhooks with this log, but the server isn't one of its hosts: they may deliver as well. The
 * directory itself doesn't show whether the host has left the cluster, so the server starts.
 */
function warnOfCluster(directory: string, { hooks }: Ingest, log: Log): void {
  if (hooks.records.epoch() === 0) return;
  const problem = `The data in ${directory} belongs to a cluster, but --cluster is not set: this server delivers chainhooks by itself.`;
  const remedy =
    "If the cluster still runs, stop this server and set --cluster: once it has written entries, the directory can't join again.";
  log({ event: 'setup_warning', problem, remedy });
}

export interface CopyLog {
  path: string;
}

export interface CopyResult extends CopyLog {
  isCopied: boolean;
}

/** @param crashed called with the cause if the thread ends by itself */
function checkpointClient(crashed: (cause: unknown) => void) {
  let thread: Thread<CopyLog> | null = null;
  /** Running copies, by path. */
  const copies = new Map<string, PromiseWithResolvers<boolean>>();

  function resolveCopy({ path, isCopied }: CopyResult): void {
    copies.get(path)?.resolve(isCopied);
    copies.delete(path);
  }

  /** @throws TemporaryError */
  const start = (): Thread<CopyLog> =>
    startThread<CopyResult, CopyLog>({ module: checkpointThreadUrl, start: null, heard: resolveCopy, ended: crashed });

  return {
    /** Copies the log of a file. @returns whether that succeeded */
    copy(path: string): Promise<boolean> {
      try {
        thread ??= start();
      } catch (error) {
        if (error instanceof TemporaryError) return Promise.resolve(false);
        throw error;
      }
      const copy = Promise.withResolvers<boolean>();
      copies.set(path, copy);
      thread.say({ path });
      return copy.promise;
    },
    /** Ends the thread after the running copies. */
    async stop(): Promise<void> {
      await Promise.all([...copies.values()].map(({ promise }) => promise));
      await thread?.stop();
    },
  };
}
