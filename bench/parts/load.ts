/**
 * Requests paths in turn over persistent connections, with one request at a time per connection. Prints the number of
 * responses in the measured time and their latency. It uses raw sockets and prepared requests, so that it is several times
 * faster than a server.
 */
import { readFileSync } from 'node:fs';

const [address, connectionCount, warmUpSeconds, seconds, how, ...paths] = process.argv.slice(2);
const { hostname, port } = new URL(address!);
const requestFor = (path: string): Buffer =>
  Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`, 'latin1');
const requests = paths.map(requestFor);

/** Returns the next request. An unused parameter makes each URL new, also to a server that an earlier process used. */
function nextRequest(): Buffer {
  const place = turn++ % paths.length;
  return how === 'distinct' ? requestFor(`${paths[place]}?turn=${process.pid}-${turn}`) : requests[place]!;
}

const OK = Buffer.from('HTTP/1.1 200');
const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = Buffer.from('\r\nContent-Length: ');

let turn = 0;
let measuring = false;
let stopped = false;
let bytes = 0;
let answered = 0;
const times: number[] = [];

interface Connection {
  sentAt: number;
  /** The start of a response whose headers aren't complete. */
  head: Buffer | null;
  /** Missing bytes of the body. */
  missing: number;
}

function fail(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

/** Parses Content-Length. */
function bodyLength(head: Buffer): number {
  const offset = head.indexOf(LENGTH);
  if (offset < 0) fail(`an answer without Content-Length: ${head.toString()}`);
  let length = 0;
  for (let i = offset + LENGTH.length; head[i]! >= 48 && head[i]! <= 57; i++) length = length * 10 + head[i]! - 48;
  return length;
}

function send(socket: Bun.Socket<Connection>): void {
  if (stopped) return;
  socket.data.sentAt = performance.now();
  socket.write(nextRequest());
}

function receive(socket: Bun.Socket<Connection>, chunk: Buffer): void {
  const connection = socket.data;
  if (measuring) bytes += chunk.length;
  if (connection.missing > 0) {
    connection.missing -= chunk.length;
  } else {
    const head = connection.head === null ? chunk : Buffer.concat([connection.head, chunk]);
    const end = head.indexOf(HEAD_END);
    // The runtime reuses the chunk's memory for the next one.
    connection.head = end < 0 ? Buffer.from(head) : null;
    if (end < 0) return;
    if (head.compare(OK, 0, OK.length, 0, OK.length) !== 0) fail(`not answered with 200: ${head.toString()}`);
    connection.missing = bodyLength(head) - (head.length - end - HEAD_END.length);
  }
  if (connection.missing > 0) return;
  if (connection.missing < 0) fail('more bytes than an answer has');
  answered += 1;
  if (measuring) times.push(performance.now() - connection.sentAt);
  send(socket);
}

for (let n = 0; n < Number(connectionCount); n++) {
  const socket = await Bun.connect<Connection>({
    hostname,
    port: Number(port),
    data: { sentAt: 0, head: null, missing: 0 },
    socket: {
      data: receive,
      close() {
        if (!stopped) fail('the server closed a connection');
      },
      error: (_, error) => fail(String(error)),
    },
  });
  send(socket);
}
/** Returns the seconds in which this thread waited for a core; 0 if unknown. */
function secondsWaited(): number {
  if (process.platform !== 'linux') return 0;
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[1]) / 1e9;
}

await Bun.sleep(Number(warmUpSeconds) * 1000);
measuring = true;
const waitedBefore = secondsWaited();
const start = performance.now();
const cpu = process.cpuUsage();
await Bun.sleep(Number(seconds) * 1000);
measuring = false;
const elapsed = (performance.now() - start) / 1000;
const { user, system } = process.cpuUsage(cpu);
const waited = secondsWaited() - waitedBefore;
stopped = true;
times.sort((a, b) => a - b);
process.stdout.write(
  JSON.stringify({
    perSecond: times.length / elapsed,
    p50: times[Math.floor(times.length * 0.5)],
    p99: times[Math.floor(times.length * 0.99)],
    bytesEach: bytes / times.length,
    /** All responses, including the warm-up's. */
    answered,
    /** The share of its core that this program used. Near 1, this program limits the rate. */
    busy: (user + system) / 1e6 / elapsed,
    /** The share of the time in which it waited for its core. These waits increase the times above. */
    waited: waited / elapsed,
  }),
);
process.exit(0);
