/** The clock of the chain. A devnet has its own: it begins at a fixed time, and people advance it. */
import { computed, effect, signal } from '@preact/signals';
import { api, bodyOf, RequestError } from '../api/api.ts';
import { tipVersion } from '../api/live.ts';
import { liveQuery } from '../api/order.ts';
import { now } from './clock.ts';
import { server } from './server-status.ts';

/** Seconds that the chain is ahead of the browser's clock; negative if it is behind. */
const ahead = signal(0);

/** Unix seconds by the chain's clock. */
export const chainNow = computed(() => now.value + ahead.value);

/** A chain in real time may be this far behind the last event, because pending transactions arrive between its blocks. */
const REAL_TIME_SECONDS = 3_600;

const devnetQuery = liveQuery({
  ask: (signal) => bodyOf(api.GET('/stackside/v1/devnet', { signal })),
  answered({ tip }) {
    // The newest block has the time of its arrival by the chain's clock.
    const arrival = server.peek().status?.events?.last_received_at ?? now.peek();
    const offset = tip.time - arrival;
    ahead.value = offset < 0 && offset > -REAL_TIME_SECONDS ? 0 : offset;
  },
  failed(error) {
    if (!(error instanceof RequestError)) throw error;
  },
});

const isDevnet = computed(() => server.value.status?.simulated_node === true);

/** Starts to follow the clock of a devnet, at each block. Called once. */
export function startChainClock(): void {
  effect(() => {
    tipVersion.value;
    if (isDevnet.value) devnetQuery.refresh();
  });
}
