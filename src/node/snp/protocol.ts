/**
 * The protocol of stacks-node-publisher, which streams a node's events over Redis: its keys, handshake and messages. A client
 * requests a separate stream, and the broker fills it from the client's position on. Messages are delivered in order and at
 * least once, and the client acknowledges each.
 */
import { utcMicroseconds } from '../../base/utc-time.ts';
import { LARGE_NUMBERS } from '../../chain/payload-schemas.ts';
import { type Command, RedisError } from './redis.ts';

/** Name of this program for the broker. */
const APP_NAME = 'stackside';
const GROUP = 'primary_group';
const CONSUMER = 'primary_consumer';
/** All paths: with fewer, events would be missing and balances wrong. */
const ALL_PATHS = JSON.stringify('*');

/** Maximum messages of a read. */
export const MAX_AT_ONCE = 100;
/** Milliseconds for which a read waits for a message. */
export const BLOCK_MS = 1_000;
/** Milliseconds without a message after which the broker may have dropped the stream. */
export const SILENCE_MS = 120_000;

/** Where a stream starts: after the message; without it, after the block; without either, with the first event. */
export interface Start {
  /** Id of the last accepted message; null if unknown. */
  messageId: string | null;
  /** The tip's hash with `0x` and its height; null without blocks. */
  tip: { hash: string; height: number } | null;
}

export interface Message {
  /** Redis id: `<sequence>-0`. */
  id: string;
  /** Number of the event at the publisher. */
  sequence: number;
  path: string;
  /** The event's JSON. */
  body: string;
  /** When the publisher received the event, in its notation; null without a time. */
  timestamp: string | null;
}

const protocolError = (problem: string): RedisError =>
  new RedisError(problem, 'Check that --snp and --snp-key-prefix name the streams of stacks-node-publisher.');

const readCommand = (count: number) => ['XREADGROUP', 'GROUP', GROUP, CONSUMER, 'COUNT', String(count)] as const;

/** The Redis commands of a client. @param prefix of keys: empty, or ends with `:` @param client its UUID */
export function clientCommands(prefix: string, client: string) {
  const stream = `${prefix}client:${client}`;
  return {
    /** Requests the stream, and prepares it for reading. Run these commands together. */
    handshake({ messageId, tip }: Start): Command[] {
      const request = {
        client_id: client,
        app_name: APP_NAME,
        last_index_block_hash: tip?.hash ?? '',
        last_block_height: String(tip?.height ?? 0),
        last_message_id: messageId ?? '',
        selected_paths: ALL_PATHS,
      };
      return [
        ['XADD', `${prefix}connection_stream`, '*', ...Object.entries(request).flat()],
        ['XGROUP', 'CREATE', stream, GROUP, '$', 'MKSTREAM'],
      ];
    },

    /** Reads new messages, and waits if there are none. @param blockMs maximum wait in milliseconds */
    readNew: (count: number, blockMs: number): Command => [
      ...readCommand(count),
      ...['BLOCK', String(blockMs), 'STREAMS', stream, '>'],
    ],

    /** Reads messages that were read before, but not acknowledged. */
    readAgain: (count: number): Command => [...readCommand(count), 'STREAMS', stream, '0'],

    /** Acknowledges a durable message. Run these commands together. */
    acknowledge: (id: string): Command[] => [
      ['XACK', stream, GROUP, id],
      ['XDEL', stream, id],
    ],

    /** Parses Redis's reply to a read. @returns messages by id; null for a deleted message @throws RedisError */
    parseMessages(reply: unknown): { id: string; message: Message | null }[] {
      if (reply === null) return [];
      const entries = typeof reply === 'object' ? (reply as Record<string, unknown>)[stream] : undefined;
      if (!Array.isArray(entries)) throw protocolError("Redis answered a read with data that isn't a stream");
      return entries.map(parseEntry);
    },
  };
}
export type ClientCommands = ReturnType<typeof clientCommands>;

function parseEntry(entry: unknown): { id: string; message: Message | null } {
  const [id, fields] = Array.isArray(entry) ? entry : [];
  if (typeof id !== 'string') throw protocolError('An entry of the stream has no id');
  return { id, message: fields === null ? null : parseMessage(id, fields) };
}

function parseMessage(id: string, fields: unknown): Message {
  const sequence = Number(/^(\d{1,15})-\d+$/.exec(id)?.[1] ?? Number.NaN);
  if (Number.isNaN(sequence)) throw protocolError(`The id ${id} of a message has no sequence number`);
  if (!Array.isArray(fields)) throw protocolError(`Message ${id} has no fields`);
  const fieldOf = (name: string): string | null => {
    const index = fields.findIndex((field, i) => i % 2 === 0 && field === name);
    const value: unknown = index < 0 ? undefined : fields[index + 1];
    return typeof value === 'string' ? value : null;
  };
  const [path, body] = [fieldOf('path'), fieldOf('body')];
  if (path === null || body === null) {
    throw protocolError(`Message ${id} has no field ${path === null ? 'path' : 'body'}`);
  }
  return { id, sequence, path, body, timestamp: fieldOf('timestamp') };
}

const MICROSECONDS = 1_000_000;
/** Digits of a present-day Unix time in seconds, milliseconds and microseconds. */
const DIGITS = { seconds: 10, milliseconds: 13, microseconds: 16 } as const;

/** Parses a time in any of the usual notations as Unix microseconds; null for others. */
function parseMicroseconds(timestamp: string): number | null {
  if (/^\d+(\.\d+)?$/.test(timestamp)) {
    const { length } = timestamp.split('.')[0]!;
    const unit = Object.values(DIGITS).find((digits) => length <= digits);
    return unit === undefined ? null : Math.round(Number(timestamp) * 10 ** (DIGITS.microseconds - unit));
  }
  return utcMicroseconds(timestamp);
}

/**
 * Returns when the publisher received a message, in Unix microseconds, so that late messages keep their time.
 * @param now the clock, in Unix milliseconds; used if the message has no time, or a time in the future
 */
export function receivedAtOf({ timestamp }: Message, now: number): number {
  const latest = now * (MICROSECONDS / 1_000);
  return Math.min(timestamp === null ? latest : (parseMicroseconds(timestamp) ?? latest), latest);
}

/** A number of a field that may exceed a double. Within JSON strings, the quotes of a name would be escaped. */
const LARGE_NUMBER = new RegExp(
  `("(${[...LARGE_NUMBERS.keys()].join('|')})"\\s*:\\s*)(\\d[\\d.]*(?:[eE][+-]?\\d+)?)`,
  'g',
);

/** Reads an integer, which may have an exponent; null for another number. */
function parseInteger(digits: string): bigint | null {
  if (/^\d+$/.test(digits)) return BigInt(digits);
  const number = Number(digits);
  return Number.isInteger(number) ? BigInt(number) : null;
}

/**
 * Repairs numbers of a body that the publisher has parsed and serialized again. Numbers above 2^53 were rounded: they may
 * exceed the field's maximum, or have an exponent. Each becomes the nearest integer that the field allows.
 * @returns the body, and the names of fields with rounded numbers
 */
export function repairNumbers(body: string): { text: string; rounded: ReadonlySet<string> } {
  const rounded = new Set<string>();
  const text = body.replace(LARGE_NUMBER, (whole: string, prefix: string, field: string, digits: string) => {
    if (Number.isSafeInteger(Number(digits))) return whole;
    rounded.add(field);
    const maximum = LARGE_NUMBERS.get(field) ?? 0n;
    const value = parseInteger(digits) ?? maximum;
    return `${prefix}${value > maximum ? maximum : value}`;
  });
  return { text, rounded };
}
