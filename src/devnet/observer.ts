/**
 * A second observer of a simulated node, such as another Stackside. It receives the node's events in order, each
 * repeatedly until it accepts the event, and doesn't delay the node.
 */
import type { Clock } from '../base/clock.ts';
import { type NodeEvent, postEvent } from './node-event.ts';

export type ObserverEvent =
  /** The observer doesn't accept an event. The node repeats the event until it does. */
  { event: 'observer_refuses'; url: string; path: string; reason: string };

export interface ObserverOptions {
  /** URL of the observer, such as `http://127.0.0.1:3701`. */
  url: string;
  clock: Clock;
  log: (event: ObserverEvent) => void;
}

/**
 * Maximum number of events that wait for an observer. If there are more, the oldest are lost, as with a node that
 * doesn't repeat events.
 */
const MAX_WAITING = 1_000;

/** Makes a function that posts events to an observer. @param signal ends the posting */
export function observer({ url, clock, log }: ObserverOptions, signal: AbortSignal) {
  const queue: NodeEvent[] = [];
  let isPosting = false;
  let refusedEvent: NodeEvent | null = null;

  async function post(): Promise<void> {
    isPosting = true;
    for (let event = queue.shift(); event !== undefined && !signal.aborted; event = queue.shift()) {
      await postEvent(event, url, {
        signal,
        clock,
        onRetry(retried, cause) {
          // Logged once for each time that the observer stops accepting.
          if (refusedEvent === null) log({ event: 'observer_refuses', url, path: retried.path, reason: String(cause) });
          refusedEvent = retried;
        },
      }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      if (refusedEvent !== event) refusedEvent = null;
    }
    isPosting = false;
  }

  return (event: NodeEvent): void => {
    queue.push(event);
    if (queue.length > MAX_WAITING) queue.shift();
    if (!isPosting) void post();
  };
}
