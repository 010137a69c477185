/** The latest log events in memory, for the operator's console. */
import type { SystemLog } from '../../api/stackside/system.ts';
import { isLogged, type Level, type Log, type LogEvent, levelOf } from '../../log.ts';

interface RecentEvent {
  at: number;
  /** Number of the event, since many may have the same time. */
  order: number;
  event: LogEvent;
}

/** The events that one thread logged. */
export interface ThreadLog {
  kinds: SystemLog['kinds'];
  recent: readonly Omit<SystemLog['recent'][number], 'thread'>[];
}

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
  const counts = new Map<LogEvent['event'], { count: number; last: number }>();
  const [serious, ordinary]: [RecentEvent[], RecentEvent[]] = [[], []];
  let order = 0;

  function add(event: LogEvent): void {
    const time = Math.floor(now() / 1_000);
    counts.set(event.event, { count: (counts.get(event.event)?.count ?? 0) + 1, last: time });
    if (!isLogged(event.event, minLevel === 'debug' ? 'debug' : 'info')) return;
    const recent = isSerious(event.event) ? serious : ordinary;
    recent.push({ at: time, order: ++order, event });
    if (recent.length > MAX_RECENT) recent.shift();
  }

  return {
    log(event) {
      add(event);
      log(event);
    },
    read: () => ({
      kinds: Object.entries(levelOf).map(([event, level]) => {
        const { count = 0, last = null } = counts.get(event as LogEvent['event']) ?? {};
        return { event, level, count, last_at: last };
      }),
      recent: [...serious, ...ordinary]
        .sort((a, b) => b.order - a.order)
        .map(({ at, event }) => ({ at, event: event.event, level: levelOf[event.event], fields: fieldsOf(event) })),
    }),
  };
}

/** The events of all threads. @param threads the main one first; null for one that did not answer */
export function systemLog(threads: readonly (ThreadLog | null)[]): SystemLog {
  const logs = threads.filter((log) => log !== null);
  const byEvent = Map.groupBy(
    logs.flatMap(({ kinds }) => kinds),
    ({ event }) => event,
  );
  return {
    kinds: [...byEvent.values()].flatMap((same) =>
      same.slice(0, 1).map((kind) => ({
        ...kind,
        count: same.reduce((sum, { count }) => sum + count, 0),
        last_at: same.reduce<number | null>(
          (last, { last_at: time }) => (time === null ? last : Math.max(time, last ?? 0)),
          null,
        ),
      })),
    ),
    recent: threads
      .flatMap((log, thread) => (log?.recent ?? []).map((event) => ({ thread, ...event })))
      .sort((a, b) => b.at - a.at),
  };
}
