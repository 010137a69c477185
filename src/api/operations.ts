/** What operators and their tools ask: is it alive, is it of use now, and how does it do. */
import { type AnyElysia, Elysia } from 'elysia';
import type { Responder } from '../http/respond.ts';

/** Whether answers are up to date. Heights are of Stacks blocks. */
export interface Readiness {
  ready: boolean;
  /**
   * `empty`: no block was indexed yet; `behind` the node; `stale`: the newest block is old, and the node can't be asked;
   * `failing`: nothing can be written; `unreadable`: the index can't be read; `stalled`: events don't come.
   */
  state: 'ready' | 'empty' | 'behind' | 'stale' | 'failing' | 'unreadable' | 'stalled';
  /** Why not, in words; null where it is ready. */
  reason: string | null;
  /** Null before the first block. */
  height: number | null;
  /** Null where the node can't be asked. */
  node_height: number | null;
  /** Seconds since the newest block's time; null before the first block. */
  tip_age_seconds: number | null;
}

export interface Operations {
  readiness(): Promise<Readiness>;
  /** Every metric in Prometheus' text format. */
  metrics(): Promise<string>;
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Each path with its answer. @param respond makes an answer of JSON */
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

/** Answers operations on a port without the API. @returns null for a path that is not one of operations */
export function operationAnswer(operations: Operations): (path: string) => Promise<Response> | null {
  const byPath = answers(operations, (status, body) => Response.json(body, { status }));
  return (path) => {
    const answer = Object.hasOwn(byPath, path) ? byPath[path] : undefined;
    return answer === undefined ? null : Promise.resolve(answer());
  };
}
