/** Queries that are repeated when their data changes. Their answers arrive in the order of the requests. */

/** A query that is repeated when its data changes. Only one request runs at a time. */
interface LiveQuery {
  /** Requests now, or again after the running request, whose answer is still used. */
  refresh(): void;
  /** Cancels the running request, if there is one, and requests now. */
  restart(): void;
  /** Cancels the running request. Nothing is called afterwards. */
  end(): void;
}

interface QueryOptions<T> {
  load: (signal: AbortSignal) => Promise<T>;
  onAnswer: (answer: T) => void;
  onError: (error: unknown) => void;
  /** Returns the time in milliseconds. */
  now?: () => number;
}

/** Milliseconds after which a request counts as lost, for example because the computer slept. */
const LOST_MS = 30_000;

/**
 * Makes a live query. Requests never overlap, so no older answer arrives after a newer one. A change doesn't cancel the
 * running request unless it is lost, so answers arrive even if the data changes faster than the server answers.
 */
export function liveQuery<T>({ load, onAnswer, onError, now = () => performance.now() }: QueryOptions<T>): LiveQuery {
  let current: AbortController | null = null;
  let requestedAt = 0;
  let isOutdated = false;

  function request(): void {
    const controller = new AbortController();
    current = controller;
    requestedAt = now();
    isOutdated = false;
    const finish = (use: () => void): void => {
      if (current !== controller) return;
      current = null;
      if (isOutdated) request();
      use();
    };
    load(controller.signal).then(
      (answer) => finish(() => onAnswer(answer)),
      (error: unknown) => finish(() => onError(error)),
    );
  }

  function cancel(): void {
    current?.abort();
    current = null;
  }

  function restart(): void {
    cancel();
    request();
  }

  return {
    refresh() {
      if (current === null) request();
      else if (now() - requestedAt > LOST_MS) restart();
      else isOutdated = true;
    },
    restart,
    end: cancel,
  };
}
