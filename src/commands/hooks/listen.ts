/** `stackside hooks listen`: a receiver for a developer's terminal, which prints each delivery. */

import { type Clock, pause, systemClock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { fileText } from '../../base/files.ts';
import { plural } from '../../base/format.ts';
import { parsedJson } from '../../base/json.ts';
import { verifySignature } from '../../hooks/delivery/signature.ts';
import { type Listen, listenHttp } from '../../http/listener.ts';
import { BodyError, bodyText } from '../../http/request-body.ts';
import { settings } from '../../settings/config.ts';
import { printableText, printableWords, stopSignals } from '../cli/output.ts';
import { timeOfDay } from '../terminal/pretty-log.ts';

export interface ListenChoice {
  port: number;
  /** Status of every answer, instead of 204. */
  fail?: number;
  /** Milliseconds before each answer. */
  delay: number;
  printBody: boolean;
  /** File with the signing secret; default: the file of the setting. */
  secretFile?: string;
}

const [SECRET_VARIABLE] = settings.signingSecret.variables;

export interface ReceiverOptions extends Omit<ListenChoice, 'secretFile'> {
  /** The signing secret; null if signatures are not verified. */
  secret: Uint8Array | null;
  print: (line: string) => void;
  clock?: Clock;
  listen?: Listen;
}

/** Maximum bytes of a delivery. */
const BODY_LIMIT = 100_000_000;
const IDLE_SECONDS = 255;
const NO_CONTENT = 204;

/**
 * Reads a signing secret: `whsec_` and base64, as `GET /chainhooks/me/secret` returns it, or hex.
 * @throws OperatorError for any other text
 */
export function parseSecret(text: string, source: string): Uint8Array {
  const trimmed = text.trim();
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(trimmed)?.[1];
  if (base64 !== undefined && base64.length % 4 === 0) return Uint8Array.fromBase64(base64);
  if (/^(?:[0-9a-f]{2})+$/i.test(trimmed)) return Uint8Array.fromHex(trimmed);
  throw new OperatorError(`${source} holds no signing secret.`, 'It must be whsec_ and base64, or hex.');
}

/**
 * The secret in the file, or else in the setting; null without either.
 * @param setting value of the setting
 * @throws OperatorError
 */
export function readSecret(file: string | undefined, setting: string | null): Uint8Array | null {
  if (file === undefined) return setting === null ? null : parseSecret(setting, SECRET_VARIABLE);
  return parseSecret(fileText(file, 'Give a file with the signing secret.'), file);
}

interface Blocks {
  count: number;
  transactions: number;
  heights: string;
}

/** Returns some heights as text: the lowest and the highest. @param heights one or more */
export function span(heights: readonly number[]): string {
  const [lowest, highest] = [Math.min(...heights), Math.max(...heights)];
  return lowest === highest ? String(lowest) : `${lowest}-${highest}`;
}

/** The blocks in one list of a payload. The payload may contain anything, since any client can send one. */
function summarizeBlocks(list: unknown): Blocks {
  const blocks = Array.isArray(list) ? (list as Record<string, unknown>[]) : [];
  const heights = blocks.map((block) => (block?.block_identifier as { index?: unknown } | undefined)?.index);
  const numbers = heights.filter((height): height is number => typeof height === 'number');
  const transactions = blocks.reduce(
    (sum, block) => sum + (Array.isArray(block?.transactions) ? block.transactions.length : 0),
    0,
  );
  const heightText = numbers.length === 0 ? '' : ` ${span(numbers)}`;
  return { count: blocks.length, transactions, heights: heightText };
}

/** Returns a description of a payload: the blocks and the number of transactions. */
export function payloadText(payload: unknown): string {
  if (payload === undefined) return 'no JSON';
  const { chainhook, event } = (payload ?? {}) as { chainhook?: { name?: unknown }; event?: Record<string, unknown> };
  const [apply, rollback] = [summarizeBlocks(event?.apply), summarizeBlocks(event?.rollback)];
  const parts = [
    ...(rollback.count === 0 ? [] : [`rollback${rollback.heights}`]),
    ...(apply.count === 0 ? [] : [`apply${apply.heights}`]),
    plural(apply.transactions + rollback.transactions, 'transaction'),
  ];
  const name = typeof chainhook?.name === 'string' ? `${printableWords(chainhook.name)}  ` : '';
  return `${name}${parts.join(', ')}`;
}

/** Starts the receiver. @throws OperatorError if it can't listen on the port */
export function startHookReceiver(options: ReceiverOptions): Bun.Server<unknown> {
  const { port, fail, delay, printBody, secret, print, clock = systemClock, listen = listenHttp } = options;

  function signatureText({ headers }: Request, text: string): string {
    if (secret === null) return 'signature not checked';
    return verifySignature(secret, headers, text, clock.now()) ? 'signature good' : 'SIGNATURE WRONG';
  }

  async function receive(request: Request): Promise<Response> {
    const text = await bodyText(request, BODY_LIMIT);
    const status = fail ?? NO_CONTENT;
    const id = printableText(request.headers.get('webhook-id') ?? '-');
    const size = plural(Buffer.byteLength(text), 'byte');
    const parts = [
      timeOfDay(clock.now()),
      payloadText(parsedJson(text)),
      size,
      signatureText(request, text),
      id,
      `answered ${status}`,
    ];
    print(parts.join('  '));
    if (printBody) print(printableText(text));
    if (delay > 0) await pause(clock, delay, request.signal);
    return new Response(null, { status });
  }

  return listen<unknown>({
    what: 'The receiver',
    flags: { port: '--port' },
    hostname: '127.0.0.1',
    port,
    bodyLimit: BODY_LIMIT,
    idleSeconds: IDLE_SECONDS,
    async fetch(request) {
      if (request.method !== 'POST') return new Response('Deliveries are sent with POST.\n', { status: 405 });
      try {
        return await receive(request);
      } catch (error) {
        if (!(error instanceof BodyError)) throw error;
        print(`${timeOfDay(clock.now())}  a delivery was not complete: ${error.message}`);
        return new Response(error.message, { status: error.status });
      }
    },
    refuse: (status, message) => new Response(message, { status }),
    log: ({ cause }) => print(`a delivery failed here: ${String(cause)}`),
  });
}

/**
 * Shows deliveries until a signal ends the process.
 * @param setting the signing secret of the setting
 * @throws OperatorError if the port or the secret can't be used
 */
export async function listenForDeliveries(
  { secretFile, ...choice }: ListenChoice,
  setting: string | null,
): Promise<void> {
  const secret = readSecret(secretFile, setting);
  const print = (line: string) => void process.stdout.write(`${line}\n`);
  const server = startHookReceiver({ ...choice, secret, print });
  // Before the first line, after which a program may already send the signal.
  const signalled = new Promise<void>((resolve) => {
    for (const name of stopSignals()) process.once(name, () => resolve());
  });
  print(`Deliveries are received at ${server.url.origin}/`);
  if (secret === null)
    print(`Signatures are not checked: give the signing secret by --secret-file or ${SECRET_VARIABLE}.`);
  await signalled;
  await server.stop(true);
}
