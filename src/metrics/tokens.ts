/** Metrics of token look-ups. */
import type { Registry } from 'prom-client';
import type { TokenCounts } from '../store/model/token.ts';
import type { TokenCounters } from '../tokens/metadata-fetcher.ts';
import { collectedCounter, collectedGauge } from './collected.ts';

/** @param counters since the start @param counts reads the queue */
export function tokenMetrics(registry: Registry, counters: TokenCounters, counts: () => TokenCounts['jobs']): void {
  collectedGauge(registry, {
    name: 'stackside_token_jobs',
    help: 'Token look-ups, by kind of work and state',
    labelNames: ['work', 'state'],
    read: () => counts().map(({ work, state, jobs }) => [{ work, state }, jobs]),
  });
  collectedCounter(registry, {
    name: 'stackside_token_answers_total',
    help: 'Results of token look-ups: answers, failed attempts, and answers that break the standards',
    labelNames: ['outcome'],
    read: () => Object.entries(counters).map(([outcome, total]) => [{ outcome }, total]),
  });
}
