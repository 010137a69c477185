/** Parts of the bundle that are loaded when something first needs them. */
import { useEffect, useState } from 'preact/hooks';
import { RequestError } from './api.ts';
import type { Loaded } from './use-answer.ts';

/** What is said where a part doesn't come: another version of the server has its parts under other names. */
const GONE = new RequestError(
  0,
  'This part of the console could not be loaded. The server may be stopped, or have another version now.',
);

/** Parts that are there, by name: a page that is shown again needs no other turn. */
const parts = new Map<string, unknown>();

/**
 * A part of the bundle as the state of a component. To try again, the page is loaded again.
 * @param name of the part, which stays the same
 */
export function usePart<Part>(name: string, load: () => Promise<Part>): Loaded<Part> {
  const [part, setPart] = useState(parts.get(name) as Part | undefined);
  const [error, setError] = useState<RequestError | null>(null);
  useEffect(() => {
    if (part !== undefined) return;
    load().then(
      (loaded) => {
        parts.set(name, loaded);
        setPart(() => loaded);
      },
      (reason: unknown) => {
        if (!(reason instanceof TypeError)) throw reason;
        setError(GONE);
      },
    );
  }, [name]);
  return { data: part ?? null, error, retry: () => location.reload() };
}
