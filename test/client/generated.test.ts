/**
 * Clients that two generators create from the whole OpenAPI document: they compile, name the resources, distinguish the
 * branches of a union, and read the server's answers.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { createClient } from '@hey-api/openapi-ts';
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import ts from 'typescript';
import { dataDirectory } from '../support/data/data-directory.ts';
import { startTour } from './tour.ts';
import { programOf } from './type-check.ts';

/** Code that uses both clients. */
const USE = `
import { client } from './client/client.gen';
import { getTransaction, getTransactions } from './client/sdk.gen';
import type { Transaction } from './client/types.gen';
import type { components, paths } from './types';

type Schemas = components['schemas'];
type Page = paths['/extended/v3/transactions']['get']['responses'][200]['content']['application/json'];

export const calledFunction = (one: Schemas['FoundTransaction'] | Transaction): string | null =>
  one.type === 'contract_call' ? one.contract_call.function_name : null;

export async function read(baseUrl: string) {
  client.setConfig({ baseUrl });
  const list = await getTransactions({ query: { limit: 50 }, throwOnError: true });
  const page: Page = list.data;
  const call = page.results.find((one) => one.type === 'contract_call');
  const found = await getTransaction({ path: { tx_id: call?.tx_id ?? '' }, throwOnError: true });
  const unknown = await getTransaction({ path: { tx_id: '0' } });
  const problem: Schemas['Problem'] | undefined = unknown.error as Schemas['Problem'] | undefined;
  return {
    total: page.total,
    sender: found.data.sender.address,
    called: calledFunction(found.data),
    listed: call === undefined ? null : call.contract_call.function_name,
    status: problem?.statusCode,
  };
}
`;

const tour = await startTour();
let server: ReturnType<typeof Bun.serve>;
const temporary = dataDirectory();
const directory = temporary.path;
beforeAll(async () => {
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: tour.fetch });
  const document = tour.document as unknown as OpenAPI3;
  await createClient({
    input: document as never,
    output: join(directory, 'client'),
    logs: { level: 'silent' },
    plugins: ['@hey-api/typescript', '@hey-api/client-fetch', '@hey-api/sdk'],
  });
  await Bun.write(join(directory, 'types.ts'), astToString(await openapiTS(document)));
  await Bun.write(join(directory, 'use.ts'), USE);
});
afterAll(async () => {
  await server?.stop(true);
  temporary[Symbol.dispose]();
});

test('the clients of both generators compile', () => {
  const program = programOf({ [join(directory, 'use.ts')]: USE });
  for (const name of ['use.ts', 'types.ts', 'client/types.gen.ts', 'client/sdk.gen.ts', 'client/client.gen.ts']) {
    const file = program.getSourceFile(join(directory, name));
    if (file === undefined) throw new Error(`${name} is not part of the program`);
    const errors = ts.getPreEmitDiagnostics(program, file).map(({ messageText }) => messageText);
    expect({ name, errors }).toEqual({ name, errors: [] });
  }
});

test("a generated client reads the server's answers", async () => {
  const { read } = (await import(join(directory, 'use.ts'))) as {
    read(baseUrl: string): Promise<Record<'total' | 'sender' | 'called' | 'listed' | 'status', unknown>>;
  };
  const { total, sender, called, listed, status } = await read(server.url.origin);
  expect(total).toBeGreaterThan(100);
  expect(sender).toMatch(/^ST/);
  expect(called).toBeString();
  expect(called).toBe(listed);
  expect(status).toBe(400);
});
