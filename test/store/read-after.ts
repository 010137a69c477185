/** An index for each test of a file, which takes events and is read after them. */
import { afterEach } from 'bun:test';
import type { IngestOptions, ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { type OpenIngest, openNew } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';

type ReadAfter = <T>(events: readonly ReceivedEvent[], read: (reader: Reader) => T | Promise<T>) => Promise<T>;

/** Returns functions that open the index of the present test, and that feed it and read it. Each test has a new index. */
export function indexOfEachTest() {
  let open: OpenIngest | undefined;
  afterEach(() => {
    open?.[Symbol.dispose]();
    open = undefined;
  });
  const opened = (options?: Partial<IngestOptions>): OpenIngest => {
    open ??= openNew(options);
    return open;
  };
  const readAfter: ReadAfter = async (events, read) => {
    const { directory, ingest } = opened();
    for (const event of events) ingest.receive(event);
    using snapshots = snapshotsOf(directory);
    return await snapshots.readLong(async (reader) => read(reader));
  };
  return { opened, readAfter };
}
