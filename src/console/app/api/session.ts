/**
 * Whether this browser may manage chainhooks, and how it signs in. The OpenAPI document doesn't include these routes,
 * so their types are here.
 */
import { signal } from '@preact/signals';
import { parsedJson } from '../../../base/json.ts';
import { failureOf, unreachable } from './api.ts';

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

async function request(init: RequestInit): Promise<Response> {
  const response = await fetch(PATH, init).catch(unreachable);
  // A proxy answers with HTML.
  if (!response.ok) throw failureOf(response, parsedJson(await response.text()));
  return response;
}

/** Reads the session. @throws RequestError */
export async function readSession(signal?: AbortSignal): Promise<Session> {
  const answer = (await (await request(signal === undefined ? {} : { signal })).json()) as Session;
  session.value = answer;
  return answer;
}

/** Signs in with a key of the API. @throws RequestError if the key is wrong */
export async function signIn(key: string): Promise<void> {
  session.value = (await (await request({ method: 'POST', headers: { 'x-api-key': key } })).json()) as Session;
}

/** Ends the session. @throws RequestError */
export async function signOut(): Promise<void> {
  await request({ method: 'DELETE' });
  await readSession();
}

/** Returns the headers of a request for a consumer. @param consumer null for the session's consumer */
export const actingFor = (consumer: string | null): Record<string, string> =>
  consumer === null ? {} : { 'x-chainhook-consumer': consumer };
