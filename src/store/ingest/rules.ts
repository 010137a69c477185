/** The rules that an index is made with: a new one gets those of the setting, one with blocks keeps its own. */
import type { Database } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import { SEND_MANY } from '../../chain/memo-transfers.ts';
import type { Network } from '../../chain/network.ts';
import type { RecordedRules, RulesSetting } from '../../chain/rules.ts';
import { recordedRules } from '../queries/rules.ts';
import { inserter, upserter } from '../rows/table.ts';
import { keptPrincipalsTable, sendManyContractsTable } from '../rows/tables.ts';

/** The send-many contracts of an index that differ from the setting. A network whose setting is null is left out. */
function otherSendMany(recorded: RecordedRules, wanted: RulesSetting) {
  return (['mainnet', 'testnet'] as const).flatMap((network) => {
    const [stored, contract] = [recorded.sendMany[network] ?? SEND_MANY[network], wanted.sendMany[network]];
    return contract === null || contract === stored ? [] : [{ network, stored, contract }];
  });
}

const EVERYTHING = 'everything';
/** Names that a message has at most. */
const MOST_NAMED = 10;

function textOf(only: readonly string[]): string {
  if (only.length === 0) return EVERYTHING;
  const others = only.length - MOST_NAMED;
  return only.slice(0, MOST_NAMED).join(' ') + (others > 0 ? ` and ${others} more` : '');
}

/**
 * How the rules of an index differ from the setting, as a sentence and what to do about it; null where they don't.
 * @param kind the network of the chain, whose send-many contract alone counts; null where it isn't known
 */
export function differenceOfRules(
  db: Database,
  wanted: RulesSetting,
  kind: Network['kind'] | null,
  directory: string,
): [string, string] | null {
  const recorded = recordedRules(db);
  for (const { network, stored, contract } of otherSendMany(recorded, wanted)) {
    if (kind !== null && kind !== network) continue;
    return [
      `The index in ${directory} was made with the send-many contract ${stored}, but the setting names ${contract}.`,
      `Remove the setting of the send-many contract of ${network}, or run stackside rebuild with the setting.`,
    ];
  }
  if (wanted.only === null || Bun.deepEquals(recorded.only, wanted.only)) return null;
  return [
    `The index in ${directory} keeps ${textOf(recorded.only)}, but the setting is to keep ${textOf(wanted.only)}.`,
    'Omit --only, or run stackside rebuild with it.',
  ];
}

/** Writes the rules of an index that has no blocks. */
export function setRules(db: Database, { sendMany, only }: RulesSetting): void {
  const set = upserter(db, sendManyContractsTable, { replaced: ['contract_id'] });
  for (const network of ['mainnet', 'testnet'] as const) {
    const contract = sendMany[network];
    if (contract !== null) set({ network, contract_id: contract });
  }
  if (only === null) return;
  db.run('DELETE FROM kept_principals');
  const keep = inserter(db, keptPrincipalsTable);
  for (const principal of only) keep({ principal });
}

/**
 * Requires that the index was made with the rules that the operator set. An index without blocks stores them, since no row
 * depends on them yet.
 * @throws OperatorError where the index was made with others
 */
export function requireRules(
  db: Database,
  wanted: RulesSetting,
  kind: Network['kind'] | null,
  directory: string,
): void {
  if (db.query('SELECT 1 FROM blocks LIMIT 1').get() === null) {
    db.transaction(() => setRules(db, wanted)).immediate();
    return;
  }
  const difference = differenceOfRules(db, wanted, kind, directory);
  if (difference !== null) throw new OperatorError(...difference);
}
