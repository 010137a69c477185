/** The questions and findings of a comparison, which a file stores between runs. */
import { existsSync, readFileSync } from 'node:fs';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { OperatorError } from '../../base/errors.ts';
import { writeWhole } from '../../base/files.ts';
import { parsedJson } from '../../base/json.ts';
import type { Difference } from './differences.ts';
import type { KnownReason } from './known-differences.ts';

const Count = Type.Integer({ minimum: 0 });

const Finding = Type.Object({
  path: Type.String(),
  /** The answers of each server if the difference has a known reason; null if not. */
  reason: Type.Union([Type.Null(), Type.Object({ here: Type.String(), there: Type.String() })]),
  count: Count,
  /** The first one: its path and query, its place in the answer, and the values as shortened JSON. */
  example: Type.Object({
    target: Type.String(),
    at: Type.String(),
    ours: Type.String(),
    theirs: Type.String(),
  }),
});
export type Finding = Static<typeof Finding>;

const RouteTally = Type.Object({
  equal: Count,
  /** Questions that only have differences with known reasons, and questions with others. */
  known: Count,
  differing: Count,
  /** Questions whose answers differed each time, but so did the tips. */
  moved: Count,
  /** Questions without two answers that can be compared, by the reason. */
  unanswered: Type.Record(Type.String(), Count),
  /** The reason why it has had no question; null after its first one. */
  notAsked: Type.Union([Type.Null(), Type.String()]),
  findings: Type.Array(Finding),
});
export type RouteTally = Static<typeof RouteTally>;

const Tally = Type.Object({
  format: Type.Literal(1),
  url: Type.String(),
  api: Type.String(),
  seed: Count,
  /** The blocks that rows were drawn from. */
  lowest: Count,
  highest: Count,
  /** Requests to the other server. */
  requests: Count,
  /** The next question: the round, and the place in it. */
  round: Count,
  place: Count,
  routes: Type.Record(Type.String(), RouteTally),
});
export type Tally = Static<typeof Tally>;

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

/**
 * Reads the file of an earlier run.
 * @returns null if there is none
 * @throws OperatorError if it can't be read, or belongs to a comparison of other servers or with another seed
 */
export function readTally(
  file: string,
  { url, api, seed }: { url: string; api: string; seed: number | null },
): Tally | null {
  if (!existsSync(file)) return null;
  const another = 'Name another file with --resume, or delete this one to start over.';
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new OperatorError(`${file} can't be read.`, 'Check --resume.', { cause });
  }
  const value = parsedJson(text);
  if (!Value.Check(Tally, value)) {
    throw new OperatorError(`${file} isn't the file of a comparison, or another version wrote it.`, another);
  }
  if (value.url !== url || value.api !== api) {
    throw new OperatorError(`${file} belongs to a comparison of ${value.api} with ${value.url}.`, another);
  }
  if (seed !== null && value.seed !== seed) {
    throw new OperatorError(`${file} belongs to a comparison with --seed ${value.seed}.`, another);
  }
  return value;
}

/** Writes the file, in place of an earlier one. @throws OperatorError if it can't be written */
export function writeTally(path: string, tally: Tally): void {
  writeWhole(path, `${JSON.stringify(tally)}\n`);
}
