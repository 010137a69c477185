/** Settings of tokens' metadata. */
import { Type } from '@sinclair/typebox';
import { group, servers, setting } from './setting.ts';

export const tokenSettings = group('Tokens', {
  tokenMetadata: setting({
    commands: servers,
    flag: '--token-metadata <off|chain|web>',
    variables: ['STACKSIDE_TOKEN_METADATA'],
    type: Type.Union([Type.Literal('off'), Type.Literal('chain'), Type.Literal('web')], { default: 'chain' }),
    help: 'Who is asked about tokens: nobody, the node for what their contracts say (names, symbols, decimals, supplies, URIs), or the web, too, for the documents at their URIs',
    accepts: 'off, chain or web',
    // The documents of its tokens are in their URIs.
    except: { demo: { default: 'web' } },
  }),
});
