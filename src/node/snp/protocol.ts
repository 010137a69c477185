/**
 * The protocol by which stacks-node-publisher streams a node's events over Redis: its keys, the handshake of a client, and
 * messages. A client asks the broker for a stream of its own, which the broker fills from where the client was on. Messages
 * come at least once and in order, and the client acknowledges each.
 */
import { utcMicroseconds } from '../../base/utc-time.ts';
import { LARGE_NUMBERS } from '../../chain/payload-schemas.ts';
import type { Command } from './redis.ts';

/** The name under which the broker knows this program. */
const APP_NAME = 'stackside';
const GROUP = 'primary_group';
const CONSUMER = 'primary_consumer';
/** Every path: anything less leaves out events, and balances come out wrong. */
const ALL_PATHS = JSON.stringify('*');

/** The most messages that a read takes at once. */
export const MOST_AT_ONCE = 100;
/** Milliseconds for which a read waits for a message. */
export const BLOCK_MS = 1_000;
/** Milliseconds without a message after which the stream may have been dropped. */
export const SILENCE_MS = 120_000;

/** Where a stream is to begin: after the message, else after the block, else at the beginning. */
export interface Start {
  /** The last message that was accepted; null where none is known. */
  messageId: string | null;
  /** The tip's hash with `0x` and its height; null without a block. */
  tip: { hash: string; height: number } | null;
}

/** A message. */
export interface Message {
  /** The id in Redis: `<sequence>-0`. */
  id: string;
  /** The number among all events of the publisher. */
  sequence: number;
  path: string;
  /** The event's JSON. */
  body: string;
  /** When the publisher got the event, as it says it; null where it doesn't. */
  timestamp: string | null;
}

/** What Redis sends is no message of this protocol. */
export class SnpProtocolError extends Error {
  override readonly name = 'SnpProtocolError';
}

const reading = (count: number) => ['XREADGROUP', 'GROUP', GROUP, CONSUMER, 'COUNT', String(count)] as const;

/** The commands of one client. @param prefix of the keys, empty or with `:` at its end @param client its UUID */
export function clientCommands(prefix: string, client: string) {
  const stream = `${prefix}client:${client}`;
  return {
    /** Asks for the stream, and makes it ready to be read. To be done together. */
    handshake({ messageId, tip }: Start): Command[] {
      const asked = {
        client_id: client,
        app_name: APP_NAME,
        last_index_block_hash: tip?.hash ?? '',
        last_block_height: String(tip?.height ?? 0),
        last_message_id: messageId ?? '',
        selected_paths: ALL_PATHS,
      };
      return [
        ['XADD', `${prefix}connection_stream`, '*', ...Object.entries(asked).flat()],
        ['XGROUP', 'CREATE', stream, GROUP, '$', 'MKSTREAM'],
      ];
    },

    /** Reads messages that were not read before, and waits for one where there is none. @param blockMs how long */
    readNew: (count: number, blockMs: number): Command => [
      ...reading(count),
      ...['BLOCK', String(blockMs), 'STREAMS', stream, '>'],
    ],

    /** Reads messages that were read before and not acknowledged. */
    readAgain: (count: number): Command => [...reading(count), 'STREAMS', stream, '0'],

    /** Acknowledges a message that is durable. To be done together. */
    acknowledge: (id: string): Command[] => [
      ['XACK', stream, GROUP, id],
      ['XDEL', stream, id],
    ],

    /**
     * The messages of what Redis answered to a read.
     * @returns null in place of the content of a message that was deleted
     * @throws SnpProtocolError
     */
    messagesOf(reply: unknown): { id: string; message: Message | null }[] {
      if (reply === null) return [];
      const entries = typeof reply === 'object' ? (reply as Record<string, unknown>)[stream] : undefined;
      if (!Array.isArray(entries)) throw new SnpProtocolError('Redis answers a read with something else than a stream');
      return entries.map(entryOf);
    },
  };
}
export type ClientCommands = ReturnType<typeof clientCommands>;

function entryOf(entry: unknown): { id: string; message: Message | null } {
  const [id, fields] = Array.isArray(entry) ? entry : [];
  if (typeof id !== 'string') throw new SnpProtocolError('An entry of the stream has no id');
  return { id, message: fields === null ? null : messageOf(id, fields) };
}

function messageOf(id: string, fields: unknown): Message {
  const sequence = Number(/^(\d{1,15})-\d+$/.exec(id)?.[1] ?? Number.NaN);
  if (Number.isNaN(sequence)) throw new SnpProtocolError(`The id ${id} of a message has no sequence number`);
  if (!Array.isArray(fields)) throw new SnpProtocolError(`Message ${id} has no fields`);
  const fieldOf = (name: string): string | null => {
    const at = fields.findIndex((field, index) => index % 2 === 0 && field === name);
    const value: unknown = at < 0 ? undefined : fields[at + 1];
    return typeof value === 'string' ? value : null;
  };
  const [path, body] = [fieldOf('path'), fieldOf('body')];
  if (path === null || body === null) {
    throw new SnpProtocolError(`Message ${id} has no field ${path === null ? 'path' : 'body'}`);
  }
  return { id, sequence, path, body, timestamp: fieldOf('timestamp') };
}

const MICROSECONDS = 1_000_000;
/** Digits of a time in seconds, milliseconds and microseconds, for the next centuries. */
const DIGITS = { seconds: 10, milliseconds: 13, microseconds: 16 } as const;

/** Unix microseconds of a time in any of the usual forms; null for others. */
function microsecondsOf(timestamp: string): number | null {
  if (/^\d+(\.\d+)?$/.test(timestamp)) {
    const { length } = timestamp.split('.')[0]!;
    const unit = Object.values(DIGITS).find((digits) => length <= digits);
    return unit === undefined ? null : Math.round(Number(timestamp) * 10 ** (DIGITS.microseconds - unit));
  }
  return utcMicroseconds(timestamp);
}

/**
 * When the publisher got a message, in Unix microseconds, so that what it sends late keeps its time.
 * @param now the clock, in Unix milliseconds: in place of a time that isn't known, or that is still to come
 */
export function receivedAtOf({ timestamp }: Message, now: number): number {
  const latest = now * (MICROSECONDS / 1_000);
  return Math.min(timestamp === null ? latest : (microsecondsOf(timestamp) ?? latest), latest);
}

/** A number of one of the fields that may not fit a double. In a string of JSON, the quotes of a name are escaped. */
const LARGE_NUMBER = new RegExp(
  `("(${[...LARGE_NUMBERS.keys()].join('|')})"\\s*:\\s*)(\\d[\\d.]*(?:[eE][+-]?\\d+)?)`,
  'g',
);

/**
 * Makes a body readable that the publisher has parsed and written again: a number above 2^53 is rounded then, may be above
 * the most that its field can be, and may have an exponent. It is taken as the nearest integer that the field can be.
 * @returns the body, and the fields that may be off
 */
export function withinRange(body: string): { text: string; rounded: ReadonlySet<string> } {
  const rounded = new Set<string>();
  const text = body.replace(LARGE_NUMBER, (whole: string, before: string, field: string, digits: string) => {
    const number = Number(digits);
    const most = LARGE_NUMBERS.get(field) ?? 0n;
    if (Number.isSafeInteger(number)) return whole;
    rounded.add(field);
    const value = /^\d+$/.test(digits) ? BigInt(digits) : Number.isInteger(number) ? BigInt(number) : most;
    return `${before}${value > most ? most : value}`;
  });
  return { text, rounded };
}
