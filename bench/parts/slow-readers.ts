/**
 * Readers of the stream of changes from the first block on, which read so slowly that they never reach its end. Prints a line
 * when all have had their first bytes.
 */
import { connect } from 'node:net';

const [url = '', path = '', count, everyMs] = process.argv.slice(2);
const { hostname, port } = new URL(url);
let begun = 0;

for (let n = 0; n < Number(count); n++) {
  const socket = connect(Number(port), hostname);
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\naccept: text/event-stream\r\n\r\n`);
  let isFirst = true;
  socket.on('data', () => {
    socket.pause();
    setTimeout(() => socket.resume(), Number(everyMs));
    if (!isFirst) return;
    isFirst = false;
    begun += 1;
    if (begun === Number(count)) process.stdout.write('begun\n');
  });
  socket.on('close', () => {
    throw new Error('the server closed a connection');
  });
}
