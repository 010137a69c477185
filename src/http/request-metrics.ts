/** What requests are counted by. */
export interface RequestMetrics {
  /**
   * Begins to count the requests of a route.
   * @param pattern of the route, never a path, of which there are endlessly many
   * @returns is told of each answer: its status, and how many milliseconds it took
   */
  route(method: string, pattern: string): (status: number, milliseconds: number) => void;
}

/** Counts nothing. */
export const uncounted: RequestMetrics = { route: () => () => {} };
