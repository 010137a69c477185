/** Post-conditions in words, and which of them failed. */
import { count, stxText } from './format.ts';
import type { PostCondition } from './types.ts';

const COMPARISONS: Readonly<Record<string, string>> = {
  sent_equal_to: 'must send exactly',
  sent_greater_than: 'must send more than',
  sent_greater_than_or_equal_to: 'must send at least',
  sent_less_than: 'must send less than',
  sent_less_than_or_equal_to: 'must send at most',
  sent: 'must send',
  not_sent: 'must not send',
  maybe_sent: 'may send',
  performed: 'must change its stacking',
  not_performed: 'must not change its stacking',
  maybe_performed: 'may change its stacking',
};

export interface ConditionWords {
  /** Null for whoever signed the transaction. */
  principal: string | null;
  /** `must send at most 10 STX`, without the asset of tokens. */
  rule: string;
  /** The asset identifier of a token. */
  asset: string | null;
  /** The value of a non-fungible token, as Clarity writes it. */
  value: string | null;
}

type Owner = Exclude<PostCondition, { type: 'unknown' }>['principal'];

function ownerOf(principal: Owner): string | null {
  switch (principal.type_id) {
    case 'principal_origin':
      return null;
    case 'principal_standard':
      return principal.address;
    case 'principal_contract':
      return `${principal.address}.${principal.contract_name}`;
  }
}

const assetOf = ({
  contract_address,
  contract_name,
  asset_name,
}: {
  contract_address: string;
  contract_name: string;
  asset_name: string;
}) => `${contract_address}.${contract_name}::${asset_name}`;

/** A post-condition in words. */
export function conditionWords(condition: PostCondition): ConditionWords {
  if (condition.type === 'unknown') {
    const rule = 'has conditions of a kind that this version does not know';
    return { principal: null, rule, asset: null, value: condition.hex };
  }
  const principal = ownerOf(condition.principal);
  const comparison = COMPARISONS[condition.condition_code] ?? condition.condition_code;
  switch (condition.type) {
    case 'stx':
      return { principal, rule: `${comparison} ${stxText(condition.amount)}`, asset: null, value: null };
    case 'staking':
      return { principal, rule: `${comparison} ${stxText(condition.amount)} into staking`, asset: null, value: null };
    case 'fungible':
      return {
        principal,
        rule: `${comparison} ${count(condition.amount)}`,
        asset: assetOf(condition.asset),
        value: null,
      };
    case 'non_fungible':
      return { principal, rule: comparison, asset: assetOf(condition.asset), value: condition.asset_value.repr };
    case 'pox':
      return { principal, rule: comparison, asset: null, value: null };
  }
}

const MODES: Readonly<Record<string, string>> = {
  allow: 'Assets that no condition names may move freely.',
  deny: 'Assets that no condition names must not move.',
  unknown: 'This version does not know what holds for assets that no condition names.',
  originator: 'Assets of the origin that no condition names must not move; those of others may.',
};

/** What a mode says of assets that no condition names. */
export const modeWords = (mode: string): string => MODES[mode] ?? mode;

/** Whether a text names a condition's owner and its asset, as the node does in the reason of a failure. */
function isNamed(condition: ConditionWords, sender: string, reason: string): boolean {
  const owner = condition.principal ?? sender;
  const asset = condition.asset ?? 'STX';
  return reason.includes(owner) && reason.includes(asset.slice(asset.lastIndexOf('.') + 1));
}

/**
 * The index of the condition that failed; null where that isn't certain. The node's reason names it; without one, a
 * single condition must be it where assets that no condition names may move.
 */
export function failedCondition(
  conditions: readonly PostCondition[],
  mode: string,
  sender: string,
  reason: string | null,
): number | null {
  if (reason !== null && reason !== '') {
    const named = conditions.flatMap((condition, index) =>
      isNamed(conditionWords(condition), sender, reason) ? [index] : [],
    );
    return named.length === 1 ? (named[0] ?? null) : null;
  }
  return conditions.length === 1 && mode === 'allow' ? 0 : null;
}
