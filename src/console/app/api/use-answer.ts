/** Responses of the API, and parts of the bundle, as the state of a component. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, assertRequestError, get, type Params, RequestError, urlOf } from './api.ts';
import { connection } from './live.ts';
import { liveQuery } from './live-query.ts';
import type { paths } from './openapi.d.ts';

export interface Loaded<T> {
  /** The newest response; null before the first. It stays while the next request runs. */
  data: T | null;
  /** Error of the newest request; null if it succeeded. */
  error: RequestError | null;
  /** The API path of the data, if one request returns them. */
  source?: string;
  /** Name of the query parameter for the cursor or the offset of the data, if they are a page of a list. */
  pager?: string;
  retry(): void;
}

/**
 * Requests the API, and again when the key or the version changes.
 * @param key identifies the request; when it changes, the response is discarded at once
 * @param version when it changes, the request is repeated, and the response stays until the next one arrives
 */
export function useAnswer<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  version: number | string = 0,
): Loaded<T> {
  const [state, setState] = useState<{ key: string; data: T | null; error: RequestError | null }>({
    key,
    data: null,
    error: null,
  });
  const latest = useRef(load);
  latest.current = load;
  const query = useRef<ReturnType<typeof liveQuery> | null>(null);
  useEffect(() => {
    const newQuery = liveQuery({
      load: (signal) => latest.current(signal),
      onAnswer: (data) => setState({ key, data, error: null }),
      onError(error) {
        assertRequestError(error);
        setState((previous) => ({ key, data: previous.key === key ? previous.data : null, error }));
      },
    });
    query.current = newQuery;
    return () => newQuery.end();
  }, [key]);
  useEffect(() => query.current?.refresh(), [key, version]);
  const current = state.key === key ? state : { data: null, error: null };
  const isUnanswered = current.error?.status === 0;
  const isConnected = connection.value === 'live';
  // The next block would also repeat an unanswered request, but it may be far away.
  useEffect(() => {
    if (isConnected && isUnanswered) query.current?.restart();
  }, [isConnected]);
  return { data: current.data, error: current.error, retry: () => query.current?.restart() };
}

/** Requests data of the API as {@link useAnswer}. Its path and parameters are the key. */
export function useGet<P extends Parameters<typeof get>[0] & keyof paths>(
  path: P,
  params: Params<P>,
  version?: number | string,
): Loaded<Answer<P>> {
  const source = urlOf(path, params);
  return { ...useAnswer(source, (signal) => get(path, params, signal), version), source };
}

/** Returns loaded data in another form. */
export const mapLoaded = <T, U>({ data, ...loaded }: Loaded<T>, form: (data: T) => U): Loaded<U> => ({
  ...loaded,
  data: data === null ? null : form(data),
});

/** The error if a part of the bundle doesn't exist: another version of the server names its parts differently. */
const PART_MISSING = new RequestError(
  0,
  'This part of the console could not be loaded. The server may be stopped, or have another version now.',
);

/** Loaded parts by name, so that a page that is shown again renders at once. */
const parts = new Map<string, unknown>();

/** Returns a part of the bundle as state. Retrying loads the page again. @param name of the part; it must not change */
export function usePart<Part>(name: string, load: () => Promise<Part>): Loaded<Part> {
  const { data, error } = useAnswer(`part ${name}`, async () => {
    const part = await load().catch((reason: unknown) => {
      throw reason instanceof TypeError ? PART_MISSING : reason;
    });
    parts.set(name, part);
    return part;
  });
  return { data: data ?? (parts.get(name) as Part | undefined) ?? null, error, retry: () => location.reload() };
}
