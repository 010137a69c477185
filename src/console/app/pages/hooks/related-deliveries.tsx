/** Chainhook deliveries about blocks, or about a transaction, from the chainhooks that this browser may manage. */

import { type Answer, get } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { consumerHeaders, readSession, session } from '../../api/session.ts';
import { type Loaded, mapLoaded, useAnswer } from '../../api/use-answer.ts';
import { plural, words } from '../../chain/format.ts';
import { type Hook, payloadIncludes, STATE_TONES } from '../../chain/hooks.ts';
import { ListPanel, PER_PAGE } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { Ago, Badge, ChainText } from '../../ui/values.tsx';

/** Maximum number of chainhooks whose deliveries are searched. */
const MAX_HOOKS = 20;

type Delivery = Answer<'/chainhooks/me/{uuid}/deliveries'>['results'][number];

interface HookDelivery {
  hook: Hook;
  consumer: string | null;
  delivery: Delivery;
}

export const HookLink = ({ hook: { uuid, definition } }: { hook: Hook }) => (
  <a href={pathTo('hook', { id: uuid })}>
    <ChainText text={definition.name || uuid} />
  </a>
);

/** Renders the state of a delivery. */
export const StateBadge = ({ state }: { state: string }) => (
  <Badge tone={STATE_TONES[state] ?? 'plain'}>{words(state)}</Badge>
);

/**
 * Requests the consumers that this browser may manage; null if there are none. The consumer null is the session's.
 * @param isIncluded reports for the operator whether a consumer counts @throws RequestError
 */
export async function loadConsumers(
  signal: AbortSignal,
  isIncluded: (consumer: { failing: number }) => boolean = () => true,
): Promise<(string | null)[] | null> {
  const { signed_in: isSignedIn, operator: isOperator } = session.value ?? (await readSession(signal));
  if (!isSignedIn) return null;
  if (!isOperator) return [null];
  return (await get('/chainhooks/consumers', {}, signal)).results.filter(isIncluded).map(({ consumer }) => consumer);
}

/** Requests the deliveries of blocks between two heights; null if this browser may manage no chainhooks. */
async function loadDeliveries(from: number, to: number, signal: AbortSignal): Promise<HookDelivery[] | null> {
  const consumers = await loadConsumers(signal);
  if (consumers === null) return null;
  const deliveries: HookDelivery[] = [];
  let remaining = MAX_HOOKS;
  for (const consumer of consumers) {
    if (remaining <= 0) break;
    const headers = consumerHeaders(consumer);
    const hooks = await get('/chainhooks/me', { limit: remaining }, signal, headers);
    remaining -= hooks.results.length;
    for (const hook of hooks.results) {
      const params = { uuid: hook.uuid, limit: PER_PAGE, from_height: from, to_height: to };
      const { results } = await get('/chainhooks/me/{uuid}/deliveries', params, signal, headers);
      deliveries.push(...results.map((delivery) => ({ hook, consumer, delivery })));
    }
  }
  return deliveries;
}

/** Requests the deliveries whose bodies contain a transaction. @throws RequestError */
async function loadDeliveriesWith(id: string, height: number, signal: AbortSignal): Promise<HookDelivery[] | null> {
  const all = await loadDeliveries(height, height, signal);
  if (all === null) return null;
  const deliveries: HookDelivery[] = [];
  for (const entry of all) {
    const params = { uuid: entry.hook.uuid, id: entry.delivery.id };
    const headers = consumerHeaders(entry.consumer);
    const { payload } = await get('/chainhooks/me/{uuid}/deliveries/{id}', params, signal, headers);
    if (payloadIncludes(payload, id)) deliveries.push(entry);
  }
  return deliveries;
}

type BlockFilter = (block: { index_block_hash: string }) => boolean;

/** Describes the content of a delivery: `1 block applied`. */
function contentOf({ apply, rollback }: Delivery, isIncluded: BlockFilter): string {
  const countText = (blocks: Delivery['apply'], verb: string): string[] => {
    const number = blocks.filter(isIncluded).length;
    return number === 0 ? [] : [`${plural(number, 'block')} ${verb}`];
  };
  return [...countText(rollback, 'rolled back'), ...countText(apply, 'applied')].join(', ');
}

const DeliveryList = ({
  loaded,
  filter = () => true,
}: {
  loaded: Loaded<HookDelivery[] | null>;
  filter?: BlockFilter;
}) => (
  <ListPanel
    title="Chainhook deliveries"
    label="Deliveries"
    loaded={mapLoaded(loaded, (deliveries) => ({ results: deliveries ?? [] }))}
    aside={<a href={pathTo('hooks')}>Chainhooks</a>}
    keyOf={({ hook, delivery }) => `${hook.uuid} ${delivery.id}`}
    empty="No chainhook was notified of the orphaned blocks, or its deliveries are no longer stored."
    stacked
    columns={[
      { name: 'Chainhook', class: 'main', cell: ({ hook }) => <HookLink hook={hook} /> },
      { name: 'Notified', class: 'named', cell: ({ delivery }) => contentOf(delivery, filter) },
      {
        name: 'Delivery',
        class: 'named',
        cell: ({ hook: { uuid }, delivery: { id, state } }) => (
          <a href={pathTo('delivery', { id: uuid, delivery: id })}>
            <StateBadge state={state} />
          </a>
        ),
      },
      { name: 'Queued', class: 'number when', cell: ({ delivery }) => <Ago time={delivery.created_at} /> },
    ]}
  />
);

/** Renders the deliveries of a fork's orphaned blocks. */
export function ForkDeliveries({ fork }: { fork: Answer<'/stackside/v1/forks/{hash}'> }) {
  const { index_block_hash: id, height, top_height: top, orphaned } = fork;
  const hashes = new Set(orphaned.map(({ index_block_hash: hash }) => hash));
  const isIncluded: BlockFilter = ({ index_block_hash: hash }) => hashes.has(hash);
  const loaded = useAnswer(`deliveries of ${id}`, async (signal) => {
    const all = await loadDeliveries(height, top, signal);
    return all?.filter(({ delivery }) => delivery.apply.some(isIncluded) || delivery.rollback.some(isIncluded)) ?? null;
  });
  return loaded.error === null && loaded.data === null ? null : <DeliveryList loaded={loaded} filter={isIncluded} />;
}

/** Renders the deliveries that contain a transaction of a block; nothing if there is none. */
export function TransactionDeliveries({ id, height }: { id: string; height: number }) {
  const load = (signal: AbortSignal) => loadDeliveriesWith(id, height, signal);
  const loaded = useAnswer(`deliveries of ${id} ${height}`, load, tipVersion.value);
  return loaded.data === null || loaded.data.length === 0 ? null : <DeliveryList loaded={loaded} />;
}
