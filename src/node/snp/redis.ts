/**
 * A connection to Redis that either answers in time or is closed. It never repeats a command, so the caller knows which
 * commands ran.
 */
import { RedisClient } from 'bun';
import type { Clock } from '../../base/clock.ts';

export type Command = readonly [name: string, ...arguments_: string[]];

const CONNECTION_REMEDY =
  'Start Redis, or correct the address, user and password of --snp. Stackside retries automatically.';
const REFUSAL_REMEDY = 'Correct the URL of --snp, or the rights of its user in Redis. Stackside retries automatically.';

/** Redis can't be reached, refuses a command, or sends something that isn't a message of the protocol. */
export class RedisError extends Error {
  override readonly name = 'RedisError';
  constructor(
    message: string,
    readonly remedy: string,
    /** The first word of the answer that refuses a command, such as `NOGROUP`; null for other errors. */
    readonly code: string | null = null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

const refusalError = (answer: string): RedisError =>
  new RedisError(`Redis rejects a command: ${answer}`, REFUSAL_REMEDY, answer.split(' ', 1)[0]);

/** Timeout of an answer. A block of many megabytes may take some seconds. */
export const MAX_ANSWER_MS = 30_000;

/** Beginning of the driver's error codes; errors that Redis sends have other codes. */
const DRIVER = /^ERR_REDIS_/;
const REFUSED: ReadonlySet<unknown> = new Set(['ERR_REDIS_SERVER_ERROR', 'ERR_REDIS_INVALID_COMMAND']);

/** Turns an error of the driver into ours; returns other errors unchanged. */
function toRedisError(error: unknown, host: string): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (!(error instanceof Error) || typeof code !== 'string' || !DRIVER.test(code)) return error;
  if (REFUSED.has(code)) return refusalError(error.message);
  // The driver closes the connection if Redis refuses the login, and drops its answer.
  const problem = `Redis at ${host} can't be reached, refuses the login, or closed the connection`;
  return new RedisError(problem, CONNECTION_REMEDY, null, { cause: error });
}

/**
 * Connects to Redis.
 * @param url may have user and password, which no error repeats
 * @param signal ends the attempt
 * @throws RedisError
 */
export async function connectRedis(url: string, clock: Pick<Clock, 'after'>, signal: AbortSignal) {
  const { host } = new URL(url);
  const client = new RedisClient(url, {
    autoReconnect: false,
    enableOfflineQueue: false,
    connectionTimeout: 0,
    idleTimeout: 0,
  });

  /** Waits for an answer, and closes the connection if it is late. */
  async function withTimeout<T>(answer: Promise<T>, limitMs = MAX_ANSWER_MS): Promise<T> {
    let isLate = false;
    const cancel = clock.after(limitMs, () => {
      isLate = true;
      client.close();
    });
    try {
      return await answer;
    } catch (error) {
      if (isLate)
        throw new RedisError(`Redis at ${host} did not answer for ${limitMs / 1_000} seconds`, CONNECTION_REMEDY);
      throw toRedisError(error, host);
    } finally {
      cancel();
    }
  }

  const send = ([name, ...values]: Command): Promise<unknown> => client.send(name, values);

  /** Runs all commands, or none if the connection ends first. */
  async function runTogether(commands: readonly Command[]): Promise<void> {
    const sent = [['MULTI'] as const, ...commands, ['EXEC'] as const].map(send);
    const answers = await withTimeout(Promise.allSettled(sent));
    // The first failure causes those after it.
    const rejected = answers.find((answer) => answer.status === 'rejected');
    if (rejected !== undefined) throw toRedisError(rejected.reason, host);
    const exec = answers.at(-1);
    const results: unknown = exec?.status === 'fulfilled' ? exec.value : [];
    const failure = Array.isArray(results) ? results.find((result) => result instanceof Error) : undefined;
    if (failure !== undefined) throw refusalError(failure.message);
  }

  /** Closes the connection; commands under way fail. */
  const close = () => client.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    await withTimeout(client.connect());
  } catch (error) {
    close();
    throw error;
  } finally {
    signal.removeEventListener('abort', close);
  }
  return {
    /**
     * Runs a command.
     * @param waitMs milliseconds for which Redis may block before it answers
     * @throws RedisError; unless Redis rejected the command, Redis may have run it
     */
    run: (command: Command, waitMs = 0): Promise<unknown> => withTimeout(send(command), waitMs + MAX_ANSWER_MS),
    runTogether,
    close,
  };
}
export type Redis = Awaited<ReturnType<typeof connectRedis>>;
