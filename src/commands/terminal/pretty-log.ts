/** The log as lines for people. */
import { type ServerState, type StateEvent, stateWords } from '../../api/server-state.ts';
import { isLogged, type Level, type Log, type LogEvent, levelOf } from '../../log.ts';
import { printableText } from '../cli/output.ts';
import type { Output } from '../cli/progress.ts';

/** Colors of levels, from the terminal's palette. */
const colors = { debug: '\u001b[2m', info: '\u001b[36m', warn: '\u001b[33m', error: '\u001b[31m' } as const;
const PLAIN = '\u001b[0m';
const MAX_LEVEL = 5;

/** Whether the log has colors on an output, by the process's variables (`TERM`, `NO_COLOR`). */
export const hasColors = (output: Output, variables: NodeJS.ProcessEnv): boolean =>
  output.isTTY === true && variables.TERM !== 'dumb' && (variables.NO_COLOR ?? '') === '';

/** Values that need no quotes; others are written as JSON, which doesn't have control characters. */
const BARE = /^[\w./:@%+,-]+$/;

const valueText = (value: unknown): string =>
  typeof value === 'string' && BARE.test(value) ? value : JSON.stringify(value);

/** The time of day in UTC. @param now Unix milliseconds */
export const timeOfDay = (now: number): string => new Date(now).toISOString().slice(11, 19);

const indent = (text: string): string => `\n    ${text.trimEnd().replaceAll('\n', '\n    ')}`;

/** The state of a server with its reason, as one line. */
export const stateText = (state: ServerState, reason: string | null): string => {
  const words = state.charAt(0).toUpperCase() + stateWords(state).slice(1);
  return reason === null ? words : `${words}: ${reason}`;
};

/** The section that the node's configuration needs, below a line. */
const sectionText = (observer: string | undefined): string => (observer === undefined ? '' : `\n${indent(observer)}\n`);

/** Fields with a special format. */
type Fields = { cause?: unknown; remedy?: string; observer?: string } & Record<string, unknown>;

function textOf({ event, ...fields }: LogEvent): string {
  if (event === 'state_changed' || event === 'state_degraded') {
    const { state, reason, next, observer } = fields as Pick<StateEvent, 'state' | 'reason' | 'next' | 'observer'>;
    return `${stateText(state, reason)}${indent(next)}${sectionText(observer)}`;
  }
  const { cause, remedy, observer, ...others } = fields as Fields;
  const stack = cause instanceof Error ? indent(cause.stack ?? String(cause)) : '';
  const rest = stack === '' && cause !== undefined ? { ...others, cause } : others;
  const values = Object.entries(rest).map(([name, value]) => ` ${name}=${valueText(value)}`);
  return `${event}${values.join('')}${remedy === undefined ? '' : indent(remedy)}${sectionText(observer)}${stack}`;
}

/** An event on one line; the operator's next step and an error's stack follow on separate lines. @param now Unix milliseconds */
export function prettyLine(event: LogEvent, now: number, colored: boolean): string {
  const level = levelOf[event.event];
  const word = level.padEnd(MAX_LEVEL);
  return `${timeOfDay(now)} ${colored ? `${colors[level]}${word}${PLAIN}` : word} ${printableText(textOf(event))}`;
}

export interface PrettyLogOptions {
  level: Level;
  colors: boolean;
  print: (line: string) => void;
  /** The clock, in Unix milliseconds. */
  now: () => number;
}

/** Creates a log for people. */
export function prettyLog({ level, colors: colored, print, now }: PrettyLogOptions): Log {
  return (event) => {
    if (isLogged(event.event, level)) print(prettyLine(event, now(), colored));
  };
}
