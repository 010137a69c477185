/** Settings of the port that the node posts its events to. */
import { Type } from '@sinclair/typebox';
import { group, servers, setting } from './setting.ts';
import { integer, port, withoutScheme } from './values.ts';

export const eventSettings = group('Events from the node', {
  eventHost: setting({
    commands: servers,
    flag: '--event-host <host>',
    variables: ['STACKSIDE_EVENT_HOST', 'STACKS_CORE_EVENT_HOST'],
    type: Type.String({ minLength: 1, default: '127.0.0.1' }),
    read: withoutScheme,
    help: "Address that receives the node's events; whoever can reach it can write to the index",
    accepts: 'an address of this machine',
  }),
  eventPort: setting({
    commands: servers,
    flag: '--event-port <port>',
    variables: ['STACKSIDE_EVENT_PORT', 'STACKS_CORE_EVENT_PORT'],
    type: port(3700),
    read: integer,
    help: "Port that receives the node's events; 0 picks a free port",
    accepts: 'a number from 0 to 65535',
  }),
  eventBodyLimit: setting({
    commands: [...servers, 'import'],
    flag: '--event-body-limit <bytes>',
    variables: ['STACKSIDE_EVENT_BODY_LIMIT', 'STACKS_CORE_EVENT_BODY_LIMIT'],
    type: Type.Integer({ minimum: 1_000_000, maximum: 2_000_000_000, default: 500_000_000 }),
    read: integer,
    help: 'Maximum size of an event, in bytes; import: of an event that another server sends (--from URL)',
    accepts: 'a number of bytes from 1000000 to 2000000000',
  }),
});
