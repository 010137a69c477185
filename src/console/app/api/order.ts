/** The order of requests and of their answers. */

/** A query that is repeated when its data changes. Only one request runs at a time. */
interface LiveQuery {
  /** Requests now, or again after the running request, whose answer is still used. */
  refresh(): void;
  /** Cancels the running request, if there is one, and requests now. */
  restart(): void;
  /** Cancels the running request. Nothing is called afterwards. */
  end(): void;
}

interface LiveQueryOptions<T> {
  ask: (signal: AbortSignal) => Promise<T>;
  answered: (answer: T) => void;
  failed: (error: unknown) => void;
  /** Returns the time in milliseconds. */
  now?: () => number;
}

/** Milliseconds after which a request counts as lost, for example because the computer slept. */
const LOST_MS = 30_000;

/**
 * Makes a live query. Requests never overlap, so no older answer arrives after a newer one. A change doesn't cancel the
 * running request unless it is lost, so answers arrive even if the data changes faster than the server answers.
 */
export function liveQuery<T>({ ask, answered, failed, now = () => performance.now() }: LiveQueryOptions<T>): LiveQuery {
  let underWay: AbortController | null = null;
  let since = 0;
  let isOutdated = false;

  function request(): void {
    const controller = new AbortController();
    underWay = controller;
    since = now();
    isOutdated = false;
    const ended = (use: () => void): void => {
      if (underWay !== controller) return;
      underWay = null;
      if (isOutdated) request();
      use();
    };
    ask(controller.signal).then(
      (answer) => ended(() => answered(answer)),
      (error: unknown) => ended(() => failed(error)),
    );
  }

  function giveUp(): void {
    underWay?.abort();
    underWay = null;
  }

  function restart(): void {
    giveUp();
    request();
  }

  return {
    refresh() {
      if (underWay === null) request();
      else if (now() - since > LOST_MS) restart();
      else isOutdated = true;
    },
    restart,
    end: giveUp,
  };
}
