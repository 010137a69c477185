/** Metrics of token look-ups. */
import type { Registry } from 'prom-client';
import type { TokenCounts } from '../store/model/token.ts';
import type { TokenCounters } from '../tokens/metadata-fetcher.ts';
import { collected } from './collected.ts';

/** @param counters since the start @param counts reads the queue */
export function tokenMetrics(registry: Registry, counters: TokenCounters, counts: () => TokenCounts['jobs']): void {
  collected(registry, {
    stackside_token_jobs: [
      'Token look-ups, by kind of work and state',
      () => counts().map(({ work, state, jobs }) => [{ work, state }, jobs]),
      'work',
      'state',
    ],
    stackside_token_answers_total: [
      'Results of token look-ups: answers, failed attempts, and answers that break the standards',
      () => Object.entries(counters).map(([outcome, total]) => [{ outcome }, total]),
      'outcome',
    ],
  });
}
