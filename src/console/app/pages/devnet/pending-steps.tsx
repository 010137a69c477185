/** Actions on a pending transaction of a simulated chain. */
import type { TargetedEvent } from 'preact';
import { useState } from 'preact/hooks';
import { api, bodyOf } from '../../api/api.ts';
import { visible } from '../../chain/format.ts';
import { useAction } from '../../ui/actions.tsx';
import { go, pathTo } from '../../ui/router.ts';

interface PendingStepsProps {
  id: string;
  /** Fee in micro-STX. */
  fee: string;
}

/** Renders buttons that mine the next block, and that replace or drop a transaction. */
export function PendingSteps({ id, fee }: PendingStepsProps) {
  const { run, problem, busy } = useAction();
  const [next, setNext] = useState(String(2n * BigInt(fee)));
  const mine = () => bodyOf(api.POST('/stackside/v1/devnet/mine', { body: {} }));
  const drop = () => bodyOf(api.POST('/stackside/v1/devnet/drop', { body: { tx_id: id } }));
  const replace = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    run(async () => {
      const body = { tx_id: id, fee: next.trim() };
      const { tx_id: other } = await bodyOf(api.POST('/stackside/v1/devnet/replace', { body }));
      go(pathTo('transaction', { id: other }));
    }, 'Replaced the transaction');
  };
  return (
    <form class="form row" aria-label="Steps of the simulated node" onSubmit={replace}>
      <button type="button" disabled={busy} onClick={() => run(mine, 'Mined a block')}>
        Mine a block
      </button>
      <button type="button" disabled={busy} onClick={() => run(drop, 'Dropped the transaction')}>
        Drop
      </button>
      <label>
        Fee in micro-STX
        <input
          type="text"
          inputMode="numeric"
          autocomplete="off"
          value={next}
          onInput={({ currentTarget }) => setNext(currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={busy}>
        Replace
      </button>
      {problem === null ? null : (
        <p class="problem" role="alert">
          {visible(problem)}
        </p>
      )}
    </form>
  );
}
