/** Realtime messages: one WebSocket for the whole page, which subscribes to the topics of its components. */
import { computed, signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { get, onlyRequestError } from './api.ts';
import { liveQuery } from './order.ts';

/** `waiting` before the first connection, `live` while connected, `lost` while reconnecting. */
export const connection = signal<'waiting' | 'live' | 'lost'>('waiting');

interface Tip {
  height: number;
  indexBlockHash: string;
  burnBlockHeight: number;
}

/** The tip of the index; null before the first block, and until it was read. */
export const tip = signal<Tip | null>(null);

/** Changes with each new and each removed block. */
export const tipVersion = computed(() => tip.value?.indexBlockHash ?? '');

/** Parameters of a JSON-RPC subscription. */
type Subject =
  | { event: 'block' | 'mempool' }
  | { event: 'tx_update'; tx_id: string }
  | { event: 'address_tx_update'; address: string };

type Listener = () => void;

interface Subscription {
  subject: Subject;
  listeners: Set<Listener>;
}

/** Milliseconds before reconnecting. The wait doubles each time. */
const FIRST_WAIT = 500;
const MAX_WAIT = 15_000;

const subscriptions = new Map<string, Subscription>();
let socket: WebSocket | null = null;
let wait = FIRST_WAIT;
let requestId = 0;

function send(method: 'subscribe' | 'unsubscribe', subject: Subject): void {
  if (socket?.readyState !== WebSocket.OPEN) return;
  requestId += 1;
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: requestId, method, params: subject }));
}

/** Reports whether a notification belongs to a subscription. Notifications of a transaction or principal name it. */
function concerns(subject: Subject, method: string, params: unknown): boolean {
  if (subject.event !== method) return false;
  if (typeof params !== 'object' || params === null) return false;
  if (subject.event === 'tx_update') return 'tx_id' in params && params.tx_id === subject.tx_id;
  if (subject.event === 'address_tx_update') return 'address' in params && params.address === subject.address;
  return true;
}

function received(text: string): void {
  const message: unknown = JSON.parse(text);
  if (typeof message !== 'object' || message === null || !('method' in message) || !('params' in message)) return;
  for (const { subject, listeners } of subscriptions.values()) {
    if (!concerns(subject, String(message.method), message.params)) continue;
    for (const listener of listeners) listener();
  }
}

/**
 * The tip, read at each block and connection. If the server can't answer, the next block or connection reads it again.
 */
const tipQuery = liveQuery({
  ask: (signal) => get('/extended', {}, signal),
  answered({ chain_tip: found }) {
    tip.value =
      found === undefined
        ? null
        : {
            height: found.block_height,
            indexBlockHash: found.index_block_hash,
            burnBlockHeight: found.burn_block_height,
          };
  },
  failed: onlyRequestError,
});

function connect(): void {
  const { protocol, host } = location;
  socket = new WebSocket(`${protocol === 'https:' ? 'wss' : 'ws'}://${host}/extended/v1/ws`);
  socket.onopen = () => {
    connection.value = 'live';
    wait = FIRST_WAIT;
    for (const { subject } of subscriptions.values()) send('subscribe', subject);
    tipQuery.refresh();
  };
  socket.onmessage = ({ data }) => {
    if (typeof data === 'string') received(data);
  };
  socket.onclose = () => {
    connection.value = 'lost';
    setTimeout(connect, wait);
    wait = Math.min(wait * 2, MAX_WAIT);
  };
}

/** Calls a function for each notification of a subject. @returns a function that unsubscribes */
function subscribe(subject: Subject, listener: Listener): () => void {
  const key = JSON.stringify(subject);
  const subscription = subscriptions.get(key) ?? { subject, listeners: new Set<Listener>() };
  subscriptions.set(key, subscription);
  subscription.listeners.add(listener);
  if (subscription.listeners.size === 1) send('subscribe', subject);
  return () => {
    subscription.listeners.delete(listener);
    if (subscription.listeners.size > 0) return;
    subscriptions.delete(key);
    send('unsubscribe', subject);
  };
}

/** Connects, and then follows the tip. Called once. */
export function startLive(): void {
  subscribe({ event: 'block' }, () => tipQuery.refresh());
  tipQuery.refresh();
  connect();
}

/** Returns the number of notifications of a subject since the component was mounted, as a version of data. */
export function useUpdates(subject: Subject): number {
  const [updates, setUpdates] = useState(0);
  const key = JSON.stringify(subject);
  useEffect(() => subscribe(JSON.parse(key) as Subject, () => setUpdates((before) => before + 1)), [key]);
  return updates;
}
