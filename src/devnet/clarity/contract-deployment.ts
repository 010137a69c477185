/** The deployment of a project's contracts at the start, and again when their files change. */
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import type { ContractsEvent, RealNetwork } from './network.ts';
import { watching } from './watch.ts';

export class ContractDeployment {
  /** Why the contracts aren't deployed; null if they are. */
  problem: { problem: string; remedy: string } | null;
  readonly #network: RealNetwork;
  readonly #log: (event: ContractsEvent) => void;
  readonly #done = Promise.withResolvers<void>();

  constructor(network: RealNetwork, log: (event: ContractsEvent) => void) {
    this.#network = network;
    this.#log = log;
    this.problem = { problem: `The contracts of ${network.project.directory} are being deployed`, remedy: 'Wait.' };
  }

  /** Resolves once the contracts are deployed. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** Deploys the contracts. @throws OperatorError if one can't be deployed, unless their files are watched */
  async begin(isWatched: boolean): Promise<void> {
    try {
      this.#deployed(await this.#network.begun(), isWatched);
    } catch (error) {
      if (!isWatched) throw error;
      this.#refused(error);
    }
  }

  /** Deploys the contracts again when their files change. @returns a function that ends it */
  watch(clock: Clock): () => Promise<void> {
    const { project, changed } = this.#network;
    let { files } = project;
    return watching(
      () => files,
      clock,
      async () => {
        const now: string[] = [];
        try {
          const event = await changed(now);
          if (event !== null) this.#deployed(event, true);
        } catch (error) {
          this.#refused(error);
        } finally {
          // Files of a manifest that can't be read are still those before.
          files = [...new Set([...now, ...files])];
        }
      },
    );
  }

  #deployed(event: ContractsEvent, isLogged: boolean): void {
    if (isLogged) this.#log(event);
    this.problem = null;
    this.#done.resolve();
  }

  #refused(error: unknown): void {
    // The node stops.
    if (error instanceof DOMException && error.name === 'AbortError') return;
    if (!(error instanceof OperatorError)) throw error;
    const refused = { problem: error.message, remedy: error.remedy };
    this.#log({ event: 'contracts_refused', ...refused });
    // The chain keeps contracts that were deployed before.
    if (this.problem !== null) this.problem = refused;
  }
}
