/** Events of a transaction. */
import { count } from '../chain/format.ts';
import type { TransactionEvent } from '../chain/types.ts';
import { Value, ValueBlock } from './code.tsx';
import { Table } from './parts.tsx';
import { pathTo } from './router.ts';
import { Asset, BitcoinBlockLink, ChainText, Principal, Stx } from './values.tsx';

const NAMES: Readonly<Record<TransactionEvent['event_type'], string>> = {
  stx_asset: 'STX',
  stx_lock: 'STX lock',
  fungible_token_asset: 'Token',
  non_fungible_token_asset: 'NFT',
  smart_contract_log: 'Log',
  unknown: 'Unknown',
};

const VERBS = { transfer: 'transfer', mint: 'mint', burn: 'burn' } as const;

function nameOf(event: TransactionEvent): string {
  const name = NAMES[event.event_type];
  return 'asset' in event ? `${name} ${VERBS[event.asset.asset_event_type]}` : name;
}

/** Shows from whom to whom something went; an end that is empty is left out. */
const Route = ({ sender, recipient }: { sender: string; recipient: string }) => (
  <span class="quiet">
    {sender === '' ? null : (
      <>
        {' from '}
        <Principal principal={sender} />
      </>
    )}
    {recipient === '' ? null : (
      <>
        {' to '}
        <Principal principal={recipient} />
      </>
    )}
  </span>
);

/** Values longer than this stand in a box of their own. */
const LONG_VALUE = 160;

function Details({ event }: { event: TransactionEvent }) {
  switch (event.event_type) {
    case 'stx_asset':
      return (
        <>
          <Stx micro={event.asset.amount} />
          <Route {...event.asset} />
        </>
      );
    case 'stx_lock': {
      const { locked_amount: amount, locked_address: owner, unlock_height: height } = event.stx_lock_event;
      return (
        <>
          <Stx micro={amount} /> <span class="quiet">of</span> <Principal principal={owner} />{' '}
          <span class="quiet">
            until Bitcoin block <BitcoinBlockLink height={Number(height)} />
          </span>
        </>
      );
    }
    case 'fungible_token_asset':
      return (
        <>
          <span class="number">{count(event.asset.amount)}</span> <Asset identifier={event.asset.asset_id} />
          <Route {...event.asset} />
        </>
      );
    case 'non_fungible_token_asset': {
      const { asset_id: asset, value } = event.asset;
      return (
        <>
          <Asset identifier={asset} />{' '}
          <a href={pathTo('nft', { asset, value: value.hex })}>
            <Value repr={value.repr} />
          </a>
          <Route {...event.asset} />
        </>
      );
    }
    case 'unknown':
      return (
        <>
          <span class="quiet">
            <ChainText text={event.unknown_event.type} />
          </span>{' '}
          <span class="mono break">
            <ChainText text={event.unknown_event.json} />
          </span>
        </>
      );
    case 'smart_contract_log': {
      const { contract_id: contract, topic, value } = event.contract_log;
      return (
        <>
          <Principal principal={contract} /> {topic === 'print' ? null : <span class="quiet">{topic}</span>}
          {value.repr.length > LONG_VALUE ? (
            <ValueBlock repr={value.repr} label={`Value of event ${event.event_index}`} />
          ) : (
            <div>
              <Value repr={value.repr} />
            </div>
          )}
        </>
      );
    }
  }
}

export const EventTable = ({ events }: { events: readonly TransactionEvent[] }) => (
  <Table
    label="Events"
    rows={events}
    keyOf={({ event_index: index }) => String(index)}
    empty="The transaction has no events."
    columns={[
      { name: '#', class: 'quiet number medium', cell: ({ event_index: index }) => index },
      { name: 'Event', class: 'nowrap top', cell: nameOf },
      { name: 'Details', class: 'fill', cell: (event) => <Details event={event} /> },
    ]}
  />
);
