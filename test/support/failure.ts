/** Returns the error that a promise is rejected with. @throws Error if it isn't rejected, or with another kind of error */
export async function failureOf<E extends Error>(
  kind: abstract new (...values: never) => E,
  work: Promise<unknown>,
): Promise<E> {
  const error = await work.catch((thrown: unknown) => thrown);
  if (error instanceof kind) return error;
  throw new Error(`it isn't a failure of the kind ${kind.name}`, { cause: error });
}
