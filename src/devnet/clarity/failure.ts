/** Finds the expression of a failed call in the engine's report, and the costs of its functions. */

/** The engine's report of a transaction that it executed again. */
export interface TraceReport {
  /** The calls of functions with arguments and results, as the engine prints them. */
  trace: string;
  /** One line per evaluated expression, when it is complete: the expressions around it, and its runtime cost. */
  evaluated: string;
  /** The engine's text for a runtime error, with its place; empty if there is none. */
  printed: string;
}

interface Place {
  contract: string;
  line: number;
  column: number;
  expression: string;
}

/** Why a call failed. */
export interface Failure {
  /** The expression that made the error; null if the engine's report doesn't show it. */
  place: Place | null;
  /** The calls with arguments and results, one per line. */
  trace: string;
  /** Runtime cost of each function, without the functions that it calls; most expensive first. */
  costs: { function: string; runtime: number }[];
}

/** The contracts that a report names. */
export interface Sources {
  source(contract: string): string | null;
  hasFunction(contract: string, name: string): boolean;
}

interface Frame {
  contract: string;
  /** The public or read-only function by which the contract was called, and the form; the form is missing for a name. */
  entry: string;
  form: string | null;
  line: number;
  column: number;
}

interface Evaluation {
  /** The stack as text, to compare. */
  path: string[];
  frames: Frame[];
  cost: number;
}

const FRAME = /^(S[0-9A-Z]+\.[\w-]+):(.+):(\d+):(\d+)$/;

function parseEvaluation(text: string): Evaluation | null {
  const end = text.lastIndexOf(' ');
  // The first evaluation of a contract is below the loading of the contract, which has no line.
  const path = text
    .slice(0, end)
    .split(';')
    .filter((part) => FRAME.test(part));
  const frames = path.map((part): Frame => {
    const [, contract = '', names = '', line, column] = FRAME.exec(part)!;
    const [entry = '', form = null] = names.split(':');
    return { contract, entry, form, line: Number(line), column: Number(column) };
  });
  return frames.length === 0 ? null : { path, frames, cost: Number(text.slice(end + 1)) };
}

/** Returns the last evaluation at each level, from the outermost expression to the innermost. */
function lastPath(evaluations: readonly Evaluation[]): Frame[] {
  let inner = evaluations.at(-1);
  if (inner === undefined) return [];
  const frames = [...inner.frames];
  // An expression is complete after its parts, so its last part comes just before it.
  for (const part of evaluations.slice(0, -1).reverse()) {
    const isPart = part.path.length === inner.path.length + 1 && inner.path.every((text, i) => text === part.path[i]);
    if (!isPart) break;
    frames.push(part.frames.at(-1)!);
    inner = part;
  }
  return frames;
}

interface Form {
  text: string;
  /** Places of the arguments. */
  parts: { line: number; column: number }[];
}

/** Tokens of Clarity: comments, strings, brackets, and other texts. */
const TOKEN = /;.*|u?"(?:[^"\\]|\\[\s\S])*"|[(){}]|[^\s(){}";,]+/g;

/** Returns the expression at a place of a source; null if there is none. @param line from 1 @param column from 1 */
export function formAt(source: string, line: number, column: number): Form | null {
  const lines = source.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0) + column - 1;
  const parts: Form['parts'] = [];
  let depth = 0;
  for (const token of source.matchAll(TOKEN)) {
    const [text] = token;
    if (token.index < start || text.startsWith(';')) continue;
    if (token.index > start && depth === 0) return null;
    if (depth === 1 && !/^[)}]$/.test(text)) {
      const preceding = source.slice(0, token.index);
      parts.push({ line: preceding.split('\n').length, column: token.index - preceding.lastIndexOf('\n') });
    }
    if (text === '(' || text === '{') depth += 1;
    if (text === ')' || text === '}') depth -= 1;
    if (depth === 0) return { text: source.slice(start, token.index + text.length), parts: parts.slice(1) };
  }
  return null;
}

/** Forms that return early with their last argument. */
const THROWING = new Set(['asserts!', 'unwrap!', 'unwrap-err!']);
/** Forms with the value of an expression in them. */
const PASSING = new Set(['begin', 'let', 'if', 'match', 'as-contract', 'print', 'contract-call?']);
/** Names of functions of the language that return responses, apart from `contract-call?`. */
const ANSWERING = /^(stx|ft|nft)-.*\?$|^principal-.*\?$|^as-contract\?$|^restrict-assets\?$/;

const isAt = (frame: Frame | undefined, part: { line: number; column: number } | undefined): boolean =>
  frame !== undefined && part !== undefined && frame.line === part.line && frame.column === part.column;

/**
 * Returns the expression that made the error of a response. The last part that was evaluated shows whether a form
 * returned early: `asserts!` evaluates its second argument only then.
 */
function originIn(path: readonly Frame[], sources: Sources): Frame | null {
  let tryFrame: Frame | null = null;
  let valueFrame: Frame | null = null;
  for (const [index, frame] of path.entries()) {
    const { form, contract, line, column } = frame;
    if (form === null) return tryFrame ?? frame;
    const part = path[index + 1];
    const { parts = [] } = formAt(sources.source(contract) ?? '', line, column) ?? {};
    const isThrowing = THROWING.has(form);
    const isWhole = part === undefined || isAt(part, parts.at(-1));
    if (isThrowing && isAt(part, parts[1])) return frame;
    if (form === 'err' && isWhole) return frame;
    // The function failed, or its last argument returned early. Either way the error comes from this expression.
    if (ANSWERING.test(form) && isWhole) return isAt(frame, tryPartOf(tryFrame, sources)) ? tryFrame : frame;
    if (form === 'try!') tryFrame = frame;
    else if (!isThrowing && !PASSING.has(form) && !sources.hasFunction(contract, form)) valueFrame ??= frame;
  }
  return tryFrame ?? valueFrame ?? path[0] ?? null;
}

/** Returns the place of the argument of a `try!`. */
function tryPartOf(tryFrame: Frame | null, sources: Sources): { line: number; column: number } | undefined {
  if (tryFrame === null) return undefined;
  return formAt(sources.source(tryFrame.contract) ?? '', tryFrame.line, tryFrame.column)?.parts[0];
}

function placeOf(
  { contract, line, column }: Pick<Place, 'contract' | 'line' | 'column'>,
  sources: Sources,
): Place | null {
  const form = formAt(sources.source(contract) ?? '', line, column);
  return form === null ? null : { contract, line, column, expression: form.text };
}

/** The engine's text for a runtime error: name of the contract, line and column, and the stack of functions. */
const RUNTIME_ERROR = /Error occured in [\w-]+:(\d+):(\d+)\n/;
const STACK_LINE = /^(S[0-9A-Z]+\.[\w-]+):/gm;

function runtimeErrorPlace(printed: string, sources: Sources): Place | null {
  const [, line, column] = RUNTIME_ERROR.exec(printed) ?? [];
  const contract = [...printed.matchAll(STACK_LINE)].at(-1)?.[1];
  if (line === undefined || contract === undefined) return null;
  return placeOf({ contract, line: Number(line), column: Number(column) }, sources);
}

function costsOf(evaluations: readonly Evaluation[], sources: Sources): Failure['costs'] {
  const costs = new Map<string, number>();
  for (const { frames, cost } of evaluations) {
    let [id, contract] = ['', ''];
    for (const frame of frames.slice(0, -1)) {
      if (frame.contract !== contract) id = `${frame.contract}.${frame.entry}`;
      contract = frame.contract;
      if (frame.form !== null && sources.hasFunction(contract, frame.form)) id = `${contract}.${frame.form}`;
    }
    const last = frames.at(-1)!;
    if (last.contract !== contract) id = `${last.contract}.${last.entry}`;
    const name = id.slice(id.lastIndexOf('.') + 1);
    // Expressions outside functions belong to the loading of a contract.
    if (sources.hasFunction(id.slice(0, id.lastIndexOf('.')), name)) costs.set(id, (costs.get(id) ?? 0) + cost);
  }
  return [...costs].map(([name, runtime]) => ({ function: name, runtime })).sort((a, b) => b.runtime - a.runtime);
}

/** Explains the failure of a call. */
export function explainFailure({ trace, evaluated, printed }: TraceReport, sources: Sources): Failure {
  const evaluations = evaluated.split('\n').flatMap((line) => parseEvaluation(line) ?? []);
  const origin = originIn(lastPath(evaluations), sources);
  const place = printed === '' ? origin && placeOf(origin, sources) : runtimeErrorPlace(printed, sources);
  return { place, trace, costs: costsOf(evaluations, sources) };
}
