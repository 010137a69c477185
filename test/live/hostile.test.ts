/** Clients that send invalid messages: each one can lose only its connection. */

import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { MAX_DEPTH } from '../../src/base/json.ts';
import { MAX_MESSAGE, MAX_TEXT } from '../../src/live/connection.ts';
import { MAX_PACKETS } from '../../src/live/socket-io.ts';
import { assertProperty, character } from '../support/property.ts';
import { metricOf } from '../support/servers/metrics.ts';
import { openWebSocket } from '../support/servers/raw-web-socket.ts';
import { serving } from '../support/servers/serving.ts';

const CASES = 30;
const IO = '/socket.io/?EIO=4';
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

type Frame = string | Uint8Array<ArrayBuffer>;

const server = await serving();
afterAll(() => server[Symbol.asyncDispose]());

/**
 * Opens a WebSocket, sends frames, and then a frame with a fixed response.
 * @param last the last frame, whose response includes `answer`
 * @returns the server's close code, or null if it answered the last frame
 */
async function closeCodeAfter(
  path: string,
  frames: readonly Frame[],
  last: string,
  answer: string,
): Promise<number | null> {
  const socket = await openWebSocket(server.api.replace('http', 'ws') + path);
  const { promise, resolve } = Promise.withResolvers<number | null>();
  socket.onclose = ({ code }) => resolve(code);
  socket.onmessage = ({ data }) => {
    if (String(data).includes(answer)) resolve(null);
  };
  for (const frame of [...frames, last]) socket.send(frame);
  const code = await promise;
  socket.close();
  return code;
}

const afterRpc = (...frames: Frame[]) =>
  closeCodeAfter(
    '/extended/v1/ws',
    frames,
    '{"jsonrpc":"2.0","id":"last","method":"subscribe","params":{"event":"block"}}',
    '"id":"last"',
  );
const afterIo = (...frames: Frame[]) =>
  closeCodeAfter(`${IO}&transport=websocket`, frames, '4277["subscribe","block"]', '4377[null]');

/** A session of long polling. */
async function polling() {
  const query = `${IO}&transport=polling`;
  const handshake = await (await server.get(query)).text();
  const { sid } = JSON.parse(handshake.slice(1)) as { sid: string };
  return {
    sid,
    post: (body: string) => server.get(`${query}&sid=${sid}`, { method: 'POST', body }),
    isOpen: async () => (await server.get(`${query}&sid=${sid}`, { method: 'POST', body: '3' })).status === 200,
  };
}

const metric = (name: string) => metricOf(server.api, name);

describe('JSON-RPC', () => {
  const harmless: [name: string, frame: Frame][] = [
    ['40,000 brackets', '['.repeat(40_000)],
    ['a list nested 40,000 times', nested(40_000)],
    [
      'parameters nested 40,000 times with a method',
      `{"jsonrpc":"2.0","id":1,"method":"subscribe","params":${nested(40_000)}}`,
    ],
    ['brackets in a text', JSON.stringify('[{'.repeat(10_000))],
    ['an object instead of text', '{"jsonrpc":"2.0","id":1,"method":{"toString":0},"params":{"event":{"valueOf":0}}}'],
    ['names of prototypes', '{"__proto__":{"jsonrpc":"2.0"},"constructor":1}'],
    ['a text as long as allowed', JSON.stringify('a'.repeat(MAX_TEXT - 2))],
    ['a frame as long as allowed', JSON.stringify('a'.repeat(MAX_MESSAGE - 2))],
    ['bytes that are no UTF-8', new Uint8Array([0xff, 0xfe, 0x00])],
    ['nothing', ''],
  ];
  test.each(harmless)('%s gets an answer, and the connection stays open', async (_, frame) => {
    expect(await afterRpc(frame)).toBeNull();
  });

  test('a message that is too long closes the connection', async () => {
    expect(await afterRpc('a'.repeat(MAX_MESSAGE + 1))).toBe(1009);
  });

  test('any frame leaves the connection open', async () => {
    await assertProperty(
      fc.asyncProperty(fc.oneof(fc.json(), fc.string({ unit: character }), fc.uint8Array()), async (frame) => {
        expect(await afterRpc(typeof frame === 'string' ? frame : new Uint8Array(frame))).toBeNull();
      }),
      { always: 'each frame is sent', cases: CASES },
    );
  });
});

describe('Socket.IO', () => {
  const event = (argument: string) => `42["subscribe",${argument}]`;
  const harmless: [name: string, ...frames: Frame[]][] = [
    ['an object instead of text', '40', event('{"toString":0,"valueOf":0}')],
    ['lists in a list', '40', event('[["block"],1,null]')],
    ['a name of a topic as long as a message', '40', event(JSON.stringify('x'.repeat(MAX_TEXT - 20)))],
    ['events of no meaning', '40', '42["error","x"]', '42["__proto__"]', '42["constructor"]', '42["unsubscribe",{},7]'],
    ['another namespace', '40/other,{}', '40'],
    ['credentials', '40{"token":{"toString":0}}'],
  ];
  test.each(harmless)('%s is ignored, and the connection stays open', async (_, ...frames) => {
    expect(await afterIo(...frames)).toBeNull();
  });

  const refused: [name: string, ...frames: Frame[]][] = [
    ['an event longer than it may be', '40', event(JSON.stringify('x'.repeat(MAX_TEXT)))],
    ['an event nested 40,000 times', '40', event(nested(40_000))],
    ['an event nested one level too deep', '40', event(nested(MAX_DEPTH))],
    ['an event without a name', '40', '42[1]'],
    ['an event that is no list', '40', '42{"a":1}'],
    ['no JSON', '40', '42["subscribe"'],
    ['an acknowledgement', '40', '431[null]'],
    ['attachments', '40', '451-["subscribe",{"_placeholder":true,"num":0}]'],
    ['bytes', '40', new Uint8Array(8)],
    ['a packet that is empty', '40', '4'],
    ['a number of too many digits', '40', `42${'9'.repeat(20)}["subscribe","block"]`],
    ['a second handshake', '40', '40'],
    ["credentials that aren't an object", '40[]'],
  ];
  test.each(refused)('%s closes the connection and is counted', async (_, ...frames) => {
    const before = await metric('socket_io_refused_total');
    expect(await afterIo(...frames)).toBe(1008);
    expect(await metric('socket_io_refused_total')).toBe(before + 1);
    expect(await metric('socket_io_failed_total')).toBe(0);
  });

  test('any packet leaves the connection open, or closes it with code 1000 or 1008', async () => {
    const packet = fc.oneof(
      fc.json().map((json) => `42["subscribe",${json}]`),
      fc.json().map((json) => `42${json}`),
      fc.string({ unit: character }).map((text) => `4${text}`),
      fc.string({ unit: character }),
    );
    await assertProperty(
      fc.asyncProperty(packet, async (frame) => {
        expect([null, 1000, 1008]).toContain(await afterIo('40', frame));
      }),
      { always: 'each packet is sent', cases: CASES },
    );
    expect(await metric('socket_io_failed_total')).toBe(0);
  });

  test('a WebSocket that requests the upgrade from long polling twice is closed', async () => {
    const { sid } = await polling();
    const code = await closeCodeAfter(`${IO}&transport=websocket&sid=${sid}`, ['2probe'], '2probe', 'nothing');
    expect(code).toBe(1008);
  });
});

describe('long polling', () => {
  test('rejects a body with too many packets', async () => {
    const session = await polling();
    for (const [packets, status] of [
      [MAX_PACKETS + 1, 400],
      [MAX_PACKETS, 200],
    ] as const) {
      const response = await session.post(Array(packets).fill('3').join('\x1e'));
      expect([packets, response.status]).toEqual([packets, status]);
    }
  });

  test('rejects a body that is too long, and keeps the session open', async () => {
    const session = await polling();
    expect((await session.post('4'.repeat(MAX_MESSAGE + 1))).status).toBe(413);
    expect(await session.isOpen()).toBe(true);
  });

  test.each([
    ['a second handshake', ['40', '40']],
    ['an event nested too deep', ['40', `42["subscribe",${nested(40_000)}]`]],
    ['bytes', ['bAAAA']],
  ])('%s ends the session', async (_, packets) => {
    const session = await polling();
    expect((await session.post(packets.join('\x1e'))).status).toBe(400);
    expect(await session.isOpen()).toBe(false);
  });

  test('unread answers have a size limit', async () => {
    await using small = await serving({}, undefined, {}, { clientLimits: { maxBacklog: 65_536 } });
    const query = `${IO}&transport=polling`;
    const { sid } = JSON.parse((await (await small.get(query)).text()).slice(1)) as { sid: string };
    const send = (packets: number) =>
      small.get(`${query}&sid=${sid}`, { method: 'POST', body: Array(packets).fill('40/other,').join('\x1e') });
    expect((await send(3_000)).status).toBe(200);
    const rest = await (await small.get(`${query}&sid=${sid}`)).text();
    expect(rest.length).toBeLessThan(2 * 65_536);
    expect((await small.get(`${query}&sid=${sid}`)).status).toBe(400);
  });
});

test('the server still answers after all these clients', async () => {
  expect((await server.get('/extended')).status).toBe(200);
  expect(await metric('websocket_failed_total')).toBe(0);
});
