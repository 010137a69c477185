/** Why a mined transaction failed, in words and with the place in the contract. */
import { api, bodyOf, RequestError } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { errorPlace } from '../../chain/clarity.ts';
import { visible } from '../../chain/format.ts';
import { failedCondition } from '../../chain/post-conditions.ts';
import type { MinedTransaction } from '../../chain/types.ts';
import { Value } from '../../ui/code.tsx';
import { pathTo } from '../../ui/router.ts';

export function Failure({ transaction }: { transaction: MinedTransaction }) {
  return (
    <section class="note bad" aria-label="Why the transaction failed">
      <h2>Why it failed</h2>
      <Reason transaction={transaction} />
      {transaction.vm_error === null || transaction.vm_error === '' ? null : (
        <p class="break">
          The node says: <q dir="ltr">{visible(transaction.vm_error)}</q>
        </p>
      )}
      <p>Everything that it did was undone. The fee was paid all the same.</p>
    </section>
  );
}

function Reason({ transaction }: { transaction: MinedTransaction }) {
  const { tx_status: status, post_conditions: conditions, post_condition_mode: mode } = transaction;
  if (status === 'problematic_skipped') {
    return <p>Miners skipped the transaction: executing it would have taken too long or too much memory.</p>;
  }
  if (status === 'abort_by_post_condition') {
    const failed = failedCondition(conditions, mode, transaction.sender_address, transaction.vm_error);
    if (failed !== null) {
      return (
        <p>
          <a href="#post-conditions">Post-condition {failed + 1}</a> did not hold.
        </p>
      );
    }
    const listed = <a href="#post-conditions">post-conditions</a>;
    return conditions.length === 0 ? (
      <p>An asset moved, but its post-conditions let none move.</p>
    ) : (
      <p>
        What it moved broke its {listed}: one of them did not hold
        {mode === 'allow' ? '.' : ', or an asset moved that none of them names.'}
      </p>
    );
  }
  if (transaction.tx_type === 'smart_contract')
    return <p>The contract’s source could not be analysed or its top level failed.</p>;
  if (transaction.tx_type !== 'contract_call') {
    return (
      <p>
        It returned <Value repr={transaction.tx_result.repr} />.
      </p>
    );
  }
  return <ReturnedError contract={transaction.contract_call.contract_id} error={transaction.tx_result.repr} />;
}

/** The contract's source; empty where the index doesn't have the contract, such as one of the boot contracts. */
async function sourceOf(contract: string, signal: AbortSignal): Promise<string> {
  const params = { path: { contract_id: contract }, query: { include: ['source_code' as const] } };
  try {
    return (await bodyOf(api.GET('/extended/v3/smart-contracts/{contract_id}', { params, signal }))).source_code ?? '';
  } catch (error) {
    if (error instanceof RequestError && error.status === 404) return '';
    throw error;
  }
}

function ReturnedError({ contract, error }: { contract: string; error: string }) {
  const source = useAnswer(`source ${contract}`, (signal) => sourceOf(contract, signal));
  const found = errorPlace(source.data ?? '', error);
  const name = contract.slice(contract.indexOf('.') + 1);
  return (
    <p>
      The contract returned <Value repr={error} />
      {found === null ? (
        '.'
      ) : (
        <>
          {found.constant === null ? ', made' : null}
          {found.constant === null ? null : (
            <>
              , which it names <code>{visible(found.constant)}</code>
            </>
          )}{' '}
          on{' '}
          <a href={`${pathTo('contract', { id: contract })}#L${found.line}`}>
            line {found.line} of {name}
          </a>
          .
        </>
      )}
    </p>
  );
}
