/** The routes of chainhooks: the table of contents. */
import { Type } from '@sinclair/typebox';
import { type Route, route } from '../../http/route.ts';
import { type HookApi, type HookFamily, hookFamily, PREFIXES } from './family.ts';
import { logRoutes } from './log.ts';
import { managementRoutes } from './manage.ts';
import { secretRoutes } from './secret.ts';
import { trialRoutes } from './try.ts';

/** Needs no key. */
const status = ({ at, family: { tag, hidden } }: HookFamily, version: string): Route =>
  route({
    path: at,
    operationId: 'getChainhooksStatus',
    summary: 'Chainhook service status',
    description: 'Returns `ready` and the version of the server. This route needs no key.',
    tag,
    hidden,
    response: Type.Object({ server_version: Type.String(), status: Type.Literal('ready') }),
    etag: null,
    handle: () => ({ server_version: version, status: 'ready' as const }),
  });

/** @param api null where this process doesn't write */
export const hookRoutes = (version: string, api: HookApi | null): Route[] =>
  PREFIXES.flatMap((prefix) => {
    const family = hookFamily(prefix, api);
    return [
      status(family, version),
      ...managementRoutes(family),
      ...secretRoutes(family),
      ...logRoutes(family),
      ...trialRoutes(family),
    ];
  });
