/** Data directories with the events of a test. */
import { readFileSync, writeFileSync } from 'node:fs';
import { lazy } from '../../../src/base/cache.ts';
import type { NodeEvent } from '../../../src/devnet/node-event.ts';
import { type DevnetOptions, devnetEvents } from '../../../src/devnet/scenario.ts';
import { silentMachine } from '../../../src/hooks/machine.ts';
import { indexPath, openWriter } from '../../../src/store/files/database.ts';
import {
  type Ingest,
  type IngestEvent,
  type IngestOptions,
  openIngest,
  type ReceivedEvent,
} from '../../../src/store/ingest/ingest.ts';
import { type DataDirectory, dataDirectory } from './data-directory.ts';

const MICROSECONDS_PER_MILLISECOND = 1_000;

/** A simulated node's event as it would reach us at the simulated time. */
export const received = ({ path, body, time }: NodeEvent): ReceivedEvent => ({
  path,
  text: body,
  receivedAt: time * MICROSECONDS_PER_MILLISECOND,
});

/** The events of a simulated node, as they would reach us. */
export const simulatedEvents = (options: DevnetOptions): ReceivedEvent[] => [...devnetEvents(options)].map(received);

/** Returns the entry number of the nth event of a new log, which is also its number of entries. The log's identity is entry 1. */
export const entryOf = (event: number): number => event + 1;

/** Gives all logs the same identity, so that the same events have the same chain values. */
export const SAME_IDENTITY = { uuid: () => '1de27171-0000-4000-8000-000000000001' };

/** Gives a log another identity than {@link SAME_IDENTITY}. */
export const OTHER_IDENTITY = { uuid: () => '07e400e4-0000-4000-8000-000000000002' };

export interface OpenIngest extends Disposable {
  readonly directory: string;
  readonly ingest: Ingest;
  /** The events that ingest emitted, in order. */
  readonly logged: IngestEvent[];
}

/** Opens a directory for writing. Its index has views only if the options request them. `using` closes it and keeps the directory. */
export function openAt(directory: string, options: Partial<IngestOptions> = {}): OpenIngest {
  const logged: IngestEvent[] = [];
  const opened = openIngest({
    directory,
    chainId: null,
    machine: silentMachine,
    views: false,
    random: SAME_IDENTITY,
    log: (event) => logged.push(event),
    ...options,
  });
  let closed = false;
  const close = () => {
    if (!closed) opened.close();
    closed = true;
  };
  return { directory, ingest: { ...opened, close }, logged, [Symbol.dispose]: close };
}

/** The file of an index without a block, which takes longer to make than to copy. */
function emptyIndex(views: boolean): Buffer {
  using directory = dataDirectory();
  openWriter(directory.path, { views }).close();
  return readFileSync(indexPath(directory.path));
}
const [emptyWithViews, emptyWithoutViews] = [lazy(() => emptyIndex(true)), lazy(() => emptyIndex(false))];

/** Creates a directory with an empty index. @param views whether the index has views, as in an index that the program opens */
export function emptyDirectory(views = false): DataDirectory {
  const directory = dataDirectory();
  writeFileSync(indexPath(directory.path), views ? emptyWithViews() : emptyWithoutViews(), { mode: 0o600 });
  return directory;
}

/** A new directory, open for writing; `using` closes and removes it. */
export function openNew(options: Partial<IngestOptions> = {}): OpenIngest {
  const directory = emptyDirectory();
  const open = openAt(directory.path, options);
  return {
    ...open,
    [Symbol.dispose]() {
      open[Symbol.dispose]();
      directory[Symbol.dispose]();
    },
  };
}

/** Returns a new, closed directory with the events. One commit for all events is faster than one for each. */
export function ingestOf(events: Iterable<ReceivedEvent>, options: Partial<IngestOptions> = {}): DataDirectory {
  const directory = emptyDirectory();
  try {
    using open = openAt(directory.path, options);
    for (const event of events) open.ingest.apply(event);
    open.ingest.commit();
  } catch (error) {
    directory[Symbol.dispose]();
    throw error;
  }
  return directory;
}
