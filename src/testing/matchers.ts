/** Checks of responses, for `expect.extend` of bun:test and vitest, and as functions for node:test. */
import { AssertionError } from 'node:assert';
import { inspect, isDeepStrictEqual } from 'node:util';
import type { Sent } from './types.ts';
import type { Value } from './values.ts';

/** A transaction, or a value that `chain.read` returned. */
type Checked = Sent | Value;

type Side = 'ok' | 'err';

/** The parts of the frameworks' matcher context that are used. */
interface MatcherContext {
  /** Compares as the framework does, with its asymmetric matchers. */
  equals?: (a: unknown, b: unknown) => boolean;
}

interface MatcherResult {
  pass: boolean;
  message(): string;
}

/** The matchers' types, for the framework's interface of matchers. */
export interface ClarityMatchers<R = unknown> {
  /** Expects `(ok …)`, with this value if one is given. */
  toBeOk(value?: unknown): R;
  /** Expects `(err …)`, with this value if one is given. */
  toBeErr(value?: unknown): R;
}

const isSent = (checked: unknown): checked is Sent =>
  typeof checked === 'object' && checked !== null && 'tx_id' in checked && 'value' in checked;

/** Returns why a transaction failed, if it did. */
const reasonOf = (sent: Sent): string => {
  const { status, error, failure } = sent;
  const place = failure?.place ?? null;
  const where = place === null ? '' : `\n${place.contract}:${place.line}:${place.column}: ${place.expression}`;
  const trace = failure === null ? '' : `\n${failure.trace}`;
  return `${status}${error === null ? '' : `: ${error}`}${where}${trace}`;
};

/** Shows a response in the form of an expectation, with a JavaScript value. */
function formatResponse(value: unknown): string {
  for (const side of ['ok', 'err'] as const) {
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, side))
      return `(${side} ${inspect((value as Record<Side, Value>)[side])})`;
  }
  return inspect(value);
}

function check(side: Side, checked: unknown, expected: readonly unknown[], context: MatcherContext): MatcherResult {
  const value = isSent(checked) ? checked.value : checked;
  const isSide = typeof value === 'object' && value !== null && Object.hasOwn(value, side);
  // The framework's method needs its context.
  const equals = (a: unknown, b: unknown): boolean => context.equals?.(a, b) ?? isDeepStrictEqual(a, b);
  // A transaction that a post-condition aborted has an ok result, but changed nothing.
  const isAborted = side === 'ok' && isSent(checked) && checked.status !== 'success';
  const pass =
    isSide && !isAborted && (expected.length === 0 || equals((value as Record<Side, unknown>)[side], expected[0]));
  const expectation = `(${side}${expected.length === 0 ? '' : ` ${inspect(expected[0])}`})`;
  const received = isSent(checked) ? `${formatResponse(value)}, ${reasonOf(checked)}` : formatResponse(value);
  // A number never equals an integer of Clarity.
  const hint =
    typeof expected[0] === 'number' && isSide && typeof (value as Record<Side, unknown>)[side] === 'bigint'
      ? `\nAn int or uint is a bigint: write ${expected[0]}n.`
      : '';
  return { pass, message: () => `Expected ${pass ? 'not ' : ''}${expectation}, received ${received}${hint}` };
}

/** Matchers for `expect.extend(matchers)`. */
export const matchers = {
  toBeOk(this: MatcherContext, checked: unknown, ...expected: unknown[]): MatcherResult {
    return check('ok', checked, expected, this);
  },
  toBeErr(this: MatcherContext, checked: unknown, ...expected: unknown[]): MatcherResult {
    return check('err', checked, expected, this);
  },
};

function requireSide(side: Side, checked: Checked, expected: readonly unknown[]): Value {
  const { pass, message } = check(side, checked, expected, {});
  const value = isSent(checked) ? checked.value : checked;
  if (!pass) throw new AssertionError({ message: message(), actual: value, expected: { [side]: expected[0] } });
  return (value as Record<Side, Value>)[side];
}

/** Checks that a response is `(ok …)`, with this value if one is given. @returns the value @throws AssertionError */
export const assertOk = (checked: Checked, ...value: [value?: unknown]): Value => requireSide('ok', checked, value);

/** Checks that a response is `(err …)`, with this value if one is given. @returns the value @throws AssertionError */
export const assertErr = (checked: Checked, ...value: [value?: unknown]): Value => requireSide('err', checked, value);
