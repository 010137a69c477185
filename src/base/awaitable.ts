/**
 * Values that are there at once or come later. An asynchronous function costs a promise and a microtask even where nothing
 * waits, and a request passes through a dozen of them.
 */

export type Awaitable<T> = T | Promise<T>;

/** Goes on with a value: at once if it is there. */
export const andThen = <T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> =>
  value instanceof Promise ? value.then(next) : next(value);

/** Computes a value; another takes its place where the computation throws or rejects. */
export function orElse<T>(compute: () => Awaitable<T>, failed: (error: unknown) => Awaitable<T>): Awaitable<T> {
  try {
    const value = compute();
    return value instanceof Promise ? value.catch(failed) : value;
  } catch (error) {
    return failed(error);
  }
}
