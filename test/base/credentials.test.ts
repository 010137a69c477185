/** Texts of URLs in messages contain no passwords. */
import { expect, test } from 'bun:test';
import { withoutCredentials } from '../../src/base/credentials.ts';

test.each([
  ['https://user:secret@host/path', 'https://user:***@host/path'],
  ['https://token@host', 'https://***@host'],
  ['https://user:se@cret@host/path', 'https://user:***@host/path'],
  ['https://user:se/cret@host', 'https://user:***@host'],
  ['redis-sentinel://u:secret@host', 'redis-sentinel://u:***@host'],
  ['postgres+ssl.1://u:secret@host', 'postgres+ssl.1://u:***@host'],
  ['https://user:secret@host/stacks@2026', 'https://user:***@host/stacks@2026'],
  ['s3://bucket/stacks@2026', 's3://bucket/stacks@2026'],
  ['http://host/archive?token=secret', 'http://host/archive?***'],
  ['http://host/archive?secret', 'http://host/archive?***'],
  ['http://host/archive?a=secret&secret', 'http://host/archive?***&***'],
  ['http://host/archive?c2VjcmV0dG9rZW4=', 'http://host/archive?***'],
  ['http://host/archive?sslmode=secret', 'http://host/archive?***'],
  ['http://host/archive?', 'http://host/archive?'],
  ['postgres://host/db?password=secret&sslmode=require', 'postgres://host/db?***&sslmode=require'],
  [
    'postgres://u:secret@host/db?sslmode=verify-full&sslrootcert=/etc/ssl/db-ca.pem',
    'postgres://u:***@host/db?sslmode=verify-full&sslrootcert=/etc/ssl/db-ca.pem',
  ],
  ['postgres://host/db?sslmode=require#secret', 'postgres://host/db?***'],
  ['postgres://us?er:se/cr=et@host/db', 'postgres://us?***'],
  ['/srv/stacks@2026?', '/srv/stacks@2026?'],
])('%s is shown as %s', (text, shown) => {
  expect(withoutCredentials(text)).toBe(shown);
});
