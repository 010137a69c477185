/** Settings of chainhooks: access, deliveries, and their limits. */
import { Type } from '@sinclair/typebox';
import { allowedNetworks } from '../http/outgoing.ts';
import { decimal, file, group, servers, setting, textOrNone, trueOrFalse, url, withoutSlash } from './setting.ts';

export const hookSettings = group('Chainhooks', {
  url: setting(['hooks', 'devnet mine', 'compare', 'status'], '--url <url>', {
    type: url('http://127.0.0.1:3999'),
    read: withoutSlash,
    help: 'URL of the API of a running Stackside',
    accepts: 'the URL of an HTTP server, such as http://127.0.0.1:3999',
  }),
  adminKey: setting([...servers, 'hooks'], '--admin-key <file>', {
    variable: 'STACKSIDE_ADMIN_KEY_FILE',
    ...file(),
    absent: 'admin.key in the data directory',
    help: 'File with the admin key (64 hex digits), the same on all hosts',
    except: {
      hooks: { help: 'File with the admin key' },
    },
  }),
  hookKey: setting(['hooks'], null, {
    secret: true,
    type: textOrNone(),
    absent: 'the admin key',
    help: 'API key of a consumer',
    accepts: 'an API key',
  }),
  signingSecret: setting(['hooks'], null, {
    secret: true,
    type: textOrNone(),
    help: 'Signing secret that hooks listen uses to verify deliveries',
    accepts: 'a signing secret: whsec_ and base64, or hex',
  }),
  hookAccess: setting(servers, '--hook-access <key|open>', {
    type: Type.Union([Type.Literal('key'), Type.Literal('open')], { default: 'key' }),
    accepts: 'key or open',
    help: 'Managing chainhooks: key requires an API key; open lets local programs do it',
    except: { demo: { default: 'open' }, devnet: { default: 'open' } },
  }),
  hookKeys: setting(servers, '--hook-keys <file>', {
    ...file(),
    absent: 'only the admin key',
    help: 'File with API keys of consumers, one per line: the consumer, a blank, the key',
  }),
  allowedHosts: setting(servers, '--allowed-hosts <names>', {
    type: Type.String({ pattern: '^([\\w.-]+(\\s*,\\s*[\\w.-]+)*)?$', default: '' }),
    help: 'Additional host names in requests that manage chainhooks, such as a proxy',
    accepts: 'host names separated by commas, such as api.example.org',
  }),
  hookTargets: setting(servers, '--hook-targets <networks>', {
    type: Type.String({ default: '' }),
    read: (text) => (allowedNetworks(text) === null ? null : text),
    help: 'Private networks that chainhooks may deliver to',
    accepts: 'addresses, networks, loopback or private, separated by commas, such as loopback,10.1.2.0/24',
    // Lets a user try chainhooks with a receiver on this machine.
    except: { demo: { default: 'loopback' }, devnet: { default: 'loopback' } },
  }),
  hookHttp: setting(servers, '--hook-http', {
    ...trueOrFalse(false),
    help: 'Let chainhooks deliver to public targets without TLS',
  }),
  hookAlert: setting(servers, '--hook-alert <url>', {
    // The URL's path or query is often the key of a chat or a pager.
    secret: true,
    type: Type.Union([Type.Null(), Type.String({ pattern: '^https?://[^\\s]+$' })], { default: null }),
    help: 'URL that receives a POST when a chainhook is interrupted or expires',
    accepts: 'a URL that begins with https:// or http://',
  }),
  hookBudget: setting(servers, '--hook-budget <hours>', {
    type: Type.Number({ minimum: 0, maximum: 8760, default: 24 }),
    read: decimal,
    help: 'Hours to retry a delivery before its chainhook is interrupted',
    accepts: 'hours from 0 to 8760',
  }),
  hookRetention: setting(servers, '--hook-retention <days>', {
    type: Type.Number({ minimum: 0.01, maximum: 3_650, default: 7 }),
    read: decimal,
    help: 'Days to keep delivery bodies; the delivery history stays four times as long',
    accepts: 'days from 0.01 to 3650',
  }),
});
