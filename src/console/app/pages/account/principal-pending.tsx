/** What a principal waits for: its nonces, with those that are missing, and its pending transactions. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, plural } from '../../chain/format.ts';
import { listQuery } from '../../ui/list-state.ts';
import { Facts, Pager, Panel, Show } from '../../ui/parts.tsx';
import { PendingTable } from '../../ui/transactions.tsx';
import { Badge } from '../../ui/values.tsx';

const PER_PAGE = 25;

const numbers = (nonces: readonly number[]): string => (nonces.length === 0 ? 'none' : nonces.map(count).join(', '));

export function Pending({ principal, version }: { principal: string; version: string }) {
  const query = listQuery(PER_PAGE);
  const nonces = useAnswer(
    `nonces ${principal}`,
    (signal) =>
      bodyOf(api.GET('/extended/v3/principals/{principal}/nonces', { params: { path: { principal } }, signal })),
    version,
  );
  const params = { path: { principal }, query };
  const pending = useAnswer(
    `pending ${principal} ${query.cursor}`,
    (signal) => bodyOf(api.GET('/extended/v3/principals/{principal}/mempool/transactions', { params, signal })),
    version,
  );
  return (
    <>
      <Panel title="Nonces" source={`/extended/v3/principals/${principal}/nonces`}>
        <Show loaded={nonces}>
          {({ next_nonce: next, last_confirmed_nonce: last, mempool }) => (
            <Facts
              facts={[
                ['Next nonce to use', count(next)],
                ['Last one in a block', last === null ? 'none' : count(last)],
                ['Pending', numbers(mempool.pending_nonces)],
                [
                  'Missing',
                  mempool.missing_nonces.length === 0 ? (
                    'none'
                  ) : (
                    <span key="missing">
                      {numbers(mempool.missing_nonces)} <Badge tone="wait">what is pending above waits for it</Badge>
                    </span>
                  ),
                ],
              ]}
            />
          )}
        </Show>
      </Panel>
      <Panel title="Pending transactions" source={`/extended/v3/principals/${principal}/mempool/transactions`}>
        <Show loaded={pending}>
          {({ results, total, cursor: { next, previous } }) => (
            <>
              <PendingTable label="Pending transactions" transactions={results} empty="Nothing is pending." />
              <Pager next={next} previous={previous} total={plural(total, 'transaction')} />
            </>
          )}
        </Show>
      </Panel>
    </>
  );
}
