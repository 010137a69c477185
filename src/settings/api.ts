/** Settings of the API's port and routes. */
import { Type } from '@sinclair/typebox';
import { utcMicroseconds } from '../base/utc-time.ts';
import { group, servers, setting } from './setting.ts';
import { integer, port, withoutScheme, yesOrNo } from './values.ts';

/** A date, or a date and time with its zone. */
const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;
function unixMilliseconds(text: string): number | null {
  const time = ISO_TIME.test(text) ? utcMicroseconds(text) : null;
  return time === null ? null : Math.floor(time / 1_000);
}

export const apiSettings = group('API', {
  apiHost: setting({
    commands: servers,
    flag: '--api-host <host>',
    variables: ['STACKSIDE_API_HOST', 'STACKS_BLOCKCHAIN_API_HOST'],
    type: Type.String({ minLength: 1, default: '127.0.0.1' }),
    read: withoutScheme,
    help: 'Address the API listens on; 0.0.0.0 lets other machines connect',
    accepts: 'an address of this machine',
  }),
  apiPort: setting({
    commands: servers,
    flag: '--api-port <port>',
    variables: ['STACKSIDE_API_PORT', 'STACKS_BLOCKCHAIN_API_PORT'],
    type: port(3999),
    read: integer,
    help: 'API port; 0 picks a free port',
    accepts: 'a number from 0 to 65535',
  }),
  threads: setting({
    commands: servers,
    flag: '--threads <number>',
    variables: ['STACKSIDE_THREADS'],
    type: Type.Integer({ minimum: 0, maximum: 64, default: 0 }),
    read: integer,
    help: 'Number of API threads; 0 serves the API on the thread that takes events, more than 1 requires Linux',
    accepts: 'a number from 0 to 64',
  }),
  deprecated: setting({
    commands: servers,
    flag: '--deprecated <on|off>',
    variables: ['STACKSIDE_DEPRECATED', 'ENABLE_DEPRECATED_ENDPOINTS'],
    type: Type.Boolean({ default: true }),
    read: yesOrNo,
    show: (on) => (on ? 'on' : 'off'),
    help: 'Serve deprecated routes; when off, they answer 410',
    accepts: 'on or off',
  }),
  sunset: setting({
    commands: servers,
    flag: '--sunset <date>',
    variables: ['STACKSIDE_SUNSET'],
    type: Type.Union([Type.Null(), Type.Integer()], { default: null }),
    read: (text) => unixMilliseconds(text) ?? text,
    show: (time) => (time === null ? '' : new Date(time).toISOString()),
    help: 'Date on which deprecated routes end: their answers announce it, and from then on they answer 410',
    accepts: 'a date such as 2027-06-30 or 2027-06-30T12:00:00Z',
  }),
});
