/** Reward cycles, their signers and stackers, and what Bitcoin paid, against the rows they are sums of. */
import type { Database } from 'bun:sqlite';
import { decimalOf } from '../rows/amounts.ts';
import { TERM } from '../rows/words.ts';
import { type CheckResult, equal, none, shown } from './result.ts';

/** Signers, weight and what is stacked of each cycle. */
function cycles(db: Database): CheckResult {
  const counted = new Map<number, { signers: number; weight: number; stacked: bigint }>();
  const signers = db.query<{ cycle: number; weight: number; stacked: string }, []>(
    'SELECT cycle, weight, stacked FROM cycle_signers',
  );
  for (const { cycle, weight, stacked } of signers.iterate()) {
    const sum = counted.get(cycle) ?? { signers: 0, weight: 0, stacked: 0n };
    sum.signers += 1;
    sum.weight += weight;
    sum.stacked += BigInt(decimalOf(stacked));
    counted.set(cycle, sum);
  }
  const problems: string[] = [];
  const kept = db.query<{ cycle: number; signers: number; weight: number; stacked: string }, []>(
    'SELECT cycle, signers, weight, stacked FROM reward_cycles',
  );
  for (const { cycle, signers: many, weight, stacked } of kept.iterate()) {
    const sum = counted.get(cycle) ?? { signers: 0, weight: 0, stacked: 0n };
    counted.delete(cycle);
    if (sum.signers !== many || sum.weight !== weight || sum.stacked !== BigInt(stacked)) {
      problems.push(
        `cycle ${cycle}: kept ${many} signers, weight ${weight}, ${stacked} stacked, ` +
          `counted ${sum.signers}, ${sum.weight}, ${sum.stacked}`,
      );
    }
  }
  for (const cycle of counted.keys()) problems.push(`cycle ${cycle} has signers and is not kept`);
  return { name: 'signers, weight and stacked STX of each reward cycle', problems: shown(problems) };
}

/** Rows that are numbered from 1 without gaps. */
const numbered = (db: Database, name: string, table: string, number: string, group: string): CheckResult =>
  none<{ of: string; last: number; counted: number }>(
    db,
    name,
    `SELECT ${group} AS "of", max(${number}) AS last, count(*) AS counted FROM ${table}
      GROUP BY ${group} HAVING max(${number}) <> count(*) OR min(${number}) <> 1`,
    ({ of, last, counted }) => `${of}: the last number is ${last}, and there are ${counted}`,
  );

/** What each address was paid so far, in each of its rows. */
function rewardTotals(db: Database): CheckResult {
  const sums = new Map<string, bigint>();
  const problems: string[] = [];
  const rows = db.query<{ recipient: string; amount: string; total: string; ordinal: number }, []>(
    'SELECT recipient, amount, recipient_total AS total, ordinal FROM burn_rewards ORDER BY ordinal',
  );
  for (const { recipient, amount, total, ordinal } of rows.iterate()) {
    const sum = (sums.get(recipient) ?? 0n) + BigInt(amount);
    sums.set(recipient, sum);
    if (sum !== BigInt(total)) problems.push(`reward ${ordinal} of ${recipient}: kept ${total}, counted ${sum}`);
  }
  return { name: 'sums of what Bitcoin paid to each address', problems: shown(problems) };
}

export const checkStacking = (db: Database): CheckResult[] => [
  cycles(db),
  equal(
    db,
    'total of reward cycles',
    'SELECT cycles AS kept, (SELECT count(*) FROM reward_cycles) AS counted FROM staking_totals',
  ),
  none<{ address: string; cycle: number }>(
    db,
    'stackers of each reward cycle',
    `SELECT k.address, k.cycle FROM cycle_stackers k
      WHERE (k.position, k.event_index) IS NOT
            (SELECT position, event_index FROM stacking_terms t
              WHERE t.stacker_id = k.stacker_id AND t.role = k.role AND t.first_cycle <= k.cycle AND t.end_cycle > k.cycle
              ORDER BY position DESC, event_index DESC LIMIT 1)`,
    ({ address, cycle }) => `the last print of ${address} for cycle ${cycle} is another`,
  ),
  none<{ address: string; first_cycle: number; end_cycle: number }>(
    db,
    'a row for each cycle that STX are stacked for',
    `SELECT t.address, t.first_cycle, t.end_cycle FROM stacking_terms t
      WHERE t.role < ${TERM.commitment} AND t.end_cycle > t.first_cycle
        AND (SELECT count(*) FROM cycle_stackers k
              WHERE k.stacker_id = t.stacker_id AND k.role = t.role
                AND k.cycle >= t.first_cycle AND k.cycle < t.end_cycle) <> t.end_cycle - t.first_cycle`,
    ({ address, first_cycle, end_cycle }) => `${address} is missing in a cycle from ${first_cycle} to ${end_cycle}`,
  ),
  none<{ cycle: number; signer_key: Uint8Array }>(
    db,
    'counts of the stackers of each signer',
    `SELECT cycle, signer_key FROM
       (SELECT cycle, signer_key, solo, pooled, 1 AS kept FROM cycle_stacker_counts
        UNION ALL SELECT cycle, signer_key, sum(role = ${TERM.solo}), sum(role = ${TERM.pooled}), -1 FROM cycle_stackers
                   WHERE signer_key IS NOT NULL GROUP BY cycle, signer_key)
      GROUP BY cycle, signer_key HAVING sum(solo * kept) <> 0 OR sum(pooled * kept) <> 0`,
    ({ cycle, signer_key }) => `cycle ${cycle}, signer 0x${signer_key.toHex()}: other stackers are counted`,
  ),
  numbered(db, 'numbers of the stacking prints', 'stacking_events', 'ordinal', 'pox_version'),
  numbered(db, 'numbers of rewards of Bitcoin', 'burn_rewards', 'ordinal', "'rewards'"),
  numbered(db, 'numbers of rewards of each address', 'burn_rewards', 'recipient_ordinal', 'recipient'),
  numbered(db, 'numbers of reward slots', 'burn_slot_holders', 'ordinal', "'slots'"),
  numbered(db, 'numbers of reward slots of each address', 'burn_slot_holders', 'address_ordinal', 'address'),
  numbered(db, 'numbers of outputs to each address', 'pox_transactions', 'recipient_ordinal', 'recipient'),
  rewardTotals(db),
];
