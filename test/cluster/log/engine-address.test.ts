/** URLs of the shared log that name several PostgreSQL servers. */
import { expect, test } from 'bun:test';
import { engineServers, isEngineUrl } from '../../../src/cluster/postgres-engine.ts';

test('splits a URL with several servers into one URL per server', () => {
  expect(engineServers('postgresql://user:p%40ss@db-1,db2.example:5433,[::1]:6000/chain%20a?sslmode=require')).toEqual([
    { name: 'db-1:5432', url: 'postgres://user:p%40ss@db-1:5432/chain%20a?sslmode=require', database: 'chain a' },
    {
      name: 'db2.example:5433',
      url: 'postgres://user:p%40ss@db2.example:5433/chain%20a?sslmode=require',
      database: 'chain a',
    },
    { name: '[::1]:6000', url: 'postgres://user:p%40ss@[::1]:6000/chain%20a?sslmode=require', database: 'chain a' },
  ]);
  expect(engineServers('postgres://10.0.0.1/x').map(({ name }) => name)).toEqual(['10.0.0.1:5432']);
});

test.each([
  '',
  'mysql://h/x',
  'postgres://h',
  'postgres://h/',
  'postgres:///x',
  'postgres://h:0/x',
  'postgres://h:99999/x',
  'postgres://h,/x',
  'postgres://h,h2:port/x',
  'postgres://h/%zz',
  'postgres://h/x#part',
])('%j names no servers, and the error does not repeat it', (url) => {
  expect(isEngineUrl(url)).toBe(false);
  expect(() => engineServers(url)).toThrow('The URL of the shared log is not one of PostgreSQL.');
});
