/** Whose chainhooks the operator sees and manages. */

/** Headers of a request for a consumer. @param consumer null for the one that the browser signed in as */
export const actingFor = (consumer: string | null): Record<string, string> =>
  consumer === null ? {} : { 'x-chainhook-consumer': consumer };
