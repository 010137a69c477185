/** A fungible token: its supply, what its contract declares, who holds it, and its transfers. */
import type { Answer } from '../../api/answer.ts';
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { type Loaded, useAnswer } from '../../api/use-answer.ts';
import { count, plural, shortPrincipal } from '../../chain/format.ts';
import { Meter } from '../../ui/cost.tsx';
import { Figures } from '../../ui/figures.tsx';
import { listQuery } from '../../ui/list-state.ts';
import { Pager, Panel, Show, Table, Tabs, tabOf } from '../../ui/parts.tsx';
import { Principal } from '../../ui/values.tsx';
import { tokenMovesPath } from './principal-token-moves.tsx';
import { DeclaredFacts } from './token-facts.tsx';
import { TokenTransfers } from './token-transfers.tsx';

const HOLDERS_PER_PAGE = 25;

/** Enough digits for a share in per cent, whatever the size of the numbers. */
const PRECISION = 1_000_000n;

const shareOf = (part: string, whole: string): number =>
  BigInt(whole) === 0n ? 0 : Number((BigInt(part) * PRECISION) / BigInt(whole)) / Number(PRECISION);

const TABS = [
  ['holders', 'Holders'],
  ['transfers', 'Transfers'],
] as const;

type Holding = Answer<'/extended/v3/tokens/ft/{asset_identifier}/holders'>;

/** A fungible token. @param supply in its smallest unit */
export function Fungible({ asset, supply }: { asset: string; supply: string }) {
  const isOfHolders = tabOf(TABS) === 'holders';
  const query = isOfHolders ? listQuery(HOLDERS_PER_PAGE) : { limit: 1 };
  const params = { path: { asset_identifier: asset }, query };
  const holders = useAnswer(
    `holders ${asset} ${JSON.stringify(query)}`,
    (signal) => bodyOf(api.GET('/extended/v3/tokens/ft/{asset_identifier}/holders', { params, signal })),
    tipVersion.value,
  );
  return (
    <>
      <Figures
        label="The token"
        figures={[
          { name: 'Supply', value: count(supply), note: 'in the smallest unit' },
          { name: 'Holders', value: holders.data === null ? '–' : count(holders.data.total) },
        ]}
      />
      {supply === '0' ? null : <DeclaredFacts asset={asset} />}
      <Tabs label="Parts of the token" tabs={TABS} />
      {isOfHolders ? <Holders asset={asset} supply={supply} holders={holders} /> : <TokenTransfers asset={asset} />}
    </>
  );
}

interface HoldersProps {
  asset: string;
  supply: string;
  holders: Loaded<Holding>;
}

const Holders = ({ asset, supply, holders }: HoldersProps) => (
  <Panel title="Holders" source={`/extended/v3/tokens/ft/${encodeURIComponent(asset)}/holders`}>
    <Show loaded={holders} rows={8}>
      {({ results, total, cursor: { next, previous } }) => (
        <>
          <Table
            label="Holders"
            rows={results}
            keyOf={({ principal }) => principal}
            empty="Nobody holds the token."
            columns={[
              { name: 'Holder', class: 'main', cell: ({ principal }) => <Principal principal={principal} /> },
              { name: 'Balance', class: 'number', cell: ({ balance }) => count(balance) },
              {
                name: 'Share',
                class: 'number',
                cell: ({ balance }) => <Meter value={shareOf(balance, supply)} most={1} />,
              },
              {
                name: 'Moves',
                class: 'number medium',
                cell: ({ principal }) => (
                  <a href={tokenMovesPath(principal, asset)} aria-label={`Transfers by ${shortPrincipal(principal)}`}>
                    Transfers
                  </a>
                ),
              },
            ]}
          />
          <Pager next={next} previous={previous} total={plural(total, 'holder')} />
        </>
      )}
    </Show>
  </Panel>
);
