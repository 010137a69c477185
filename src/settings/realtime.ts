/** Settings of the connections that blocks and transactions are pushed to. */
import { Type } from '@sinclair/typebox';
import { group, servers, setting } from './setting.ts';
import { integer } from './values.ts';

export const realtimeSettings = group('Realtime', {
  pingInterval: setting({
    commands: servers,
    flag: '--ping-interval <seconds>',
    variables: ['STACKSIDE_PING_INTERVAL', 'STACKS_API_WS_PING_INTERVAL'],
    type: Type.Integer({ minimum: 1, maximum: 300, default: 5 }),
    read: integer,
    help: 'Interval between heartbeat pings to realtime clients',
    accepts: 'a number of seconds from 1 to 300',
  }),
  pingTimeout: setting({
    commands: servers,
    flag: '--ping-timeout <seconds>',
    variables: ['STACKSIDE_PING_TIMEOUT', 'STACKS_API_WS_PING_TIMEOUT'],
    type: Type.Integer({ minimum: 1, maximum: 3_600, default: 5 }),
    read: integer,
    help: 'Maximum time for a Socket.IO client to answer a ping; a WebSocket client has until the next ping',
    accepts: 'a number of seconds from 1 to 3600',
  }),
  clientBacklog: setting({
    commands: servers,
    flag: '--client-backlog <bytes>',
    variables: ['STACKSIDE_CLIENT_BACKLOG'],
    type: Type.Integer({ minimum: 65_536, maximum: 1_000_000_000, default: 8_388_608 }),
    read: integer,
    help: 'Maximum bytes queued for a slow realtime client; with more, the client is disconnected',
    accepts: 'a number of bytes from 65536 to 1000000000',
  }),
});
