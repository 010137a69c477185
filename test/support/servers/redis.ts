/** Redis servers of a test. */
import { hasCode } from '../../../src/base/errors.ts';
import { freePort, programNamed, type ServerProcess, serverDirectory, startAsServer } from './system-servers.ts';

const program = programNamed('redis-server');

/** Whether a Redis server is installed. */
export const hasRedis = program !== null;

export interface RedisServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Kills the server, as a crash does; its file stays. */
  kill(): Promise<void>;
  /** Starts it again on the same port. */
  restart(): Promise<void>;
}

/** Whether a server answers: it listens before it has read its file. */
async function isReady(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  try {
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: { data: (_, answer) => resolve(answer.toString().startsWith('+PONG')), close: () => resolve(false) },
    });
    socket.write('PING\r\n');
    const ready = await promise;
    socket.end();
    return ready;
  } catch (error) {
    if (!hasCode(error, 'ECONNREFUSED')) throw error;
    return false;
  }
}

/** Starts one server, which appends each write to a file and syncs it. */
export async function startRedis(): Promise<RedisServer> {
  const directory = serverDirectory();
  const port = freePort();
  const command = [
    ...[program!, '--port', `${port}`, '--bind', '127.0.0.1', '--dir', directory.path],
    ...['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
  ];
  const start = () => startAsServer(command, () => isReady(port));
  let running: ServerProcess | null = await start();
  async function kill(): Promise<void> {
    await running?.end('SIGKILL');
    running = null;
  }
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    kill,
    async restart() {
      running = await start();
    },
    async [Symbol.asyncDispose]() {
      await kill();
      directory[Symbol.dispose]();
    },
  };
}
