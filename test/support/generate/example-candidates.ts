/** Values of a simulated chain that parameters of the API may have. */

/** Calls the API over a chain; the default method is GET. */
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape are looked into
export type Ask = (target: string, method?: string, sent?: unknown) => Promise<{ status: number; body: any }>;

export interface Candidates {
  /** Returns values for a parameter of an operation, best first; undefined if its schema's example is good enough. */
  valuesFor(operationId: string, name: string): readonly unknown[] | undefined;
  /** Whether an optional parameter is part of the operation's example. */
  also(operationId: string, name: string): boolean;
}

/** Optional parameters that an operation needs for a useful example. */
const ALSO = new Set(['getFilteredEvents tx_id', 'searchLogs contract_id']);

/** A name that nobody has. */
const NO_NAME = 'nobody.btc';
/** The number of a token of a collection that nobody has: `u1`. */
const CARD_1 = '0x0100000000000000000000000000000001';

const unique = <T>(values: readonly (T | undefined)[]): T[] => [
  ...new Set(values.filter((value): value is T => value !== undefined)),
];

async function tokensOf(get: Ask, principals: readonly string[]) {
  const fts: string[] = [];
  const nfts: { asset: string; value: string; owner: string }[] = [];
  for (const owner of principals) {
    const { body: ft } = await get(`/extended/v3/principals/${owner}/balances/ft`);
    fts.push(...ft.results.map((item: { asset_identifier: string }) => item.asset_identifier));
    const { body: nft } = await get(`/extended/v3/principals/${owner}/balances/nft`);
    for (const { asset_identifier: asset, value } of nft.results) nfts.push({ asset, value: value.hex, owner });
  }
  return { fts: unique(fts), nfts };
}

/** Names that have a zonefile, first. */
async function namesOf(get: Ask) {
  const names: string[] = (await get('/v1/names')).body;
  const infos = await Promise.all(names.map(async (name) => ({ name, ...(await get(`/v1/names/${name}`)).body })));
  return infos.sort((a, b) => Number(b.zonefile !== '') - Number(a.zonefile !== ''));
}

/** Sorts the most active principals first: their lists are rarely empty. */
async function bySize(get: Ask, principals: readonly string[]): Promise<string[]> {
  const sizes = await Promise.all(
    principals.map(async (principal) => {
      const path = `/extended/v3/principals/${principal}`;
      const lists = ['balances/ft', 'balances/nft', 'transfers/stx/inbound', 'transfers/stx/outbound', 'staking/bonds'];
      const bodies = await Promise.all(lists.map(async (list) => (await get(`${path}/${list}?limit=1`)).body));
      return { principal, size: bodies.filter(({ results }) => results.length > 0).length };
    }),
  );
  return sizes.sort((a, b) => b.size - a.size).map(({ principal }) => principal);
}

/** Finds things on the chain that a parameter can name. */
async function lookThrough(get: Ask) {
  const results = async (target: string) => (await get(target)).body.results;
  const holders: string[] = (await results('/extended/v3/tokens/stx/holders?limit=50')).map(
    (item: { principal: string }) => item.principal,
  );
  const users = await bySize(
    get,
    holders.filter((holder) => !holder.includes('.')),
  );
  const [principal = ''] = users;
  const { fts, nfts } = await tokensOf(get, users);
  const transactions = await results(`/extended/v3/principals/${principal}/transactions?limit=50`);
  const called = transactions.map((item: { transaction?: object }) => item.transaction ?? item);
  const calls = called.filter(
    (item: { type: string; status: string }) => item.type === 'contract_call' && item.status === 'success',
  );
  const prints = await results('/extended/v1/pox4/events?limit=200');
  const txIds = unique<string>([...calls, ...called].map((item: { tx_id: string }) => item.tx_id));
  const [tip] = await results('/extended/v2/blocks?limit=1');
  const names = await namesOf(get);
  const contracts = unique(fts.map((ft) => ft.split('::')[0]));
  const deployed: string[] = (await results('/extended/v1/tx?type=smart_contract&limit=50')).map(
    (item: { smart_contract: { contract_id: string } }) => item.smart_contract.contract_id,
  );
  const [cycle] = await results('/extended/v2/pox/cycles');
  const pending = await results('/extended/v3/mempool/transactions?limit=50');
  const registrations = await results('/extended/v3/staking/bonds/0/registrations');
  const managers = (await results('/extended/v3/staking/signers')).map((item: { signer: string }) => item.signer);
  const rewards = await results('/extended/v1/burnchain/rewards?limit=200');
  const slots = await results('/extended/v1/burnchain/reward_slot_holders?limit=200');
  const signers = await results(`/extended/v2/pox/cycles/${cycle.cycle_number}/signers`);
  const bitcoin = unique<string>([
    ...rewards.map((item: { reward_recipient: string }) => item.reward_recipient),
    ...slots.map((item: { address: string }) => item.address),
  ]);
  const stakers = registrations.map((item: { staker: string }) => item.staker);
  const pendingIds = pending.map((item: { tx_id: string }) => item.tx_id);
  const pendingSenders = pending.map((item: { sender: { address: string } }) => item.sender.address);
  const stackers = prints.map((item: { stacker: string }) => item.stacker);
  const pools = unique<string>(prints.map((item: { data: { delegate_to?: string } }) => item.data.delegate_to));
  const [{ name } = { name: NO_NAME }] = names;
  const zonefile = (await get(`/v1/names/${name}`)).body;
  const owners = unique<string>(names.map(({ address }) => address));

  const everybody = unique<string>([
    principal,
    ...users,
    ...stakers,
    ...pendingSenders,
    ...stackers,
    ...owners,
    ...holders,
  ]);
  return {
    principal,
    everybody,
    pendingIds,
    fts,
    nfts,
    calls,
    prints,
    txIds,
    tip,
    name,
    names,
    contracts,
    deployed,
    cycle,
    signers,
    managers,
    bitcoin,
    stakers,
    pools,
    zonefile,
  };
}
type ChainValues = Awaited<ReturnType<typeof lookThrough>>;

/** The examples of the schemas of parameters, by the names they are kept under. */
const valuesOf = ({
  tip,
  principal,
  txIds,
  contracts,
  calls,
  fts,
  nfts,
  bitcoin,
  name,
  zonefile,
  cycle,
  signers,
}: ChainValues) => ({
  tx_id: txIds[0]!,
  block_height: tip.height,
  block_hash: tip.hash,
  block_time: tip.block_time,
  tenure_height: tip.tenure_height,
  principal,
  contract_id: contracts[0]!,
  function_name: calls[0].contract_call.function_name,
  ft: fts[0]!,
  nft: nfts[0]?.asset ?? `${contracts[0]}::card`,
  nft_value: nfts[0]?.value ?? CARD_1,
  bitcoin_address: bitcoin[0]!,
  name,
  namespace: name.slice(name.indexOf('.') + 1),
  zonefile_hash: zonefile.zonefile_hash ?? '',
  bond_index: 0,
  cycle_number: cycle.cycle_number,
  signer_key: signers[0].signing_key,
});
type Values = ReturnType<typeof valuesOf>;

/** Returns values for parameters, by parameter name. */
const byNameOf = (chainValues: ChainValues, values: Values): Record<string, readonly unknown[]> => {
  const { everybody, fts, txIds, prints, tip, contracts, names, pools, signers, bitcoin } = chainValues;
  return {
    tx_id: unique([...txIds, ...prints.map((item: { tx_id: string }) => item.tx_id)]),
    principal: everybody,
    address: everybody,
    height_or_hash: [String(values.block_height), 'latest'],
    block_hash: [values.block_hash],
    hash: [values.block_hash],
    height: [values.block_height],
    burn_block_height: [tip.burn_block_height],
    burn_block_hash: [tip.burn_block_hash],
    timestamp: [values.block_time],
    tenure_height: [values.tenure_height],
    asset_identifier: fts,
    token: fts,
    value: [values.nft_value],
    contract_id: contracts,
    id: [values.tx_id],
    name: names.map(({ name }) => name),
    zoneFileHash: [values.zonefile_hash],
    tld: [values.namespace],
    bond_index: [0, 1],
    cycle_number: ['current', values.cycle_number],
    pox: ['pox4', 'pox3', 'pox2'],
    pool_principal: unique([...pools, ...everybody]),
    signer_key: signers.map((item: { signing_key: string }) => item.signing_key),
    burnchain_address: bitcoin,
  };
};

/** Returns values for parameters of single operations. */
function byOperationOf(
  { nfts, txIds, pendingIds, contracts, deployed, managers, stakers, bitcoin }: ChainValues,
  values: Values,
): Record<string, readonly unknown[]> {
  const nftAssets = unique(nfts.map(({ asset }) => asset));
  return {
    'getFtMetadata principal': deployed,
    'getNftMetadata principal': deployed,
    'getNftMetadata token_id': ['1', '2', '3', '4', '5'],
    'getPrincipalBalanceChanges tx_id': txIds.map((id) => [id]),
    'getMempoolPosition tx_id': pendingIds,
    'getTransactionsById tx_id': [...pendingIds, ...txIds].map((id) => [id]),
    'getSmartContractsStatus contract_id': contracts.map((id) => [id]),
    'searchLogs contract_id': [contracts.slice(0, 2)],
    'getNftHistory asset_identifier': nftAssets,
    'getCollectionToken asset_identifier': nftAssets,
    'getCollectionMints asset_identifier': nftAssets,
    'getNonFungibleTokenHistory asset_identifier': nftAssets,
    'getNonFungibleTokenMints asset_identifier': nftAssets,
    'getStakingSigner principal': managers,
    'getStakingSignerStakers principal': managers,
    'getStakingBondAllowlistEntry principal': stakers,
    'getStakingBondRegistration principal': stakers,
    'getBtcBalance address': bitcoin,
    'getRewardSlotsOfAddress address': bitcoin,
    'getBurnRewardsOfAddress address': bitcoin,
    'getBurnRewardTotalOfAddress address': bitcoin,
    ...Object.fromEntries(
      ['getPoxCycle', 'getPoxCycleSigners', 'getPoxCycleSigner', 'getPoxCycleSignerStackers'].map((id) => [
        `${id} cycle_number`,
        [values.cycle_number, values.cycle_number - 1],
      ]),
    ),
  };
}

/** Searches the chain for values of parameters. */
export async function candidatesOf(get: Ask): Promise<Candidates & { values: Record<string, string | number> }> {
  const chainValues = await lookThrough(get);
  const values = valuesOf(chainValues);
  const byName = byNameOf(chainValues, values);
  const byOperation = byOperationOf(chainValues, values);
  return {
    values,
    valuesFor: (operationId, name) => byOperation[`${operationId} ${name}`] ?? byName[name],
    also: (operationId, name) => ALSO.has(`${operationId} ${name}`),
  };
}
