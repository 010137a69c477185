/** Routes that sign a browser in and out; {@link ../access/sessions.ts} has their contract. */
import { type Static, Type } from '@sinclair/typebox';
import { nullable } from '../../api/shared/fields.ts';
import { isFromOtherPage } from '../../http/hosts.ts';
import { Redirect, type Route, type Access as RouteAccess, route, WITHOUT_INDEX } from '../../http/route.ts';
import type { Access } from '../access/access.ts';
import type { Caller } from '../access/keys.ts';
import { cookieOf, noCookie, sessionCookie } from '../access/sessions.ts';
import { HookProblem } from '../problem.ts';
import { type HookCallers, hookErrors, readOnlyProcessError } from './family.ts';

const PATH = '/stackside/v1/session';
/** Path of the route that makes links. */
export const LINKS = `${PATH}/links`;
const SIGN_IN = `${PATH}/sign-in`;
/** The page that a link opens. */
const CONSOLE = '/';

const SessionResponse = Type.Object({
  access: Type.Union([Type.Literal('key'), Type.Literal('open'), Type.Literal('none')], {
    description: 'Whether managing chainhooks needs a key, is open to everybody, or is not served by this process',
  }),
  signed_in: Type.Boolean({ description: 'Whether this browser may manage chainhooks' }),
  operator: Type.Boolean({ description: 'Whether it acts for every consumer' }),
  consumer: nullable(Type.String()),
  expires_at: nullable(Type.Integer(), { description: 'End of the session in Unix seconds' }),
});
type SessionResponse = Static<typeof SessionResponse>;

export const LinkResponse = Type.Object({
  path: Type.String({ description: 'Path and query of the link' }),
  expires_at: nullable(Type.Integer(), { description: 'End of the link in Unix seconds' }),
});

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

/** Describes a session. @param caller null if the browser isn't signed in @param expiresAt Unix milliseconds; null without an end */
const describe = (
  access: SessionResponse['access'],
  caller: Caller | null,
  expiresAt: number | null = null,
): SessionResponse => ({
  access,
  signed_in: caller !== null,
  operator: caller?.isOperator ?? false,
  consumer: caller?.consumer ?? null,
  expires_at: expiresAt === null ? null : seconds(expiresAt),
});

/** Begins a session. @returns its description, and the cookie to set */
function begin(access: Access, caller: Caller, request: Request): { session: SessionResponse; cookie: string } {
  const { secret, expiresAt } = access.sessions.begin(caller);
  return { session: describe('key', caller, expiresAt), cookie: cookieOf(request, secret) };
}

/**
 * Makes the path of a sign-in link for a caller; with open access, the console's own path.
 * @returns the path, and the link's end in Unix milliseconds; null if it doesn't expire
 */
export function signInLink({ needsKey, sessions }: Access, caller: Caller): { path: string; expiresAt: number | null } {
  if (!needsKey) return { path: CONSOLE, expiresAt: null };
  const { secret, expiresAt } = sessions.link(caller);
  return { path: `${SIGN_IN}?token=${secret}`, expiresAt };
}

const redirectToConsole = (cookie: string): Response =>
  new Response(null, {
    status: 302,
    headers: { location: CONSOLE, 'set-cookie': cookie, 'referrer-policy': 'no-referrer', 'content-length': '0' },
  });

/**
 * Redirects to the console, with the session's cookie if the token is valid. A link on another page is refused: it could sign the
 * browser in as somebody else.
 * @throws HookProblem 401, 403
 */
function signIn(access: Access, request: Request, token: string): Response | Redirect {
  if (!access.needsKey) return new Redirect(CONSOLE);
  // Link checkers send HEAD, which must not use up the token.
  if (request.method === 'HEAD') return new Response(null, { status: 204 });
  if (isFromOtherPage(request))
    throw new HookProblem(403, 'Another page opened this link; copy it and paste it into the address bar');
  const caller = access.sessions.redeem(token);
  if (caller !== null) return redirectToConsole(begin(access, caller, request).cookie);
  if (access.sessionOf(request) !== null) return new Redirect(CONSOLE);
  throw new HookProblem(401, 'The link was already used or has expired; `stackside console` prints a new one');
}

function signOut(access: Access, request: Request): Response {
  const cookie = sessionCookie(request);
  if (cookie !== null) access.sessions.end(cookie);
  return new Response(null, { status: 204, headers: { 'set-cookie': noCookie(request) } });
}

/** Access to a process that manages hooks. @param identify determines the caller @throws HookProblem 503 in other processes */
const accessBy =
  <C>(
    api: HookCallers | null,
    identify: (access: Access, request: Request, peer: string) => C,
  ): RouteAccess<object, C> =>
  (request, peer) => {
    if (api === null) throw readOnlyProcessError();
    const caller = identify(api.access, request, peer);
    return () => caller;
  };

/** The session routes. @param api null if this process doesn't write */
export function sessionRoutes(api: HookCallers | null): Route[] {
  const family = { tag: 'Sessions', hidden: true, errors: hookErrors, ...WITHOUT_INDEX, mainThread: true } as const;
  const byKey = accessBy(api, (access, request, peer) => ({ access, caller: access.holderOf(request, peer) }));
  const byHost = accessBy(api, (access, request) => {
    access.requireOwnHost(request);
    return access;
  });
  // Only the console's own page may sign out its browser.
  const byPage = accessBy(api, (access, request, peer) => {
    access.requireOwnHost(request);
    if (access.sessionOf(request) !== null) access.callerOf(request, peer);
    return access;
  });
  return [
    route({
      ...family,
      path: PATH,
      operationId: 'getSession',
      summary: 'Session of this browser',
      response: SessionResponse,
      access: (request) => {
        api?.access.requireOwnHost(request);
        return () => undefined;
      },
      handle({ request, clientAddress }) {
        if (api === null) return describe('none', null);
        if (!api.access.needsKey) return describe('open', api.access.callerOf(request, clientAddress()));
        const session = api.access.sessionOf(request);
        return describe('key', session?.caller ?? null, session?.expiresAt);
      },
    }),
    route({
      ...family,
      method: 'POST',
      path: PATH,
      operationId: 'signIn',
      summary: 'Sign in with a key',
      response: SessionResponse,
      access: byKey,
      handle({ request, caller: { access, caller } }) {
        if (!access.needsKey) return describe('open', caller);
        const { session, cookie } = begin(access, caller, request);
        return Response.json(session, { headers: { 'set-cookie': cookie } });
      },
    }),
    route({
      ...family,
      method: 'DELETE',
      path: PATH,
      operationId: 'signOut',
      summary: 'Sign out',
      status: 204,
      response: Type.Void(),
      access: byPage,
      handle: ({ request, caller: access }) => signOut(access, request),
    }),
    route({
      ...family,
      method: 'POST',
      path: LINKS,
      operationId: 'makeSignInLink',
      summary: 'Make a sign-in link',
      response: LinkResponse,
      access: byKey,
      handle({ caller: { access, caller } }) {
        const { path, expiresAt } = signInLink(access, caller);
        return { path, expires_at: expiresAt === null ? null : seconds(expiresAt) };
      },
    }),
    route({
      ...family,
      path: SIGN_IN,
      operationId: 'followSignInLink',
      summary: 'Follow a sign-in link',
      query: { token: Type.String({ description: 'The token of the link' }) },
      response: Type.Void(),
      redirects: 'The browser is signed in',
      access: byHost,
      handle: ({ request, query: { token }, caller: access }) => signIn(access, request, token),
    }),
  ];
}
