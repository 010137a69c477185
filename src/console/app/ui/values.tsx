/** Values of the chain as components: times, amounts, hashes, principals, links. */
import type { ComponentChildren } from 'preact';
import { TENURE_BUDGET } from '../../../chain/network.ts';
import { assetContractOf, assetNameOf } from '../../../codec/address.ts';
import {
  ago,
  amountParts,
  count,
  exactTime,
  localTime,
  percent,
  shortHash,
  shortPrincipal,
  type Tone,
  until,
  visible,
  words,
} from '../chain/format.ts';
import type { TemplateName } from '../chain/hook-templates.ts';
import type { Hook } from '../chain/hooks.ts';
import { chainNow, hasOwnClock, now } from './clock.ts';
import { primaryNameOf, tokenOf, unitOf } from './metadata.ts';
import { ButtonLink, Copy, Table } from './parts.tsx';
import { pathTo } from './router.ts';

/** Age in seconds above which a time also shows its date. */
const MIN_DATED_AGE = 2 * 86_400;

interface TimeProps {
  /** Unix seconds. */
  time: number;
  /** Whether the time is one of the chain, whose clock may differ on a devnet (default: of the server). */
  chain?: boolean;
}

interface AgoProps extends Pick<TimeProps, 'chain'> {
  /** Unix seconds; null for no time. */
  time: number | null;
  /** The text for no time. */
  none?: string;
}

/** Returns the seconds since a time. @param chain whether the time is one of the chain */
const ageOf = (time: number, chain: boolean): number => (chain ? chainNow : now).value - time;

/** Names the clock of an age, if the chain has its own; empty otherwise. @param chain whether the time is one of the chain */
const clockOf = (chain: boolean): string => (chain && hasOwnClock.value ? ' by the chain’s clock' : '');

/** Renders the time since a moment, also with the local date if it is days ago, and with the time in UTC as title. */
export function Ago({ time, chain = false, none }: AgoProps) {
  if (time === null) return <span class="quiet">{none}</span>;
  const seconds = ageOf(time, chain);
  return (
    <time dateTime={new Date(time * 1000).toISOString()} title={`${exactTime(time)}${clockOf(chain)}`}>
      {seconds < MIN_DATED_AGE ? (
        ago(seconds)
      ) : (
        <>
          <span class="since nowrap">{ago(seconds)}</span>{' '}
          <span class="date quiet nowrap">{localTime(time).slice(0, 10)}</span>
        </>
      )}
    </time>
  );
}

const LocalTime = ({ time }: { time: number }) => (
  <time class="nowrap" dateTime={new Date(time * 1000).toISOString()} title={exactTime(time)}>
    {localTime(time)}
  </time>
);

/** Renders the local time, and the time since. */
export const When = ({ time, chain = false }: TimeProps) => (
  <>
    <LocalTime time={time} />{' '}
    <span class="quiet">
      ({ago(ageOf(time, chain))}
      {clockOf(chain)})
    </span>
  </>
);

/** Renders the local time of a future event, and the time until then. @param time Unix seconds */
export const Due = ({ time }: { time: number }) => (
  <>
    <LocalTime time={time} /> <span class="quiet">({until(time - now.value)})</span>
  </>
);

interface AmountProps {
  /** Amount in the smallest unit. */
  value: string | bigint;
  decimals: number;
  unit?: string;
  /** Name of the smallest unit, such as `micro-STX`, for the amount in the title. */
  smallest: string;
  /** Whether a positive amount has a plus sign. */
  signed?: boolean;
}

/** Maximum characters of an amount on one line: billions with six decimals. A longer amount breaks before its point. */
const MAX_UNBROKEN = 20;

/** Renders an amount with all its decimals, so that amounts in a column align. The fraction is paler. */
function Amount({ value, decimals, unit, smallest, signed = false }: AmountProps) {
  const { sign, whole, fraction } = amountParts(value, decimals);
  const plus = signed && sign === '' && /[1-9]/.test(String(value)) ? '+' : '';
  const tone = signed ? (sign === '−' ? ' bad' : plus === '+' ? ' ok' : '') : '';
  return (
    <span class={`amount${tone}`} title={`${count(value)} ${smallest}`}>
      {sign || plus}
      {whole}
      {fraction === '' ? null : (
        <>
          {whole.length + fraction.length < MAX_UNBROKEN ? null : <wbr />}
          <span class="quiet">.{fraction}</span>
        </>
      )}
      {unit === undefined ? null : (
        <span class="unit quiet">
          {' '}
          <ChainText text={unit} />
        </span>
      )}
    </span>
  );
}

/** Renders an amount of micro-STX, shown in STX. */
export const Stx = ({ micro, signed = false }: { micro: string | bigint; signed?: boolean }) => (
  <Amount value={micro} decimals={6} unit="STX" smallest="micro-STX" signed={signed} />
);

/** Renders an amount of satoshis, shown in BTC. */
export const Btc = ({ satoshis }: { satoshis: string | bigint }) => (
  <Amount value={satoshis} decimals={8} unit="BTC" smallest="satoshis" />
);

/** Renders a number of tokens without decimals. */
export const TokenCount = ({ value }: { value: bigint }) => (
  <Amount value={value} decimals={0} smallest="tokens" signed />
);

interface TokenAmountProps {
  /** Identifier of a fungible token. */
  asset: string;
  value: string | bigint;
  signed?: boolean;
}

/** Renders an amount of a fungible token with its decimals and symbol, or in its smallest unit if they are unknown. */
export function TokenAmount({ asset, value, signed = false }: TokenAmountProps) {
  const { symbol, decimals } = unitOf(asset);
  return (
    <Amount
      value={value}
      decimals={decimals ?? 0}
      {...(symbol === null ? {} : { unit: symbol })}
      smallest={`in the smallest unit of ${visible(assetNameOf(asset))}`}
      signed={signed}
    />
  );
}

/** Renders a note that a token's amounts are in its smallest unit, if its decimals are unknown. */
export const SmallestUnit = ({ asset }: { asset: string }) =>
  unitOf(asset).decimals === null ? <span class="quiet">in the smallest unit</span> : null;

interface HashProps {
  value: string;
  /** The path that the hash links to. */
  to?: string;
  /** Whether the hash is shown as far as there is room (default: its two ends). */
  whole?: boolean;
  /** Name of the hash for a copy button: `transaction id`; no button if undefined. */
  copy?: string;
}

export function Hash({ value, to, whole = false, copy }: HashProps) {
  const text = whole ? value : shortHash(value);
  const content = <span class={whole ? 'mono fit' : 'mono nowrap'}>{text}</span>;
  return (
    <span class="with-copy">
      {to === undefined ? (
        <span title={value} class={whole ? 'fit' : undefined}>
          {content}
        </span>
      ) : (
        <a href={to} title={value} class={whole ? 'fit' : undefined}>
          {content}
        </a>
      )}
      {copy === undefined ? null : <Copy text={value} name={copy} />}
    </span>
  );
}

/** Returns the path of a principal's page: the page of a contract or of an account. */
export const principalPath = (principal: string, query: Readonly<Record<string, string>> = {}): string =>
  pathTo(principal.includes('.') ? 'contract' : 'principal', { id: principal, ...query });

interface PrincipalProps {
  principal: string;
  whole?: boolean;
  copy?: boolean;
}

/** Renders a link to a principal, with its primary name. */
export function Principal({ principal, whole = false, copy = false }: PrincipalProps) {
  const name = primaryNameOf(principal);
  return (
    <span class="with-copy">
      <a href={principalPath(principal)} title={principal} class={whole ? 'mono break' : 'mono nowrap'}>
        {whole ? principal : shortPrincipal(principal)}
      </a>
      {copy ? <Copy text={principal} name={principal.includes('.') ? 'contract identifier' : 'address'} /> : null}
      {name === null ? null : (
        <span class="quiet">
          <ChainText text={name} />
        </span>
      )}
    </span>
  );
}

export const TxLink = ({ id, whole = false }: { id: string; whole?: boolean }) => (
  <Hash value={id} to={pathTo('transaction', { id })} whole={whole} />
);

export const BlockLink = ({ height }: { height: number }) => (
  <a class="number" href={pathTo('block', { id: height })}>
    {count(height)}
  </a>
);

export const BitcoinBlockLink = ({ height }: { height: number }) => (
  <a class="number" href={pathTo('bitcoinBlock', { id: height })}>
    {count(height)}
  </a>
);

export const BitcoinAddressLink = ({ address }: { address: string }) => (
  <a class="mono break" href={pathTo('bitcoinAddress', { address })}>
    {address}
  </a>
);

export const NameLink = ({ name }: { name: string }) => (
  <a href={pathTo('name', { name })}>
    <ChainText text={name} />
  </a>
);

export const HookLink = ({ hook: { uuid, definition } }: { hook: Hook }) => (
  <a href={pathTo('hook', { id: uuid })}>
    <ChainText text={definition.name || uuid} />
  </a>
);

/** Renders a link to a new chainhook about an object. @param kind the template for its filters */
export const NotifyMe = ({ kind, id }: { kind: TemplateName; id: string }) => (
  <div class="row">
    <ButtonLink text="Notify me by a chainhook" href={pathTo('newHook', { template: kind, of: id })} />
  </div>
);

/** Returns the name of a fungible token from its metadata, or the name in its identifier. */
export const tokenName = (asset: string): string => tokenOf(asset)?.name ?? assetNameOf(asset);

/** Renders a link to a token, with its name and contract. @param fungible whether its contract may state its name */
export const Asset = ({ identifier, fungible = false }: { identifier: string; fungible?: boolean }) => (
  <a href={pathTo('token', { asset: identifier })} title={identifier}>
    <ChainText text={fungible ? tokenName(identifier) : assetNameOf(identifier)} />
    <span class="quiet mono"> {shortPrincipal(assetContractOf(identifier))}</span>
  </a>
);

/** Renders text from the chain: isolated from the direction around it, with invisible characters spelled out. */
export const ChainText = ({ text }: { text: string }) => <bdi class="chain-text">{visible(text)}</bdi>;

export const Badge = ({ tone, children }: { tone: Tone | 'accent'; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
);

/** Tones of states by their names in the API. Other states are plain. */
const STATE_TONES: Readonly<Record<string, Tone | 'accent'>> = {
  active: 'ok',
  completed: 'ok',
  delivered: 'ok',
  done: 'ok',
  quiet: 'ok',
  in_flight: 'wait',
  pending: 'wait',
  queued: 'wait',
  running: 'wait',
  warn: 'wait',
  dead: 'bad',
  error: 'bad',
  failed: 'bad',
  firing: 'bad',
  upcoming: 'accent',
};

/** Renders a state of the API as a badge. */
export const StateBadge = ({ state }: { state: string }) => (
  <Badge tone={STATE_TONES[state] ?? 'plain'}>{words(state)}</Badge>
);

/** Renders the sender or the recipient of an asset. A mint has no sender, and a burn has no recipient. */
export const Party = ({ principal, nobody }: { principal: string | null; nobody: 'minted' | 'burnt' }) =>
  principal === null ? <span class="quiet">{nobody}</span> : <Principal principal={principal} />;

/** The dimensions of a cost, each with the budget of a tenure. A tenure extension resets it. */
const BUDGET = [
  ['Runtime', 'execution_cost_runtime', TENURE_BUDGET.runtime],
  ['Reads', 'execution_cost_read_count', TENURE_BUDGET.readCount],
  ['Bytes read', 'execution_cost_read_length', TENURE_BUDGET.readLength],
  ['Writes', 'execution_cost_write_count', TENURE_BUDGET.writeCount],
  ['Bytes written', 'execution_cost_write_length', TENURE_BUDGET.writeLength],
] as const;

type Cost = Record<(typeof BUDGET)[number][1], number>;

/** Minimum share that a bar shows. A smaller share would be invisible. */
const MIN_SHARE = 0.01;

/** Renders the share of a value in a total: in per cent, and as a bar if it is at least one per cent. */
export const Meter = ({ value, total }: { value: number; total: number }) => (
  <span class="meter">
    {value < MIN_SHARE * total ? null : <progress max={total} value={value} aria-hidden="true" />}
    <span class="number">{percent(value, total)}</span>
  </span>
);

/** Renders an execution cost by dimension, each with its share of a tenure's budget. */
export const CostTable = ({ cost }: { cost: Cost }) => (
  <Table
    label="Execution cost"
    rows={BUDGET}
    keyOf={([name]) => name}
    columns={[
      ['Cost', '', ([name]) => name],
      ['Used', 'number', ([, member]) => count(cost[member])],
      ['Of tenure budget', 'number', ([, member, limit]) => <Meter value={cost[member]} total={limit} />],
    ]}
  />
);

/** Renders the largest share of a tenure's budget among the dimensions of a cost. */
export function CostShare({ cost }: { cost: Cost }) {
  const shares = BUDGET.map(([, member, limit]) => cost[member] / limit);
  return <Meter value={Math.max(...shares)} total={1} />;
}
