/** Sends hostile messages to the listeners of a server, a given number to each, and counts the answers. */
import type { NodeEvent } from '../../../src/devnet/node-event.ts';
import { Prng } from '../../../src/devnet/prng.ts';
import type { GetRoute, Subjects } from '../../support/random-urls.ts';
import { rawExchange } from '../../support/raw-http.ts';
import { event, httpRequest, ioPacket, rpcFrame } from './messages.ts';

export interface Target {
  api: string;
  events: string;
  routes: readonly GetRoute[];
  subjects: Subjects;
  stream: readonly NodeEvent[];
}

/** How many times each answer came: a status, or how a connection ended. The first message of each is kept. */
export class Tally {
  readonly answers = new Map<string, { times: number; first: string }>();
  note(answer: string | number, message: string): void {
    const known = this.answers.get(String(answer));
    if (known !== undefined) known.times += 1;
    else this.answers.set(String(answer), { times: 1, first: message.slice(0, 2_000) });
  }
}

/** Connections that one listener is attacked through at once. */
const CONNECTIONS = 8;
/** Messages of one connection before it is opened anew. */
const PER_CONNECTION = 200;
const IO = '/socket.io/?EIO=4';

/**
 * Sends so many messages, through several connections at once.
 * @param one sends some, and says how many
 */
async function repeatedly(messages: number, one: () => Promise<number>): Promise<void> {
  let sent = 0;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (sent < messages) sent += await one();
    }),
  );
}

async function overHttp({ api, routes, subjects }: Target, count: number, prng: Prng, tally: Tally): Promise<void> {
  await repeatedly(count, async () => {
    const request = httpRequest(routes, subjects, prng);
    tally.note((await rawExchange(api, request)).status, request);
    return 1;
  });
}

async function toEventPort({ events, stream }: Target, count: number, prng: Prng, tally: Tally): Promise<void> {
  await repeatedly(count, async () => {
    const { path, body } = event(stream, prng);
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(events + path, { method: 'POST', headers, body });
    const answer = await response.text();
    // The node is to send another block first: that is all that 500 is for here.
    const isEarly = response.status === 500 && answer.includes('DB does not contain a parent block');
    tally.note(isEarly ? 'unknown parent' : response.status, `${path} ${answer} ${body}`);
    return 1;
  });
}

/** Sends frames until the connection ends, then through another. */
async function throughWebSocket(
  url: string,
  first: readonly string[],
  count: number,
  frame: () => string,
  tally: Tally,
): Promise<void> {
  await repeatedly(count, async () => {
    const socket = new WebSocket(url);
    const { promise: over, resolve: end } = Promise.withResolvers<number>();
    let last = '';
    socket.onclose = ({ code }) => end(code);
    await new Promise((opened) => {
      socket.onopen = opened;
      void over.then(opened);
    });
    for (const text of first) socket.send(text);
    let sent = 0;
    for (; sent < PER_CONNECTION && socket.readyState === WebSocket.OPEN; sent++) {
      last = frame();
      socket.send(last);
      // What the server thinks of it arrives in a turn of its own.
      await new Promise((turn) => setImmediate(turn));
    }
    socket.close();
    tally.note(await over, last);
    return Math.max(1, sent);
  });
}

async function byPolling({ api, subjects }: Target, count: number, prng: Prng, tally: Tally): Promise<void> {
  await repeatedly(count, async () => {
    const handshake = await (await fetch(`${api}${IO}&transport=polling`)).text();
    const { sid } = JSON.parse(handshake.slice(1)) as { sid: string };
    const url = `${api}${IO}&transport=polling&sid=${sid}`;
    await fetch(url, { method: 'POST', body: '40' });
    let sent = 1;
    while (sent < PER_CONNECTION) {
      const packets = Array.from({ length: prng.between(1, 20) }, () => ioPacket(subjects, prng));
      sent += packets.length;
      const body = packets.join('\x1e');
      const response = await fetch(url, { method: 'POST', body });
      await response.arrayBuffer();
      tally.note(response.status, body);
      if (response.status !== 200) break;
    }
    return sent;
  });
}

/** The ways in, by name. */
export const attacks: Readonly<
  Record<string, (target: Target, count: number, prng: Prng, tally: Tally) => Promise<void>>
> = {
  HTTP: overHttp,
  'the event port': toEventPort,
  WebSocket: ({ api, subjects }, count, prng, tally) =>
    throughWebSocket(`${api.replace('http', 'ws')}/extended/v1/ws`, [], count, () => rpcFrame(subjects, prng), tally),
  'Socket.IO by WebSocket': ({ api, subjects }, count, prng, tally) =>
    throughWebSocket(
      `${api.replace('http', 'ws')}${IO}&transport=websocket`,
      ['40'],
      count,
      () => ioPacket(subjects, prng),
      tally,
    ),
  'Socket.IO by long polling': byPolling,
};

/** @param seed of the messages */
export async function attack(name: string, target: Target, count: number, seed: string): Promise<Tally> {
  const tally = new Tally();
  await attacks[name]?.(target, count, new Prng(`hostile clients/${name}/${seed}`), tally);
  return tally;
}
