/** One POST, to addresses that were checked. Whatever the other side does, it ends with its signal, in bounded memory. */
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Clock } from '../../base/clock.ts';
import type { Target } from './target.ts';

/** Bytes of an answer's body that are read. */
const MOST_READ = 4096;
/** How long the rest of an answer is waited for once its status is known. */
const ANSWER_MS = 1_000;
/** Answers before the answer (1xx) that are put up with. */
const MOST_INTERIM = 100;

export interface PostOptions extends Target {
  headers: Record<string, string>;
  body: Uint8Array;
  /** Milliseconds until the connection must be open. */
  connectTimeoutMs: number;
  /** How long the rest of an answer is waited for once its status is known; a second where it isn't given. */
  answerMs?: number;
  signal: AbortSignal;
  clock: Clock;
}

export interface Answer {
  status: number;
  retryAfter: string | null;
  /** How its body begins. */
  text: string;
}

/**
 * Connects to the checked addresses alone, without a proxy and without following redirects; the name stands in the Host
 * header and is what a certificate must be for.
 * @throws Error where there is no answer: of the connection, of its parser, or because the signal ended it
 */
export function post(options: PostOptions): Promise<Answer> {
  const { url, connectTimeoutMs, answerMs = ANSWER_MS, signal, clock } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const request = begun(options);
  const endConnecting = clock.after(connectTimeoutMs, () =>
    fail(new Error(`no connection within ${connectTimeoutMs / 1000} s`)),
  );
  let interim = 0;
  let read: (() => void) | null = null;

  function answered(response: IncomingMessage): void {
    const { statusCode: status = 0, headers } = response;
    let text = '';
    const finish = () => {
      stopWaiting();
      resolve({ status, retryAfter: headers['retry-after'] ?? null, text });
      request.destroy();
    };
    // The status decides; what is said besides is only for the log.
    const stopWaiting = clock.after(answerMs, finish);
    read = finish;
    response.setEncoding('utf8');
    response.on('data', (part: string) => {
      text += part;
      if (text.length > MOST_READ) finish();
    });
    for (const event of ['end', 'error', 'close']) response.on(event, finish);
  }

  function fail(error: Error): void {
    reject(error);
    request.destroy();
  }

  // Not left to the request: it says nothing more once the other side took over its connection.
  const ended = () => (read === null ? fail(new Error('the attempt was ended')) : read());
  if (signal.aborted) ended();
  signal.addEventListener('abort', ended, { once: true });
  request.on('socket', (socket) => socket.once('connect', endConnecting));
  request.on('response', answered);
  request.on('information', () => {
    interim += 1;
    if (interim > MOST_INTERIM) fail(new Error(`more than ${MOST_INTERIM} interim answers from ${url.host}`));
  });
  request.on('upgrade', (response, socket) => {
    socket.destroy();
    answered(response);
    read?.();
  });
  request.on('error', fail);
  request.end(options.body);
  return promise.finally(() => {
    endConnecting();
    signal.removeEventListener('abort', ended);
  });
}

function begun({ url, addresses, headers, body }: PostOptions): ClientRequest {
  return (url.protocol === 'https:' ? https : http).request(url, {
    method: 'POST',
    agent: false,
    headers: { ...headers, 'content-length': body.length },
    lookup: (_host, options, found) => {
      const [first] = addresses;
      if (options.all === true) found(null, addresses);
      else if (first !== undefined) found(null, first.address, first.family);
    },
  });
}

/** What carries a request to its receiver: {@link post}, or a network of a test's own. */
export type Post = typeof post;
