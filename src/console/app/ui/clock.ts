/** The clock of this computer, and the clock of the chain. The clock of a devnet starts at a fixed time. */
import { computed, effect, signal } from '@preact/signals';
import { assertRequestError, get } from '../api/api.ts';
import { tipVersion } from '../api/live.ts';
import { liveQuery } from '../api/live-query.ts';
import { isDevnet, server } from './server-status.tsx';

const unixNow = () => Math.floor(Date.now() / 1000);

/** Unix seconds, updated each second while the page is visible. */
export const now = signal(unixNow());

/** Returns a number that changes every few seconds, as a version of data. */
export const every = (span: number): number => Math.floor(now.value / span);

/** Seconds that the chain is ahead of the browser's clock; negative if it is behind. */
const chainOffset = signal(0);

/** Unix seconds by the chain's clock. */
export const chainNow = computed(() => now.value + chainOffset.value);

/** Whether the chain has another clock than the browser, as a devnet that mines only on request has. */
export const hasOwnClock = computed(() => chainOffset.value !== 0);

/** A chain in real time may be this far behind the last event, because pending transactions arrive between its blocks. */
const REAL_TIME_SECONDS = 3_600;

const devnetQuery = liveQuery({
  load: (signal) => get('/stackside/v1/devnet', {}, signal),
  onAnswer({ tip }) {
    // The newest block has the time of its arrival by the chain's clock.
    const arrival = server.peek().status?.events?.last_received_at ?? now.peek();
    const offset = tip.time - arrival;
    chainOffset.value = offset < 0 && offset > -REAL_TIME_SECONDS ? 0 : offset;
  },
  onError: assertRequestError,
});

const onDevnet = computed(() => isDevnet() === true);

/** Starts both clocks. The clock of a devnet is read at each block. Called once. */
export function startClocks(): void {
  setInterval(() => {
    if (!document.hidden) now.value = unixNow();
  }, 1000);
  document.addEventListener('visibilitychange', () => {
    now.value = unixNow();
  });
  effect(() => {
    tipVersion.value;
    if (onDevnet.value) devnetQuery.refresh();
  });
}
