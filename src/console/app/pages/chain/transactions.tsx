/** The newest transactions of the chain, and older ones page by page. */
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { plural } from '../../chain/format.ts';
import { Page, Pager, Panel, Show } from '../../ui/parts.tsx';
import { place } from '../../ui/router.ts';
import { TransactionTable } from '../../ui/transactions.tsx';

const PER_PAGE = 30;

export function Transactions() {
  const cursor = place.value.query.get('cursor');
  const query = { limit: PER_PAGE, ...(cursor === null ? {} : { cursor }) };
  const transactions = useAnswer(
    `transactions ${cursor}`,
    (signal) => bodyOf(api.GET('/extended/v3/transactions', { params: { query }, signal })),
    tipVersion.value,
  );
  return (
    <Page title="Transactions" lead="Transactions of the canonical chain, newest first.">
      <Panel title="Transactions" source={`/extended/v3/transactions?limit=${PER_PAGE}`}>
        <Show loaded={transactions} rows={12}>
          {({ results, total, cursor: { next, previous } }) => (
            <>
              <TransactionTable label="Transactions" transactions={results} empty="No transaction has arrived yet." />
              <Pager next={next} previous={previous} total={plural(total, 'transaction')} />
            </>
          )}
        </Show>
      </Panel>
    </Page>
  );
}
