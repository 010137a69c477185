/**
 * The HTTP server that the node posts its events to. A node treats any status except 200 as a failure, and sends the
 * same bytes again until it gets 200. Stackside therefore sends 200 only after the event is on the disk. After 4xx and
 * 5xx, nothing has changed.
 */

import { type Clock, microseconds, systemClock } from '../base/clock.ts';
import { UNEXPECTED } from '../base/errors.ts';
import type { UnexpectedEvent } from '../base/log-events.ts';
import { Turns } from '../base/turns.ts';
import { mayBeEventPath } from '../chain/payload-reader.ts';
import { type Listen, listenHttp, stopGracefully } from '../http/listener.ts';
import { BodyError, bodyText } from '../http/request-body.ts';
import { UnknownParentError } from '../store/ingest/known-blocks.ts';
import {
  type Intake,
  type IntakeEvent,
  type IntakeResult,
  isUnavailable,
  type Refusal,
  reasonOf,
} from './event-intake.ts';

export type ReceiverEvent = UnexpectedEvent | IntakeEvent;

export interface ReceiverOptions {
  hostname: string;
  /** Port; 0 for a free port. */
  port: number;
  /** Maximum bytes of a body. Mainnet's genesis block has some 80 MB. */
  bodyLimit: number;
  intake: Intake;
  log: (event: ReceiverEvent) => void;
  /** Answers GET requests for supported paths; returns null for others. */
  otherwise?: (path: string) => Promise<Response> | null;
  /** Divides the thread's time among its work for clients. */
  turns?: Turns;
  clock?: Clock;
  listen?: Listen;
}

/** Makes a response for the node, which accepts few headers and no duplicates. Bun adds Content-Length and Date. */
const answer = (status: number, body: object): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json; charset=utf-8' } });

const isJson = (request: Request): boolean =>
  /^application\/json\b/i.test(request.headers.get('content-type') ?? 'application/json');

/** Idle timeout in seconds. The node sends block 0 in one request, and waits while blocks are applied. */
const IDLE_SECONDS = 255;

/** Reports whether a web page made the request: browsers send the page's origin with every POST, and nodes never do. */
const isFromPage = ({ headers }: Request): boolean => headers.has('origin') || headers.has('sec-fetch-site');

/** Status of the answer to a refused block, by reason. */
const STATUSES: Record<Refusal['why'], number> = { gap: 500, deep_fork: 500, partial_history: 503, wrong_chain: 400 };

const publicReason = (error: unknown): string => (error instanceof UnknownParentError ? reasonOf(error) : UNEXPECTED);

function toResponse(result: IntakeResult): Response {
  if (result.error === null) return answer(200, { result: 'ok' });
  const { outcome, error, refusal } = result;
  if (isUnavailable(error)) return answer(503, { error: error.message });
  if (refusal === null) {
    return outcome === 'rejected'
      ? answer(400, { error: reasonOf(error) })
      : answer(500, { error: publicReason(error) });
  }
  const { why, problem, remedy } = refusal;
  const reason = reasonOf(error);
  return answer(STATUSES[why], { error: reason, ...(problem === reason ? {} : { problem }), remedy });
}

/** The receiver's name and flags in errors about its address. */
export const eventListener = {
  what: 'The event receiver',
  flags: { host: '--event-host', port: '--event-port' },
} as const;

/** Starts the receiver. @throws OperatorError if it can't listen */
export function startReceiver(options: ReceiverOptions) {
  const { hostname, port, bodyLimit, intake, log, otherwise = () => null } = options;
  const { clock = systemClock, turns = new Turns(clock), listen = listenHttp } = options;

  let waiting = 0;

  async function post(request: Request, path: string): Promise<Response> {
    waiting += 1;
    try {
      return await answerTo(request, path);
    } finally {
      waiting -= 1;
    }
  }

  async function answerTo(request: Request, path: string): Promise<Response> {
    if (!mayBeEventPath(path)) return answer(404, { error: `no route handler for ${path}` });
    // Any page in the operator's browser can post to localhost, although it can't read the answer.
    if (isFromPage(request)) return answer(403, { error: 'Events are accepted from nodes, not from web pages' });
    if (!isJson(request)) return answer(415, { error: 'Unsupported Media Type: events are application/json' });
    let text: string;
    try {
      text = await bodyText(request, bodyLimit);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      log({ event: 'event_rejected', path, reason: reasonOf(error) });
      const message =
        error.reason === 'too_large' ? `Request body is too large: the limit is ${bodyLimit} bytes` : error.message;
      return answer(error.status, { error: message });
    }
    return toResponse(await intake({ path, text, receivedAt: microseconds(clock) }));
  }

  const server = listen({
    ...eventListener,
    turns,
    hostname,
    port,
    bodyLimit,
    idleSeconds: IDLE_SECONDS,
    fetch(request) {
      const { pathname } = new URL(request.url);
      const path = pathname.length > 1 && pathname.endsWith('/') ? pathname.slice(0, -1) : pathname;
      if (request.method === 'POST') return post(request, path);
      if (request.method === 'GET' && path === '/') {
        return answer(200, { status: 'ready', msg: 'API event server listening for core-node POST messages' });
      }
      const response = request.method === 'GET' ? otherwise(path) : null;
      if (response !== null) return response;
      const message = `Route ${request.method}:${pathname} not found`;
      return answer(404, { message, error: 'Not Found', statusCode: 404 });
    },
    refuse: (status, error) => answer(status, { error }),
    log,
  });
  return {
    url: server.url.origin,
    /** Returns the number of posted events without an answer. */
    waiting: (): number => waiting,
    /** Finishes the event that is being accepted, and stops. */
    stop: (): Promise<void> => stopGracefully(server, clock),
  };
}
export type Receiver = ReturnType<typeof startReceiver>;
