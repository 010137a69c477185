/** What can be done with a pending transaction of a simulated chain. */
import { api, bodyOf } from '../../api/api.ts';
import { useAction } from '../../ui/actions.tsx';

/** Buttons that mine the next block, and that drop a transaction. @param id of the transaction */
export function PendingSteps({ id }: { id: string }) {
  const { run, problem, busy } = useAction();
  return (
    <div class="buttons">
      <button
        type="button"
        disabled={busy}
        onClick={() => run(() => bodyOf(api.POST('/stackside/v1/devnet/mine', { body: {} })), 'Mined a block')}
      >
        Mine a block
      </button>
      <button
        type="button"
        disabled={busy}
        onClick={() =>
          run(() => bodyOf(api.POST('/stackside/v1/devnet/drop', { body: { tx_id: id } })), 'Dropped the transaction')
        }
      >
        Drop
      </button>
      {problem === null ? null : (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
    </div>
  );
}
