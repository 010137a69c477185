/** Values of the chain as they are in tables and facts. */
import type { ComponentChildren } from 'preact';
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
  visible,
} from '../chain/format.ts';
import { now } from './clock.ts';
import { Copy, Table } from './parts.tsx';
import { pathTo } from './router.ts';

/** How long ago something was, with the exact time as its title. @param at Unix seconds */
export const Ago = ({ at }: { at: number }) => (
  <time dateTime={new Date(at * 1000).toISOString()} title={exactTime(at)}>
    {ago(now.value - at)}
  </time>
);

/** The exact time and how long ago it was. @param at Unix seconds */
export const When = ({ at }: { at: number }) => (
  <>
    <span class="nowrap">{exactTime(at)}</span> <span class="quiet">({ago(now.value - at)})</span>
  </>
);

interface AmountProps {
  /** Amount in the smallest unit. */
  value: string | bigint;
  decimals: number;
  unit?: string;
  /** Whether a positive amount has a plus before it. */
  signed?: boolean;
}

/** An amount with all its decimals, so that amounts below each other align; the fraction is quieter than the whole. */
export function Amount({ value, decimals, unit, signed = false }: AmountProps) {
  const { sign, whole, fraction } = amountParts(value, decimals);
  const plus = signed && sign === '' && /[1-9]/.test(String(value)) ? '+' : '';
  const tone = signed ? (sign === '−' ? ' minus' : plus === '+' ? ' plus' : '') : '';
  return (
    <span class={`amount${tone}`}>
      {sign || plus}
      {whole}
      {fraction === '' ? null : <span class="fraction">.{fraction}</span>}
      {unit === undefined ? null : <span class="unit"> {unit}</span>}
    </span>
  );
}

/** Micro-STX in STX. */
export const Stx = ({ micro, signed = false }: { micro: string | bigint; signed?: boolean }) => (
  <Amount value={micro} decimals={6} unit="STX" signed={signed} />
);

/** Satoshis in BTC. */
export const Btc = ({ satoshis }: { satoshis: string | bigint }) => <Amount value={satoshis} decimals={8} unit="BTC" />;

export const Count = ({ value }: { value: number | string | bigint }) => <span class="number">{count(value)}</span>;

interface HashProps {
  value: string;
  /** The page that the hash leads to. */
  to?: string;
  /** Whether the whole hash is shown where there is room for it. */
  whole?: boolean;
  /** What is copied, in a word: `transaction id`. Without it there is no button. */
  copy?: string;
}

export function Hash({ value, to, whole = false, copy }: HashProps) {
  const text = whole ? value : shortHash(value);
  const shown = <span class={whole ? 'mono break' : 'mono nowrap'}>{text}</span>;
  return (
    <span class="with-copy">
      {to === undefined ? (
        <span title={value}>{shown}</span>
      ) : (
        <a href={to} title={value}>
          {shown}
        </a>
      )}
      {copy === undefined ? null : <Copy text={value} what={copy} />}
    </span>
  );
}

/** The page of a principal: contracts have one of their own. */
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

export const TxLink = ({ id }: { id: string }) => <Hash value={id} to={pathTo('transaction', { id })} />;

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

/** A token by its name, with its contract. */
export const Asset = ({ identifier }: { identifier: string }) => (
  <a href={pathTo('token', { asset: identifier })} title={identifier}>
    <ChainText text={assetName(identifier)} />
    <span class="quiet mono"> {shortPrincipal(assetContract(identifier))}</span>
  </a>
);

/** A text that somebody put on the chain: isolated from the text around it, with what is invisible spelled out. */
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

/** The budget of a tenure on mainnet (SIP-006), which bounds the blocks of one miner until it is extended. */
const BUDGET: readonly (readonly [name: string, member: keyof Cost, limit: number])[] = [
  ['Runtime', 'execution_cost_runtime', 5_000_000_000],
  ['Reads', 'execution_cost_read_count', 15_000],
  ['Bytes read', 'execution_cost_read_length', 100_000_000],
  ['Writes', 'execution_cost_write_count', 15_000],
  ['Bytes written', 'execution_cost_write_length', 15_000_000],
];

/** A share of a whole as a bar, with the share as its text. */
export const Meter = ({ value, most }: { value: number; most: number }) => (
  <span class="nowrap">
    <span class="meter" aria-hidden="true">
      <span style={{ width: `${Math.min(100, most === 0 ? 0 : (100 * value) / most)}%` }} />
    </span>
    <span class="number">{percent(value, most)}</span>
  </span>
);

/** Cost by dimension, with its share of a tenure's budget. */
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
        name: 'Of a tenure’s budget',
        class: 'number',
        cell: ([, member, limit]) => <Meter value={cost[member]} most={limit} />,
      },
    ]}
  />
);

/** The largest share of the budget among all dimensions. */
export function CostShare({ cost }: { cost: Cost }) {
  const shares = BUDGET.map(([, member, limit]) => cost[member] / limit);
  return <Meter value={Math.max(...shares)} most={1} />;
}
