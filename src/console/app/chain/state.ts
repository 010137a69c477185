/** The state of the chain in words, as every page shows it. */
import { ago, bytes, count, duration, exactTime } from './format.ts';
import type { ServerStatus } from './types.ts';

/** The height of the index at a time, in Unix seconds. */
export interface HeightAt {
  at: number;
  height: number;
}

/** Seconds for which heights are kept. */
const HEIGHTS_OF = 120;

/** The heights of the last minutes, oldest first, with a new one. @param height null before the first block */
export const withHeight = (heights: readonly HeightAt[], height: number | null, now: number): readonly HeightAt[] =>
  height === null ? [] : [...heights.filter(({ at }) => at > now - HEIGHTS_OF), { at: now, height }];

interface ChainState {
  tone: 'ok' | 'wait' | 'bad' | 'plain';
  /** The state in a word or two. */
  word: string;
  /** What to know of it: heights and the time left, or since when; null if there is nothing to say. */
  detail: string | null;
}

/** Seconds after which a newest block is old. Blocks come every few seconds; a Bitcoin block may take an hour. */
const OLD = 3_600;

/** Blocks per second over some heights; null if the height did not grow. */
export function blocksPerSecond(heights: readonly HeightAt[]): number | null {
  const [first, last] = [heights[0], heights.at(-1)];
  if (first === undefined || last === undefined || last.height <= first.height) return null;
  return (last.height - first.height) / (last.at - first.at);
}

/** `45,000 of 200,000, 2 h 5 min left`. */
function progress(height: number, nodeHeight: number, heights: readonly HeightAt[]): string {
  const rate = blocksPerSecond(heights);
  const left = rate === null ? '' : `, ${duration((nodeHeight - height) / rate)} left`;
  return `${count(height)} of ${count(nodeHeight)}${left}`;
}

/**
 * The state of the chain.
 * @param status null before the first answer
 * @param isAway whether the server did not answer the last request
 * @param now Unix seconds
 */
export function chainState(
  status: ServerStatus | null,
  isAway: boolean,
  heights: readonly HeightAt[],
  now: number,
): ChainState {
  if (isAway) return { tone: 'bad', word: 'Server away', detail: 'it does not answer' };
  if (status === null) return { tone: 'plain', word: 'Connecting…', detail: null };
  const { state, index, node } = status;
  const { height, tip_age_seconds: age } = index;
  switch (state) {
    case 'empty':
      return { tone: 'wait', word: 'No block yet', detail: 'waiting for the node' };
    case 'failing':
      return { tone: 'bad', word: 'Writes fail', detail: null };
    case 'unreadable':
      return { tone: 'bad', word: 'Index unreadable', detail: null };
    case 'stalled':
      return { tone: 'bad', word: 'No events come', detail: null };
    case 'behind':
      // A host of a cluster may lack entries of the log, and yet have all blocks of its node.
      if (node.height === null || height === null || node.height <= height)
        return { tone: 'wait', word: 'Behind', detail: null };
      return { tone: 'wait', word: 'Catching up', detail: progress(height, node.height, heights) };
    case 'stale':
    case 'ready': {
      const since = age === null ? null : exactTime(now - age).slice(0, 16);
      const isOld = state === 'stale' || (age !== null && age > OLD);
      if (node.height !== null) {
        return { tone: 'ok', word: 'Live', detail: isOld && age !== null ? `newest block ${ago(age)}` : null };
      }
      if (isOld) return { tone: 'bad', word: 'Stale', detail: `since ${since} UTC` };
      return { tone: 'wait', word: 'Node away', detail: age === null ? null : `newest block ${ago(age)}` };
    }
  }
}

/** The free space of the disk, and when it is full at the rate that was measured. */
export function diskText({ free_bytes: free, growth }: ServerStatus['disk']): string {
  if (free === null) return 'index and journal; the free space is not known';
  if (growth === null) return `${bytes(free)} free; when the disk is full is known after an hour`;
  const { full_in_seconds: full, measured_seconds: measured, bytes_per_day: lost } = growth;
  if (full === null) return `${bytes(free)} free; the disk did not fill in the last ${duration(measured)}`;
  return `${bytes(free)} free; full in ${duration(full)} at ${bytes(lost)} a day, as in the last ${duration(measured)}`;
}

const milliseconds = (value: number): string => `${Number(value.toPrecision(3))} ms`;

type Latency = NonNullable<ServerStatus['events']>['latency'];

/** How long the last events took until they were on the disk. */
export const latencyFigure = (latency: Latency): { value: string; note: string } =>
  latency === null
    ? { value: '–', note: 'none came since the start' }
    : {
        value: milliseconds(latency.median_ms),
        note: `median until it is on the disk; 99 of 100 within ${milliseconds(latency.p99_ms)}`,
      };

/** How far the archive of the log is. */
export const archiveFigure = (
  archive: Omit<NonNullable<ServerStatus['archive']>, 'base'>,
): { value: string; note: string } => ({
  value: archive.behind_entries === 0 ? 'Complete' : `Behind by ${duration(Math.ceil(archive.behind_seconds))}`,
  note: archive.failing
    ? `the last attempt failed, the log says why; it has entries up to ${count(archive.entry)}`
    : `entries up to ${count(archive.entry)}`,
});

/** How far the bases of the archive are, from which a restore begins. @param now Unix seconds */
export function baseFigure(
  base: NonNullable<ServerStatus['archive']>['base'],
  now: number,
): { value: string; note: string } {
  const { entry, height, made_at: madeAt, making, failing } = base;
  const value = madeAt === null ? 'None yet' : `${duration(Math.max(0, now - madeAt))} old`;
  if (making !== null) {
    const { number, of, table, sent_bytes: sent } = making;
    return { value, note: `one is being made: table ${number} of ${of}, ${table}; ${bytes(sent)} sent` };
  }
  if (failing) return { value, note: 'the last attempt to make one failed, the log says why' };
  if (entry === null || height === null) return { value, note: 'a restore begins with the first entry' };
  return { value, note: `of height ${count(height)}, entry ${count(entry)}` };
}

/** The name of an alert in words: `StacksideCannotWrite` gives `Cannot write`. */
export const alertTitle = (name: string): string =>
  name.replace(/^Stackside(?=.)/, '').replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
