/** A token: its supply and holders, or the tokens of a collection. */
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { assetContract, assetName, visible } from '../../chain/format.ts';
import { Copy } from '../../ui/copy.tsx';
import { Page, Show } from '../../ui/parts.tsx';
import { Principal } from '../../ui/values.tsx';
import { Collection } from './token-collection.tsx';
import { Fungible } from './token-fungible.tsx';

/** The supply of a fungible token; null for a collection. The API tells no supply of zero from that of another token. */
async function supplyOf(asset: string, signal: AbortSignal): Promise<string | null> {
  const path = { asset_identifier: asset };
  const { total } = await bodyOf(
    api.GET('/extended/v3/tokens/ft/{asset_identifier}/supply', { params: { path }, signal }),
  );
  if (total !== '0') return total;
  const params = { path, query: { limit: 1 } };
  const mints = await bodyOf(api.GET('/stackside/v1/tokens/nft/{asset_identifier}/mints', { params, signal }));
  return mints.total > 0 ? null : total;
}

export function Token({ asset }: { asset: string }) {
  const contract = assetContract(asset);
  const supply = useAnswer(
    `supply ${asset}`,
    async (signal) => ({ total: await supplyOf(asset, signal) }),
    tipVersion.value,
  );
  return (
    <Page
      kind="Token"
      title={visible(assetName(asset))}
      heading={
        <span class="with-copy">
          <bdi>{visible(assetName(asset))}</bdi>
          <Copy text={asset} what="asset identifier" />
        </span>
      }
      lead={
        contract === '' ? null : (
          <>
            of <Principal principal={contract} whole />
          </>
        )
      }
    >
      <Show loaded={supply}>
        {({ total }) => (total === null ? <Collection asset={asset} /> : <Fungible asset={asset} supply={total} />)}
      </Show>
    </Page>
  );
}
