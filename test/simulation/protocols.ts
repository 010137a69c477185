/** The two protocols of realtime clients, from the client's side. */

/** Content of a message from the server. */
type Heard =
  /** The client is subscribed to all requested topics. */
  | { heard: 'subscribed' }
  | { heard: 'push'; topic: string; body: Body }
  /** An answer to be sent. */
  | { heard: 'asked'; answer: string };

// biome-ignore lint/suspicious/noExplicitAny: messages are looked into
export type Body = any;

interface Protocol {
  /** Path that the client connects to. */
  path: string;
  /** Returns the first messages of a client. */
  greeting(topics: readonly string[]): string[];
  /** Reads a message. @param topics the client's subscriptions @throws Error for a message that a server must not send */
  read(text: string, topics: readonly string[]): Heard | null;
}

const rpcEvents: Readonly<Record<string, string>> = {
  block: 'block',
  mempool: 'mempool',
  'address-transaction': 'address_tx_update',
};

const rpc: Protocol = {
  path: '/extended/v1/ws',
  greeting: (topics) =>
    topics.map((topic, id) => {
      const [kind = '', address] = topic.split(':');
      const params = { event: rpcEvents[kind], ...(address === undefined ? {} : { address }) };
      return JSON.stringify({ jsonrpc: '2.0', id, method: 'subscribe', params });
    }),
  read(text, topics) {
    const { id, method, params, error } = JSON.parse(text);
    if (error !== undefined) throw new Error(`a request was refused: ${text}`);
    if (method === undefined) return id === topics.length - 1 ? { heard: 'subscribed' } : null;
    const kind = Object.keys(rpcEvents).find((name) => rpcEvents[name] === method) ?? method;
    const address = kind === 'address-transaction' ? `:${params.address}` : '';
    return { heard: 'push', topic: kind + address, body: params };
  },
};

/** Packets of Socket.IO (protocol version 5) inside packets of Engine.IO (protocol version 4). */
const socketIo: Protocol = {
  path: '/socket.io/?EIO=4&transport=websocket',
  greeting: () => [],
  read(text, topics) {
    if (text.startsWith('0')) return { heard: 'asked', answer: '40' };
    if (text.startsWith('40')) return { heard: 'asked', answer: `420${JSON.stringify(['subscribe', topics])}` };
    if (text === '430[null]') return { heard: 'subscribed' };
    if (!text.startsWith('42')) throw new Error(`an unsolicited packet: ${text}`);
    const [topic, ...parts] = JSON.parse(text.slice(2));
    return { heard: 'push', topic, body: parts.at(-1) };
  },
};

export const protocols = { rpc, socketIo } as const;
