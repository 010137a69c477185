/** The findings of a comparison. */
import type { Difference } from './differences.ts';
import type { KnownReason } from './known-differences.ts';

export interface Finding {
  path: string;
  /** The answers of each server if the difference has a known reason; null if not. */
  reason: Pick<KnownReason, 'here' | 'there'> | null;
  count: number;
  /** The first one: its path and query, its place in the answer, and the values as shortened JSON. */
  example: { target: string; at: string; ours: string; theirs: string };
}

export interface RouteTally {
  equal: number;
  /** Questions that only have differences with known reasons, and questions with others. */
  known: number;
  differing: number;
  /** Questions whose answers differed each time, but so did the tips. */
  moved: number;
  /** Questions without two answers that can be compared, by the reason. */
  unanswered: Record<string, number>;
  /** The reason why it has had no question; null after its first one. */
  notAsked: string | null;
  findings: Finding[];
}

export interface Tally {
  url: string;
  api: string;
  seed: number;
  /** The blocks that rows were drawn from. */
  lowest: number;
  highest: number;
  /** Requests to the other server. */
  requests: number;
  routes: Record<string, RouteTally>;
}

/** Maximum number of stored paths per route. More paths wouldn't help. */
const MAX_FINDINGS = 50;
/** Characters of a value that are kept. */
const MAX_TEXT = 160;

/** The tally of a route. */
export function routeTally({ routes }: Tally, route: string): RouteTally {
  const totals = routes[route] ?? {
    equal: 0,
    known: 0,
    differing: 0,
    moved: 0,
    unanswered: {},
    notAsked: null,
    findings: [],
  };
  routes[route] = totals;
  return totals;
}

/** A value as one line: shortened JSON. */
function shortened(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}

/** Adds a difference to the findings of a route. @param target path and query of the question */
export function addFinding(
  { findings }: RouteTally,
  { path, at, ours, theirs }: Difference,
  target: string,
  reason: KnownReason | null,
): void {
  const same = findings.find((one) => one.path === path && (one.reason?.here ?? null) === (reason?.here ?? null));
  if (same !== undefined) same.count += 1;
  else if (findings.length < MAX_FINDINGS) {
    findings.push({
      path,
      reason: reason === null ? null : { here: reason.here, there: reason.there },
      count: 1,
      example: { target, at, ours: shortened(ours), theirs: shortened(theirs) },
    });
  }
}
