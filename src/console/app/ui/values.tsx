/** Values of the chain as components: times, amounts, hashes, principals, links. */
import type { ComponentChildren } from 'preact';
import { TENURE_BUDGET } from '../../../chain/tenure-budget.ts';
import {
  ago,
  amountParts,
  assetContract,
  assetName,
  count,
  exactTime,
  percent,
  shortHash,
  shortPrincipal,
  until,
  visible,
} from '../chain/format.ts';
import { now } from './clock.ts';
import { Copy, Table } from './parts.tsx';
import { pathTo } from './router.ts';
import { unitOf } from './token-metadata.ts';

/** Seconds after which a time has its date beside it. */
const DATED = 2 * 86_400;

/** The time since a moment, with the date where that is days, and the exact time as title. @param at Unix seconds */
export function Ago({ at }: { at: number }) {
  const seconds = now.value - at;
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={exactTime(at)}>
      {seconds < DATED ? (
        ago(seconds)
      ) : (
        <>
          <span class="since">{ago(seconds)}</span> <span class="date">{exactTime(at).slice(0, 10)}</span>
        </>
      )}
    </time>
  );
}

/** The exact time, and the time since. @param at Unix seconds */
export const When = ({ at }: { at: number }) => (
  <>
    <span class="nowrap">{exactTime(at)}</span> <span class="quiet">({ago(now.value - at)})</span>
  </>
);

/** The exact time of something to come, and the time until then. @param at Unix seconds */
export const Due = ({ at }: { at: number }) => (
  <>
    <span class="nowrap">{exactTime(at)}</span> <span class="quiet">({until(at - now.value)})</span>
  </>
);

interface AmountProps {
  /** Amount in the smallest unit. */
  value: string | bigint;
  decimals: number;
  unit?: string;
  /** The smallest unit, such as `micro-STX`, in which the title has the amount. */
  smallest: string;
  /** Whether a positive amount has a plus before it. */
  signed?: boolean;
}

/** Characters of the longest amount that stays on one line: billions with six decimals. A longer one breaks before its point. */
const LONGEST_UNBROKEN = 20;

/** An amount with all its decimals, so that amounts in a column align; the fraction is paler. */
function Amount({ value, decimals, unit, smallest, signed = false }: AmountProps) {
  const { sign, whole, fraction } = amountParts(value, decimals);
  const plus = signed && sign === '' && /[1-9]/.test(String(value)) ? '+' : '';
  const tone = signed ? (sign === '−' ? ' minus' : plus === '+' ? ' plus' : '') : '';
  return (
    <span class={`amount${tone}`} title={`${count(value)} ${smallest}`}>
      {sign || plus}
      {whole}
      {fraction === '' ? null : (
        <>
          {whole.length + fraction.length < LONGEST_UNBROKEN ? null : <wbr />}
          <span class="fraction">.{fraction}</span>
        </>
      )}
      {unit === undefined ? null : (
        <span class="unit">
          {' '}
          <ChainText text={unit} />
        </span>
      )}
    </span>
  );
}

/** An amount of micro-STX, shown in STX. */
export const Stx = ({ micro, signed = false }: { micro: string | bigint; signed?: boolean }) => (
  <Amount value={micro} decimals={6} unit="STX" smallest="micro-STX" signed={signed} />
);

/** An amount of satoshis, shown in BTC. */
export const Btc = ({ satoshis }: { satoshis: string | bigint }) => (
  <Amount value={satoshis} decimals={8} unit="BTC" smallest="satoshis" />
);

/** A number of tokens that have no decimals. */
export const Signed = ({ value }: { value: bigint }) => <Amount value={value} decimals={0} smallest="tokens" signed />;

interface TokenAmountProps {
  /** Identifier of a fungible token. */
  asset: string;
  value: string | bigint;
  signed?: boolean;
}

/** An amount of a fungible token: with its decimals and symbol where they are known, else in its smallest unit. */
export function TokenAmount({ asset, value, signed = false }: TokenAmountProps) {
  const { symbol, decimals } = unitOf(asset);
  return (
    <Amount
      value={value}
      decimals={decimals ?? 0}
      {...(symbol === null ? {} : { unit: symbol })}
      smallest={`in the smallest unit of ${visible(assetName(asset))}`}
      signed={signed}
    />
  );
}

/** Says that amounts of a token are in its smallest unit, where its decimals are unknown. */
export const SmallestUnit = ({ asset }: { asset: string }) =>
  unitOf(asset).decimals === null ? <span class="quiet">in the smallest unit</span> : null;

export const Count = ({ value }: { value: number | string | bigint }) => <span class="number">{count(value)}</span>;

interface HashProps {
  value: string;
  /** The path that the hash links to. */
  to?: string;
  /** Whether the hash is shown as far as there is room (default: its two ends). */
  whole?: boolean;
  /** Names the hash for a copy button: `transaction id`. No button if undefined. */
  copy?: string;
}

export function Hash({ value, to, whole = false, copy }: HashProps) {
  const text = whole ? value : shortHash(value);
  const shown = <span class={whole ? 'mono fit' : 'mono nowrap'}>{text}</span>;
  return (
    <span class="with-copy">
      {to === undefined ? (
        <span title={value} class={whole ? 'fit' : undefined}>
          {shown}
        </span>
      ) : (
        <a href={to} title={value} class={whole ? 'fit' : undefined}>
          {shown}
        </a>
      )}
      {copy === undefined ? null : <Copy text={value} what={copy} />}
    </span>
  );
}

/** The path of a principal's page: the page of a contract or of an account. */
export const principalPath = (principal: string): string =>
  principal.includes('.') ? pathTo('contract', { id: principal }) : pathTo('principal', { id: principal });

interface PrincipalProps {
  principal: string;
  whole?: boolean;
  copy?: boolean;
}

export const Principal = ({ principal, whole = false, copy = false }: PrincipalProps) => (
  <span class="with-copy">
    <a href={principalPath(principal)} title={principal} class={whole ? 'mono break' : 'mono nowrap'}>
      {whole ? principal : shortPrincipal(principal)}
    </a>
    {copy ? <Copy text={principal} what={principal.includes('.') ? 'contract identifier' : 'address'} /> : null}
  </span>
);

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

/** A link to a token, with its name and contract. */
export const Asset = ({ identifier }: { identifier: string }) => (
  <a href={pathTo('token', { asset: identifier })} title={identifier}>
    <ChainText text={assetName(identifier)} />
    <span class="quiet mono"> {shortPrincipal(assetContract(identifier))}</span>
  </a>
);

/** Text from the chain: isolated from the direction of the text around it, with invisible characters spelled out. */
export const ChainText = ({ text }: { text: string }) => <bdi class="chain-text">{visible(text)}</bdi>;

export const Badge = ({
  tone,
  children,
}: {
  tone: 'ok' | 'bad' | 'wait' | 'plain' | 'accent';
  children: ComponentChildren;
}) => <span class={`badge ${tone}`}>{children}</span>;

interface Cost {
  execution_cost_read_count: number;
  execution_cost_read_length: number;
  execution_cost_runtime: number;
  execution_cost_write_count: number;
  execution_cost_write_length: number;
}

/** The dimensions of a cost, each with the budget of a tenure. A tenure extension resets it. */
const BUDGET: readonly (readonly [name: string, member: keyof Cost, limit: number])[] = [
  ['Runtime', 'execution_cost_runtime', TENURE_BUDGET.runtime],
  ['Reads', 'execution_cost_read_count', TENURE_BUDGET.readCount],
  ['Bytes read', 'execution_cost_read_length', TENURE_BUDGET.readLength],
  ['Writes', 'execution_cost_write_count', TENURE_BUDGET.writeCount],
  ['Bytes written', 'execution_cost_write_length', TENURE_BUDGET.writeLength],
];

/** The least share that a bar shows: a smaller one would look like nothing. */
const LEAST_SHARE = 0.01;

/** A share in per cent, and as a bar from one per cent on. @param most the whole */
export const Meter = ({ value, most }: { value: number; most: number }) => (
  <span class="nowrap">
    {value < LEAST_SHARE * most ? null : (
      <span class="meter" aria-hidden="true">
        <span style={{ width: `${Math.min(100, (100 * value) / most)}%` }} />
      </span>
    )}
    <span class="number">{percent(value, most)}</span>
  </span>
);

/** An execution cost by dimension, each with its share of a tenure's budget. */
export const CostTable = ({ cost }: { cost: Cost }) => (
  <Table
    label="Execution cost"
    rows={BUDGET}
    keyOf={([name]) => name}
    empty=""
    columns={[
      { name: 'Cost', cell: ([name]) => name },
      { name: 'Used', class: 'number', cell: ([, member]) => count(cost[member]) },
      {
        name: 'Share of tenure budget',
        class: 'number',
        cell: ([, member, limit]) => <Meter value={cost[member]} most={limit} />,
      },
    ]}
  />
);

/** The largest share of a tenure's budget among the dimensions of a cost. */
export function CostShare({ cost }: { cost: Cost }) {
  const shares = BUDGET.map(([, member, limit]) => cost[member] / limit);
  return <Meter value={Math.max(...shares)} most={1} />;
}
