import { pause, systemClock } from '../base/clock.ts';
import type { NodeEvent } from './node-event.ts';
import { type PostOptions, postEvent } from './post.ts';
import { type DevnetOptions, devnetEvents } from './scenario.ts';

export interface LiveOptions extends Omit<DevnetOptions, 'blocks' | 'startTime' | 'clock'>, PostOptions {
  /** Where the observer listens, such as `http://127.0.0.1:3700`. */
  readonly eventsUrl: string;
  /** Time between two blocks. Default 5,000. */
  readonly blockIntervalMs?: number;
  /** Blocks that are there from the start, posted without a pause. Default 100. */
  readonly history?: number;
  /** Called after each event that was posted. */
  readonly onPosted?: (event: NodeEvent) => void;
}

/** Simulated seconds a block takes on average, rounded up: history then ends shortly before the present. */
const secondsPerBlock = 200;

/**
 * A simulated node that runs until the signal is aborted: first its history, then a block every interval, with what
 * is said of the mempool spread over the time before it. Times are real ones.
 */
export async function runDevnet(options: LiveOptions): Promise<void> {
  const { eventsUrl, signal, blockIntervalMs = 5000, history = 100, onPosted, clock = systemClock } = options;
  let live = false;
  const now = () => Math.floor(clock.now() / 1000);
  const events = devnetEvents({
    ...options,
    blocks: Number.POSITIVE_INFINITY,
    startTime: now() - history * secondsPerBlock,
    clock: (simulated) => (live ? now() : Math.min(simulated, now())),
  });
  try {
    let posted = 0;
    for (const batch of untilBlock(events)) {
      const pauseMs = live ? blockIntervalMs / batch.length : 0;
      for (const event of batch) {
        if (live) await pause(clock, pauseMs, signal);
        await postEvent(event, eventsUrl, options);
        onPosted?.(event);
      }
      posted += 1;
      live = posted > history;
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}

/** The events in groups that end with a block. */
function* untilBlock(events: Iterable<NodeEvent>): Generator<NodeEvent[]> {
  let batch: NodeEvent[] = [];
  for (const event of events) {
    batch.push(event);
    if (event.path !== '/new_block') continue;
    yield batch;
    batch = [];
  }
}
