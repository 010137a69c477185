/** The packets of Engine.IO and Socket.IO that a client may send: checked before the library takes them. */
import { Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { MessageError, parsedMessage } from './client-message.ts';
import { MOST_SUBSCRIPTIONS } from './subscriptions.ts';

/** The separator between packets in the body of a long-polling request (Engine.IO protocol 4). */
const SEPARATOR = '\x1e';
/** Packets of one body: as many as subscriptions can be asked for, and a few. */
export const MOST_PACKETS = MOST_SUBSCRIPTIONS + 10;

/** Throws MessageError where a body of long polling has more packets than it may. */
export function checkBody(text: string): void {
  let packets = 1;
  for (let at = text.indexOf(SEPARATOR); at >= 0; at = text.indexOf(SEPARATOR, at + 1)) {
    packets++;
    if (packets > MOST_PACKETS) throw new MessageError(`a body must NOT have more than ${MOST_PACKETS} packets`);
  }
}

/** Type, namespace, id of the acknowledgement, and the JSON of what follows (Socket.IO protocol 5). */
const PACKET = /^([0-6])(?:(\/[^,]{0,100}),?)?(\d{0,15})(?=[[{]|$)/;
const [CONNECT, DISCONNECT, EVENT] = ['0', '1', '2'];

const Handshake = TypeCompiler.Compile(Type.Record(Type.String(), Type.Unknown()));
const Event = TypeCompiler.Compile(
  Type.Unsafe<[string, ...unknown[]]>(
    Type.Array(Type.Unknown(), { minItems: 1, maxItems: MOST_SUBSCRIPTIONS + 1, contains: Type.String() }),
  ),
);

/** What `subscribe` and each argument of `unsubscribe` take. */
const Topics = TypeCompiler.Compile(
  Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: MOST_SUBSCRIPTIONS })]),
);

/** The names of topics in an argument of an event; null where it is none of the accepted forms. */
export function topicNames(argument: unknown): string[] | null {
  if (!Topics.Check(argument)) return null;
  return typeof argument === 'string' ? [argument] : argument;
}

/**
 * Watches over what one client sends, packet by packet.
 *
 * The library runs events on later ticks, where what they throw would end the process, and makes a new connection of
 * each packet that asks to join the namespace. So it gets nothing but what it must have.
 */
export class PacketCheck {
  #joined = false;

  /** Throws MessageError where the packet breaks a rule. */
  take(packet: unknown): void {
    if (typeof packet !== 'string') throw new MessageError('a packet must be text');
    const [head, type, namespace = '/'] = PACKET.exec(packet) ?? [];
    if (head === undefined) throw new MessageError('a packet must be one of Socket.IO 5');
    const json = packet.slice(head.length);
    const data = json === '' ? undefined : this.#parsed(json);
    switch (type) {
      case CONNECT:
        if (data !== undefined && !Handshake.Check(data)) throw new MessageError('a handshake must be an object');
        if (namespace === '/') this.#join();
        return;
      case DISCONNECT:
        if (namespace === '/') this.#joined = false;
        return;
      case EVENT:
        if (!Event.Check(data) || typeof data[0] !== 'string') {
          throw new MessageError('an event must be a list that begins with its name');
        }
        return;
      default:
        throw new MessageError('a client must send nothing but handshakes and events');
    }
  }

  #join(): void {
    if (this.#joined) throw new MessageError('a connection must NOT join a namespace twice');
    this.#joined = true;
  }

  #parsed(json: string): unknown {
    try {
      return parsedMessage(json);
    } catch (error) {
      throw error instanceof SyntaxError ? new MessageError('a packet must hold JSON', { cause: error }) : error;
    }
  }
}
