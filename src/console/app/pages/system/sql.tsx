/** The page of SQL: the views, an editor, and the result as a table and files. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, fetchJson, sendRequest, withBody } from '../../api/api.ts';
import { type Loaded, useGet } from '../../api/use-answer.ts';
import { count, duration, plural, visible } from '../../chain/format.ts';
import { numericColumns, pageOf, type SqlValue } from '../../chain/sql.ts';
import { onCtrlEnter, useAction } from '../../ui/form.tsx';
import {
  announce,
  Button,
  type Column,
  Commas,
  DataPanel,
  Empty,
  Panel,
  Problem,
  Scrollable,
  Table,
} from '../../ui/parts.tsx';
import { go, pathTo, url, withQuery } from '../../ui/router.ts';

const SQL = '/stackside/v1/sql';

type Views = Answer<typeof SQL>;

/** A result, with the query and its duration in milliseconds. */
interface QueryResult {
  query: string;
  milliseconds: number;
  result: { columns: string[]; rows: SqlValue[][]; cut: boolean };
}

/** Maximum rows on the page, and in a file. */
const MAX_ROWS = 1_000;
const MAX_ROWS_OF_FILE = 100_000;

function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** Query parameter for the query. A link only fills the editor, because somebody else may have written the query. */
const QUERY = 'q';

export function Sql() {
  const queryText = url.value.query.get(QUERY) ?? '';
  const views = useGet(SQL, {});
  const editor = useRef<HTMLTextAreaElement>(null);
  const { run, cancel, problem, busy } = useAction<string>();
  const [queryResult, setQueryResult] = useState<QueryResult | null>(null);
  const [lastQuery, setLastQuery] = useState('');
  useEffect(() => {
    if (editor.current !== null && queryText !== '') editor.current.value = queryText;
  }, [queryText]);

  /** Runs the query of the editor, unless one is running. @param work returns a description of the result */
  function runQuery(work: (query: string, signal: AbortSignal) => Promise<string>): void {
    const query = editor.current?.value.trim() ?? '';
    if (busy || query === '') return;
    go(withQuery({ [QUERY]: query }), { replace: true });
    setLastQuery(query);
    run((signal) => work(query, signal), String);
  }

  const show = () =>
    runQuery(async (query, signal) => {
      const start = performance.now();
      const result = (await fetchJson(SQL, {
        ...withBody('POST', { query, max_rows: MAX_ROWS }),
        signal,
      })) as QueryResult['result'];
      setQueryResult({ query, result, milliseconds: performance.now() - start });
      return plural(result.rows.length, 'row');
    });
  const download = (format: 'csv' | 'parquet') =>
    runQuery(async (query, signal) => {
      const body = { query, format, max_rows: MAX_ROWS_OF_FILE };
      save(await (await sendRequest(SQL, { ...withBody('POST', body), signal })).blob(), `query.${format}`);
      return `Saved query.${format}`;
    });

  // The error of a query never stands below another query, or above the rows of another.
  const isOutdated = problem !== null && queryResult?.query !== queryText;
  return (
    <>
      <div class="grid">
        <Panel title="Query">
          <div class="panel-body stack">
            <textarea
              ref={editor}
              class="json editor"
              aria-label="SQL"
              spellcheck={false}
              autocapitalize="off"
              rows={8}
              defaultValue={queryText}
              onKeyDown={onCtrlEnter(show)}
            />
            <div class="row">
              <button type="button" class="primary" disabled={busy} onClick={show}>
                Run <kbd>Ctrl Enter</kbd>
              </button>
              {busy ? (
                <Button
                  text="Cancel"
                  onClick={() => {
                    cancel();
                    announce('The query was cancelled');
                  }}
                />
              ) : null}
              <Button text="CSV" disabled={busy} onClick={() => download('csv')} />
              <Button text="Parquet" disabled={busy} onClick={() => download('parquet')} />
            </div>
            <Problem text={lastQuery === queryText ? problem : null} />
            {views.data === null ? null : (
              <p class="quiet">
                Examples:{' '}
                <Commas
                  items={views.data.queries.map(({ title, query }) => (
                    <a key={title} href={withQuery({ [QUERY]: query })}>
                      {title}
                    </a>
                  ))}
                />
              </p>
            )}
          </div>
        </Panel>
        <ViewList loaded={views} editor={editor} />
      </div>
      {queryResult === null || isOutdated ? null : <Result queryResult={queryResult} />}
    </>
  );
}

function insert(editor: HTMLTextAreaElement | null, text: string): void {
  if (editor === null) return;
  editor.setRangeText(text, editor.selectionStart, editor.selectionEnd, 'end');
  editor.focus();
}

/** Renders the views. A click inserts a name into the editor, or a query of the view if the editor is empty. */
function ViewList({ loaded, editor }: { loaded: Loaded<Views>; editor: { current: HTMLTextAreaElement | null } }) {
  const write = ({ name, query }: Views['views'][number]) =>
    insert(editor.current, editor.current?.value === '' ? query : name);
  return (
    <DataPanel title="Views" loaded={loaded} rows={8}>
      {({ views }) => (
        <Scrollable label="Views and their columns" class="panel-body scroll small">
          {views.map((view) => (
            <details key={view.name}>
              <summary>
                <code>{view.name}</code>
              </summary>
              <p class="quiet tiny">{view.help}</p>
              <Button text={`Insert ${view.name}`} onClick={() => write(view)} />
              <ul>
                {view.columns.map(({ name, type, help, indexed }) => (
                  <li key={name}>
                    <Button text={<code>{name}</code>} class="link" onClick={() => insert(editor.current, name)} />{' '}
                    <span class="quiet">
                      {type}
                      {indexed ? ', indexed' : ''}. {help}
                    </span>
                  </li>
                ))}
              </ul>
            </details>
          ))}
        </Scrollable>
      )}
    </DataPanel>
  );
}

function Result({ queryResult: { result, milliseconds } }: { queryResult: QueryResult }) {
  const container = useRef<HTMLDivElement>(null);
  // On a phone, the list of views fills the screen below the query.
  useEffect(() => container.current?.scrollIntoView({ block: 'nearest' }), [result]);
  const { columns, rows, cut } = result;
  const summary = `${plural(rows.length, 'row')} in ${milliseconds < 1_000 ? `${count(Math.round(milliseconds))} ms` : duration(milliseconds / 1_000)}`;
  return (
    <div ref={container}>
      <Panel
        title="Result"
        aside={
          <span class="quiet">
            {cut ? `The first ${summary}; a file has up to ${count(MAX_ROWS_OF_FILE)}` : summary}
          </span>
        }
      >
        {rows.length === 0 ? (
          <Empty>The query has no rows: {columns.map(visible).join(', ')}</Empty>
        ) : (
          <Rows result={result} />
        )}
      </Panel>
    </div>
  );
}

function Rows({ result }: { result: QueryResult['result'] }) {
  const numeric = numericColumns(result);
  return (
    <Scrollable label="Rows" class="scroll">
      <Table
        label="Result"
        rows={result.rows.map((values, number) => ({ values, number }))}
        keyOf={({ number }) => String(number)}
        columns={result.columns.map(
          (name, index): Column<{ values: SqlValue[] }> => [
            visible(name),
            numeric[index] === true ? 'number' : '',
            ({ values }) => <Cell column={name} value={values[index] ?? null} />,
          ],
        )}
      />
    </Scrollable>
  );
}

/** Maximum characters to show of a value. A file contains all. */
const MAX_CELL_LENGTH = 200;

function Cell({ column, value }: { column: string; value: SqlValue }) {
  if (value === null) return <span class="quiet">null</span>;
  const text = visible(String(value));
  const excerpt = text.length > MAX_CELL_LENGTH ? `${text.slice(0, MAX_CELL_LENGTH)}…` : text;
  const page = pageOf(column, value);
  if (page === null) return <bdi>{excerpt}</bdi>;
  return <a href={pathTo(page.page, page.params)}>{excerpt}</a>;
}
