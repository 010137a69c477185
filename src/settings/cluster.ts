/** Settings of several hosts that share one log. */
import { Type } from '@sinclair/typebox';
import { isEngineUrl, PREFIX } from '../cluster/engine-address.ts';
import { group, setting, textOrNone } from './setting.ts';

/** Hides passwords in the query of a URL. The password before the host is hidden as in every URL. */
const withoutPasswords = (url: string | null): string => (url ?? '').replace(/\b((?:ssl)?password=)[^&]*/g, '$1***');

export const clusterSettings = group('Several hosts', {
  cluster: setting({
    commands: ['serve', 'cluster'],
    flag: '--cluster <url>',
    variables: ['STACKSIDE_CLUSTER'],
    type: textOrNone(),
    read: (text) => (isEngineUrl(text) ? text : false),
    show: withoutPasswords,
    help: 'PostgreSQL URL of the shared log; of several servers, the writable one is used',
    accepts: 'a URL such as postgres://user@host1:5432,host2:5432/database',
  }),
  clusterPrefix: setting({
    commands: ['serve', 'cluster'],
    flag: '--cluster-prefix <name>',
    variables: ['STACKSIDE_CLUSTER_PREFIX'],
    type: Type.String({ pattern: PREFIX.source, default: '' }),
    help: 'Prefix of the table names, so that several chains can share a database',
    accepts: 'up to 31 lower-case letters, digits and _, not starting with a digit',
  }),
  clusterKey: setting({
    commands: ['serve', 'cluster'],
    flag: '--cluster-key <file>',
    variables: ['STACKSIDE_CLUSTER_KEY'],
    type: textOrNone(),
    absent: 'secrets.key in the data directory',
    help: 'File of keys that seal secrets, one per line, the same on all hosts',
    accepts: 'a file',
  }),
  hostName: setting({
    commands: ['serve'],
    flag: '--host-name <name>',
    variables: ['STACKSIDE_HOST_NAME'],
    type: Type.Union([Type.Null(), Type.String({ minLength: 1, maxLength: 200 })], { default: null }),
    absent: "the machine's name",
    help: 'Unique name of this host in metrics and in stackside cluster status',
    accepts: 'up to 200 characters',
  }),
});
