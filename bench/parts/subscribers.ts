/**
 * Many subscribers in one process: some subscribe to blocks and the mempool, others to topics without messages. Prints a line
 * once all are subscribed, and a line per block once the last one has its message.
 */
import { io } from 'socket.io-client';

const [url, idleCount, busyCount, protocol] = process.argv.slice(2);
const NEVER = `0x${'00'.repeat(32)}`;
/** Connections that open at a time. */
const AT_ONCE = 100;

const say = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
/** Returns the Unix time in milliseconds, with fractions. */
const now = (): number => performance.timeOrigin + performance.now();

const notified = new Map<string, number>();
let others = 0;

function hear(hash: string): void {
  const count = (notified.get(hash) ?? 0) + 1;
  notified.set(hash, count);
  if (count === Number(busyCount)) say({ hash, at: now(), others });
}

function webSocket(busy: boolean): Promise<void> {
  const socket = new WebSocket(`${url?.replace('http', 'ws')}/extended/v1/ws`);
  const events = busy ? [{ event: 'block' }, { event: 'mempool' }] : [{ event: 'tx_update', tx_id: NEVER }];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let answered = 0;
  socket.onopen = () => {
    for (const [id, params] of events.entries()) {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'subscribe', params }));
    }
  };
  socket.onclose = () => reject(new Error('the server closed a connection'));
  socket.onmessage = ({ data }) => {
    const text = String(data);
    if (text.startsWith('{"jsonrpc":"2.0","method":"block"')) hear(/"hash":"(0x[0-9a-f]+)"/.exec(text)?.[1] ?? '');
    else if (text.includes('"method"')) others += 1;
    else if (++answered === events.length) resolve();
  };
  return promise;
}

function socketIo(busy: boolean): Promise<void> {
  const subscriptions = busy ? 'block,mempool' : `transaction:${NEVER}`;
  const socket = io(url ?? '', { transports: ['websocket'], forceNew: true, query: { subscriptions } });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on('connect', resolve);
  socket.on('connect_error', reject);
  socket.on('block', ({ hash }: { hash: string }) => hear(hash));
  socket.on('mempool', () => {
    others += 1;
  });
  return promise;
}

const connect = protocol === 'socket.io' ? socketIo : webSocket;
const kinds = [...Array(Number(idleCount)).fill(false), ...Array(Number(busyCount)).fill(true)] as boolean[];
for (let i = 0; i < kinds.length; i += AT_ONCE) await Promise.all(kinds.slice(i, i + AT_ONCE).map(connect));
say({ ready: true });
