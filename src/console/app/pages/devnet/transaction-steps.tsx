/** On the page of a transaction of a simulated chain: why a call failed, and actions while the transaction is pending. */

import { useState } from 'preact/hooks';
import { contractNameOf } from '../../../../codec/address.ts';
import { post } from '../../api/api.ts';
import { useGet } from '../../api/use-answer.ts';
import { count, visible } from '../../chain/format.ts';
import { useAction } from '../../ui/actions.tsx';
import { Form, TextField } from '../../ui/form.tsx';
import { Button, Panel, Problem, Scrollable, Table } from '../../ui/parts.tsx';
import { go, pathTo } from '../../ui/router.ts';

/** Renders the expression that made the error, the calls, and the costs of functions; nothing if they aren't known. */
export function FailedCall({ id }: { id: string }) {
  const { data, source } = useGet('/stackside/v1/devnet/transactions/{tx_id}', { tx_id: id });
  const failure = data?.failure ?? null;
  if (failure === null) return null;
  const { place, trace, costs } = failure;
  return (
    <Panel title="Failed expression" source={source}>
      {place === null ? null : (
        <>
          <p class="panel-body">
            The error was made on{' '}
            <a href={`${pathTo('contract', { id: place.contract })}#L${place.line}`}>
              line {place.line} of {contractNameOf(place.contract)}
            </a>
            .
          </p>
          <Scrollable label="Expression" class="code scroll boxed">
            {visible(place.expression)}
          </Scrollable>
        </>
      )}
      {trace === '' ? null : (
        <Scrollable label="Calls" class="code scroll boxed">
          {visible(trace)}
        </Scrollable>
      )}
      {costs.length === 0 ? null : (
        <Table
          label="Runtime cost by function"
          rows={costs}
          keyOf={(cost) => cost.function}
          columns={[
            ['Function', 'main', (cost) => <code title={cost.function}>{contractNameOf(cost.function)}</code>],
            ['Runtime cost', 'number', ({ runtime }) => count(runtime)],
          ]}
        />
      )}
    </Panel>
  );
}

/** Renders buttons that mine the next block, and that replace or drop a transaction. @param fee in micro-STX */
export function PendingSteps({ id, fee }: { id: string; fee: string }) {
  const { run, problem, busy } = useAction();
  const [newFee, setNewFee] = useState(String(2n * BigInt(fee)));
  const mine = () => post('/stackside/v1/devnet/mine', {}, {});
  const drop = () => post('/stackside/v1/devnet/drop', {}, { tx_id: id });
  const replace = () =>
    run(async () => {
      const { tx_id: other } = await post('/stackside/v1/devnet/replace', {}, { tx_id: id, fee: newFee.trim() });
      go(pathTo('transaction', { id: other }));
    }, 'Replaced the transaction');
  return (
    <Form class="form row" aria-label="Steps of the simulated node" onSubmit={replace}>
      <Button text="Mine a block" disabled={busy} onClick={() => run(mine, 'Mined a block')} />
      <Button text="Drop" disabled={busy} onClick={() => run(drop, 'Dropped the transaction')} />
      <TextField label="Fee in micro-STX" value={newFee} onChange={setNewFee} />
      <Button text="Replace" type="submit" disabled={busy} />
      <Problem text={problem} />
    </Form>
  );
}
