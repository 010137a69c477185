/** Decoded values of logs and calls, and the indexes of these values. */
import type { ClarityValue } from '../../src/codec/clarity.ts';
import type { OpenIngest } from '../support/data/ingest.ts';

/** Returns the parts of a value that aren't tuples, with their paths. */
export function* leaves(value: ClarityValue, path: string[] = []): Generator<[path: string, value: ClarityValue]> {
  if (value.type === 'some' || value.type === 'ok' || value.type === 'err') yield* leaves(value.value, path);
  else if (value.type !== 'tuple') yield [path.join('.'), value];
  else for (const [name, entry] of value.value) yield* leaves(entry, [...path, name]);
}

/** Runs one batch of the value indexes; null if they are complete. If nobody else writes, a local write completes at once. */
export function batchOf({ ingest }: OpenIngest): ReturnType<typeof ingest.valueIndexes.batch> {
  let batch: ReturnType<typeof ingest.valueIndexes.batch> = null;
  void ingest.local(() => {
    batch = ingest.valueIndexes.batch();
  });
  return batch;
}
