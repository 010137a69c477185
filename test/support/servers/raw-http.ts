/** Requests byte by byte, as no client library would make them. */

export interface RawAnswer {
  /** Status code; 0 if the connection was closed without a status line. */
  status: number;
  /** The status line and the headers, in lower case. */
  head: string;
}

/** The response `100 Continue`, which Bun may send twice before the final response. */
const INTERIM = /^(?:HTTP\/1\.1 100 [^\r]*\r\n(?:[^\r]+\r\n)*\r\n)+/;

/**
 * Sends bytes and waits for the head of an answer, or for the end of the connection.
 * @param request each character a byte
 */
export async function rawExchange(origin: string, request: string): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin);
  const { promise, resolve } = Promise.withResolvers<void>();
  let rest = Buffer.from(request, 'latin1');
  let received = '';
  const write = (socket: Bun.Socket): void => {
    rest = rest.subarray(socket.write(rest));
  };
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open: write,
      drain: write,
      data(_, bytes) {
        received = (received + bytes.toString('latin1')).replace(INTERIM, '');
        if (received.includes('\r\n\r\n')) resolve();
      },
      close: () => resolve(),
    },
  });
  await promise;
  socket.terminate();
  const head = received.split('\r\n\r\n')[0]!.toLowerCase();
  return { status: Number(head.split(' ')[1] ?? 0), head };
}
