/** Settings of the data directory, of the chain in it, and of the indexes that find contracts by decoded values. */
import { Type } from '@sinclair/typebox';
import { PUBLIC_KEY } from '../archive/signing.ts';
import { chainIdText, MAINNET_CHAIN_ID, TESTNET_CHAIN_ID } from '../chain/network.ts';
import { canonicalPrincipal } from '../codec/address.ts';
import { isWithin } from '../codec/clarity-fields.ts';
import type { ValueIndexChoice } from '../store/model/contract.ts';
import { group, integer, servers, setting, textOrNone, yesOrNo } from './setting.ts';

/** Names of modes: the reference API's names and Stackside's. */
const modeWords: Readonly<Record<string, string>> = { default: 'full', readonly: 'read', writeonly: 'write' };

/** Chain ids by the names of their networks. */
const networks: Readonly<Record<string, number>> = { mainnet: MAINNET_CHAIN_ID, testnet: TESTNET_CHAIN_ID };

export const dataSettings = group('Data and chain', {
  data: setting({
    commands: [
      ...['serve', 'demo', 'import', 'export', 'rebuild'],
      ...['backup', 'restore', 'check', 'status', 'sql', 'hooks', 'cluster'],
    ] as const,
    flag: '--data <dir>',
    variables: ['STACKSIDE_DATA'],
    type: Type.String({ minLength: 1, default: './stackside-data' }),
    help: 'Data directory, which holds the index and the journal',
    accepts: 'a directory',
    except: {
      demo: {
        help: 'Data directory for the simulated chain, which must be empty',
        absent: 'a temporary directory, deleted at the end',
      },
      hooks: { help: "The server's data directory, which holds the admin key" },
    },
  }),
  mode: setting({
    commands: ['serve'],
    flag: '--mode <mode>',
    variables: ['STACKSIDE_MODE', 'STACKS_API_MODE'],
    type: Type.Union([Type.Literal('full'), Type.Literal('read'), Type.Literal('write')], { default: 'full' }),
    read: (text) => modeWords[text] ?? text,
    help: 'Work of this process: full takes events and serves the API, write only takes events, read only serves the API, beside a process that writes or, with --cluster, from the shared log',
    accepts: 'full, read or write',
  }),
  network: setting({
    commands: ['serve', 'import', 'restore'],
    flag: '--network <name|id>',
    alias: '--chain-id <id>',
    variables: ['STACKSIDE_NETWORK', 'STACKS_CHAIN_ID'],
    type: Type.Union([Type.Null(), Type.Integer({ minimum: 0, maximum: 0xffff_ffff })], { default: null }),
    read: (text) => networks[text] ?? (/^0x[0-9a-fA-F]{1,8}$/.test(text) ? Number(text) : integer(text)),
    show: (id) => (id === null ? '' : chainIdText(id)),
    absent: "the data's, else the node's, else the first block's",
    help: 'Network of the node, by name or chain id; Stackside rejects events of any other chain',
    accepts: 'mainnet, testnet, or a chain id such as 0x80000000',
  }),
  archive: setting({
    commands: servers,
    flag: '--archive <dir|s3://bucket/key>',
    variables: ['STACKSIDE_ARCHIVE'],
    type: textOrNone(),
    absent: 'none',
    help: 'Archive that gets every entry of the log, for stackside restore: a directory on another disk, or a key of S3; several hosts of a cluster have the same one',
    accepts: 'a directory, or s3://bucket/key',
  }),
  archivePublic: setting({
    commands: servers,
    flag: '--archive-public',
    variables: ['STACKSIDE_ARCHIVE_PUBLIC'],
    type: Type.Boolean({ default: false }),
    read: yesOrNo,
    help: 'The archive is for everybody: chainhooks, their secrets, requests to the faucets and other commands are withheld, and it is signed with archive.key of the data directory',
    accepts: 'true or false',
  }),
  from: setting({
    commands: ['serve'],
    flag: '--from <url|dir|s3://bucket/key>',
    variables: ['STACKSIDE_FROM'],
    type: textOrNone(),
    absent: 'none',
    help: 'Archive from which an empty data directory is restored, and from which the server takes events that the node does not send',
    accepts: 'the URL of an archive on a web server, a directory, or s3://bucket/key',
  }),
  archiveKey: setting({
    commands: ['serve', 'restore', 'archive'],
    flag: '--archive-key <ed25519:key>',
    variables: ['STACKSIDE_ARCHIVE_KEY'],
    type: Type.Union([Type.Null(), Type.String({ pattern: PUBLIC_KEY })], { default: null }),
    absent: 'none',
    help: 'Public key that the archive to be read must be signed with; its operator has it of stackside archive key',
    accepts: 'ed25519: and a key in base64, as stackside archive key prints it',
  }),
  archiveUnsigned: setting({
    commands: ['serve', 'restore', 'archive'],
    flag: '--archive-unsigned',
    variables: ['STACKSIDE_ARCHIVE_UNSIGNED'],
    type: Type.Boolean({ default: false }),
    read: yesOrNo,
    help: 'Read a public archive although nobody vouches for it: whoever runs its server may have invented any block and balance in it',
    accepts: 'true or false',
  }),
  archiveBase: setting({
    commands: servers,
    flag: '--archive-base <hours>',
    variables: ['STACKSIDE_ARCHIVE_BASE'],
    type: Type.Integer({ minimum: 0, maximum: 8_760, default: 24 }),
    read: integer,
    help: 'Hours between two bases of the archive, from which a restore begins without a replay; 0 makes none by itself',
    accepts: 'a number from 0 to 8760',
  }),
  archiveKeep: setting({
    commands: [...servers, 'backup'],
    flag: '--archive-keep <days>',
    variables: ['STACKSIDE_ARCHIVE_KEEP'],
    type: Type.Union([Type.Null(), Type.Integer({ minimum: 1, maximum: 36_500 })], { default: null }),
    read: integer,
    absent: 'for ever',
    help: 'Days after which bases of the archive are removed, but for the newest; segments stay',
    accepts: 'a number of days from 1 to 36500',
  }),
  bnsImport: setting({
    commands: ['serve'],
    flag: '--bns-import <dir>',
    variables: ['STACKSIDE_BNS_IMPORT', 'BNS_IMPORT_DIR'],
    type: textOrNone(),
    help: 'Directory with the export of names registered before Stacks 2.0; serve imports it once',
    accepts: 'a directory',
  }),
});

/** Parses a text such as `SP….name:field`. Returns null if it is invalid. Names in contracts contain no colon. */
function choiceOf(text: string): { contract: string; scope: string } | null {
  const [name = '', scope = '', ...rest] = text.split(':');
  const contract = canonicalPrincipal(name);
  const isWhole = rest.length === 0 && (scope !== '' || !text.includes(':'));
  if (contract === null || !contract.includes('.') || !isWhole) return null;
  return { contract, scope };
}

const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

function valueIndex(declared: { flag: string; variable: `STACKSIDE_${string}`; help: string; accepts: string }) {
  const { flag, variable, help, accepts } = declared;
  return setting({
    commands: servers,
    flag,
    repeatable: true,
    variables: [variable],
    type: Type.String({ default: '' }),
    read: (text) => (wordsOf(text).every((word) => choiceOf(word) !== null) ? text : null),
    absent: 'none',
    help: `${help}; the flag may be repeated`,
    accepts,
  });
}

export const valueIndexSettings = group('Logs and calls by decoded values', {
  logIndex: valueIndex({
    flag: '--log-index <contract[:field]>',
    variable: 'STACKSIDE_LOG_INDEX',
    help: 'Contract whose logs clients can request by decoded values: by all fields of its prints, or by one field and the fields inside it',
    accepts:
      'a contract identifier, or one with a field such as SP000000000000000000002Q6VF78.pox-4:data.amount; several are separated by blanks',
  }),
  callIndex: valueIndex({
    flag: '--call-index <contract[:function]>',
    variable: 'STACKSIDE_CALL_INDEX',
    help: 'Contract whose calls clients can request by arguments, of all functions or of one function',
    accepts:
      'a contract identifier, or one with a function such as SP000000000000000000002Q6VF78.pox-4:stack-stx; several are separated by blanks',
  }),
});

/** Returns the configured indexes of decoded values, without any that another index covers. */
export function valueIndexesIn(settings: { logIndex: string; callIndex: string }): ValueIndexChoice[] {
  const asked = (subject: ValueIndexChoice['subject'], text: string): ValueIndexChoice[] => {
    const choices = wordsOf(text)
      .map(choiceOf)
      .filter((choice) => choice !== null);
    const isHeld = (one: (typeof choices)[number], place: number): boolean =>
      choices.some(
        (other, at) =>
          at !== place &&
          other.contract === one.contract &&
          isWithin(one.scope, other.scope) &&
          (other.scope !== one.scope || at < place),
      );
    return choices.filter((one, place) => !isHeld(one, place)).map((one) => ({ subject, ...one }));
  };
  return [...asked('logs', settings.logIndex), ...asked('calls', settings.callIndex)];
}
