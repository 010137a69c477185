/** Settings of tokens' metadata. */
import { Type } from '@sinclair/typebox';
import { group, servers, setting, textOrNone, url, withoutSlash } from './setting.ts';

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
  ipfsGateway: setting({
    commands: servers,
    flag: '--ipfs-gateway <url>',
    variables: ['STACKSIDE_IPFS_GATEWAY', 'PUBLIC_GATEWAY_IPFS'],
    type: url('https://ipfs.io'),
    read: withoutSlash,
    help: 'Gateway from which documents of tokens on IPFS are read (--token-metadata web); it may be in a private network',
    accepts: 'the URL of an HTTP server, such as http://127.0.0.1:8080',
  }),
  ipfsGatewayHeader: setting({
    commands: servers,
    flag: null,
    secret: true,
    variables: ['STACKSIDE_IPFS_GATEWAY_HEADER', 'PUBLIC_GATEWAY_IPFS_EXTRA_HEADER'],
    type: Type.Union([Type.Null(), Type.String({ pattern: '^[\\w-]+: ?[\\x20-\\x7e]+$' })], { default: null }),
    absent: 'none',
    help: 'Header of requests to the IPFS gateway alone, such as a key',
    accepts: 'a name, a colon and a value, such as Authorization: Bearer …',
  }),
  arweaveGateway: setting({
    commands: servers,
    flag: '--arweave-gateway <url>',
    variables: ['STACKSIDE_ARWEAVE_GATEWAY', 'PUBLIC_GATEWAY_ARWEAVE'],
    type: url('https://arweave.net'),
    read: withoutSlash,
    help: 'Gateway from which documents of tokens on Arweave are read (--token-metadata web); it may be in a private network',
    accepts: 'the URL of an HTTP server',
  }),
  tokenImages: setting({
    commands: servers,
    flag: '--token-images <directory>',
    variables: ['STACKSIDE_TOKEN_IMAGES'],
    type: textOrNone(),
    absent: 'images are only linked',
    help: 'Directory in which small copies of the images of tokens are kept and served (--token-metadata web)',
    accepts: 'a directory',
  }),
});
