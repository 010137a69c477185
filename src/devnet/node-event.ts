/** One event as a node posts it. */
export interface NodeEvent {
  /** Path it is posted to, such as `/new_block`. */
  readonly path: string;
  /** Compact JSON. */
  readonly body: string;
  /** The simulated time at which the node sent the event, in Unix milliseconds. */
  readonly time: number;
}

export function nodeEvent(path: string, body: unknown, time: number): NodeEvent {
  return { path, body: JSON.stringify(body), time };
}
