/** Namespaces: which are open, what names of them cost, and how long a name is leased. */
import type { Database } from 'bun:sqlite';
import { LONGEST, type PriceFunction } from '../../chain/name-system.ts';
import { heightOf } from '../../chain/position.ts';
import { prepared } from '../rows/statement.ts';
import { storedNameOperation } from '../rows/words.ts';

const [IMPORT, REGISTER, RENEWAL] = (['name-import', 'name-register', 'name-renewal'] as const).map(
  storedNameOperation.numberOf,
);

/** Height from which on what was before the chain counts. */
export const FIRST = 1;

export const sql = {
  namespaces: 'SELECT namespace FROM namespaces UNION SELECT namespace FROM old_namespaces ORDER BY namespace',
  namespace: `SELECT position, lifetime FROM namespaces WHERE namespace = ?1
               ORDER BY position DESC, event_index DESC LIMIT 1`,
  price: `SELECT base, coefficient, exponents, nonalpha_discount, no_vowel_discount FROM namespace_prices
           WHERE namespace = ?1 ORDER BY position DESC, event_index DESC LIMIT 1`,
  oldNamespace: `SELECT lifetime, base, coefficient, exponents, nonalpha_discount, no_vowel_discount
                   FROM old_namespaces WHERE namespace = ?1`,
  leased: `SELECT position, operation FROM name_operations
            WHERE name = ?1 AND operation IN (${IMPORT}, ${REGISTER}, ${RENEWAL})
            ORDER BY position DESC, event_index DESC LIMIT 1`,
};

interface PriceRow {
  base: string;
  coefficient: string;
  exponents: string;
  nonalpha_discount: string;
  no_vowel_discount: string;
}

export function namespaceQueries(db: Database) {
  const namespaces = prepared<{ namespace: string }, []>(db, sql.namespaces);
  const namespace = prepared<{ position: number; lifetime: number }, [string]>(db, sql.namespace);
  const price = prepared<PriceRow, [string]>(db, sql.price);
  const oldNamespace = prepared<PriceRow & { lifetime: number }, [string]>(db, sql.oldNamespace);
  const leased = prepared<{ position: number; operation: number }, [string]>(db, sql.leased);

  /** @param opened where its namespace was launched; null where it was before the chain, or isn't yet */
  function leaseStart(name: string, opened: number | null, isOld: boolean): number | null {
    const lease = leased.get(name);
    if (lease === null) return isOld ? FIRST : null;
    if (lease.operation !== IMPORT) return heightOf(lease.position);
    return opened === null ? null : heightOf(opened);
  }

  return {
    /** Namespaces that are open, in order. */
    all: (): string[] => namespaces.all().map((row) => row.namespace),

    isOpen: (its: string): boolean => namespace.get(its) !== null || oldNamespace.get(its) !== null,

    /** Undefined where the namespace is not open. */
    price(its: string): PriceFunction | undefined {
      const row = price.get(its) ?? oldNamespace.get(its);
      if (row === null) return undefined;
      return {
        base: BigInt(row.base),
        coefficient: BigInt(row.coefficient),
        exponents: row.exponents.split(' ').map(BigInt),
        nonalphaDiscount: BigInt(row.nonalpha_discount),
        noVowelDiscount: BigInt(row.no_vowel_discount),
      };
    },

    /**
     * Height at which the lease of a name of the namespace ends; 0 while the namespace is not open. The contract leases a
     * name from its registration or renewal on, an imported one from its namespace's launch.
     * @param isOld whether there was such a name before the chain
     */
    leaseEnd(name: string, its: string, isOld: boolean): number {
      const opened = namespace.get(its);
      const lifetime = opened?.lifetime ?? oldNamespace.get(its)?.lifetime;
      const start = leaseStart(name, opened?.position ?? null, isOld);
      return lifetime === undefined || start === null ? 0 : Math.min(start + lifetime, LONGEST);
    },
  };
}
