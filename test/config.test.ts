import { describe, expect, test } from 'bun:test';
import { readSettings, settings } from '../src/config.ts';
import { OperatorError } from '../src/errors.ts';

describe('settings', () => {
  test('without flags and variables are the documented defaults', () => {
    expect(readSettings({}, {})).toEqual({
      data: './stackside-data',
      chainId: null,
      network: null,
      mode: 'full',
      apiHost: '0.0.0.0',
      apiPort: 3999,
      eventHost: '127.0.0.1',
      eventPort: 3700,
      eventBodyLimit: 500_000_000,
      journal: true,
      deprecated: true,
      sunset: null,
      bnsImport: null,
      logLevel: 'info',
    });
  });

  test('a flag beats our variable, which beats the other one, which beats the default', () => {
    const other = { STACKS_CORE_EVENT_PORT: '1' };
    const ours = { ...other, STACKSIDE_EVENT_PORT: '2' };
    expect(readSettings({}, other).eventPort).toBe(1);
    expect(readSettings({}, ours).eventPort).toBe(2);
    expect(readSettings({ eventPort: '3' }, ours).eventPort).toBe(3);
  });

  const read: [variables: Record<string, string>, expected: Partial<ReturnType<typeof readSettings>>][] = [
    [{ STACKS_CHAIN_ID: '0x80000000' }, { chainId: 0x8000_0000 }],
    [{ STACKS_CORE_EVENT_HOST: 'http://0.0.0.0' }, { eventHost: '0.0.0.0' }],
    [{ STACKS_API_MODE: 'readonly' }, { mode: 'read' }],
    [{ STACKS_API_MODE: 'writeonly' }, { mode: 'write' }],
    [{ STACKS_API_STORE_RAW_EVENTS: '0' }, { journal: false }],
    [{ STACKSIDE_NETWORK: 'mainnet' }, { chainId: 1 }],
    [{ STACKSIDE_API_PORT: '' }, { apiPort: 3999 }],
  ];
  for (const [variables, expected] of read) {
    test(`${JSON.stringify(variables)} gives ${JSON.stringify(expected)}`, () => {
      expect(readSettings({}, variables)).toMatchObject(expected);
    });
  }

  const refused: [given: Record<string, unknown>, variables: Record<string, string>, says: string][] = [
    [{ apiPort: '70000' }, {}, '--api-port is "70000".'],
    [{ apiPort: '1.5' }, {}, '--api-port is "1.5".'],
    [{}, { STACKSIDE_API_PORT: 'x' }, 'STACKSIDE_API_PORT is "x".'],
    [{ journal: 'maybe' }, {}, '--no-journal is "maybe".'],
    [{ data: '' }, {}, '--data is "".'],
    [{ eventBodyLimit: '10' }, {}, '--event-body-limit is "10".'],
    [{ logLevel: 'loud' }, {}, '--log-level is "loud".'],
  ];
  for (const [given, variables, says] of refused) {
    test(`${JSON.stringify({ ...given, ...variables })} is refused by name, with what is accepted`, () => {
      const attempt = () => readSettings(given, variables);
      expect(attempt).toThrow(OperatorError);
      expect(attempt).toThrow(says);
    });
  }

  test('no two settings share a flag or a variable', () => {
    const names = Object.values(settings).flatMap(({ flag, variables }) => [flag.split(' ')[0], ...variables]);
    expect(new Set(names).size).toBe(names.length);
  });

  test('every setting stands in the operators’ page with its variables', async () => {
    const page = await Bun.file(`${import.meta.dir}/../docs/operators.md`).text();
    for (const { flag, variables } of Object.values(settings)) {
      expect(page).toContain(flag.split(' ')[0] ?? flag);
      for (const variable of variables) expect(page).toContain(variable);
    }
  });
});
