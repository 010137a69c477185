/** The routes of chainhooks: the table of contents. */
import { Type } from '@sinclair/typebox';
import { type Route, route } from '../../http/route.ts';
import type { HookApi } from './hook-route.ts';
import { logRoutes } from './log.ts';
import { managementRoutes } from './manage.ts';
import { trialRoutes } from './try.ts';

/** Needs no key. */
const status = (version: string, path: '/chainhooks' | '/chainhooks/v1'): Route => {
  const declared = route({
    path,
    operationId: 'getChainhooksStatus',
    summary: 'That chainhooks are served, and the version of the server',
    tag: 'Chainhooks',
    response: Type.Object({ server_version: Type.String(), status: Type.Literal('ready') }),
    etag: null,
    handle: () => ({ server_version: version, status: 'ready' as const }),
  });
  return path === '/chainhooks' ? declared : { ...declared, detail: { ...declared.detail, hide: true } };
};

/** @param api null where this process doesn't write */
export const hookRoutes = (version: string, api: HookApi | null): Route[] => [
  status(version, '/chainhooks'),
  status(version, '/chainhooks/v1'),
  ...[...managementRoutes, ...logRoutes, ...trialRoutes].flatMap((routes) => routes(api)),
];
