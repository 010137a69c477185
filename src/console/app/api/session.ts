/** The sign-in of this browser. The OpenAPI document lacks these routes, so their types are here. */
import { signal } from '@preact/signals';
import { fetchJson, sendRequest } from './api.ts';

interface Session {
  /** Whether managing chainhooks needs a key, is open to everybody, or isn't available in this process. */
  access: 'key' | 'open' | 'none';
  signed_in: boolean;
  operator: boolean;
  consumer: string | null;
}

const PATH = '/stackside/v1/session';

/** The session of this browser; null until it was read. */
export const session = signal<Session | null>(null);

async function request(init: RequestInit): Promise<Session> {
  session.value = (await fetchJson(PATH, init)) as Session;
  return session.value;
}

/** Reads the session. @throws RequestError */
export const readSession = (signal?: AbortSignal): Promise<Session> => request({ signal: signal ?? null });

/** Signs in with a key of the API. @throws RequestError if the key is wrong */
export const signIn = (key: string): Promise<Session> => request({ method: 'POST', headers: { 'x-api-key': key } });

/** Ends the session. @throws RequestError */
export async function signOut(): Promise<void> {
  await sendRequest(PATH, { method: 'DELETE' });
  await readSession();
}

/** Returns the headers of a request for a consumer. @param consumer null for the session's consumer */
export const consumerHeaders = (consumer: string | null): Record<string, string> =>
  consumer === null ? {} : { 'x-chainhook-consumer': consumer };
