import { expect, test } from 'bun:test';
import { clientCommands, receivedAtOf } from '../../src/node/snp/protocol.ts';

const NOW = 1_800_000_000_000;
const message = { id: '1-0', sequence: 1, path: '/new_block', body: '{}', timestamp: null };

test.each([
  ['1700000000', 1_700_000_000_000_000],
  ['1700000000.5', 1_700_000_000_500_000],
  ['1700000000123', 1_700_000_000_123_000],
  ['1700000000123456', 1_700_000_000_123_456],
  ['2023-11-14T22:13:20.250Z', 1_700_000_000_250_000],
  // A time in the future, and values that aren't times.
  ['1900000000000', NOW * 1_000],
  ['yesterday', NOW * 1_000],
  ['17000000001234567890', NOW * 1_000],
  [null, NOW * 1_000],
])('the time %p is parsed, and is the present if it is invalid', (timestamp, microseconds) => {
  expect(receivedAtOf({ ...message, timestamp }, NOW)).toBe(microseconds);
});

const { parseMessages, handshake } = clientCommands('mainnet:', 'abc');
const reply = (...entries: unknown[]) => ({ 'mainnet:client:abc': entries });

test('messages are read by their field names, in any order', () => {
  const fields = ['body', '{}', 'path', '/new_block', 'other', 'x', 'timestamp', '5'];
  expect(parseMessages(reply(['12-0', fields], ['13-0', null]))).toEqual([
    { id: '12-0', message: { id: '12-0', sequence: 12, path: '/new_block', body: '{}', timestamp: '5' } },
    { id: '13-0', message: null },
  ]);
  expect(parseMessages(null)).toEqual([]);
});

test.each([
  ['Message 12-0 has no field body', reply(['12-0', ['path', '/new_block']])],
  ['Message 12-0 has no field path', reply(['12-0', ['body', 'path']])],
  ['Message 12-0 has no fields', reply(['12-0', 'path'])],
  ['The id x of a message has no sequence number', reply(['x', ['path', '/', 'body', '']])],
  ['An entry of the stream has no id', reply('x')],
  ["Redis answered a read with data that isn't a stream", reply()['mainnet:client:abc']],
  ["Redis answered a read with data that isn't a stream", { other: [] }],
])('an invalid reply is rejected: %s', (problem, answer) => {
  expect(() => parseMessages(answer)).toThrow(new Error(problem));
});

test('a handshake requests a stream and creates it', () => {
  const [request, creation] = handshake({ messageId: '7-0', tip: { hash: '0xab', height: 3 } });
  expect(request?.join(' ')).toBe(
    'XADD mainnet:connection_stream * client_id abc app_name stackside last_index_block_hash 0xab last_block_height 3 last_message_id 7-0 selected_paths "*"',
  );
  expect(creation?.join(' ')).toBe('XGROUP CREATE mainnet:client:abc primary_group $ MKSTREAM');
});
