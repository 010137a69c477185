/** The cookie of a session. Cookies are shared by all ports of a host, so its name has the port that the browser asks. */
import { SESSION_MS } from './sessions.ts';

const NAME = 'stackside_session';
const PORT = /:(\d{1,5})$/;

function nameFor({ headers }: Request): string {
  const port = PORT.exec(headers.get('host') ?? '')?.[1];
  return port === undefined ? NAME : `${NAME}_${port}`;
}

/** The value of the session's cookie that a request brings; null for none. */
export function sessionCookie(request: Request): string | null {
  return new Bun.CookieMap(request.headers.get('cookie') ?? '').get(nameFor(request)) || null;
}

/** A browser sends the cookie over TLS alone where it came over TLS, as the proxy in front says. */
const attributes = ({ headers }: Request): string =>
  `Path=/; HttpOnly; SameSite=Strict${headers.get('x-forwarded-proto') === 'https' ? '; Secure' : ''}`;

/** The `Set-Cookie` header that begins a session in the browser. @param secret the value of the cookie */
export const cookieOf = (request: Request, secret: string): string =>
  `${nameFor(request)}=${secret}; Max-Age=${SESSION_MS / 1000}; ${attributes(request)}`;

/** The `Set-Cookie` header that makes the browser forget the session. */
export const noCookie = (request: Request): string => `${nameFor(request)}=; Max-Age=0; ${attributes(request)}`;
