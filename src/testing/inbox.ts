/** Receives deliveries: verifies each, and stores it for the test that waits for it. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifySignature } from '../hooks/delivery/signature.ts';
import { DevnetError, within } from './errors.ts';
import type { Delivery, HookPayload, ReceiverAnswer } from './types.ts';

interface Waiter {
  hook: string | null;
  resolve(delivery: Delivery): void;
  reject(error: DevnetError): void;
}

const NO_CONTENT = 204;
const UNAUTHORIZED = 401;

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function toDelivery(headers: Headers, body: string, receiver: string, answer: number | null): Delivery {
  const headerValues = Object.fromEntries(headers);
  return {
    id: headers.get('webhook-id') ?? '',
    hook: headers.get('x-chainhook-uuid') ?? '',
    headers: headerValues,
    body,
    payload: JSON.parse(body) as HookPayload,
    answer,
    request: (url = receiver) => new Request(url, { method: 'POST', headers: sendable(headerValues), body }),
  };
}

/** Returns the headers without the headers of a connection. */
const sendable = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => !/^(host|connection|content-length|transfer-encoding)$/.test(name)),
  );

/** Members of an answer: checks of their values, and the rule in errors. */
const ANSWER_RULES: { [K in keyof ReceiverAnswer]-?: [check: (value: unknown) => boolean, rule: string] } = {
  status: [(value) => isWhole(value, 200) && Number(value) < 600, 'a whole number from 200 to 599'],
  delayMs: [(value) => isWhole(value, 0), 'a whole number of milliseconds'],
  hangs: [(value) => typeof value === 'boolean', 'true or false'],
  times: [(value) => isWhole(value, 1) || value === Number.POSITIVE_INFINITY, 'a whole number above 0'],
};

const removedError = (hook: string): DevnetError =>
  new DevnetError(
    'refused',
    `chain.revert() removed the chainhook ${hook}, because it was added after the snapshot. Add it again.`,
  );

const isWhole = (value: unknown, minimum: number): boolean => Number.isSafeInteger(value) && Number(value) >= minimum;

/** @throws DevnetError for a wrong member */
function requireAnswer(answer: ReceiverAnswer): void {
  for (const [field, value] of Object.entries(answer)) {
    const [check, rule] = Object.hasOwn(ANSWER_RULES, field) ? ANSWER_RULES[field as keyof ReceiverAnswer] : [];
    if (check !== undefined && (value === undefined || check(value))) continue;
    const reason = check === undefined ? `must be one of ${Object.keys(ANSWER_RULES).join(', ')}` : `must be ${rule}`;
    throw new DevnetError('refused', `The receiver can't give this answer: ${field} ${reason}.`, { field });
  }
}

/** State that a revert restores. */
interface InboxState {
  arrived: readonly Delivery[];
  answer: ReceiverAnswer;
  answersLeft: number;
}

export class Inbox {
  readonly #server: Server;
  #url = '';
  #secret: Uint8Array = new Uint8Array();
  #failure: DevnetError | null = null;
  #arrived: readonly Delivery[] = [];
  #waiting: Waiter[] = [];
  /** Uuids of chainhooks whose deliveries are ignored. */
  readonly #removed = new Set<string>();
  #answer: ReceiverAnswer = {};
  /** Number of further deliveries that get this answer. */
  #answersLeft = Number.POSITIVE_INFINITY;

  constructor() {
    this.#server = createServer((request, response) => {
      this.#receive(request).then(
        ({ status, delayMs }) => {
          // The sender's timeout ends the request. The connections end with the receiver.
          if (status === null) return;
          const send = () => void response.writeHead(status).end();
          if (delayMs === 0) send();
          else setTimeout(send, delayMs).unref();
        },
        (cause: unknown) => {
          this.fail(new DevnetError('refused', 'The receiver could not read a delivery.', { cause }));
          response.destroy();
        },
      );
    });
    // A test process must end even if the test doesn't stop its chain.
    this.#server.on('connection', (socket) => void socket.unref());
  }

  /** Starts the receiver. @param secret `whsec_` and base64 @returns its address */
  async listen(secret: string): Promise<string> {
    this.#secret = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(0, '127.0.0.1', resolve);
    });
    this.#server.unref();
    this.#url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
    return this.#url;
  }

  /** Waits for a delivery. @param hook uuid of its chainhook; null for any @throws DevnetError */
  async next(hook: string | null, limitMs: number): Promise<Delivery> {
    if (hook !== null && this.#removed.has(hook)) throw removedError(hook);
    const index = this.#arrived.findIndex((delivery) => hook === null || delivery.hook === hook);
    const delivery = this.#arrived[index];
    if (delivery !== undefined) {
      this.#arrived = this.#arrived.toSpliced(index, 1);
      return delivery;
    }
    if (this.#failure !== null) throw this.#failure;
    let waiter: Waiter | undefined;
    const arrival = new Promise<Delivery>((resolve, reject) => {
      waiter = { hook, resolve, reject };
      this.#waiting.push(waiter);
    });
    try {
      return await within(limitMs, `a delivery of ${hook ?? 'a chainhook'}`, arrival);
    } finally {
      this.#waiting = this.#waiting.filter((other) => other !== waiter);
    }
  }

  /** Sets the answer to later deliveries. @throws DevnetError for a wrong member */
  answer(answer: ReceiverAnswer): void {
    requireAnswer(answer);
    this.#answer = answer;
    this.#answersLeft = answer.times ?? Number.POSITIVE_INFINITY;
  }

  save(): InboxState {
    return { arrived: this.#arrived, answer: this.#answer, answersLeft: this.#answersLeft };
  }

  /**
   * Restores the answer, and the deliveries that the test hasn't seen yet.
   * @param before the state before the chain returned to the saved state; deliveries since then stay
   */
  restore(saved: InboxState, before: InboxState): void {
    this.#arrived = this.#arrived.filter(
      (delivery) => saved.arrived.includes(delivery) || !before.arrived.includes(delivery),
    );
    this.#answer = saved.answer;
    this.#answersLeft = saved.answersLeft;
  }

  /** Forgets a chainhook: removes its deliveries, ends its waits, and ignores later deliveries. */
  remove(hook: string): void {
    this.#removed.add(hook);
    this.#arrived = this.#arrived.filter((delivery) => delivery.hook !== hook);
    for (const { reject } of this.#waiting.filter((waiter) => waiter.hook === hook)) reject(removedError(hook));
  }

  #nextAnswer(): { status: number | null; delayMs: number } {
    const { hangs = false, status = NO_CONTENT, delayMs = 0 } = this.#answersLeft > 0 ? this.#answer : {};
    this.#answersLeft -= 1;
    return { status: hangs ? null : status, delayMs };
  }

  /** Ends every current and later wait with an error. */
  fail(error: DevnetError): void {
    this.#failure ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #receive(request: IncomingMessage): Promise<{ status: number | null; delayMs: number }> {
    const body = await readBody(request);
    const headers = new Headers(request.headers as Record<string, string>);
    if (!verifySignature(this.#secret, headers, body, Date.now())) {
      this.fail(new DevnetError('wrong_signature', `The signature of ${headers.get('webhook-id')} is wrong.`));
      return { status: UNAUTHORIZED, delayMs: 0 };
    }
    // A removed chainhook must not use up an answer.
    if (this.#removed.has(headers.get('x-chainhook-uuid') ?? '')) return { status: NO_CONTENT, delayMs: 0 };
    const answer = this.#nextAnswer();
    this.#arrive(toDelivery(headers, body, this.#url, answer.status));
    return answer;
  }

  #arrive(delivery: Delivery): void {
    const index = this.#waiting.findIndex(({ hook }) => hook === null || hook === delivery.hook);
    const [waiting] = index < 0 ? [] : this.#waiting.splice(index, 1);
    if (waiting === undefined) this.#arrived = [...this.#arrived, delivery];
    else waiting.resolve(delivery);
  }
}
