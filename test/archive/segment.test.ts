/** The format of segments: reading returns the written entries, and detects every change. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  isComplete,
  isOpenName,
  openName,
  parseSegmentName,
  readSegment,
  SEGMENT,
  SegmentError,
  segmentContent,
  segmentName,
} from '../../src/archive/segment.ts';
import { compressPart } from '../../src/storage/object-store.ts';
import { CHAIN_START, type Entry, firstEntries, nextChain, withheld } from '../../src/store/log/entry.ts';
import { failureOf } from '../support/failure.ts';
import { assertProperty, character, Seen } from '../support/property.ts';

interface Event {
  path: string;
  text: string;
  receivedAt: number;
}

/** Entries of a journal with these events after others. */
function entriesOf(events: readonly Event[], before: Uint8Array = CHAIN_START, first = 1): Entry[] {
  let chain = before;
  return events.map((event, index) => {
    const entry = { id: first + index, ...event };
    chain = nextChain(chain, entry);
    return { ...entry, chain };
  });
}

const text = fc.string({ unit: character, maxLength: 40 });
const event = fc.record({
  path: fc.oneof(fc.constantFrom('/new_block', '/stackside/command'), text),
  text: fc.oneof(text, fc.constantFrom('', '\n', '{"a":\n1}\n', '\ufeff{}')),
  receivedAt: fc.integer({ min: -1_000, max: Number.MAX_SAFE_INTEGER }),
});
const events = fc.array(event, { minLength: 1, maxLength: 6 });

const pack = (before: Uint8Array, entries: readonly Entry[]) => compressPart(segmentContent(before, entries));
const rangeOf = (entries: readonly Entry[]) => ({
  first: entries[0]!.id,
  last: entries.at(-1)!.id,
  chain: entries.at(-1)!.chain,
});

/** Returns the reason why bytes aren't a valid segment. */
const refusal = async (bytes: Uint8Array, named: Parameters<typeof readSegment>[1] = null): Promise<string> =>
  (await failureOf(SegmentError, readSegment(bytes, named))).message;

test('any entries, including a withheld one, are read as they were written', () =>
  assertProperty(
    fc.asyncProperty(events, fc.integer({ min: 1, max: 2 ** 40 }), fc.nat(6), async (drawn, first, hidden) => {
      const before = new Uint8Array(32).fill(first % 256);
      const whole = entriesOf(drawn, before, first);
      const entries = whole.map((entry, index) => (index === hidden ? withheld(entry) : entry));
      const read = await readSegment(await pack(before, entries), rangeOf(entries));
      expect(read.entries).toEqual(entries);
      expect(read.previousChain).toEqual(before);
      expect(parseSegmentName(segmentName(read))).toEqual(rangeOf(entries));
    }),
    { always: 'each case has entries that are written and read' },
  ));

test('a segment with any changed byte is rejected, or returns the same entries', () => {
  const seen = new Seen({ 'its header': 5, 'its entries': 5 });
  return assertProperty(
    fc.asyncProperty(events, fc.nat(), fc.integer({ min: 1, max: 255 }), async (drawn, store, change) => {
      const entries = entriesOf(drawn);
      const content = segmentContent(CHAIN_START, entries);
      const offset = store % content.length;
      seen.add(offset <= content.indexOf('\n') ? 'its header' : 'its entries');
      content[offset] = content[offset]! ^ change;
      const outcome = await readSegment(await compressPart(content), rangeOf(entries)).catch((error: unknown) => error);
      // A header may hold the same values in different bytes.
      if (!(outcome instanceof SegmentError)) expect(outcome).toMatchObject({ entries });
      else expect(outcome.message).not.toBe('');
    }),
    { seen },
  );
});

const three = entriesOf([1, 2, 3].map((n) => ({ path: '/new_block', text: `{"block_height":${n}}`, receivedAt: n })));

describe('a segment is rejected with the reason if it has', () => {
  const content = segmentContent(CHAIN_START, three).toString();
  const [header = '', ...body] = content.split('\n');
  /** Returns the segment with other lines after the header and a checksum that matches them. */
  const withBody = (lines: readonly string[]) => {
    const text = lines.join('\n');
    const sha256 = new Bun.CryptoHasher('sha256').update(text).digest('hex');
    return compressPart(Buffer.from(`${JSON.stringify({ ...JSON.parse(header), sha256 })}\n${text}`));
  };

  test('truncated, damaged or invalid data', async () => {
    const bytes = await pack(CHAIN_START, three);
    expect(await refusal(bytes.subarray(0, bytes.length >> 1))).not.toBe('');
    expect(await refusal(bytes.subarray(1))).toBe("it can't be decompressed");
    expect(await refusal(await compressPart(Buffer.from('{}\n')))).toBe("its first line isn't a header");
    expect(
      await refusal(await compressPart(Buffer.from(content.replace('"block_height":2', '"block_height":9')))),
    ).toBe('its checksum is wrong');
  });

  test('a newer format', async () => {
    const newer = JSON.stringify({ ...JSON.parse(header), format: 2 });
    expect(await refusal(await compressPart(Buffer.from(`${newer}\n`)))).toBe(
      'it has format 2, but this version reads formats up to 1',
    );
  });

  test('the name of another segment', async () => {
    const named = { ...rangeOf(three), first: 2 };
    expect(await refusal(await pack(CHAIN_START, three), named)).toBe(
      "it contains entries 1 to 3, which doesn't match its name",
    );
  });

  test('an entry that is cut, missing or too long', async () => {
    expect(await refusal(await withBody(body.slice(0, 3)))).toBe('the header of entry 2 is missing or invalid');
    expect(await refusal(await withBody([...body.slice(0, 2), '']))).toBe(
      'it ends before entry 3, the last one that it names',
    );
    expect(await refusal(await withBody([...body.slice(0, 6), ...body.slice(0, 2), '']))).toBe(
      'it continues after entry 3, the last one that it names',
    );
    expect(await refusal(await withBody(['{"received_at":1,"path":"/","bytes":500}', 'short', '']))).toBe(
      'the text of entry 1 has a different length than its header states',
    );
  });

  test("entries that don't match the chain values", async () => {
    const forged = body.map((line) => line.replace('"block_height":2', '"block_height":9'));
    expect(await refusal(await withBody(forged))).toBe("the chain value of entry 3 doesn't match entries 1 to 3");
    const swapped = [...body.slice(2, 4), ...body.slice(0, 2), ...body.slice(4)];
    expect(await refusal(await withBody(swapped))).toBe("the chain value of entry 3 doesn't match entries 1 to 3");
  });
});

describe('a segment with more content than a reader decompresses unverified', () => {
  const large = `{"block_height":2,"padding":"${' '.repeat(17_000_000)}"}`;
  const plain = entriesOf([
    { path: '/stackside/command', text: '{"withheld":1}', receivedAt: 1 },
    { path: '/new_block', text: '{"block_height":1}', receivedAt: 2 },
    { path: '/new_block', text: large, receivedAt: 3 },
  ]);
  const entries = plain.map((entry, index) => (index === 0 ? withheld(entry) : entry));

  test('is read as it was written', async () => {
    const read = await readSegment(await pack(CHAIN_START, entries), rangeOf(entries));
    expect(Bun.deepEquals(read.entries, entries)).toBe(true);
  });

  test('is rejected by its chain value before it is decompressed as a whole', async () => {
    const [header = '', ...lines] = segmentContent(CHAIN_START, entries).toString().split('\n');
    const forged = await compressPart(
      Buffer.from([header, ...lines].join('\n').replace('"block_height":2', '"block_height":9')),
    );
    expect(await refusal(forged, rangeOf(entries))).toBe("the chain value of entry 3 doesn't match entries 1 to 3");
    const blank = await compressPart(Buffer.alloc(17_000_000, ' '));
    expect(await refusal(blank, rangeOf(entries))).toBe("its first line isn't a header");
    const bytes = await pack(CHAIN_START, entries);
    expect(await refusal(bytes.subarray(0, bytes.length - 9), rangeOf(entries))).not.toBe('');
    const cut = await compressPart(Buffer.from([header, ...lines].join('\n').slice(0, -9)));
    expect(await refusal(cut, rangeOf(entries))).toBe('it ends within an entry');
  });

  test('is rejected as an open part, which has no chain value to verify', async () => {
    expect(await refusal(await pack(CHAIN_START, entries))).toBe('it has more than 16000000 bytes');
  });
});

test('a segment ends with the entry that reaches a limit', () => {
  const small = { path: '/new_mempool_tx', text: '[]', receivedAt: 1 };
  const bySize = entriesOf([small, { ...small, text: 'x'.repeat(SEGMENT.bytes) }, small]);
  expect([...firstEntries(bySize, SEGMENT)].map(({ id }) => id)).toEqual([1, 2]);
  expect(isComplete(bySize.slice(0, 1), SEGMENT)).toBe(false);
  expect(isComplete(bySize.slice(0, 2), SEGMENT)).toBe(true);
  const byNumber = Array.from({ length: SEGMENT.entries }, (_, index) => ({ ...bySize[0]!, id: index + 1 }));
  expect(isComplete(byNumber.slice(1), SEGMENT)).toBe(false);
  expect(isComplete(byNumber, SEGMENT)).toBe(true);
});

test('segment names sort in the order of entries, and other names are rejected', () => {
  const name = (first: number) => segmentName({ first, last: first + 1, chain: three[0]!.chain });
  expect([1, 9, 10, 999_999].map(name).toSorted()).toEqual([1, 9, 10, 999_999].map(name));
  expect(parseSegmentName('segment-1-2-00.zst')).toBeNull();
  expect(parseSegmentName(`${name(1)}.partial`)).toBeNull();
  expect(openName('stacks-1.example.org', null)).toBe('open-stacks-1.example.org.zst');
  expect(openName('a/b ü', 7)).toBe('open-a_b__-7.zst');
  expect(isOpenName(openName('x'.repeat(200), 7))).toBe(true);
  expect(isOpenName('open-one.zst.partial')).toBe(false);
});
