/** The command with which a log begins a new timeline, as chainhooks apply it. */
import type { TIMELINE_BEGIN } from '../../store/ingest/timelines.ts';
import type { HookEngine } from '../engine.ts';

/**
 * What was delivered after the entry at which the timeline leaves the other is not known here, so nothing is delivered until
 * somebody says so.
 */
export const timelineCommands = (engine: HookEngine) =>
  ({ 'timeline.begin': () => engine.pauseAll() }) satisfies Record<typeof TIMELINE_BEGIN, () => void>;
