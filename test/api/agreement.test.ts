/** What several routes say of one thing is one answer. */
import { describe, expect, test } from 'bun:test';
import { alice, block, deployment, receipt } from '../support/handmade.ts';
import { memoryIndex } from '../support/memory-index.ts';
import { testApp } from './test-app.ts';

describe('the Clarity version of a deployment that names none is null', () => {
  const clarity = (version: string) => ({ functions: [], clarity_version: version });
  const interfaces = { 'one-1': clarity('Clarity1'), 'one-2': clarity('Clarity2'), none: null };
  const names = Object.keys(interfaces) as (keyof typeof interfaces)[];
  const deployments = names.map((name, nonce) => deployment(alice, nonce, 180, name));
  const receipts = names.map((name, index) =>
    receipt(deployments[index]!, index, { contract_interface: interfaces[name] }),
  );
  const { json } = testApp(memoryIndex([block(null, 'deployments', receipts).event]));
  interface Shown {
    contract_id: string;
    clarity_version: number | null;
  }
  const body = async <T>(path: string) => (await json(path)).body as T;

  test.each(names.map((name, index) => [name, index] as const))('%s', async (name, index) => {
    const { id } = deployments[index]!;
    const contract = `${alice.address}.${name}`;
    const list = await body<{ results: { smart_contract: Shown }[] }>('/extended/v3/transactions');
    const found = [
      await body<Shown>(`/extended/v3/smart-contracts/${contract}`),
      await body<Shown>(`/extended/v1/contract/${contract}`),
      (await body<{ smart_contract: Shown }>(`/extended/v3/transactions/${id}`)).smart_contract,
      (await body<{ smart_contract: Shown }>(`/extended/v1/tx/${id}`)).smart_contract,
      list.results[names.length - 1 - index]!.smart_contract,
    ];
    expect(found.map((one) => [one.contract_id, one.clarity_version])).toEqual(found.map(() => [contract, null]));
  });
});
