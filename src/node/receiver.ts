/**
 * Where the node posts its events. A node reads any status but 200 as failure and sends the same bytes again until it
 * gets one, so 200 is answered when the event is on disk, and 4xx and 5xx leave nothing behind.
 */

import { type Clock, systemClock } from '../base/clock.ts';
import { UNEXPECTED } from '../base/errors.ts';
import { Turns } from '../base/turns.ts';
import { mayBeEventPath } from '../chain/payload-reader.ts';
import { type Listen, type ListenerEvent, listenHttp, stopGracefully } from '../http/listener.ts';
import { BodyError, bodyText } from '../http/request-body.ts';
import { UnknownParentError } from '../store/ingest/known-blocks.ts';
import { type Intake, type IntakeEvent, type IntakeResult, isUnavailable, reasonOf } from './event-intake.ts';

export type ReceiverEvent = ListenerEvent | IntakeEvent;

export interface ReceiverOptions {
  hostname: string;
  /** The port to listen on; 0 takes a free one. */
  port: number;
  /** Largest body, in bytes. Mainnet's genesis block has some 80 MB. */
  bodyLimit: number;
  intake: Intake;
  log: (event: ReceiverEvent) => void;
  /** Answers GET requests for the paths it knows, and null for others. */
  otherwise?: (path: string) => Promise<Response> | null;
  /** Shares the thread among all that it does for clients. */
  turns?: Turns;
  clock?: Clock;
  listen?: Listen;
}

/** A response for the node, which accepts few headers and no duplicates; Bun adds Content-Length and Date. */
const answer = (status: number, body: object): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json; charset=utf-8' } });

const isJson = (request: Request): boolean =>
  /^application\/json\b/i.test(request.headers.get('content-type') ?? 'application/json');

/** Idle timeout in seconds: a node sends genesis in one request, and waits while blocks are applied. */
const IDLE_SECONDS = 255;

/** Whether a web page makes the request: browsers send the page's origin with every POST, nodes never do. */
const isFromPage = ({ headers }: Request): boolean => headers.has('origin') || headers.has('sec-fetch-site');

const MICROSECONDS_PER_MILLISECOND = 1_000;

/** The response to an event. */
function responseTo({ outcome, error }: IntakeResult): Response {
  if (error === null) return answer(200, { result: 'ok' });
  if (isUnavailable(error)) return answer(503, { error: error.message });
  if (outcome === 'refused') return answer(400, { error: reasonOf(error) });
  return answer(500, { error: error instanceof UnknownParentError ? reasonOf(error) : UNEXPECTED });
}

export interface Receiver {
  url: string;
  /** The number of events that were posted and are not answered yet. */
  waiting(): number;
  /** Lets the event that is being accepted finish. */
  stop(): Promise<void>;
}

/** Starts the HTTP server that receives events. @throws OperatorError where it can't listen */
export function startReceiver(options: ReceiverOptions): Receiver {
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
    // Any page that the operator looks at may post to the loopback, as long as it doesn't ask to read the answer.
    if (isFromPage(request)) return answer(403, { error: 'Events are taken from nodes, not from web pages' });
    if (!isJson(request)) return answer(415, { error: 'Unsupported Media Type: events are application/json' });
    let text: string;
    try {
      text = await bodyText(request, bodyLimit);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      log({ event: 'event_refused', path, reason: reasonOf(error) });
      const message =
        error.reason === 'too_large' ? `Request body is too large: the limit is ${bodyLimit} bytes` : error.message;
      return answer(error.status, { error: message });
    }
    return responseTo(await intake({ path, text, receivedAt: clock.now() * MICROSECONDS_PER_MILLISECOND }));
  }

  const server = listen({
    what: 'The event receiver',
    flags: { host: '--event-host', port: '--event-port' },
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
      const other = request.method === 'GET' ? otherwise(path) : null;
      if (other !== null) return other;
      const message = `Route ${request.method}:${pathname} not found`;
      return answer(404, { message, error: 'Not Found', statusCode: 404 });
    },
    refuse: (status, error) => answer(status, { error }),
    log,
  });
  return { url: server.url.origin, waiting: () => waiting, stop: () => stopGracefully(server, clock) };
}
