/** Realtime messages: one WebSocket for the whole page, which subscribes to the topics of its components. */
import { computed, signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { isObject } from '../../../base/json.ts';
import { type Answer, assertRequestError, get } from './api.ts';
import { liveQuery } from './live-query.ts';

/** `waiting` before the first connection, `live` while connected, `lost` while reconnecting. */
export const connection = signal<'waiting' | 'live' | 'lost'>('waiting');

type Tip = NonNullable<Answer<'/extended'>['chain_tip']>;

/** The tip of the index; null before the first block, and until it was read. */
export const tip = signal<Tip | null>(null);

/** Changes with each new and each removed block. */
export const tipVersion = computed(() => tip.value?.index_block_hash ?? '');

/** Parameters of a JSON-RPC subscription. */
type Subject =
  | { event: 'block' | 'mempool' }
  | { event: 'tx_update'; tx_id: string }
  | { event: 'address_tx_update'; address: string };

/** Milliseconds before reconnecting. The wait doubles each time. */
const FIRST_WAIT = 500;
const MAX_WAIT = 15_000;

const subscriptions = new Map<string, { subject: Subject; listeners: Set<() => void> }>();
let socket: WebSocket | null = null;
let wait = FIRST_WAIT;
let requestId = 0;

function send(method: 'subscribe' | 'unsubscribe', subject: Subject): void {
  if (socket?.readyState !== WebSocket.OPEN) return;
  requestId += 1;
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: requestId, method, params: subject }));
}

/** Reports whether a notification belongs to a subscription. Notifications of a transaction or principal name it. */
function concerns({ event, ...fields }: Subject, method: unknown, params: Record<string, unknown>): boolean {
  return event === method && Object.entries(fields).every(([name, value]) => params[name] === value);
}

function handleMessage(text: string): void {
  const message: unknown = JSON.parse(text);
  if (!isObject(message) || !isObject(message.params)) return;
  for (const { subject, listeners } of subscriptions.values()) {
    if (!concerns(subject, message.method, message.params)) continue;
    for (const listener of listeners) listener();
  }
}

/** The tip, read at each block and connection. If a read fails, the next block or connection reads it again. */
const tipQuery = liveQuery({
  load: (signal) => get('/extended', {}, signal),
  onAnswer({ chain_tip: chainTip = null }) {
    tip.value = chainTip;
  },
  onError: assertRequestError,
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
    if (typeof data === 'string') handleMessage(data);
  };
  socket.onclose = () => {
    connection.value = 'lost';
    setTimeout(connect, wait);
    wait = Math.min(wait * 2, MAX_WAIT);
  };
}

/** Calls a function for each notification of a subject. @returns a function that unsubscribes */
function subscribe(subject: Subject, listener: () => void): () => void {
  const key = JSON.stringify(subject);
  const subscription = subscriptions.get(key) ?? { subject, listeners: new Set() };
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
  useEffect(() => subscribe(JSON.parse(key) as Subject, () => setUpdates((count) => count + 1)), [key]);
  return updates;
}
