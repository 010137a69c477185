/** WebSockets byte by byte: clients that answer no pings, stop reading, or send many frames at once. */

/** First bytes of a frame that is a text, a PING or a PONG. */
const FRAMES = { TEXT: 0x81, PING: 0x89, PONG: 0x8a } as const;
const CLOSE = 0x88;

/** Makes a frame, masked with zeros. */
export function rawFrame(kind: keyof typeof FRAMES, payload = ''): Buffer {
  const { length } = payload;
  const size = length < 126 ? [length | 0x80] : [126 | 0x80, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([FRAMES[kind], ...size, 0, 0, 0, 0]), Buffer.from(payload)]);
}

/** Returns the code of the close frame among frames of a server; null if there is none. */
function closeCode(frames: Buffer): number | null {
  for (let offset = 0; offset < frames.length; ) {
    if (frames[offset] === CLOSE) return frames.readUInt16BE(offset + 2);
    const size = frames[offset + 1]!;
    if (size === 127) throw new Error('no server sends so long a frame to such a client');
    offset += size === 126 ? 4 + frames.readUInt16BE(offset + 2) : 2 + size;
  }
  return null;
}

/** Connects to a path of a server. Resolves after the server answered. */
export async function rawWebSocket(path: string, to: { api: string }, headers: Readonly<Record<string, string>> = {}) {
  const { hostname, port } = new URL(to.api);
  const head = Promise.withResolvers<void>();
  const end = Promise.withResolvers<number | null>();
  let isClosed = false;
  let bytes = Buffer.alloc(0);
  const headLength = () => bytes.indexOf('\r\n\r\n') + 4;
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_, more) {
        bytes = Buffer.concat([bytes, more]);
        if (headLength() >= 4) head.resolve();
      },
      close() {
        isClosed = true;
        head.resolve();
        end.resolve(closeCode(bytes.subarray(headLength())));
      },
    },
  });
  const fields = { Host: 'x', Upgrade: 'websocket', Connection: 'Upgrade', 'Sec-WebSocket-Version': '13', ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}Sec-WebSocket-Key: ${btoa('0123456789abcdef')}\r\n\r\n`);
  await head.promise;
  return {
    answer: bytes.toString('latin1'),
    isClosed: () => isClosed,
    /** The code with which the server closed the connection; null if it sent none. */
    closed: end.promise,
    /** Sends as many frames at once as the system takes. @returns the number of bytes */
    send: (...frames: Buffer[]): number => socket.write(Buffer.concat(frames)),
    pause: () => socket.pause(),
    end: () => socket.end(),
  };
}

/** Opens a WebSocket. Resolves when it is open, or closed because the server refused it. */
export async function openWebSocket(url: string, headers: Readonly<Record<string, string>> = {}): Promise<WebSocket> {
  const socket = new WebSocket(url, { headers } as never);
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const event of ['open', 'close']) socket.addEventListener(event, () => resolve());
  await promise;
  return socket;
}
