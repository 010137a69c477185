/** The post-conditions of a transaction in words. */
import { conditionWords, failedCondition, modeWords } from '../../chain/post-conditions.ts';
import { isMined, type Transaction } from '../../chain/types.ts';
import { Value } from '../../ui/code.tsx';
import { Empty, Panel } from '../../ui/parts.tsx';
import { Asset, Badge, Principal } from '../../ui/values.tsx';

export function PostConditions({ transaction }: { transaction: Transaction }) {
  const { post_conditions: conditions, post_condition_mode: mode, sender_address: sender } = transaction;
  if (conditions.length === 0 && mode === 'allow') return null;
  const failed =
    isMined(transaction) && transaction.tx_status === 'abort_by_post_condition'
      ? failedCondition(conditions, mode, sender, transaction.vm_error)
      : null;
  return (
    <Panel
      title="Post-conditions"
      id="post-conditions"
      source={`/extended/v3/transactions/${transaction.tx_id}?include=post_conditions`}
      aside={<span class="quiet">{modeWords(mode)}</span>}
    >
      {conditions.length === 0 ? (
        <Empty>No asset is named, so none may move.</Empty>
      ) : (
        <ol class="conditions">
          {conditions.map((condition, index) => {
            const { principal, rule, asset, value } = conditionWords(condition);
            return (
              <li key={`${index} ${rule}`}>
                {principal === null ? 'The sender' : <Principal principal={principal} />} {rule}{' '}
                {value === null ? null : <Value repr={value} />} {asset === null ? null : <Asset identifier={asset} />}{' '}
                {index === failed ? <Badge tone="bad">did not hold</Badge> : null}
              </li>
            );
          })}
        </ol>
      )}
    </Panel>
  );
}
