/** Settings of several hosts that share one log. */
import { Type } from '@sinclair/typebox';
import { isEngineUrl } from '../store/log/engine-address.ts';
import { PREFIX } from '../store/log/engine-tables.ts';
import { group, setting } from './setting.ts';
import { textOrNone } from './values.ts';

/** Hides the passwords among the parameters of a URL; those before its host are hidden as in every URL. */
const withoutPasswords = (url: string | null): string => (url ?? '').replace(/\b((?:ssl)?password=)[^&]*/g, '$1***');

export const clusterSettings = group('Several hosts', {
  cluster: setting({
    commands: ['cluster'],
    flag: '--cluster <url>',
    variables: ['STACKSIDE_CLUSTER'],
    type: textOrNone(),
    read: (text) => (isEngineUrl(text) ? text : false),
    show: withoutPasswords,
    help: 'URL of the PostgreSQL database that holds the shared log; of several servers, the one that takes writes is found',
    accepts: 'a URL such as postgres://user@host1:5432,host2:5432/database',
  }),
  clusterPrefix: setting({
    commands: ['cluster'],
    flag: '--cluster-prefix <name>',
    variables: ['STACKSIDE_CLUSTER_PREFIX'],
    type: Type.String({ pattern: PREFIX.source, default: '' }),
    help: 'Beginning of the names of the tables, by which the logs of several chains share a database',
    accepts: 'up to 31 lower-case letters, digits and _, the first of them no digit',
  }),
});
