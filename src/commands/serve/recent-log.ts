/** The latest log events in memory, for the operator's console. */
import type { SystemLog } from '../../api/stackside/system.ts';
import { isLogged, type Level, type Log, type LogEvent, levelOf } from '../../log.ts';

interface RecentEvent {
  at: number;
  /** Number of the event, since many may have the same time. */
  order: number;
  event: LogEvent;
}

/** The events that one thread logged, newest first. */
export type ThreadLog = readonly Omit<SystemLog['recent'][number], 'thread'>[];

/** Maximum recent events, separately for warnings and errors, and for others, which are more frequent. */
const MAX_RECENT = 100;
/** Maximum characters of a text in an event. */
const MAX_TEXT = 1_000;

const cut = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);

function fieldsOf({ event: _, ...fields }: LogEvent): string {
  return JSON.stringify(fields, (_key, value: unknown) => {
    if (value instanceof Error) return cut(String(value));
    if (typeof value === 'bigint') return String(value);
    return typeof value === 'string' ? cut(value) : value;
  });
}

const isSerious = (event: LogEvent['event']): boolean => isLogged(event, 'warn');

/**
 * Stores the events of a log from level `info` on, even if it prints fewer.
 * @param log gets every event @param minLevel the minimum level that it prints @param now the clock, in Unix milliseconds
 */
export function recentLog(log: Log, minLevel: Level, now: () => number): { log: Log; read(): ThreadLog } {
  const [serious, ordinary]: [RecentEvent[], RecentEvent[]] = [[], []];
  let order = 0;

  function add(event: LogEvent): void {
    if (!isLogged(event.event, minLevel === 'debug' ? 'debug' : 'info')) return;
    const recent = isSerious(event.event) ? serious : ordinary;
    recent.push({ at: Math.floor(now() / 1_000), order: ++order, event });
    if (recent.length > MAX_RECENT) recent.shift();
  }

  return {
    log(event) {
      add(event);
      log(event);
    },
    read: () =>
      [...serious, ...ordinary]
        .sort((a, b) => b.order - a.order)
        .map(({ at, event }) => ({ at, event: event.event, level: levelOf[event.event], fields: fieldsOf(event) })),
  };
}

/** The events of all threads. @param threads the main one first; null for one that did not answer */
export const systemLog = (threads: readonly (ThreadLog | null)[]): SystemLog => ({
  recent: threads
    .flatMap((log, thread) => (log ?? []).map((event) => ({ thread, ...event })))
    .sort((a, b) => b.at - a.at),
});
