/**
 * The deployment of a project's contracts at the start, and again when their files change. Files are watched by their metadata,
 * which works for every editor: editors write in place, rename, or don't write at all.
 */
import { statSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { startLoop } from '../../base/service.ts';
import type { ContractsEvent, RealNetwork } from './network.ts';

/** Milliseconds between two looks. Changes are reported when a look finds no further changes. */
const LOOK_MS = 250;

/** Returns a text that changes with the file; the error's code if the file can't be read. */
function stampOf(path: string): string {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? '' : `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return code;
  }
}

const stampsOf = (paths: readonly string[]): string => paths.map((path) => `${path} ${stampOf(path)}`).join('\n');

/**
 * Calls a function when files change.
 * @param paths returns the files, which may differ after a change
 * @param changed called for changes; the watch continues once its promise resolves
 * @param initialStamps the files after the last call; an empty text calls the function also without a change
 * @returns a function that ends the watch
 */
function watchFiles(
  paths: () => readonly string[],
  clock: Clock,
  changed: () => Promise<void>,
  initialStamps = stampsOf(paths()),
): () => Promise<void> {
  /** The files after the last call, and at the last look. */
  let [handledStamps, lastStamps] = [initialStamps, ''];

  async function look(): Promise<void> {
    const stamps = stampsOf(paths());
    // Several files are written one after the other.
    const isStill = stamps === lastStamps;
    lastStamps = stamps;
    if (stamps === handledStamps || !isStill) return;
    handledStamps = stamps;
    await changed();
  }

  const loop = startLoop({ clock, everyMs: LOOK_MS, turn: look, passes: (_): _ is never => false });
  return () => loop.stop();
}

/** Reports whether work failed because the node was stopped. */
export const isAbortError = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';

export class ContractDeployment {
  /** Why the contracts aren't deployed; null if they are. */
  problem: { problem: string; remedy: string } | null;
  /** Resolves once the contracts are deployed. */
  readonly done = Promise.withResolvers<void>();

  constructor(
    readonly network: RealNetwork,
    readonly log: (event: ContractsEvent) => void,
  ) {
    this.problem = { problem: `The contracts of ${network.project.directory} are being deployed`, remedy: 'Wait.' };
  }

  /** Deploys the contracts. @throws OperatorError if one can't be deployed, unless their files are watched */
  async begin(isWatched: boolean): Promise<void> {
    try {
      this.#recordSuccess(await this.network.deployAll(), isWatched);
    } catch (error) {
      if (!isWatched) throw error;
      this.#recordProblem(error);
    }
  }

  /** Deploys the contracts again when their files change. @returns a function that ends it */
  watch(clock: Clock): () => Promise<void> {
    const { network } = this;
    let { files } = network.project;
    return watchFiles(
      () => files,
      clock,
      async () => {
        const updated: string[] = [];
        try {
          const event = await network.update(updated, this.log);
          if (event !== null) this.#recordSuccess(event, true);
        } catch (error) {
          this.#recordProblem(error);
        } finally {
          // If the manifest can't be read, the files stay the same.
          files = [...new Set([...updated, ...files])];
        }
      },
      // The files may have changed since they were read, before the contracts were deployed.
      '',
    );
  }

  #recordSuccess(event: ContractsEvent, isLogged: boolean): void {
    if (isLogged) this.log(event);
    this.problem = null;
    this.done.resolve();
  }

  #recordProblem(error: unknown): void {
    if (isAbortError(error)) return;
    if (!(error instanceof OperatorError)) throw error;
    const problem = { problem: error.message, remedy: error.remedy };
    this.log({ event: 'contracts_refused', ...problem });
    // The chain keeps contracts that were deployed before.
    if (this.problem !== null) this.problem = problem;
  }
}
