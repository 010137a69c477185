/** The export of names from before Stacks 2.0: imported once and completely, valid until the chain changes a name. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { bitcoinToStacks } from '../../src/codec/bitcoin-address.ts';
import { importOldNames } from '../../src/commands/serve/old-names.ts';
import type { LogEvent } from '../../src/log.ts';
import { readSettings, type Settings } from '../../src/settings/config.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { openAt } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { alice, block, transfer } from '../support/events/handmade.ts';

const OWNER = 'SP29EJ0SVM2TRZ3XGVTZPVTKF4SV1VMD8C0GA5SK5';
const BITCOIN = '1CK6KHY6MHgYvmRQ4PAafKYDrg1ejbH1cE';
const stacksOwner = bitcoinToStacks(BITCOIN) ?? 'no address';
const HASH = '853cd126478237bc7392e65091f7ffa5a1556a33';
const SUB_HASH = '14dc091ebce8ea117e1276d802ee903cc0fdde81';

const files = {
  'chainstate.txt': [
    '-----BEGIN STX BALANCES-----',
    'address,balance',
    'SP1,1',
    '-----END STX BALANCES-----',
    '-----BEGIN NAMESPACES-----',
    'namespace_id,address,buckets,base,coeff,nonalpha_discount,no_vowel_discount,lifetime',
    `id,${OWNER},7;6;5;4;3;2;1;1;1;1;1;1;1;1;1;1,4,250,4,4,52595`,
    `forever,${OWNER},1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1,1,1,1,1,99999999999999999999`,
    '-----END NAMESPACES-----',
    '-----BEGIN NAMES-----',
    'name,address,zonefile_hash',
    `zumrai.id,${OWNER},${HASH}`,
    `bare.id,${OWNER},`,
    '-----END NAMES-----',
    '',
  ],
  'name_zonefiles.txt': [HASH, '$ORIGIN zumrai.id\\n$TTL 3600\\n', ''],
  'subdomains.csv': [
    'zonefile_hash,parent_zonefile_hash,fully_qualified_subdomain,owner,block_height,parent_zonefile_index,zonefile_offset,resolver',
    `${SUB_HASH},${HASH},joe.zumrai.id,${BITCOIN},510000,0,0,https://registrar.example.com`,
    `${SUB_HASH},${HASH},eve.zumrai.id,bc1qother,510000,0,0,`,
    '',
  ],
  'subdomain_zonefiles.txt': [SUB_HASH, '$ORIGIN joe', SUB_HASH, '$ORIGIN eve', ''],
};

let data: DataDirectory;
let source: DataDirectory;
beforeEach(() => {
  [data, source] = [dataDirectory(), dataDirectory()];
  for (const [name, lines] of Object.entries(files)) write(name, lines.join('\n'));
});
afterEach(() => {
  data[Symbol.dispose]();
  source[Symbol.dispose]();
});

/** Writes a file of the export, with a file that holds its hash. */
function write(name: string, text: string): void {
  writeFileSync(join(source.path, name), text);
  const hash = new Bun.CryptoHasher('sha256').update(text).digest('hex');
  writeFileSync(join(source.path, `${name}.sha256`), `${hash}\n`);
}

/** Imports as a server does before it serves. */
async function importWith(settings: Settings, log: (event: LogEvent) => void): Promise<void> {
  using open = openAt(data.path);
  const { ingest } = open;
  const options = { commander: ingest.commander(systemClock), ingest, clock: systemClock, log };
  await (await importOldNames(settings, options)).done;
}

async function importNames(): Promise<LogEvent[]> {
  const logged: LogEvent[] = [];
  const settings = readSettings({ data: data.path, bnsImport: source.path }, {});
  await importWith(settings, (event) => logged.push(event));
  return logged;
}

async function read<T>(ask: (names: Reader['names']) => T | Promise<T>): Promise<T> {
  using snapshots = snapshotsOf(data.path);
  return await snapshots.readLong(async (reader) => ask(reader.names));
}

test('the export of old names is imported once', async () => {
  expect(await importNames()).toEqual([{ event: 'old_names_imported', rows: 7 }]);
  expect(await importNames()).toEqual([]);
});

test('without the setting, no old names are imported', async () => {
  const logged: LogEvent[] = [];
  await importWith(readSettings({ data: data.path }, {}), (event) => logged.push(event));
  expect(logged).toEqual([]);
});

test('old names, namespaces and subdomains are returned as registered in the chain’s first block', async () => {
  await importNames();
  const first = transfer(alice, 0, 1);
  using open = openAt(data.path);
  open.ingest.receive(block(null, 'one', [first]).event);
  const txId = Uint8Array.fromHex(first.id.slice(2));
  const zonefile = '$ORIGIN zumrai.id\n$TTL 3600\n';

  expect(await read((names) => names.find('zumrai.id'))).toEqual({
    owner: OWNER,
    operation: 'name-register',
    txId,
    expireBlock: 52_596,
    zonefileHash: Uint8Array.fromHex(HASH),
    zonefile,
  });
  expect(await read((names) => names.find('bare.id'))).toMatchObject({ zonefile: '' });
  expect(await read((names) => names.page(0))).toEqual(['bare.id', 'zumrai.id']);
  expect(await read((names) => names.ofNamespace('id', 0))).toEqual(['bare.id', 'zumrai.id']);
  expect(await read((names) => names.ofNamespace('forever', 0))).toEqual([]);
  expect(await read((names) => names.namespaces())).toEqual(['forever', 'id']);
  expect(await read((names) => names.price('id'))).toMatchObject({ base: 4n, coefficient: 250n, nonalphaDiscount: 4n });
  expect(await read((names) => names.zonefile('zumrai.id', null))).toBe(zonefile);
  expect(await read((names) => names.zonefile('zumrai.id', Uint8Array.fromHex(HASH)))).toBe(zonefile);
  expect(await read((names) => names.zonefile('zumrai.id', new Uint8Array(20)))).toBeUndefined();

  expect(await read((names) => names.findSubdomain('joe.zumrai.id'))).toEqual({
    owner: stacksOwner,
    txId,
    resolver: 'https://registrar.example.com',
    zonefileHash: Uint8Array.fromHex(SUB_HASH),
    zonefile: '$ORIGIN joe',
  });
  // Text that isn't an address of old Bitcoin stays as it is.
  expect(await read((names) => names.findSubdomain('eve.zumrai.id'))).toMatchObject({ owner: 'bc1qother' });
  expect(await read((names) => names.subdomains('zumrai.id'))).toEqual(['eve.zumrai.id', 'joe.zumrai.id']);
  expect(await read((names) => names.zonefile('eve.zumrai.id', Uint8Array.fromHex(SUB_HASH)))).toBe('$ORIGIN eve');
  expect(await read((names) => names.resolver('bob.zumrai.id'))).toBe('https://registrar.example.com');
  expect((await read((names) => names.ofOwner(OWNER))).sort()).toEqual(['bare.id', 'zumrai.id']);
  expect(await read((names) => names.ofOwner('bc1qother'))).toEqual(['eve.zumrai.id']);
  expect(stacksOwner).toStartWith('SP');
  expect(await read((names) => names.ofOwner(stacksOwner))).toEqual(['joe.zumrai.id']);
});

test('old names have no transaction in an index that doesn’t start at genesis', async () => {
  await importNames();
  openAt(data.path)[Symbol.dispose]();
  expect(await read((names) => names.find('zumrai.id'))).toMatchObject({ txId: null, expireBlock: 52_596 });
});

describe('an export of old names is rejected completely if', () => {
  test.each<[string, () => void, RegExp]>([
    [
      'a hash is another',
      () => writeFileSync(join(source.path, 'subdomains.csv.sha256'), '00'),
      /subdomains\.csv doesn't match/,
    ],
    ['a file is missing', () => write('name_zonefiles.txt', 'no hash\nx\n'), /name_zonefiles\.txt, line 1/],
    [
      'a name has no owner',
      () => write('chainstate.txt', '-----BEGIN NAMES-----\nheader\nalice.id\n'),
      /line 3: no row of NAMES/,
    ],
    [
      'a namespace has too few numbers',
      () => write('chainstate.txt', '-----BEGIN NAMESPACES-----\nheader\nid,SP1,1;2,3\n'),
      /line 3: no row of NAMESPACES/,
    ],
    [
      'zonefiles of subdomains are in another order',
      () => write('subdomain_zonefiles.txt', `${HASH}\nx\n`),
      /line 2: its zonefile is not next/,
    ],
    ['a subdomain is cut', () => write('subdomains.csv', `header\n${SUB_HASH},x\n`), /line 2: no row of a subdomain/],
  ])('%s', async (_, spoil, message) => {
    spoil();
    await expect(importNames()).rejects.toThrow(message);
    for (const [name, lines] of Object.entries(files)) write(name, lines.join('\n'));
    expect(await importNames()).toEqual([{ event: 'old_names_imported', rows: 7 }]);
  });
});
