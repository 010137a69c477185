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
  /** The clock, in milliseconds. */
  now?: () => number;
}

/** Milliseconds after which a request is taken for lost, as those of a computer that slept are. */
const LOST_MS = 30_000;

/**
 * Makes a live query. Since requests never overlap, no older answer comes after a newer one; and since changes don't give up
 * the request under way unless it is lost, answers come even if the data changes faster than the server answers.
 */
export function liveQuery<T>({ ask, answered, failed, now = () => performance.now() }: LiveQueryOptions<T>): LiveQuery {
  let underWay: AbortController | null = null;
  let since = 0;
  let isOutdated = false;

  function request(): void {
    const own = new AbortController();
    underWay = own;
    since = now();
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
