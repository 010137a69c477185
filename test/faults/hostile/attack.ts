/** Sends hostile messages to the listeners of a server, a given number to each, and counts the answers. */
import type { NodeEvent } from '../../../src/devnet/node-event.ts';
import { Prng } from '../../../src/devnet/prng.ts';
import { type Route, randomUrl, type Subjects } from '../../support/api/random-urls.ts';
import { casesOf } from '../../support/property.ts';
import { rawExchange } from '../../support/servers/raw-http.ts';
import { event, httpRequest, ioHoard, ioPacket, type Messages, rpcFrame, rpcHoard } from './messages.ts';

export interface Target {
  api: string;
  events: string;
  /** The admin key. */
  key: string;
  routes: readonly Route[];
  subjects: Subjects;
  stream: readonly NodeEvent[];
}

/** Counts the answers by status, or by the way a connection ended. Keeps the first message of each kind. */
export class Tally {
  readonly answers = new Map<string, { times: number; first: string }>();
  note(answer: string | number, message: string): void {
    const entry = this.answers.get(String(answer));
    if (entry !== undefined) entry.times += 1;
    else this.answers.set(String(answer), { times: 1, first: message.slice(0, 2_000) });
  }
}

/** Connections that one listener is attacked through at once. */
const CONNECTIONS = 8;
/** Messages per connection before a new one is opened. */
const PER_CONNECTION = 200;
const IO = '/socket.io/?EIO=4';

/**
 * Sends a number of messages, through several connections at once.
 * @param send sends some messages, and returns their number
 */
export async function repeatedly(messages: number, send: () => Promise<number>): Promise<void> {
  let sent = 0;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (sent < messages) {
        const count = await send();
        sent += count;
      }
    }),
  );
}

/** The answer that no client may get. */
export const OPEN_TO_STRANGERS = 'managed by a stranger';
/** Reports whether a request needs a key, from its path as a server reads it, with `%2e%2e` resolved. */
function isManagement(text: string): boolean {
  const [target = ''] = /(?<=^\S+ )\S+/.exec(text) ?? [];
  const path = URL.parse(target, 'http://localhost')?.pathname ?? '';
  return /^\/chainhooks(\/v1)?\/(me|preview|consumers)/.test(path);
}
const isDone = (status: number): boolean => status >= 200 && status < 300;

/** @param port which listener gets the requests, whichever is meant */
const overHttp =
  (port: 'api' | 'events') =>
  async ({ key, subjects, ...target }: Target, count: number, prng: Prng, tally: Tally): Promise<void> => {
    const routes = prng.shuffle([...target.routes]);
    const host = new URL(target[port]).host;
    let next = 0;
    await repeatedly(count, async () => {
      // Routes take turns, so that few messages reach all of them.
      const route = routes[next++ % routes.length]!;
      const { text, isTrusted } = httpRequest(route, subjects, { host, key }, prng);
      const { status } = await rawExchange(target[port], text);
      const isOpen = isDone(status) && !isTrusted && port === 'api' && isManagement(text) && !/^(OPTIONS)/.test(text);
      tally.note(isOpen ? OPEN_TO_STRANGERS : status, text);
      return 1;
    });
  };

async function toEventPort(target: Target, count: number, prng: Prng, tally: Tally): Promise<void> {
  const { events, stream } = target;
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
  await lookRound(target, prng, tally);
}

/** Number of URLs per route to read the accepted data. */
const LOOKS = casesOf(1);

/** Requests every route for the data of the events: accepted data may be unreadable. */
async function lookRound({ api, key, routes, subjects }: Target, prng: Prng, tally: Tally): Promise<void> {
  for (const route of routes.filter(({ method }) => method === 'GET')) {
    for (let looks = 0; looks < LOOKS; looks++) {
      const url = randomUrl(route, subjects, prng);
      const response = await fetch(api + url, { headers: { 'x-api-key': key } });
      await response.arrayBuffer();
      tally.note(response.status, url);
    }
  }
}

/** The share of connections that do nothing but fill the memory. */
const HOARDERS = 0.5;

/** Messages of a client of one protocol, by its habit, which stays the same for a connection. */
interface Habits {
  normal: Messages;
  hoard: Messages;
}
const rpc: Habits = { normal: rpcFrame, hoard: rpcHoard };
const io: Habits = { normal: ioPacket, hoard: ioHoard };
const habitOf = ({ normal, hoard }: Habits, prng: Prng): Messages => (prng.chance(HOARDERS) ? hoard : normal);

/** Sends frames until the connection ends, then through another. @param first sent when the WebSocket is open */
const throughWebSocket =
  (path: string, first: readonly string[], habits: Habits) =>
  async ({ api, subjects }: Target, count: number, prng: Prng, tally: Tally): Promise<void> => {
    await repeatedly(count, async () => {
      const socket = new WebSocket(api.replace('http', 'ws') + path);
      const { promise: closed, resolve: end } = Promise.withResolvers<number>();
      const frame = habitOf(habits, prng);
      let last = '';
      socket.onclose = ({ code }) => end(code);
      await new Promise((opened) => {
        socket.onopen = opened;
        void closed.then(opened);
      });
      for (const text of first) socket.send(text);
      let sent = 0;
      for (; sent < PER_CONNECTION && socket.readyState === WebSocket.OPEN; sent++) {
        last = frame(subjects, prng);
        socket.send(last);
        // The server's reaction arrives in a separate turn.
        await new Promise((turn) => setImmediate(turn));
      }
      socket.close();
      tally.note(await closed, last);
      return Math.max(1, sent);
    });
  };

async function byPolling({ api, subjects }: Target, count: number, prng: Prng, tally: Tally): Promise<void> {
  await repeatedly(count, async () => {
    const handshake = await (await fetch(`${api}${IO}&transport=polling`)).text();
    const { sid } = JSON.parse(handshake.slice(1)) as { sid: string };
    const url = `${api}${IO}&transport=polling&sid=${sid}`;
    await fetch(url, { method: 'POST', body: '40' });
    const packet = habitOf(io, prng);
    let sent = 1;
    while (sent < PER_CONNECTION) {
      const packets = Array.from({ length: packet === ioHoard ? 1 : prng.between(1, 20) }, () =>
        packet(subjects, prng),
      );
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
  HTTP: overHttp('api'),
  'HTTP to the event port': overHttp('events'),
  'the events of a node': toEventPort,
  WebSocket: throughWebSocket('/extended/v1/ws', [], rpc),
  'Socket.IO by WebSocket': throughWebSocket(`${IO}&transport=websocket`, ['40'], io),
  'Socket.IO by long polling': byPolling,
};

/** @param seed of the messages */
export async function attack(name: string, target: Target, count: number, seed: string): Promise<Tally> {
  const tally = new Tally();
  await attacks[name]?.(target, count, new Prng(`hostile clients/${name}/${seed}`), tally);
  return tally;
}
