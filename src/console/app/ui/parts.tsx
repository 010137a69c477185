/** Components that pages share: page, panel, list, table, pager, choices, tabs, figures, icons. */

import { signal } from '@preact/signals';
import { type ComponentChildren, type ComponentProps, Fragment } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, historyNote, type Params } from '../api/api.ts';
import { tipVersion } from '../api/live.ts';
import { type Loaded, useGet } from '../api/use-answer.ts';
import { count, plural, visible } from '../chain/format.ts';
import { url, withQuery } from './router.ts';

interface PageProps {
  /** Title of the document and of the page. */
  title: string;
  /** Kind of object, shown above the title: `Block`. */
  kind?: string;
  /** Content below the title. */
  lead?: ComponentChildren;
  /** Content next to the title. */
  aside?: ComponentChildren;
  /** Replaces the title's text in the heading, for a title with links or buttons. */
  heading?: ComponentChildren;
  children: ComponentChildren;
}

/** Renders a page with its title, which is announced to screen readers. */
export function Page({ title, kind, lead, aside, heading, children }: PageProps) {
  const fullTitle = kind === undefined ? title : `${kind} ${title}`;
  useEffect(() => {
    document.title = `${fullTitle} · Stackside`;
    announce(fullTitle);
  }, [fullTitle]);
  return (
    <div class="page stack">
      <header class="stack">
        <div class="row spread">
          <div>
            {kind === undefined ? null : <p class="quiet small">{kind}</p>}
            <h1>{heading ?? title}</h1>
          </div>
          {aside === undefined ? null : <div class="row">{aside}</div>}
        </div>
        {lead === undefined ? null : <div class="lead">{lead}</div>}
      </header>
      {children}
    </div>
  );
}

export interface PanelProps {
  title: string;
  /** Content at the right of the title. */
  aside?: ComponentChildren;
  source?: string | undefined;
  id?: string;
  /** Names and values above the children. */
  facts?: readonly Fact[];
  children?: ComponentChildren;
  /** Content below the children. */
  footer?: ComponentChildren;
}

/** Renders a link to the JSON of an API path. @param subject names the data in the link's title */
export const JsonLink = ({ source, subject }: { source: string; subject: string }) => (
  <a
    class="source row quiet tiny"
    href={source}
    target="_blank"
    rel="noreferrer"
    title={`The data of ${subject} in the API`}
  >
    JSON
    <Icon name="outward" />
  </a>
);

export const Panel = ({ title, aside, source, id, facts, children, footer }: PanelProps) => (
  <section class="panel" id={id} aria-label={title}>
    <header class="panel-head row spread">
      <h2>{title}</h2>
      <div class="row small">
        {aside}
        {source === undefined ? null : <JsonLink source={source} subject={`“${title}”`} />}
      </div>
    </header>
    {facts === undefined ? null : <Facts facts={facts} />}
    {children}
    {footer}
  </section>
);

/** A name with its value. */
export type Fact = readonly [name: string, value: ComponentChildren];

/** Renders a list of names and values. Omits entries with the value null, undefined or false. */
export const Facts = ({ facts }: { facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts
      .filter(([, value]) => value !== null && value !== undefined && value !== false)
      .map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
  </dl>
);

const Loading = ({ rows }: { rows: number }) => (
  <div class="panel-body stack" aria-busy="true">
    <span class="sr-only">Loading…</span>
    {Array.from({ length: rows }, (_, row) => (
      <span key={row} class="skeleton" />
    ))}
  </div>
);

export const Empty = ({ children }: { children: ComponentChildren }) => <p class="panel-body quiet">{children}</p>;

export const Failed = ({ message, retry }: { message: string; retry: () => void }) => (
  <div class="note bad row spread" role="alert">
    <p>{message}</p>
    <Button text="Try again" onClick={retry} />
  </div>
);

/** Renders the problem of a request or an input; null if there is none. */
export const Problem = ({ text, class: kind = '' }: { text: string | null; class?: string }) =>
  text === null ? null : (
    <p class={`problem ${kind}`} role="alert">
      {visible(text)}
    </p>
  );

interface ShowProps<T> {
  loaded: Loaded<T>;
  /** Lines of the placeholder (default: 3). */
  rows?: number | undefined;
  /** Text of a 404 (default: the server's message). */
  missing?: string | undefined;
  children: (data: T) => ComponentChildren;
}

/** Renders loaded data, a placeholder, or the error. If a reload fails, the error is above the old data. */
export function Show<T>({ loaded, rows = 3, missing, children }: ShowProps<T>) {
  const { data, error, retry } = loaded;
  const failed = error === null ? null : <Failed message={error.message} retry={retry} />;
  if (data !== null) {
    return (
      <>
        {failed}
        {children(data)}
      </>
    );
  }
  if (error === null) return <Loading rows={rows} />;
  // The operator has switched deprecated routes off, or the server lacks what was before its history.
  if (error.status === 410 || error.isBeforeHistory) return <Empty>{error.message}</Empty>;
  if (error.status === 404) return <Empty>{missing ?? error.message}</Empty>;
  return failed;
}

interface DataPanelProps<T> extends Omit<PanelProps, 'facts' | 'children'>, Omit<ShowProps<T>, 'children'> {
  /** Returns the names and values of the data, in place of children. */
  facts?: (data: T) => readonly Fact[];
  children?: (data: T) => ComponentChildren;
}

/** Renders a panel of loaded data. */
export const DataPanel = <T,>({ loaded, rows, missing, facts = () => [], children, ...panel }: DataPanelProps<T>) => (
  <Panel source={loaded.source} {...panel}>
    <Show loaded={loaded} rows={rows} missing={missing}>
      {children ?? ((data) => <Facts facts={facts(data)} />)}
    </Show>
  </Panel>
);

/**
 * A column of a table: its name, classes of the style sheet, and the content of its cells.
 * - `number` aligns at the right; `nowrap` has one line.
 * - `main` and `fill` take the remaining width: `main` is cut off, `fill` has several lines. Two columns with `half` share it.
 *   `short` and `field` limit the width.
 * - `widest`, `wide` and `medium` are hidden if the table is narrow, in this order.
 * - In a stacked row, `main` or `first` is the first line, which `when` ends. `named` shows the label before the value.
 */
export type Column<Row> = readonly [
  name: string,
  classes: string,
  cell: (row: Row) => ComponentChildren,
  more?: {
    /** A longer name, shown when the pointer is over the name. */
    title?: string;
    /** Label in stacked rows (default: the name, without its capital letter). */
    label?: string;
  },
];

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

interface TableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  empty?: ComponentChildren;
  /** Whether a row has two lines if the table is narrow: the first column, and below it all others, without hiding any. */
  stacked?: boolean;
  /** Returns the content of a separate line below a row; null for no line. */
  below?: (row: Row) => ComponentChildren;
}

export function Table<Row>({ label, columns, rows, keyOf, empty, below, stacked = false }: TableProps<Row>) {
  if (rows.length === 0) return <Empty>{empty}</Empty>;
  return (
    <div class="table-frame">
      <table aria-label={label} class={stacked ? 'stacked' : ''}>
        <thead>
          <tr>
            {columns.map(([name, classes, , more], index) => (
              // Keys are indexes: names may be fields that a contract chose, and may repeat.
              <th key={index} scope="col" class={classes} title={more?.title}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const note = below?.(row) ?? null;
            return (
              <Fragment key={keyOf(row)}>
                <tr>
                  {columns.map(([name, classes, cell, more], index) => (
                    <td key={index} class={classes} data-label={more?.label ?? lowerFirst(name)}>
                      {cell(row)}
                    </td>
                  ))}
                </tr>
                {note === null ? null : (
                  <tr>
                    <td colSpan={columns.length}>{note}</td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** The properties of a panel with a table, whose name is the title by default. */
type InPanel<Props extends { label: string }> = PanelProps & Omit<Props, 'label'> & { label?: string };

/** Renders a panel with a table. Its children are above the table. */
export const TablePanel = <Row,>({ children, label, ...props }: InPanel<TableProps<Row>>) => (
  <Panel {...props}>
    {children}
    <Table {...props} label={label ?? props.title} />
  </Panel>
);

/** Renders a button with a text. */
export const Button = ({ text, ...others }: ComponentProps<'button'> & { text: ComponentChildren }) => (
  <button type="button" {...others}>
    {text}
  </button>
);

/** Renders a link that looks like a button. */
export const ButtonLink = ({
  text,
  class: kind = '',
  ...others
}: ComponentProps<'a'> & { text: ComponentChildren }) => (
  <a class={`button ${kind}`} {...others}>
    {text}
  </a>
);

/** Renders items with commas between them. */
export const Commas = ({ items }: { items: readonly ComponentChildren[] }) => (
  <>
    {items.map((item, index) => (
      <Fragment key={index}>
        {index === 0 ? '' : ', '}
        {item}
      </Fragment>
    ))}
  </>
);

/** A note below a table. */
export const Footer = ({ children }: { children: ComponentChildren }) => (
  <p class="panel-head row spread small quiet">{children}</p>
);

interface PagerProps {
  /** Name of the query parameter for the cursor. */
  name?: string;
  /** Cursor of the next page, which is older; null on the last page. */
  next: string | null;
  /** Cursor of the previous page; empty if that is the first page, null on the first page. */
  previous: string | null;
  total?: string | null;
}

/** Renders links to the first, previous and next page of a list. */
export function Pager({ name = 'cursor', next, previous, total = null }: PagerProps) {
  const isFirst = !url.value.query.has(name);
  if (isFirst && next === null) return total === null ? null : <Footer>{total}</Footer>;
  const step = (cursor: string | null, text: ComponentChildren, rel: string) =>
    cursor === null ? (
      <span class="button disabled" aria-disabled="true">
        {text}
      </span>
    ) : (
      <ButtonLink text={text} rel={rel} href={withQuery({ [name]: cursor === '' ? null : cursor })} />
    );
  return (
    <nav class="panel-head row spread small" aria-label="Pages">
      <span class="quiet">{total}</span>
      <span class="row">
        {isFirst ? null : <ButtonLink text="First" href={withQuery({ [name]: null })} />}
        {step(isFirst ? null : previous, [<Icon key="icon" name="left" />, ' Previous'], 'prev')}
        {step(next, ['Next ', <Icon key="icon" name="right" />], 'next')}
      </span>
    </nav>
  );
}

/** Items per page of a list. */
export const PER_PAGE = 50;
/** Items per page of a list of blocks, the maximum of v2's routes. */
export const BLOCKS_PER_PAGE = 30;

/** Returns the query for the list page of the URL's cursor. @param name of the query parameter for the cursor */
export const listQuery = (name = 'cursor', limit = PER_PAGE): { limit: number; cursor: string | null } => ({
  limit,
  cursor: url.value.query.get(name),
});

/** Returns the query for the list page of the URL's offset. @param name of the query parameter for the offset */
export const offsetQuery = (name = 'offset', limit = PER_PAGE): { limit: number; offset: number } => ({
  limit,
  offset: Math.max(0, Number(url.value.query.get(name)) || 0),
});

/**
 * Requests the page of a list that the URL's cursor names.
 * @param params all others than `limit` and `cursor`
 * @param version when it changes, the request is repeated (default: at each block)
 * @param pager name of the query parameter for the cursor
 */
export function useList<P extends Parameters<typeof useGet>[0]>(
  path: P,
  params: Omit<Params<P>, 'limit' | 'cursor'>,
  version: number | string = tipVersion.value,
  pager = 'cursor',
): Loaded<Answer<P>> {
  return { ...useGet(path, { ...params, ...listQuery(pager) } as unknown as Params<P>, version), pager };
}

/** Returns the offsets of the pages next to a page. @param more whether the list continues after the page */
export const neighbourOffsets = (offset: number, limit: number, more: boolean): Omit<PagerProps, 'name' | 'total'> => ({
  next: more ? String(offset + limit) : null,
  previous: offset > limit ? String(offset - limit) : '',
});

/** A page of a list in the API: with cursors, with an offset, or the only one. */
interface ListPage {
  results: readonly unknown[];
  total?: number | null | undefined;
  /** A text in v2. Its pages also have the two members below. */
  cursor?: string | { next: string | null; previous: string | null } | null | undefined;
  next_cursor?: string | null | undefined;
  prev_cursor?: string | null | undefined;
  offset?: number;
  limit?: number;
}

/** Returns the cursors of the pages next to a page; null if the list has only this one. */
function pageCursors(
  { results, cursor, next_cursor, prev_cursor, offset = 0, limit = 0, total }: ListPage,
  pager: ListFooterProps['pager'],
): Pick<PagerProps, 'next' | 'previous'> | null {
  if (pager === null) return null;
  // In v2, the next block is the newer one.
  if (next_cursor !== undefined) return { next: prev_cursor ?? null, previous: next_cursor };
  if (typeof cursor === 'object' && cursor !== null) return cursor;
  if (pager === undefined) return null;
  // A full page of a list without a total may have a next page.
  return neighbourOffsets(offset, limit, total == null ? results.length === limit : offset + limit < total);
}

interface ListFooterProps {
  page: ListPage;
  /** Word for an item, for the total: `holder`. */
  item?: string | undefined;
  /** Name of the query parameter for the cursor or the offset (default: the loaded list's); null to show no other pages. */
  pager?: string | null | undefined;
}

/** Renders the links to other pages of a list, and its total; if it has only one page, its part of the total. */
function ListFooter({ page, item, pager }: ListFooterProps) {
  const cursors = pageCursors(page, pager);
  const size = page.results.length;
  const total = item === undefined || page.total == null ? null : plural(page.total, item);
  if (cursors !== null) return <Pager name={pager ?? 'cursor'} {...cursors} total={total} />;
  if (total === null || size >= (page.total ?? 0)) return null;
  return <Footer>{`The first ${size} of ${total}`}</Footer>;
}

interface ListProps<Page extends ListPage>
  extends Omit<TableProps<Page['results'][number]>, 'rows' | 'empty'>,
    Omit<ListFooterProps, 'page'> {
  loaded: Loaded<Page>;
  /** Text of an empty list, or a function that returns it for the page. */
  empty?: string | ((page: Page) => string);
}

/** Returns the text of an empty page. In a partial history, the text is only true since the first block. */
function emptyText<Page extends ListPage>(page: Page, empty: ListProps<Page>['empty']): string | undefined {
  const text = typeof empty === 'function' ? empty(page) : empty;
  const note = historyNote(page);
  return text === undefined || note === null ? text : `${note} Since then: ${text}`;
}

/** Renders a page of a list, and links to the others. */
export const List = <Page extends ListPage>({
  loaded,
  empty,
  item,
  pager = loaded.pager,
  ...table
}: ListProps<Page>) => (
  <Show loaded={loaded} rows={6}>
    {(page) => (
      <>
        <Table {...table} rows={page.results} empty={emptyText(page, empty)} />
        <ListFooter page={page} item={item} pager={pager} />
      </>
    )}
  </Show>
);

/** Renders a panel with a page of a list. Its children are above the table. */
export const ListPanel = <Page extends ListPage>({ children, label, ...props }: InPanel<ListProps<Page>>) => (
  <Panel source={props.loaded.source} {...props}>
    {children}
    <List {...props} label={label ?? props.title} />
  </Panel>
);

type ChoiceList<Value> = readonly (readonly [value: Value, text: ComponentChildren])[];

/** Returns the value of a query parameter if it is one of the choices, otherwise the first choice. */
export const choiceOf = <Value,>(name: string, choices: ChoiceList<Value>): Value =>
  (choices.find(([value]) => value === url.value.query.get(name)) ?? choices[0]!)[0];

interface ChoicesProps {
  /** Name of the choice for screen readers. */
  label: string;
  name: string;
  choices: ChoiceList<string | null>;
  chosen: string | null;
  /** Query parameters that a new choice removes. It also removes the cursor. */
  clears?: readonly string[];
  class?: string;
}

/** Renders links that choose a value of a query parameter. A page without the parameter shows the first choice. */
export function Choices(props: ChoicesProps) {
  const { label, name, choices, chosen, clears = [], class: kind = '' } = props;
  const others = Object.fromEntries(['cursor', ...clears].map((other) => [other, null]));
  return (
    <nav class={`row small ${kind}`} aria-label={label}>
      {choices.map(([value, text]) => (
        <a
          key={value}
          href={withQuery({ ...others, [name]: value === choices[0]?.[0] ? null : value })}
          aria-current={value === chosen ? 'true' : undefined}
        >
          {text}
        </a>
      ))}
    </nav>
  );
}

/** A part of a page, with the number of its items, shown beside the title. An empty part is only listed if it is shown. */
export type Tab = readonly [id: string, title: string, content: () => ComponentChildren, size?: number | undefined];

/**
 * Renders links to the parts of a page, and the part in the query, or the first. Each part has a separate URL, which
 * drops all other query parameters, because they belong to the other part. If the links are wider than the page, the
 * shown one is scrolled to.
 */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const { path, query } = url.value;
  const listed = tabs.filter(([id, , , size]) => size !== 0 || id === query.get('tab'));
  const [shownId, , content] = listed.find(([id]) => id === query.get('tab')) ?? listed[0]!;
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    const [links, link] = [nav.current, nav.current?.querySelector<HTMLElement>('[aria-current]')];
    // Not `scrollIntoView`, which would also scroll the page.
    if (links && link) links.scrollTo({ left: link.offsetLeft - links.offsetLeft - link.offsetWidth });
  }, [shownId]);
  return (
    <>
      <nav class="tabs" aria-label={label} ref={nav}>
        {listed.map(([id, title, , size], index) => (
          <a
            key={id}
            href={index === 0 ? path : `${path}?tab=${id}`}
            aria-current={id === shownId ? 'page' : undefined}
          >
            {title}
            {size === undefined ? null : <span class="quiet number"> {count(size)}</span>}
          </a>
        ))}
      </nav>
      {content()}
    </>
  );
}

/** A figure, with an optional note below. */
export type Figure = readonly [name: string, value: ComponentChildren, note?: ComponentChildren];

interface FiguresProps {
  figures: readonly Figure[];
  label: string;
  /** Whether the figures are amounts, which need more room. */
  amounts?: boolean;
}

/** Renders a row of figures, each with a name and an optional note. */
export const Figures = ({ figures, label, amounts = false }: FiguresProps) => (
  <dl class={amounts ? 'figures grid amounts' : 'figures grid'} aria-label={label}>
    {figures.map(([name, value, note]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>
          {value}
          {note == null ? null : <div class="quiet tiny">{note}</div>}
        </dd>
      </div>
    ))}
  </dl>
);

interface ScrollableProps {
  label: string;
  class: string;
  children: ComponentChildren;
}

/** Renders a scrollable part of the page. It takes the focus, so that keys can scroll it. */
export const Scrollable = ({ label, class: kind, children }: ScrollableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable part must be reachable by keyboard (WCAG 2.1.1)
  <section class={kind} aria-label={label} tabIndex={0} dir="ltr">
    {children}
  </section>
);

/** Maximum characters of a text to show. Buttons copy all of it. */
const MAX_SHOWN = 20_000;

interface TextBlockProps {
  label: string;
  text: string;
  /** Whether the text has a frame and less height. */
  boxed?: boolean;
}

/** Renders a text with its lines, such as a source or JSON, in a scrolling box. */
export const TextBlock = ({ label, text, boxed = false }: TextBlockProps) => (
  <Scrollable label={label} class={`code scroll ${boxed ? 'boxed' : ''}`}>
    {visible(text.slice(0, MAX_SHOWN))}
    {text.length > MAX_SHOWN ? `\n… ${count(text.length - MAX_SHOWN)} more characters` : ''}
  </Scrollable>
);

const COPIED_MS = 1500;

/** Copies a text. Uses a selection if there is no clipboard API, as on pages over plain HTTP from another machine. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

/** Renders a button that copies a text. @param name of the text: `address` */
export function Copy({ text, name }: { text: string; name: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () =>
    void copyText(text).then(() => {
      announce(`Copied ${name}`);
      setCopied(true);
      setTimeout(() => setCopied(false), COPIED_MS);
    });
  return (
    <button type="button" class="icon-button" aria-label={`Copy ${name}`} title={`Copy ${name}`} onClick={copy}>
      <Icon name={copied ? 'check' : 'copy'} />
    </button>
  );
}

interface CopiedProps {
  text: string;
  /** Name of the text: `address`. */
  name: string;
  /** The text as it is shown. */
  children?: ComponentChildren;
}

/** Renders a text with a button that copies it. */
export const Copied = ({ text, name, children = <span class="mono break">{text}</span> }: CopiedProps) => (
  <span class="with-copy">
    {children}
    <Copy text={text} name={name} />
  </span>
);

const announcement = signal('');

/** Announces a sentence to screen readers. */
export function announce(sentence: string): void {
  announcement.value = sentence;
}

/** Renders the live region for announcements to screen readers. */
export const Announcements = () => (
  <div class="sr-only" role="status" aria-live="polite">
    {announcement.value}
  </div>
);

/** SVG paths of the icons, on a grid of 16 by 16. */
const PATHS = {
  copy: 'M5.5 5.5v-2a1 1 0 0 1 1-1h6a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-2M3.5 5.5h6a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-6a1 1 0 0 1-1-1v-6a1 1 0 0 1 1-1z',
  check: 'M3 8.5l3.2 3.2L13 4.8',
  cross: 'M4 4l8 8M12 4l-8 8',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.4 10.4l3.1 3.1',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9',
  moon: 'M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z',
  auto: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 2.5v11M8 5l3.5-1M8 8h5.5M8 11l4 1.5',
  left: 'M9.5 3.5L5 8l4.5 4.5',
  right: 'M6.5 3.5L11 8l-4.5 4.5',
  logo: 'M4 3.5h10M3 8h11M2 12.5h12',
  arrow: 'M3 8h10M9.5 4.5L13 8l-3.5 3.5',
  outward: 'M6 3.5H3.5v9h9V10M9 2.5h4.5V7M13.2 2.8L7.5 8.5',
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d={PATHS[name]} />
  </svg>
);
