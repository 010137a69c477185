/** Keys of signers: registrations, of which the last is current, grants and revocations. */
import type { Database } from 'bun:sqlite';
import type { Sign } from '../../chain/effect.ts';
import type { StakingChange } from '../../chain/pox/staking.ts';
import { table } from '../rows/table.ts';
import { signerKeysTable } from '../rows/tables.ts';
import { KEY_ACTION, storedKeyAction } from '../rows/words.ts';
import type { Dictionaries } from './dictionary.ts';
import type { At } from './history.ts';

/** What writes them through this connection. */
export function signerKeyWriter(db: Database, { principals }: Dictionaries) {
  const keys = table(db, signerKeysTable);
  const registration = db.prepare<{ found: number }, [number]>(
    'SELECT 1 AS found FROM signer_keys WHERE signer_id = ?1 AND current = 1',
  );
  const forget = db.prepare<null, [number]>('UPDATE signer_keys SET current = 0 WHERE signer_id = ?1 AND current = 1');
  const recall = db.prepare<null, [number]>(
    `UPDATE signer_keys SET current = 1 WHERE (signer_id, position, event_index) =
       (SELECT signer_id, position, event_index FROM signer_keys
         WHERE signer_id = ?1 AND action = ${KEY_ACTION.register} ORDER BY position DESC, event_index DESC LIMIT 1)`,
  );
  const count = db.prepare<null, [number]>('UPDATE staking_totals SET signers = signers + ?1');
  const isRegistered = (signer: number): boolean => registration.get(signer) !== null;

  function add(change: Extract<StakingChange, { kind: 'signer_key' }>, { position, index }: At): void {
    const signer = principals.id(change.signer);
    const registers = change.action === 'register';
    const isFirst = registers && !isRegistered(signer);
    if (registers) forget.run(signer);
    keys.add({
      signer_id: signer,
      position,
      event_index: index,
      action: storedKeyAction.numberOf(change.action),
      signer_key: change.key,
      auth_id: change.authId?.toString() ?? null,
      current: Number(registers),
      address: change.signer,
    });
    if (isFirst) count.run(1);
  }

  function remove(change: Extract<StakingChange, { kind: 'signer_key' }>, { position, index }: At): void {
    const signer = principals.id(change.signer);
    keys.remove({ signer_id: signer, position, event_index: index });
    if (change.action !== 'register') return;
    recall.run(signer);
    if (!isRegistered(signer)) count.run(-1);
  }

  return (change: Extract<StakingChange, { kind: 'signer_key' }>, at: At, sign: Sign): void =>
    sign === 1 ? add(change, at) : remove(change, at);
}
