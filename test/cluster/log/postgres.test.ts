/** The shared log in a real PostgreSQL. */
import { afterAll, beforeAll } from 'bun:test';
import { hasPostgres } from '../../support/servers/postgres.ts';
import { describeWith } from '../../support/servers/system-servers.ts';
import { cutTests } from './cut-tests.ts';
import { type EngineFixture, engineFixture } from './engine-fixture.ts';
import { fillingTests } from './filling-tests.ts';
import { leaseTests } from './lease-tests.ts';
import { logTests } from './log-tests.ts';

describeWith('PostgreSQL', hasPostgres, () => {
  let shared: EngineFixture;
  beforeAll(async () => {
    shared = await engineFixture();
  });
  afterAll(() => shared[Symbol.asyncDispose]());

  logTests(() => shared);
  cutTests(() => shared);
  leaseTests(() => shared);
  fillingTests(() => shared);
});
