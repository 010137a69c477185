/**
 * The address of the shared log: URLs of PostgreSQL servers, and the prefix of table names. As with libpq, one URL may name
 * several servers; Bun's client connects to one at a time.
 */
import { OperatorError } from '../base/errors.ts';
import { percentDecoded } from '../base/percent-encoding.ts';

/** Valid prefixes of table names: they need no quotes and are short enough. */
export const PREFIX = /^(?:[a-z_][a-z0-9_]{0,30})?$/;

export interface EngineServer {
  /** Host and port, for people. */
  name: string;
  /** URL of only this server; it may contain a password. */
  url: string;
  database: string;
}

/** The parts of `postgres://user:password@host:port,host:port/database?parameters`. */
const FORM = /^postgres(?:ql)?:\/\/(?<user>[^/?#]*@)?(?<hosts>[^/?#@]+)\/(?<database>[^?#]+)(?<parameters>\?[^#]*)?$/;
const HOST = /^(?<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+)(?::(?<port>\d{1,5}))?$/;

const DEFAULT_PORT = 5432;

/** Whether a text is the URL of one server or of several. */
export const isEngineUrl = (text: string): boolean => parseServers(text) !== null;

function parseServers(url: string): EngineServer[] | null {
  const { user = '', hosts = '', database: path = '', parameters = '' } = FORM.exec(url)?.groups ?? {};
  const database = percentDecoded(path);
  if (database === null) return null;
  const servers = hosts.split(',').map((text): EngineServer | null => {
    const { host, port = DEFAULT_PORT } = HOST.exec(text)?.groups ?? {};
    if (host === undefined || Number(port) === 0 || Number(port) > 65_535) return null;
    const name = `${host}:${port}`;
    const single = `postgres://${user}${name}/${path}${parameters}`;
    return URL.canParse(single) ? { name, url: single, database } : null;
  });
  return servers.every((server) => server !== null) ? servers : null;
}

/**
 * The servers of a URL such as `postgres://user@h1,h2:5433,h3/database?sslmode=verify-full`.
 * @throws OperatorError if the text isn't such a URL; the message doesn't repeat it, since it may contain a password
 */
export function engineServers(url: string): EngineServer[] {
  const servers = parseServers(url);
  if (servers !== null) return servers;
  throw new OperatorError(
    'The URL of the shared log is not one of PostgreSQL.',
    'Give a URL such as postgres://user@host1:5432,host2:5432/database to --cluster.',
  );
}
