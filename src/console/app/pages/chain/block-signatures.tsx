/** The signatures that signers put under a block. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { plural } from '../../chain/format.ts';
import { Panel, Show, Table } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { Hash } from '../../ui/values.tsx';

const MOST = 20;

/** @param hash of the block */
export function BlockSignatures({ hash }: { hash: string }) {
  const params = { path: { height_or_hash: hash }, query: { limit: MOST } };
  const signatures = useAnswer(`signatures ${hash}`, (signal) =>
    bodyOf(api.GET('/extended/v2/blocks/{height_or_hash}/signer-signatures', { params, signal })),
  );
  return (
    <Panel
      title="Signatures of signers"
      source={`/extended/v2/blocks/${hash}/signer-signatures`}
      aside={<a href={pathTo('staking')}>Signers of the cycle</a>}
    >
      <Show loaded={signatures}>
        {({ results, total }) => (
          <>
            <Table
              label="Signatures of signers"
              rows={results.map((signature, index) => ({ signature, index }))}
              keyOf={({ index }) => String(index)}
              empty="No signer signed the block: it was made before signers were."
              columns={[
                { name: '#', class: 'quiet', cell: ({ index }) => index + 1 },
                {
                  name: 'Signature',
                  class: 'fill',
                  cell: ({ signature }) => <Hash value={signature} copy="signature" />,
                },
              ]}
            />
            {total > results.length ? (
              <p class="pager quiet">
                The first {results.length} of {plural(total, 'signature')}
              </p>
            ) : null}
          </>
        )}
      </Show>
    </Panel>
  );
}
