/** PostgreSQL servers of a test: one, or several with commits that wait for a standby. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { until } from '../time/until.ts';
import { freePort, programNamed, runAsServer, serverDirectory, startAsServer } from './system-servers.ts';

const [postgres, initdb, basebackup] = ['postgres', 'initdb', 'pg_basebackup'].map(programNamed);

/** Whether PostgreSQL and its tools are installed. */
export const hasPostgres = Boolean(postgres && initdb && basebackup);

const USER = 'stackside';
const DATABASE = 'postgres';

export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  /** By the superuser, to the only database. */
  readonly url: string;
  /** Runs statements as the superuser. */
  run<Row = unknown>(statement: string): Promise<Row[]>;
  /** Ends the server as a crash does; its data stay. */
  kill(): Promise<void>;
  /** Starts it again on the same port, with the data it has. */
  restart(): Promise<void>;
}

/** Returns the settings for tests: real syncs, little memory, and only a loopback address. */
const configuration = (port: number, directory: string): string[] => [
  `port = ${port}`,
  "listen_addresses = '127.0.0.1'",
  `unix_socket_directories = '${directory}'`,
  'fsync = on',
  'shared_buffers = 16MB',
  'autovacuum = off',
];

/** Reports whether the server of a data directory accepts connections, as its PID file shows. */
function isReady(data: string): boolean {
  const file = join(data, 'postmaster.pid');
  return existsSync(file) && readFileSync(file, 'utf8').split('\n')[7]?.trim() === 'ready';
}

/**
 * Starts a server.
 * @param make makes its data directory @param port its TCP port @param settings additional configuration
 */
async function serverOf(
  make: (data: string) => Promise<void>,
  { port = freePort(), settings = [] }: { port?: number; settings?: readonly string[] } = {},
): Promise<PostgresServer> {
  const directory = serverDirectory();
  const data = join(directory.path, 'data');
  await make(data);
  writeFileSync(join(data, 'postgresql.conf'), [...configuration(port, directory.path), ...settings, ''].join('\n'));
  const start = () => startAsServer([postgres!, '-D', data], () => isReady(data));
  let running: Awaited<ReturnType<typeof start>> | null = await start();
  const url = `postgres://${USER}@127.0.0.1:${port}/${DATABASE}`;
  let sql = new SQL(url, { max: 1 });

  async function kill(): Promise<void> {
    await running?.end('SIGQUIT');
    running = null;
    await sql.close();
  }

  return {
    port,
    url,
    async run<Row>(statement: string) {
      return (await sql.unsafe(statement)) as Row[];
    },
    kill,
    async restart() {
      running = await start();
      sql = new SQL(url, { max: 1 });
    },
    async [Symbol.asyncDispose]() {
      await kill();
      directory[Symbol.dispose]();
    },
  };
}

const initialise = (data: string): Promise<void> =>
  runAsServer(initdb!, '-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync');

/** Starts one server. */
export const startPostgres = (): Promise<PostgresServer> => serverOf(initialise);

/** A primary and its standbys: a commit waits until a standby has it on disk. */
export interface PostgresQuorum extends AsyncDisposable {
  /** The addresses of all servers; they stay the same. */
  readonly url: string;
  primary(): PostgresServer;
  standbys(): readonly PostgresServer[];
  /** Kills the primary, unless it is dead. The standby with the most WAL becomes the primary, and the others follow it. */
  failOver(): Promise<void>;
  /** Promotes a standby as `failOver` does, but leaves the old primary running, cut off. @returns the old primary, for the caller to stop */
  cutOff(): Promise<PostgresServer>;
  /** Puts a new standby on the port of a primary that was killed. */
  replace(): Promise<void>;
}

/** Returns the name of a standby that commits wait for. */
const nameOf = (port: number): string => `s${port}`;

const connectionTo = (primary: PostgresServer, standby: number): string =>
  `host=127.0.0.1 port=${primary.port} user=${USER} application_name=${nameOf(standby)}`;

/** How much of the log of changes a standby has. */
async function receivedBytes(standby: PostgresServer): Promise<bigint> {
  // A standby that was started without a primary received nothing since.
  const [row] = await standby.run<{ bytes: string }>(
    "SELECT greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'::pg_lsn AS bytes",
  );
  return BigInt(row!.bytes);
}

/** Starts a primary and its standbys. */
export async function startQuorum(standbys = 2): Promise<PostgresQuorum> {
  const ports = Array.from({ length: standbys + 1 }, freePort);
  const settings = [
    `synchronous_standby_names = 'ANY 1 (${ports.map(nameOf).join(', ')})'`,
    'wal_keep_size = 256MB',
    'wal_receiver_status_interval = 1s',
    'wal_retrieve_retry_interval = 50ms',
  ];
  const startStandby = (from: PostgresServer, port: number): Promise<PostgresServer> =>
    serverOf((data) => runAsServer(basebackup!, '-D', data, '-R', '-c', 'fast', '-N', '-d', connectionTo(from, port)), {
      port,
      settings,
    });

  let primary = await serverOf(initialise, { port: ports[0]!, settings });
  let others = await Promise.all(ports.slice(1).map((port) => startStandby(primary, port)));
  /** Until a standby follows, nothing can be committed. */
  const untilFollowed = () =>
    until(async () => {
      const rows = await primary.run("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'quorum'");
      return rows.length === others.length;
    }, 'a standby');
  await untilFollowed();
  const killed: number[] = [];

  /** Makes a standby copy a server, or none. */
  async function follow(standby: PostgresServer, connection: string): Promise<void> {
    await standby.run(`ALTER SYSTEM SET primary_conninfo = '${connection}'`);
    await standby.run('SELECT pg_reload_conf()');
  }

  async function promote(): Promise<void> {
    // A standby that is ahead of the new primary couldn't follow it.
    await Promise.all(others.map((server) => follow(server, '')));
    const isReceiving = async (host: PostgresServer) =>
      (await host.run('SELECT 1 FROM pg_stat_wal_receiver')).length > 0;
    await until(async () => !(await Promise.all(others.map(isReceiving))).includes(true), 'standbys that copy nothing');
    const places = await Promise.all(others.map(async (server) => ({ server, bytes: await receivedBytes(server) })));
    const [{ server: next }] = places.sort((a, b) => Number(b.bytes - a.bytes)) as [(typeof places)[number]];
    await next.run('SELECT pg_promote()');
    primary = next;
    others = others.filter((server) => server !== next);
    await Promise.all(others.map((server) => follow(server, connectionTo(primary, server.port))));
  }

  return {
    url: `postgres://${USER}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${DATABASE}`,
    primary: () => primary,
    standbys: () => others,
    async failOver() {
      await primary[Symbol.asyncDispose]();
      killed.push(primary.port);
      await promote();
    },
    async cutOff() {
      const old = primary;
      killed.push(old.port);
      await promote();
      return old;
    },
    async replace() {
      for (const port of killed.splice(0)) others = [...others, await startStandby(primary, port)];
      await untilFollowed();
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([primary, ...others].map((server) => server[Symbol.asyncDispose]()));
    },
  };
}
