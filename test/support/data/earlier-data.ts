/** Data directories as commits before version 0.1.0 left them. */

import { Database } from 'bun:sqlite';
import { CryptoHasher } from 'bun';
import { indexPath, journalPath, openWriter } from '../../../src/store/files/database.ts';
import { hookStore } from '../../../src/store/hooks/store.ts';
import { definition } from '../../hooks/server.ts';
import { journalRows } from './tables.ts';

/** Eight bytes, big-endian. */
const bytesOf = (number: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(number));
  return bytes;
};

/** Makes the files of a directory what commits before version 0.1.0 wrote. @param version of the journal */
export function makeEarlier(directory: string, version: 1 | 2): void {
  const rows = journalRows(directory);
  using journal = new Database(journalPath(directory));
  journal.run(`PRAGMA application_id = 0; PRAGMA user_version = ${version}; DROP INDEX withheld`);
  if (version === 1) journal.run('DROP TABLE chain; DROP TABLE breaks');
  let chain: Uint8Array = new Uint8Array(32);
  for (const { id, receivedAt, path, text } of version === 1 ? [] : rows) {
    const sizes = [path, text].map((part) => bytesOf(Buffer.byteLength(part)));
    const hasher = new CryptoHasher('sha256').update(chain).update(bytesOf(id)).update(bytesOf(receivedAt));
    chain = hasher.update(sizes[0]!).update(path).update(sizes[1]!).update(text).digest();
    journal.run('UPDATE chain SET value = ?2 WHERE id = ?1', [id, chain]);
  }
  using index = new Database(indexPath(directory));
  index.run('PRAGMA application_id = 0; PRAGMA user_version = 9');
  index.run("UPDATE progress SET journal_chain = x'0102'");
}

/** Adds chainhooks to an index alone, as commits before version 0.1.0 did. */
export function addEarlierHooks(directory: string, names: readonly string[]): void {
  using db = openWriter(directory);
  const { records } = hookStore(db);
  const url = 'http://127.0.0.1:9/';
  for (const name of names) {
    const body = { ...definition(url, [{ type: 'coinbase' }], { enable_on_registration: true }), name };
    const hook = { uuid: crypto.randomUUID(), consumer: 'me', createdAt: 0, definition: JSON.stringify(body), url };
    records.goLive(records.add(hook), null);
  }
}
