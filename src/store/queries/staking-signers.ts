/** Signers of pox-5, by themselves and in a reward cycle, and who stakes through them. */
import type { Database } from 'bun:sqlite';
import { heightOf, positionOf } from '../../chain/position.ts';
import type { Cursor, Page } from '../model/page.ts';
import type {
  ManagedSigner,
  SignerManager,
  SignerStaker,
  StakingSigner,
  StakingSignerDetail,
} from '../model/staking.ts';
import { decimalOf } from '../rows/amounts.ts';
import { heightIn } from '../rows/expressions.ts';
import { prepared } from '../rows/statement.ts';
import { KEY_ACTION } from '../rows/words.ts';
import { type MadeByRow, madeBy, madeByOf } from './made-by.ts';
import { bytesAt, equalThenBeyond, keysetPage, numberAt, textAt } from './page.ts';
import type { RewardCycleQueries } from './reward-cycles.ts';

const staking = `SELECT address FROM stakes
                  WHERE signer_id = ?1 AND current = 1 AND amount <> '0' AND unlock_height > ?2`;
const inBond = 'SELECT address FROM bond_positions WHERE signer_id = ?1 AND current = 1';
const signer = `SELECT signer_key, weight, stacked FROM cycle_signers INDEXED BY cycle_signers_by_weight
                 WHERE cycle = ?1`;
const key = `SELECT o.position, o.signer_key, o.auth_id, o.action, t.tx_id, b.burn_block_height
               FROM signer_keys o JOIN transactions t ON t.position = o.position
               JOIN blocks b ON b.height = ${heightIn('o.position')}`;

export const sql = {
  totals: 'SELECT signers FROM staking_totals',
  from: 'SELECT address, signer_key FROM signer_keys WHERE current = 1 AND address >= ?1 ORDER BY address LIMIT ?2',
  before:
    'SELECT address, signer_key FROM signer_keys WHERE current = 1 AND address < ?1 ORDER BY address DESC LIMIT ?2',
  find: `SELECT o.address, o.signer_key, ${madeBy.columns} FROM signer_keys o ${madeBy.joins}
          WHERE o.current = 1 AND o.address = ?1`,
  tip: 'SELECT burn_block_height FROM progress',
  principal: 'SELECT id FROM principals WHERE address = ?1',
  stakersFrom: `${staking} AND address >= ?3 UNION ${inBond} AND address >= ?3 ORDER BY address LIMIT ?4`,
  stakersBefore: `${staking} AND address < ?3 UNION ${inBond} AND address < ?3 ORDER BY address DESC LIMIT ?4`,
  stakerCount: `SELECT count(*) AS total FROM (${staking} UNION ${inBond} ORDER BY address)`,
  isStaking: `${staking} AND address = ?3 LIMIT 1`,
  isInBond: `${inBond} AND address = ?2 LIMIT 1`,
  cycleSigners: `${signer} ORDER BY weight DESC, signer_key LIMIT ?2`,
  cycleSignersEqualFrom: `${signer} AND weight = ?3 AND signer_key >= ?4 ORDER BY signer_key LIMIT ?2`,
  cycleSignersBelow: `${signer} AND weight < ?3 ORDER BY weight DESC, signer_key LIMIT ?2`,
  cycleSignersEqualBefore: `${signer} AND weight = ?3 AND signer_key < ?4 ORDER BY signer_key DESC LIMIT ?2`,
  cycleSignersAbove: `${signer} AND weight > ?3 ORDER BY weight, signer_key DESC LIMIT ?2`,
  chosenIn: 'SELECT height FROM reward_cycles WHERE cycle = ?1',
  registrants: `SELECT signer_id, address FROM signer_keys
                 WHERE action = ${KEY_ACTION.register} AND signer_key = ?1 AND position < ?2`,
  newestKey: `${key} WHERE o.signer_id = ?1 AND o.action = ${KEY_ACTION.register} AND o.position >= ?2 AND o.position < ?3
               ORDER BY o.position DESC, o.event_index DESC LIMIT 1`,
  grants: `${key} WHERE o.signer_id = ?1 AND o.action > ${KEY_ACTION.register} AND o.position < ?2
            ORDER BY o.position, o.event_index`,
};

interface SignerRow {
  address: string;
  signer_key: Uint8Array;
}

interface CycleSignerRow {
  signer_key: Uint8Array;
  weight: number;
  stacked: string;
}

interface KeyRow {
  position: number;
  signer_key: Uint8Array;
  auth_id: string | null;
  action: number;
  tx_id: Uint8Array;
  burn_block_height: number;
}

const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

const signerOf = ({ address, signer_key }: SignerRow): StakingSigner => ({ signer: address, key: signer_key });

/** The part of a key of a cycle's signers that says which cycle. */
const CYCLE_PART = 2;
/** No principal has this number. */
const NOBODY = 0;
/** A number behind every position. */
const END = Number.MAX_SAFE_INTEGER;

/** What finds the contracts that manage a signer's key, through this connection. */
function signerManagers(db: Database) {
  const registrants = prepared<{ signer_id: number; address: string }, [Uint8Array, number]>(db, sql.registrants);
  const newestKey = prepared<KeyRow, [number, number, number]>(db, sql.newestKey);
  const grants = prepared<KeyRow, [number, number]>(db, sql.grants);

  /** Keys that a signer may use, of what was said of them before a position. */
  function grantsOf(signer: number, end: number): SignerManager['grants'] {
    const live = new Map<string, SignerManager['grants'][number]>();
    for (const { signer_key, action, auth_id, tx_id } of grants.all(signer, end)) {
      const name = signer_key.toHex();
      if (action === KEY_ACTION.grant) live.set(name, { key: signer_key, authId: auth_id ?? '0', txId: tx_id });
      else live.delete(name);
    }
    return [...live.values()].sort((a, b) => Buffer.compare(a.key, b.key));
  }

  /**
   * The contracts whose last registration before the block that chose the cycle's signers is of the key.
   * @param anchor the first position in that block
   * @param end the first position that the cycle knows nothing of: in the block that chose the next cycle's
   */
  return (signerKey: Uint8Array, anchor: number, end: number): SignerManager[] => {
    const candidates = new Map(registrants.all(signerKey, anchor).map((row) => [row.signer_id, row.address]));
    const managers: SignerManager[] = [];
    for (const [id, address] of candidates) {
      const bound = newestKey.get(id, 0, anchor);
      if (bound === null || !same(bound.signer_key, signerKey)) continue;
      const later = newestKey.get(id, anchor, end);
      managers.push({
        signer: address,
        registered: { height: heightOf(bound.position), burnHeight: bound.burn_block_height, txId: bound.tx_id },
        grants: grantsOf(id, end),
        pending:
          later === null || same(later.signer_key, signerKey) ? null : { key: later.signer_key, txId: later.tx_id },
      });
    }
    return managers.sort((a, b) => (a.signer < b.signer ? -1 : 1));
  };
}

export function stakingSignerQueries(db: Database, cycles: RewardCycleQueries) {
  const totals = prepared<{ signers: number }, []>(db, sql.totals);
  const from = prepared<SignerRow, [string, number]>(db, sql.from);
  const before = prepared<SignerRow, [string, number]>(db, sql.before);
  const find = prepared<SignerRow & MadeByRow, [string]>(db, sql.find);
  const tip = prepared<{ burn_block_height: number }, []>(db, sql.tip);
  const principal = prepared<{ id: number }, [string]>(db, sql.principal);
  const stakersFrom = prepared<{ address: string }, [number, number, string, number]>(db, sql.stakersFrom);
  const stakersBefore = prepared<{ address: string }, [number, number, string, number]>(db, sql.stakersBefore);
  const stakerCount = prepared<{ total: number }, [number, number]>(db, sql.stakerCount);
  const isStaking = prepared<{ address: string }, [number, number, string]>(db, sql.isStaking);
  const isInBond = prepared<{ address: string }, [number, string]>(db, sql.isInBond);
  type At = [cycle: number, count: number, weight: number, key: Uint8Array];
  const cycleSigners = prepared<CycleSignerRow, [number, number]>(db, sql.cycleSigners);
  const cycleSignersEqualFrom = prepared<CycleSignerRow, At>(db, sql.cycleSignersEqualFrom);
  const cycleSignersBelow = prepared<CycleSignerRow, [number, number, number]>(db, sql.cycleSignersBelow);
  const cycleSignersEqualBefore = prepared<CycleSignerRow, At>(db, sql.cycleSignersEqualBefore);
  const cycleSignersAbove = prepared<CycleSignerRow, [number, number, number]>(db, sql.cycleSignersAbove);
  const chosenIn = prepared<{ height: number }, [number]>(db, sql.chosenIn);
  const managersOf = signerManagers(db);

  return {
    /** Every signer that ever registered a key, by address. */
    async signers(limit: number, at: Cursor | null): Promise<Page<StakingSigner>> {
      return keysetPage<SignerRow, StakingSigner>({
        limit,
        at,
        total: totals.get()?.signers ?? 0,
        rowsFrom: (key, count) => from.all(key === null ? '' : textAt(key, 0), count),
        rowsBefore: (key, count) => before.all(textAt(key, 0), count),
        keyOf: ({ address }) => [address],
        itemOf: signerOf,
      });
    },

    async signer(address: string): Promise<StakingSignerDetail | undefined> {
      const row = find.get(address);
      return row === null ? undefined : { ...signerOf(row), madeBy: madeByOf(row) };
    },

    /** Who stakes through a signer now, by address. */
    async stakers(address: string, limit: number, at: Cursor | null): Promise<Page<SignerStaker>> {
      const id = principal.get(address)?.id ?? NOBODY;
      const height = tip.get()?.burn_block_height ?? 0;
      return keysetPage<{ address: string }, SignerStaker>({
        limit,
        at,
        total: stakerCount.get(id, height)?.total ?? 0,
        rowsFrom: (key, count) => stakersFrom.all(id, height, key === null ? '' : textAt(key, 0), count),
        rowsBefore: (key, count) => stakersBefore.all(id, height, textAt(key, 0), count),
        keyOf: (row) => [row.address],
        itemOf: ({ address: staker }) => ({
          staker,
          stx: isStaking.get(id, height, staker) !== null,
          btc: isInBond.get(id, staker) !== null,
        }),
      });
    },

    /**
     * Heaviest first, then by key; undefined where there is no such cycle. A walk of the current cycle stays in the cycle
     * that it began in.
     */
    async cycleSigners(
      asked: number | 'current',
      limit: number,
      at: Cursor | null,
    ): Promise<Page<ManagedSigner> | undefined> {
      const begun = asked === 'current' && at !== null && at.key.length > 0;
      const cycle = await cycles.find(begun ? numberAt(at.key, CYCLE_PART) : asked);
      if (cycle === undefined) return undefined;
      const { cycle: number } = cycle;
      const anchor = positionOf(cycle.blockHeight, 0);
      const next = chosenIn.get(number + 1);
      const end = next === null ? END : positionOf(next.height, 0);
      return keysetPage<CycleSignerRow, ManagedSigner>({
        limit,
        at,
        total: cycle.signers,
        rowsFrom(key, count) {
          if (key === null) return cycleSigners.all(number, count);
          const [weight, signerKey] = [numberAt(key, 0), bytesAt(key, 1)];
          return equalThenBeyond(
            count,
            (most) => cycleSignersEqualFrom.all(number, most, weight, signerKey),
            (most) => cycleSignersBelow.all(number, most, weight),
          );
        },
        rowsBefore(key, count) {
          const [weight, signerKey] = [numberAt(key, 0), bytesAt(key, 1)];
          return equalThenBeyond(
            count,
            (most) => cycleSignersEqualBefore.all(number, most, weight, signerKey),
            (most) => cycleSignersAbove.all(number, most, weight),
          );
        },
        keyOf: ({ weight, signer_key }) => [weight, signer_key.toHex(), number],
        itemOf: ({ signer_key, weight, stacked }) => ({
          cycle,
          signer: { key: signer_key, weight, stacked: BigInt(decimalOf(stacked)) },
          managers: managersOf(signer_key, anchor, end),
        }),
      });
    },
  };
}
