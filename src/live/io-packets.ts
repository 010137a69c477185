/** The packets of Socket.IO (version 5 of its protocol) that a client may send, and those that it is sent. */
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
const [CONNECT, DISCONNECT, EVENT, ACK, CONNECT_ERROR] = ['0', '1', '2', '3', '4'] as const;

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

/** The namespace that every client joins; there is no other. */
export const NAMESPACE = '/';

/** A packet of a client. */
export type IoPacket =
  | { type: 'connect'; namespace: string }
  | { type: 'disconnect'; namespace: string }
  /** @param id the number that the answer bears; empty where the client wants none */
  | { type: 'event'; namespace: string; id: string; name: string; args: unknown[] };

function jsonOf(text: string): unknown {
  try {
    return parsedMessage(text);
  } catch (error) {
    throw error instanceof SyntaxError ? new MessageError('a packet must hold JSON', { cause: error }) : error;
  }
}

/** Reads what a packet of Engine.IO carries. @throws MessageError where it breaks a rule */
export function readPacket(packet: unknown): IoPacket {
  if (typeof packet !== 'string') throw new MessageError('a packet must be text');
  const [head, type, namespace = NAMESPACE, id = ''] = PACKET.exec(packet) ?? [];
  if (head === undefined) throw new MessageError('a packet must be one of Socket.IO 5');
  const json = packet.slice(head.length);
  const data = json === '' ? undefined : jsonOf(json);
  switch (type) {
    case CONNECT:
      if (data !== undefined && !Handshake.Check(data)) throw new MessageError('a handshake must be an object');
      return { type: 'connect', namespace };
    case DISCONNECT:
      return { type: 'disconnect', namespace };
    case EVENT: {
      if (!Event.Check(data) || typeof data[0] !== 'string') {
        throw new MessageError('an event must be a list that begins with its name');
      }
      const [name, ...args] = data;
      return { type: 'event', namespace, id, name, args };
    }
    default:
      throw new MessageError('a client must send nothing but handshakes and events');
  }
}

/** The client has joined the namespace. @param sid names its session there, to nobody but itself */
export const joinedPacket = (sid: string): string => CONNECT + JSON.stringify({ sid });
/** The client may not join a namespace. */
export const refusedPacket = (namespace: string, message: string): string =>
  `${CONNECT_ERROR}${namespace === NAMESPACE ? '' : `${namespace},`}${JSON.stringify({ message })}`;
/** The answer to an event. @param id the number that the event bore */
export const answerPacket = (id: string, answer: string | null): string => ACK + id + JSON.stringify([answer]);
/** The client has left the namespace, by our doing. */
export const LEFT_PACKET = DISCONNECT;
