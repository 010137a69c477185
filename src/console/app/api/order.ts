/** The order of requests and of their answers. */

/** A query that is asked again as its data changes. One request is under way at a time. */
interface LiveQuery {
  /** Asks now, or again after the request under way, whose answer is still used. */
  refresh(): void;
  /** Gives up the request under way, if any, and asks now. */
  restart(): void;
  /** Gives up the request under way; nothing is called afterwards. */
  end(): void;
}

interface LiveQueryOptions<T> {
  ask: (signal: AbortSignal) => Promise<T>;
  answered: (answer: T) => void;
  failed: (error: unknown) => void;
}

/**
 * Makes a live query. Since requests never overlap, no older answer comes after a newer one; and since changes don't give up
 * the request under way, answers come even if the data changes faster than the server answers.
 */
export function liveQuery<T>({ ask, answered, failed }: LiveQueryOptions<T>): LiveQuery {
  let underWay: AbortController | null = null;
  let isOutdated = false;

  function request(): void {
    const own = new AbortController();
    underWay = own;
    isOutdated = false;
    const ended = (use: () => void): void => {
      if (underWay !== own) return;
      underWay = null;
      if (isOutdated) request();
      use();
    };
    ask(own.signal).then(
      (answer) => ended(() => answered(answer)),
      (error: unknown) => ended(() => failed(error)),
    );
  }

  function giveUp(): void {
    underWay?.abort();
    underWay = null;
  }

  return {
    refresh() {
      if (underWay === null) request();
      else isOutdated = true;
    },
    restart() {
      giveUp();
      request();
    },
    end: giveUp,
  };
}

/**
 * Numbers requests. An answer is used unless a later request was made.
 * @returns a function to call when a request is made or given up; it returns whether to use the answer
 */
export function onlyLast(): () => () => boolean {
  let asked = 0;
  return () => {
    asked += 1;
    const number = asked;
    return () => number === asked;
  };
}
