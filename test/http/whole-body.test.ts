/** An answer is sent in one write, for any size and at any time. */
import { dlopen, ptr } from 'bun:ffi';
import { describe, expect, test } from 'bun:test';
import { targetHere, targets } from '../../packaging/targets.ts';
import { systemClock } from '../../src/base/clock.ts';
import { listenHttp } from '../../src/http/listener.ts';
import { responder } from '../../src/http/respond.ts';

const respond = responder('test');
const here = targetHere();
/** True if the C library has this name, so that the test can query the kernel through it. */
const hasGlibc = here !== null && targets[here].libc === 'glibc';

/** A server that answers with a text, in a later turn of the event loop. */
function answeringLater(text: string): Bun.Server<unknown> {
  return listenHttp({
    what: 'The test',
    hostname: '127.0.0.1',
    port: 0,
    bodyLimit: 0,
    idleSeconds: 10,
    async fetch() {
      await systemClock.turn();
      return respond.jsonText(200, text, 'tag');
    },
    refuse: (status) => new Response(null, { status }),
    log: () => {},
  });
}

describe('a delayed answer', () => {
  test.each([
    ['a short one', 'x'],
    ['one just below the size that matters', 'x'.repeat(15_359)],
    ['one of that size', 'x'.repeat(15_360)],
    ['one of that size only in bytes', 'ä'.repeat(7_680)],
    ['one with characters of all lengths', 'xä漢😀'.repeat(5_000)],
    ['one that fills the buffers of a connection', 'x'.repeat(20_000_000)],
  ])('has its length and its bytes: %s', async (_, text) => {
    using server = answeringLater(text);
    const response = await fetch(server.url);
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    expect(response.headers.get('etag')).toBe('"tag"');
    expect(await response.text()).toBe(text);
  });

  // The runtime sends each write at once, so that each write is a TCP segment. A long write takes a few segments.
  test.skipIf(!hasGlibc).each([1_000, 15_360, 40_000])('of %d bytes is sent in one piece', async (bytes) => {
    using server = answeringLater('x'.repeat(bytes));
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    let received = 0;
    using socket = await Bun.connect<undefined>({
      hostname: '127.0.0.1',
      port: server.port!,
      socket: {
        data(_, chunk) {
          received += chunk.length;
          if (received > bytes) resolve();
        },
      },
    });
    socket.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n');
    await answered;
    expect(segmentsReceived(socket)).toBeLessThan(5);
  });
});

/** The segments with data that a connection received, as the kernel counts them (`tcpi_data_segs_in` of tcp(7)). */
function segmentsReceived(socket: Bun.Socket): number {
  const [IPPROTO_TCP, TCP_INFO, DATA_SEGMENTS_IN] = [6, 11, 152];
  const { symbols, close } = dlopen('libc.so.6', {
    getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
  });
  try {
    const info = new DataView(new ArrayBuffer(256));
    const length = new Uint32Array([info.byteLength]);
    expect(symbols.getsockopt(Reflect.get(socket, 'fd'), IPPROTO_TCP, TCP_INFO, ptr(info), ptr(length))).toBe(0);
    return info.getUint32(DATA_SEGMENTS_IN, true);
  } finally {
    close();
  }
}
