/** The event that was committed last: a node that missed our answer sends it again. */

interface Sent {
  path: string;
  text: string;
}

const hashOf = (text: string): bigint => Bun.hash(text) as bigint;

/** Remembers one event, by what tells it from others. */
export function lastEvent() {
  let last: { path: string; length: number; hash: bigint } | null = null;
  return {
    /** Whether an event is the one that was noted last. */
    is: ({ path, text }: Sent): boolean =>
      last !== null && path === last.path && text.length === last.length && hashOf(text) === last.hash,

    /** @param event undefined where there is none */
    note(event: Sent | undefined): void {
      last = event === undefined ? null : { path: event.path, length: event.text.length, hash: hashOf(event.text) };
    },
  };
}
export type LastEvent = ReturnType<typeof lastEvent>;
