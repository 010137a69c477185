/**
 * Settings of the data directory, of the chain in it, of the indexes that find contracts by decoded values, and of several
 * hosts that share one log.
 */
import { Type } from '@sinclair/typebox';
import { PUBLIC_KEY } from '../archive/signing.ts';
import { chainIdText, MAINNET_CHAIN_ID, TESTNET_CHAIN_ID } from '../chain/network.ts';
import { isEngineUrl, PREFIX } from '../cluster/postgres-engine.ts';
import { canonicalPrincipal } from '../codec/address.ts';
import { isWithin } from '../codec/clarity-fields.ts';
import type { ValueIndexChoice } from '../store/model/contract.ts';
import {
  file,
  group,
  integer,
  servers,
  setting,
  textOrNone,
  trueOrFalse,
  wholeNumber,
  wholeNumberOrNone,
} from './setting.ts';

/** Names of modes: the reference API's names and Stackside's. */
const modeWords: Readonly<Record<string, string>> = { default: 'full', readonly: 'read', writeonly: 'write' };

/** Chain ids by the names of their networks. */
const networks: Readonly<Record<string, number>> = { mainnet: MAINNET_CHAIN_ID, testnet: TESTNET_CHAIN_ID };

/** Commands that work on a data directory. */
const withDirectory = [
  ...(['serve', 'demo', 'devnet', 'import', 'export', 'rebuild'] as const),
  ...(['backup', 'restore', 'check', 'status', 'sql', 'hooks', 'console', 'cluster init'] as const),
];

const simulatedData = {
  help: 'Data directory for the simulated chain; it must be empty',
  absent: 'a temporary directory, deleted at the end',
};

const serverData = { help: "The server's data directory, which holds the admin key" };

export const dataSettings = group('Data and chain', {
  data: setting(withDirectory, '--data <dir>', {
    type: Type.String({ minLength: 1, default: './stackside-data' }),
    help: 'Data directory, which holds the index and the journal',
    accepts: 'a directory',
    except: { demo: simulatedData, devnet: simulatedData, hooks: serverData, console: serverData },
  }),
  mode: setting(['serve'], '--mode <mode>', {
    otherVariables: ['STACKS_API_MODE'],
    type: Type.Union([Type.Literal('full'), Type.Literal('read'), Type.Literal('write')], { default: 'full' }),
    accepts: 'full, read or write',
    read: (text) => modeWords[text] ?? text,
    help: 'full: receive events and serve the API; write: only events; read: only the API',
  }),
  network: setting(['serve', 'import', 'restore'], '--network <name|id>', {
    // Scripts that replay recordings name the chain in this way.
    alias: '--chain-id <id>',
    otherVariables: ['STACKS_CHAIN_ID'],
    type: Type.Union([Type.Null(), Type.Integer({ minimum: 0, maximum: 0xffff_ffff })], { default: null }),
    read: (text) => networks[text] ?? (/^0x[0-9a-fA-F]{1,8}$/.test(text) ? Number(text) : integer(text)),
    show: (id) => (id === null ? '' : chainIdText(id)),
    absent: "the data's, otherwise the node's, otherwise the first block's",
    help: 'Network of the node, by name or chain id; events of other chains are rejected',
    accepts: 'mainnet, testnet, or a chain id such as 0x80000000',
  }),
  archive: setting(servers, '--archive <dir|s3://bucket/prefix>', {
    type: textOrNone(),
    absent: 'none',
    help: 'Archive for every log entry: a directory on another disk, or S3',
    accepts: 'a directory, or s3://bucket/prefix',
  }),
  archivePublic: setting(servers, '--archive-public', {
    ...trueOrFalse(false),
    help: 'Withhold chainhooks, secrets and other commands, and sign with archive.key',
  }),
  from: setting(['serve'], '--from <url|dir|s3://bucket/prefix>', {
    type: textOrNone(),
    absent: 'none',
    help: 'Archive to restore an empty data directory from, and to read missing events from',
    accepts: 'the URL of an archive on a web server, a directory, or s3://bucket/prefix',
  }),
  archivePublicKey: setting(['serve', 'restore', 'archive'], '--archive-public-key <ed25519:key>', {
    type: Type.Union([Type.Null(), Type.String({ pattern: PUBLIC_KEY })], { default: null }),
    absent: 'none',
    help: 'Public key that must have signed the archive (printed by stackside archive key)',
    accepts: 'ed25519: and a key in base64, as stackside archive key prints it',
  }),
  archiveUnsigned: setting(['serve', 'restore', 'archive'], '--archive-unsigned', {
    ...trueOrFalse(false),
    help: 'Read a public archive without a signature; its operator can forge its blocks',
  }),
  archiveBase: setting(servers, '--archive-base <hours>', {
    ...wholeNumber({ minimum: 0, maximum: 8_760, default: 24 }),
    help: 'Hours between bases (snapshots) of the archive; 0 makes none automatically',
  }),
  archiveKeep: setting([...servers, 'backup'], '--archive-keep <days>', {
    ...wholeNumberOrNone({ minimum: 1, maximum: 36_500 }, 'days'),
    absent: 'forever',
    help: 'Days to keep bases of the archive; the newest base and all segments stay',
  }),
  bnsImport: setting(['serve'], '--bns-import <dir>', {
    otherVariables: ['BNS_IMPORT_DIR'],
    type: textOrNone(),
    help: 'Directory with exported names of Stacks 1, which serve imports once',
    accepts: 'a directory',
  }),
});

/** Parses a text such as `SP….name:field`. Returns null if it is invalid. Names in contracts contain no colon. */
function parseChoice(text: string): { contract: string; scope: string } | null {
  const [name = '', scope = '', ...rest] = text.split(':');
  const contract = canonicalPrincipal(name);
  const isWhole = rest.length === 0 && (scope !== '' || !text.includes(':'));
  if (contract === null || !contract.includes('.') || !isWhole) return null;
  return { contract, scope };
}

const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

const valueIndex = (flag: string, declared: { help: string; accepts: string }) =>
  setting(servers, flag, {
    ...declared,
    repeatable: true,
    type: Type.String({ default: '' }),
    read: (text) => (wordsOf(text).every((word) => parseChoice(word) !== null) ? text : null),
    absent: 'none',
  });

export const valueIndexSettings = group('Logs and calls by decoded values', {
  logIndex: valueIndex('--log-index <contract[:field]>', {
    help: "Index a contract's logs by the values of all fields, or of one field; repeatable",
    accepts:
      'a contract or contract:field, such as SP000000000000000000002Q6VF78.pox-4:data.amount; separate several with spaces',
  }),
  callIndex: valueIndex('--call-index <contract[:function]>', {
    help: "Index a contract's calls by arguments, of all functions or of one; repeatable",
    accepts:
      'a contract or contract:function, such as SP000000000000000000002Q6VF78.pox-4:stack-stx; separate several with spaces',
  }),
});

/** Returns the configured indexes of decoded values, without any that another index covers. */
export function valueIndexesIn(settings: { logIndex: string; callIndex: string }): ValueIndexChoice[] {
  const choicesIn = (subject: ValueIndexChoice['subject'], text: string): ValueIndexChoice[] => {
    const choices = wordsOf(text)
      .map(parseChoice)
      .filter((choice) => choice !== null);
    const isCovered = (choice: (typeof choices)[number], index: number): boolean =>
      choices.some(
        (other, otherIndex) =>
          otherIndex !== index &&
          other.contract === choice.contract &&
          isWithin(choice.scope, other.scope) &&
          (other.scope !== choice.scope || otherIndex < index),
      );
    return choices.filter((choice, index) => !isCovered(choice, index)).map((choice) => ({ subject, ...choice }));
  };
  return [...choicesIn('logs', settings.logIndex), ...choicesIn('calls', settings.callIndex)];
}

export const clusterSettings = group('Several hosts', {
  cluster: setting(['serve', 'cluster init', 'cluster status'], '--cluster <url>', {
    type: textOrNone(),
    read: (text) => (isEngineUrl(text) ? text : false),
    help: 'PostgreSQL URL of the shared log; of several servers, the writable one is used',
    accepts: 'a URL such as postgres://user@host1:5432,host2:5432/database',
  }),
  clusterPrefix: setting(['serve', 'cluster init', 'cluster status'], '--cluster-prefix <name>', {
    type: Type.String({ pattern: PREFIX.source, default: '' }),
    help: 'Prefix of the table names, so that several chains can share a database',
    accepts: 'up to 31 lower-case letters, digits and _, not starting with a digit',
  }),
  clusterKey: setting(['serve', 'cluster init'], '--cluster-key <file>', {
    ...file(),
    absent: 'secrets.key in the data directory',
    help: 'File of keys that seal secrets, one per line, the same on all hosts',
  }),
  hostName: setting(['serve'], '--host-name <name>', {
    type: Type.Union([Type.Null(), Type.String({ minLength: 1, maxLength: 200 })], { default: null }),
    absent: "the machine's name",
    help: 'Unique name of this host in metrics and in stackside cluster status',
    accepts: 'up to 200 characters',
  }),
});
