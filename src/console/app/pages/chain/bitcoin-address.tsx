/** The page of a Bitcoin address: the payouts of Bitcoin blocks to it, and the Stacks account of the same key. */
import { api, bodyOf } from '../../api/api.ts';
import { tip } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { plural } from '../../chain/format.ts';
import { BLOCKS_PER_PAGE, Copy, Facts, Page, Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { place } from '../../ui/router.ts';
import { BitcoinBlockLink, Btc, Hash, Principal } from '../../ui/values.tsx';

/** Returns the offset in a list from a query parameter. */
const offsetOf = (name: string): number => Math.max(0, Number(place.value.query.get(name)) || 0);

/** Returns the offsets of the previous and the next page. @param more whether the list continues after the page */
const besides = (offset: number, more: boolean) => ({
  next: more ? String(offset + BLOCKS_PER_PAGE) : null,
  previous: offset === 0 ? null : offset <= BLOCKS_PER_PAGE ? '' : String(offset - BLOCKS_PER_PAGE),
});

export function BitcoinAddress({ address }: { address: string }) {
  const version = tip.value?.burnBlockHeight ?? 0;
  const path = { address };
  const total = useAnswer(
    `total of ${address}`,
    (signal) => bodyOf(api.GET('/extended/v1/burnchain/rewards/{address}/total', { params: { path }, signal })),
    version,
  );
  // The search converts the address. The console has no code for that.
  const account = useAnswer(`account of ${address}`, (signal) =>
    bodyOf(api.GET('/stackside/v1/search', { params: { query: { q: address } }, signal })),
  );
  const same = account.data?.results.find(({ kind, match }) => kind === 'address' && match === 'exact');
  return (
    <Page
      kind="Bitcoin address"
      title={address}
      heading={
        <span class="with-copy">
          <span class="mono break">{address}</span>
          <Copy text={address} what="Bitcoin address" />
        </span>
      }
    >
      <Panel title="Rewards" source={`/extended/v1/burnchain/rewards/${address}/total`}>
        <Show loaded={total} rows={2}>
          {({ reward_amount: amount }) => (
            <Facts
              facts={[
                ['Paid to stackers at this address', <Btc key="total" satoshis={amount} />],
                [
                  'Account of the same key',
                  same === undefined ? 'none' : <Principal key="account" principal={same.id} whole />,
                ],
              ]}
            />
          )}
        </Show>
      </Panel>
      <Rewards address={address} version={version} />
      <Outputs address={address} version={version} />
    </Page>
  );
}

interface ListProps {
  address: string;
  version: number;
}

function Rewards({ address, version }: ListProps) {
  const offset = offsetOf('offset');
  const params = { path: { address }, query: { limit: BLOCKS_PER_PAGE + 1, offset } };
  const rewards = useAnswer(
    `rewards of ${address} ${offset}`,
    (signal) => bodyOf(api.GET('/extended/v1/burnchain/rewards/{address}', { params, signal })),
    version,
  );
  return (
    <Panel title="Rewards by Bitcoin block" source={`/extended/v1/burnchain/rewards/${address}`}>
      <Show loaded={rewards}>
        {({ results }) => (
          <>
            <Table
              label="Rewards by Bitcoin block"
              rows={results.slice(0, BLOCKS_PER_PAGE)}
              keyOf={({ burn_block_height: height, reward_index: index }) => `${height} ${index}`}
              empty="No Bitcoin block paid a reward to this address."
              columns={[
                {
                  name: 'Bitcoin block',
                  cell: ({ burn_block_height: height }) => <BitcoinBlockLink height={height} />,
                },
                { name: 'Reward', class: 'number', cell: ({ reward_amount: amount }) => <Btc satoshis={amount} /> },
              ]}
            />
            <Pager name="offset" {...besides(offset, results.length > BLOCKS_PER_PAGE)} />
          </>
        )}
      </Show>
    </Panel>
  );
}

/** Renders the outputs of Bitcoin transactions that paid the address. */
function Outputs({ address, version }: ListProps) {
  const offset = offsetOf('outputs');
  const params = { path: { burnchain_address: address }, query: { limit: BLOCKS_PER_PAGE, offset } };
  const outputs = useAnswer(
    `outputs to ${address} ${offset}`,
    (signal) => bodyOf(api.GET('/extended/v2/addresses/{burnchain_address}/pox-transactions', { params, signal })),
    version,
  );
  return (
    <Panel title="Payments of miners" source={`/extended/v2/addresses/${address}/pox-transactions`}>
      <Show loaded={outputs}>
        {({ results, total }) => (
          <>
            <Table
              label="Payments of miners"
              rows={results}
              keyOf={({ tx_id, utxo_idx }) => `${tx_id} ${utxo_idx}`}
              empty="No miner paid to this address."
              columns={[
                {
                  name: 'Bitcoin block',
                  cell: ({ burn_block_height: height }) => <BitcoinBlockLink height={height} />,
                },
                {
                  name: 'Bitcoin transaction',
                  class: 'medium',
                  cell: ({ tx_id }) => <Hash value={tx_id} copy="Bitcoin transaction id" />,
                },
                { name: 'Amount', class: 'number', cell: ({ amount }) => <Btc satoshis={amount} /> },
              ]}
            />
            <Pager
              name="outputs"
              {...besides(offset, offset + BLOCKS_PER_PAGE < total)}
              total={plural(total, 'payment')}
            />
          </>
        )}
      </Show>
    </Panel>
  );
}
