/** The setting of tokens' metadata. */
import { Type } from '@sinclair/typebox';
import { group, servers, setting } from './setting.ts';

export const tokenSettings = group('Tokens', {
  tokenMetadata: setting({
    commands: servers,
    flag: '--token-metadata <off|on>',
    variables: ['STACKSIDE_TOKEN_METADATA'],
    type: Type.Union([Type.Literal('off'), Type.Literal('on')], { default: 'on' }),
    help: "on: ask the node's read-only functions for names, symbols, decimals, supplies and URIs of tokens",
    accepts: 'off or on',
  }),
});
