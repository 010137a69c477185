import { describe, expect, test } from 'bun:test';
import { OperatorError } from '../../src/base/errors.ts';
import { readSettings, settings } from '../../src/settings/config.ts';
import { valueIndexesIn } from '../../src/settings/data.ts';

describe('settings', () => {
  test("a flag overrides Stackside's variable, which overrides the other variable, which overrides the default", () => {
    const other = { STACKS_CORE_EVENT_PORT: '1' };
    const ours = { ...other, STACKSIDE_EVENT_PORT: '2' };
    expect(readSettings({}, other).eventPort).toBe(1);
    expect(readSettings({}, ours).eventPort).toBe(2);
    expect(readSettings({ eventPort: '3' }, ours).eventPort).toBe(3);
  });

  test('--network accepts a name or a chain id', () => {
    expect(readSettings({ network: 'mainnet' }, {}).network).toBe(1);
    expect(readSettings({ network: '0x80000001' }, {}).network).toBe(0x8000_0001);
    expect(readSettings({ network: 'testnet' }, { STACKS_CHAIN_ID: '0x00000001' }).network).toBe(0x8000_0000);
    expect(() => readSettings({ network: 'moon' }, {})).toThrow('--network is "moon".');
  });

  test('SNP_REDIS_URL applies only if SNP_EVENT_STREAMING is true', () => {
    const [url, other] = ['redis://user:secret@redis:6379/1', 'rediss://other'];
    const snp = (flags: Record<string, string>, variables: Record<string, string>) =>
      readSettings(flags, variables).snp;
    expect(snp({}, { SNP_REDIS_URL: url })).toBeNull();
    expect(snp({}, { SNP_REDIS_URL: url, SNP_EVENT_STREAMING: 'false' })).toBeNull();
    expect(snp({}, { SNP_REDIS_URL: url, SNP_EVENT_STREAMING: 'true' })).toBe(url);
    expect(snp({ snp: other }, { SNP_REDIS_URL: url })).toBe(other);
    expect(snp({}, { STACKSIDE_SNP: other })).toBe(other);
    expect(() => readSettings({}, { SNP_EVENT_STREAMING: 'true' })).toThrow(
      'SNP_EVENT_STREAMING is true, but nothing names the Redis of stacks-node-publisher.',
    );
  });

  test.each([
    ['mainnet', 'mainnet:'],
    ['mainnet:', 'mainnet:'],
    ['', ''],
  ])('the key prefix %p of stacks-node-publisher is %p', (value, prefix) => {
    expect(readSettings({}, { SNP_REDIS_STREAM_KEY_PREFIX: value }).snpKeyPrefix).toBe(prefix);
  });

  const read: [variables: Record<string, string>, expected: Partial<ReturnType<typeof readSettings>>][] = [
    [{ STACKS_CHAIN_ID: '0x80000000' }, { network: 0x8000_0000 }],
    [{ STACKS_CORE_EVENT_HOST: 'http://0.0.0.0' }, { eventHost: '0.0.0.0' }],
    [{ STACKS_API_MODE: 'readonly' }, { mode: 'read' }],
    [{ STACKSIDE_DEPRECATED: '2028-02-29' }, { deprecated: Date.UTC(2028, 1, 29) }],
    [{ STACKSIDE_DEPRECATED: '2027-06-30T14:00:00+02:00' }, { deprecated: Date.UTC(2027, 5, 30, 12) }],
    [{ STACKS_API_MODE: 'writeonly' }, { mode: 'write' }],
    [{ STACKSIDE_NETWORK: 'mainnet' }, { network: 1 }],
    [{ STACKSIDE_API_PORT: '' }, { apiPort: 3999 }],
    [{ STACKSIDE_NODE_RPC: 'https://node.example/' }, { nodeRpc: 'https://node.example' }],
    [{ STACKS_CORE_RPC_HOST: 'node', STACKS_CORE_RPC_PORT: '1' }, { nodeRpc: 'http://node:1' }],
    [{ STACKS_CORE_RPC_HOST: 'http://node' }, { nodeRpc: 'http://node:20443' }],
    [{ STACKS_CORE_RPC_HOST: 'node', STACKS_CORE_PROXY_PORT: '2' }, { nodeRpc: 'http://127.0.0.1:2' }],
  ];
  for (const [variables, expected] of read) {
    test(`${JSON.stringify(variables)} gives ${JSON.stringify(expected)}`, () => {
      expect(readSettings({}, variables)).toMatchObject(expected);
    });
  }

  const refused: [given: Record<string, unknown>, variables: Record<string, string>, says: string][] = [
    [{ apiPort: '70000' }, {}, '--api-port is "70000".'],
    [{ apiPort: '1.5' }, {}, '--api-port is "1.5".'],
    [{ snp: 'http://redis' }, {}, '--snp is "http://redis".'],
    [{ cluster: 'postgress://user@host/db?password=secret' }, {}, '--cluster is "postgress://***@host/db?***".'],
    [{ snp: 'redis://user:secret@' }, {}, '--snp is "redis://user:***@".'],
    [{ snpKeyPrefix: 'a b' }, {}, '--snp-key-prefix is "a b".'],
    [{}, { STACKSIDE_API_PORT: 'x' }, 'STACKSIDE_API_PORT is "x".'],
    [{ data: '' }, {}, '--data is "".'],
    [{ hookAccess: 'closed' }, {}, '--hook-access is "closed".'],
    [{ allowedHosts: 'https://api.example.org' }, {}, '--allowed-hosts is "https://api.example.org".'],
    [{ deprecated: '2027-02-30' }, {}, '--deprecated is "2027-02-30".'],
    [{ deprecated: '2027-06-30T12:00' }, {}, '--deprecated is "2027-06-30T12:00".'],
    [{}, { STACKSIDE_DEPRECATED: '2027-02-29T00:00:00Z' }, 'STACKSIDE_DEPRECATED is "2027-02-29T00:00:00Z".'],
    [{}, { STACKSIDE_BTC_RPC: 'http://user:a%zz@bitcoin' }, 'STACKSIDE_BTC_RPC is "http://user:***@bitcoin".'],
    [{}, { STACKSIDE_BTC_RPC: 'http://user:a/b@bitcoin' }, 'STACKSIDE_BTC_RPC is "http://user:***@bitcoin".'],
    [{ logLevel: 'loud' }, {}, '--log-level is "loud".'],
    [{ nodeRpc: 'node:20443' }, {}, '--node-rpc is "node:20443".'],
    [{ nodeRpc: 'http://node:99999' }, {}, '--node-rpc is "http://node:99999".'],
    [{}, { STACKSIDE_BTC_RPC: 'http://bitcoin:99999' }, 'STACKSIDE_BTC_RPC is "http://bitcoin:99999".'],
    [{}, { STACKS_CORE_RPC_HOST: 'a b' }, 'STACKS_CORE_RPC_HOST with STACKS_CORE_RPC_PORT is "http://a b:20443".'],
  ];
  const CONTRACT = 'SP000000000000000000002Q6VF78.pox-4';
  for (const index of [
    'SP000000000000000000002Q6VF78',
    `${CONTRACT}:`,
    `${CONTRACT}:a:b`,
    'SP000000000000000000002Q6VF79.pox-4',
    ':a',
  ]) {
    refused.push([{ logIndex: index }, {}, `--log-index is "${index}".`]);
    refused.push([
      {},
      { STACKSIDE_CALL_INDEX: `${CONTRACT} ${index}` },
      `STACKSIDE_CALL_INDEX is "${CONTRACT} ${index}".`,
    ]);
  }
  for (const [flags, variables, message] of refused) {
    test(`${JSON.stringify({ ...flags, ...variables })} is rejected with the name of the setting`, () => {
      const attempt = () => readSettings(flags, variables);
      expect(attempt).toThrow(OperatorError);
      expect(attempt).toThrow(message);
    });
  }

  test('each index of decoded values is listed once, unless another index already includes it', () => {
    const flags = {
      logIndex: `${CONTRACT}:data ${CONTRACT}:data.amount  ${CONTRACT}:database ${CONTRACT}:data`,
      callIndex: `${CONTRACT}:stack-stx ${CONTRACT}`,
    };
    expect(valueIndexesIn(readSettings(flags, {}))).toEqual([
      { subject: 'logs', contract: CONTRACT, scope: 'data' },
      { subject: 'logs', contract: CONTRACT, scope: 'database' },
      { subject: 'calls', contract: CONTRACT, scope: '' },
    ]);
    expect(valueIndexesIn(readSettings({}, {}))).toEqual([]);
  });

  test('a host without a port is rejected if the port lacks a default', () => {
    const attempt = () => readSettings({}, { BTC_RPC_HOST: 'http://127.0.0.1' });
    expect(attempt).toThrow('BTC_RPC_PORT is not set.');
    expect(readSettings({}, { BTC_RPC_HOST: 'http://b', BTC_RPC_PORT: '18443' }).btcRpc).toBe('http://b:18443');
    const credentials = { BTC_RPC_USER: 'a b', BTC_RPC_PW: 'p@ss' };
    const pair = { BTC_RPC_HOST: 'http://b', BTC_RPC_PORT: '18443' };
    expect(readSettings({}, { ...pair, ...credentials }).btcRpc).toBe('http://a%20b:p%40ss@b:18443');
  });

  test('the error about an invalid URL hides its password', () => {
    for (const url of [
      'http://me:hush@node/?x',
      'http://me:hu/s#h@node',
      'ftp://me:hush@node',
      'http://me:hush@@node?',
    ]) {
      const attempt = () => readSettings({}, { STACKSIDE_NODE_RPC: url });
      expect(attempt).toThrow('STACKSIDE_NODE_RPC is "');
      expect(attempt).toThrow('://me:***@node');
    }
  });

  test('the error about an invalid secret hides the secret', () => {
    const attempt = () => readSettings({}, { FAUCET_PRIVATE_KEY: 'hunter2' });
    expect(attempt).toThrow('FAUCET_PRIVATE_KEY is wrong.');
    expect(attempt).not.toThrow('hunter2');
  });

  test('no two settings share a flag or a variable', () => {
    const names = Object.values(settings).flatMap(({ flag, variables }) => [
      ...(flag === null ? [] : [flag.split(' ')[0]]),
      ...variables,
    ]);
    expect(new Set(names).size).toBe(names.length);
  });
});
