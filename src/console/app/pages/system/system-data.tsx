/** The files of the server, its journal, and inspections of the index. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { bytes, count, percent, plural } from '../../chain/format.ts';
import { now } from '../../ui/clock.ts';
import { Facts, Panel, Show, Table } from '../../ui/parts.tsx';
import { When } from '../../ui/values.tsx';
import { Inspection } from './inspection.tsx';
import { SYSTEM, type SystemState, useSystem } from './system-settings.tsx';

/** Seconds after which files are looked at again, and inspections that run. */
const FILES_EVERY = 30;
const INSPECTIONS_EVERY = 2;

export function Data() {
  const system = useSystem(Math.floor(now.value / FILES_EVERY));
  return (
    <>
      <Show loaded={system} rows={8}>
        {(state) => (
          <div class="columns">
            <Files state={state} />
            <Journal state={state} />
          </div>
        )}
      </Show>
      <Inspections />
    </>
  );
}

const Files = ({ state: { data, threads } }: { state: SystemState }) => (
  <Panel title="Files" source={SYSTEM}>
    <Facts
      facts={[
        [
          'Directory',
          <code key="directory" class="break">
            {data.directory}
          </code>,
        ],
        ...data.files.map(({ name, bytes: size }) => [name, bytes(size)] as const),
        ['Free on the disk', data.free_bytes === null ? 'not known' : bytes(data.free_bytes)],
        ['API threads', threads === 0 ? 'none; the main thread answers' : count(threads)],
      ]}
    />
  </Panel>
);

const Journal = ({ state: { journal, durability } }: { state: SystemState }) => (
  <Panel title="Journal" source={SYSTEM}>
    <Facts
      facts={[
        ['Entries', count(journal.entries)],
        ['Missing', journal.missing === 0 ? null : count(journal.missing)],
        ['Oldest', journal.oldest_at === null ? null : <When key="oldest" at={journal.oldest_at} />],
        ['Newest', journal.newest_at === null ? null : <When key="newest" at={journal.newest_at} />],
      ]}
    />
    <div class="panel-body">
      <p class="quiet">{durability}</p>
    </div>
  </Panel>
);

function Inspections() {
  const inspections = useAnswer(
    'inspections',
    (signal) => bodyOf(api.GET('/stackside/v1/inspections', { signal })),
    Math.floor(now.value / INSPECTIONS_EVERY),
  );
  return (
    <Show loaded={inspections} rows={4}>
      {({ check, tables }) => {
        const isBusy = check?.state === 'running' || tables?.state === 'running';
        const shared = { isBusy, changed: inspections.retry };
        return (
          <>
            <Inspection
              kind="check"
              title="Integrity check"
              action="Check the index"
              explanation="Verifies both files and each entry of the journal, and recounts every total. This reads everything, in a process of its own with low priority."
              inspection={check}
              {...shared}
            >
              {check === null ? null : <Findings findings={check.findings} />}
            </Inspection>
            <Inspection
              kind="tables"
              title="Sizes of tables"
              action="Measure the tables"
              explanation="Counts the pages of each table and index, which reads the whole index once."
              inspection={tables}
              {...shared}
            >
              {tables === null ? null : <Sizes sizes={tables.sizes} />}
            </Inspection>
          </>
        );
      }}
    </Show>
  );
}

interface Finding {
  name: string;
  problems: readonly string[];
}

function Findings({ findings }: { findings: readonly Finding[] }) {
  const wrong = findings.filter(({ problems }) => problems.length > 0);
  return (
    <>
      <p class="panel-body">
        {count(findings.length)} checks were made,{' '}
        {wrong.length === 0 ? 'and all agree.' : `${count(wrong.length)} differ.`}
      </p>
      {wrong.length === 0 ? null : (
        <Table
          label="What differs"
          rows={wrong}
          keyOf={({ name }) => name}
          empty=""
          columns={[
            { name: 'Check', class: 'top', cell: ({ name }) => name },
            {
              name: 'Problem',
              class: 'fill break',
              cell: ({ problems }) => problems.map((problem) => <div key={problem}>{problem}</div>),
            },
          ]}
        />
      )}
    </>
  );
}

interface Size {
  name: string;
  kind: 'table' | 'index';
  table: string;
  bytes: number;
}

/** Tables that are listed: the others are small. */
const MOST_TABLES = 20;

/** Rows of the tables, each with what its indexes take, the largest first. */
function Sizes({ sizes }: { sizes: readonly Size[] }) {
  const sum = (some: readonly Size[]) => some.reduce((all, one) => all + one.bytes, 0);
  const whole = sum(sizes);
  const tables = [...Map.groupBy(sizes, ({ table }) => table)]
    .map(([name, all]) => ({ name, all: sum(all), indexes: sum(all.filter(({ kind }) => kind === 'index')) }))
    .sort((a, b) => b.all - a.all);
  const others = tables.slice(MOST_TABLES);
  return (
    <>
      <Table
        label="Sizes of tables"
        rows={tables.slice(0, MOST_TABLES)}
        keyOf={({ name }) => name}
        empty="Nothing was measured yet."
        columns={[
          { name: 'Table', class: 'break', cell: ({ name }) => <code>{name}</code> },
          { name: 'Rows', class: 'number medium', cell: ({ all, indexes }) => bytes(all - indexes) },
          { name: 'Indexes', class: 'number medium', cell: ({ indexes }) => bytes(indexes) },
          { name: 'Together', class: 'number', cell: ({ all }) => bytes(all) },
          { name: 'Share', class: 'number', cell: ({ all }) => percent(all, whole) },
        ]}
      />
      {others.length === 0 ? null : (
        <p class="panel-body quiet">
          {plural(others.length, 'smaller table')} with {bytes(others.reduce((sum, { all }) => sum + all, 0))} together
        </p>
      )}
    </>
  );
}
