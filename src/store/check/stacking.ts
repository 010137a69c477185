/** Reward cycles, their signers and stackers, and what Bitcoin paid, against the rows they are sums of. */
import { decimalOf } from '../rows/amounts.ts';
import { TERM } from '../rows/words.ts';
import { type Check, equal, none } from './result.ts';

/** Signers, weight and what is stacked of each cycle. */
const cycles: Check = {
  name: 'signers, weight and stacked STX of each reward cycle',
  isLimited: false,
  *find(db) {
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
    const kept = db.query<{ cycle: number; signers: number; weight: number; stacked: string }, []>(
      'SELECT cycle, signers, weight, stacked FROM reward_cycles',
    );
    for (const { cycle, signers: many, weight, stacked } of kept.iterate()) {
      const sum = counted.get(cycle) ?? { signers: 0, weight: 0, stacked: 0n };
      counted.delete(cycle);
      if (sum.signers !== many || sum.weight !== weight || sum.stacked !== BigInt(stacked)) {
        yield `cycle ${cycle}: kept ${many} signers, weight ${weight}, ${stacked} stacked, ` +
          `counted ${sum.signers}, ${sum.weight}, ${sum.stacked}`;
      }
    }
    for (const cycle of counted.keys()) yield `cycle ${cycle} has signers and is not kept`;
  },
};

interface TermRow {
  address: string;
  stacker_id: number;
  role: number;
  first_cycle: number;
  end_cycle: number;
}

const stackedCycles: Check = {
  name: 'a row for each cycle that STX are stacked for',
  isLimited: false,
  *find(db) {
    const stands = db.query<{ found: number }, [number, number, number]>(
      'SELECT 1 AS found FROM cycle_stackers WHERE cycle = ?1 AND role = ?2 AND stacker_id = ?3',
    );
    const terms = db.query<TermRow, []>(
      `SELECT address, stacker_id, role, first_cycle, end_cycle FROM stacking_terms WHERE role < ${TERM.commitment}`,
    );
    for (const { address, stacker_id, role, first_cycle, end_cycle } of terms.iterate()) {
      for (let cycle = first_cycle; cycle < end_cycle; cycle++) {
        if (stands.get(cycle, role, stacker_id) !== null) continue;
        yield `${address} is missing in a cycle from ${first_cycle} to ${end_cycle}`;
        break;
      }
    }
  },
};

/** Rows that are numbered from 1 without gaps. */
const numbered = (name: string, table: string, number: string, group: string): Check =>
  none<{ of: string; last: number; counted: number }>(
    name,
    `SELECT ${group} AS "of", max(${number}) AS last, count(*) AS counted FROM ${table}
      GROUP BY ${group} HAVING max(${number}) <> count(*) OR min(${number}) <> 1`,
    ({ of, last, counted }) => `${of}: the last number is ${last}, and there are ${counted}`,
  );

/** What each address was paid so far, in each of its rows. */
const rewardTotals: Check = {
  name: 'sums of what Bitcoin paid to each address',
  isLimited: false,
  *find(db) {
    const sums = new Map<string, bigint>();
    const rows = db.query<{ recipient: string; amount: string; total: string; ordinal: number }, []>(
      'SELECT recipient, amount, recipient_total AS total, ordinal FROM burn_rewards ORDER BY ordinal',
    );
    for (const { recipient, amount, total, ordinal } of rows.iterate()) {
      const sum = (sums.get(recipient) ?? 0n) + BigInt(amount);
      sums.set(recipient, sum);
      if (sum !== BigInt(total)) yield `reward ${ordinal} of ${recipient}: kept ${total}, counted ${sum}`;
    }
  },
};

export const stackingChecks: readonly Check[] = [
  cycles,
  equal(
    'total of reward cycles',
    'SELECT cycles AS kept, (SELECT count(*) FROM reward_cycles) AS counted FROM staking_totals',
  ),
  none<{ address: string; cycle: number }>(
    'stackers of each reward cycle',
    `SELECT k.address, k.cycle FROM cycle_stackers k
      WHERE (k.position, k.event_index) IS NOT
            (SELECT position, event_index FROM stacking_terms t
              WHERE t.stacker_id = k.stacker_id AND t.role = k.role AND t.first_cycle <= k.cycle AND t.end_cycle > k.cycle
              ORDER BY position DESC, event_index DESC LIMIT 1)`,
    ({ address, cycle }) => `the last print of ${address} for cycle ${cycle} is another`,
  ),
  stackedCycles,
  none<{ cycle: number; signer_key: Uint8Array }>(
    'counts of the stackers of each signer',
    `SELECT cycle, signer_key FROM
       (SELECT cycle, signer_key, solo, pooled, 1 AS kept FROM cycle_stacker_counts
        UNION ALL SELECT cycle, signer_key, sum(role = ${TERM.solo}), sum(role = ${TERM.pooled}), -1 FROM cycle_stackers
                   WHERE signer_key IS NOT NULL GROUP BY cycle, signer_key)
      GROUP BY cycle, signer_key HAVING sum(solo * kept) <> 0 OR sum(pooled * kept) <> 0`,
    ({ cycle, signer_key }) => `cycle ${cycle}, signer 0x${signer_key.toHex()}: other stackers are counted`,
  ),
  numbered('numbers of the stacking prints', 'stacking_events', 'ordinal', 'pox_version'),
  numbered('numbers of rewards of Bitcoin', 'burn_rewards', 'ordinal', "'rewards'"),
  numbered('numbers of rewards of each address', 'burn_rewards', 'recipient_ordinal', 'recipient'),
  numbered('numbers of reward slots', 'burn_slot_holders', 'ordinal', "'slots'"),
  numbered('numbers of reward slots of each address', 'burn_slot_holders', 'address_ordinal', 'address'),
  numbered('numbers of outputs to each address', 'pox_transactions', 'recipient_ordinal', 'recipient'),
  rewardTotals,
];
