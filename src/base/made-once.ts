/** Makes something when it is asked for first: much of what a process names at its start is never asked for. */
export function madeOnce<Made>(make: () => Made): () => Made {
  let made: Made | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
