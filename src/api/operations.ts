/** Health, readiness and metrics, for operators and their tools. */
import { type AnyElysia, Elysia } from 'elysia';
import type { Responder } from '../http/respond.ts';
import type { ServerStatus } from './server-state.ts';

/** Whether answers are up to date. Heights are Stacks block heights. */
export interface Readiness extends Omit<ServerStatus, 'secondsLeft'> {
  /** Null before the first block. */
  height: number | null;
  /** Null if the node can't be reached. */
  node_height: number | null;
  /** Age of the newest block in seconds, negative if its time is ahead of this clock; null before the first block. */
  tip_age_seconds: number | null;
  /** Estimated seconds until the index is up to date; null if unknown. */
  seconds_left: number | null;
}

export interface Operations {
  readiness(): Promise<Readiness>;
  /** Every metric in Prometheus' text format. */
  metrics(): Promise<string>;
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The handlers by path. @param respond makes a JSON response */
const answers = (
  { readiness, metrics }: Operations,
  respond: Responder['json'],
): Record<string, () => Response | Promise<Response>> => ({
  '/health': () => respond(200, { status: 'alive' }),
  '/ready': async () => {
    const state = await readiness();
    return respond(state.ready ? 200 : 503, state);
  },
  '/metrics': async () =>
    new Response(await metrics(), { headers: { 'content-type': METRICS_TYPE, 'cache-control': 'no-store' } }),
});

/** Routes of health, readiness and metrics, for the port of the API. */
export function operationRoutes(operations: Operations, respond: Responder): AnyElysia {
  const plugin = new Elysia({ name: 'operations' });
  for (const [path, answer] of Object.entries(answers(operations, respond.json))) {
    plugin.get(path, () => answer(), { detail: { hide: true } });
  }
  return plugin;
}

/** Answers these routes on a port without the API. The function returns null for other paths. */
export function operationAnswer(operations: Operations): (path: string) => Promise<Response> | null {
  const byPath = answers(operations, (status, body) => Response.json(body, { status }));
  return (path) => {
    const answer = Object.hasOwn(byPath, path) ? byPath[path] : undefined;
    return answer === undefined ? null : Promise.resolve(answer());
  };
}
