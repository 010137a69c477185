/** Background work of a process: it is started in order and stopped in reverse. */

/** Work that goes on until it is stopped. */
export interface Service {
  /** Ends the work. Resolves when nothing of it goes on. */
  stop(): Promise<void> | void;
}

/** The services of a process, in the order in which they were started. */
export class Services implements Service {
  readonly #stack = new AsyncDisposableStack();

  /**
   * Adds a service that was started.
   * @param name in the error if it fails to stop
   * @param service null for one that isn't needed
   * @returns the service
   */
  use<T extends Service | null>(name: string, service: T): T {
    if (service !== null) this.#stack.defer(() => stopped(name, service));
    return service;
  }

  /** Stops the services, the last one first. If one fails to stop, the others are stopped all the same. */
  stop(): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

async function stopped(name: string, service: Service): Promise<void> {
  try {
    await service.stop();
  } catch (cause) {
    throw new Error(`The service "${name}" failed to stop.`, { cause });
  }
}
