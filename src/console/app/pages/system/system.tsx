/** The page of the system: charts of the last hour for everybody; settings, data, hosts and log for the operator. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Answer, post, remove, type ServerStatus } from '../../api/api.ts';
import { mapLoaded, useGet } from '../../api/use-answer.ts';
import { bytes, count, duration, hasWords, percent, plural, visible, words } from '../../chain/format.ts';
import { isLogMatch, parseLogFields, threadName } from '../../chain/log.ts';
import { alertTitle, archiveFigure, baseFigure, diskText, latencyFigure } from '../../chain/state.ts';
import { every, now } from '../../ui/clock.ts';
import { ChoiceField, TextField, useAction } from '../../ui/form.tsx';
import {
  Button,
  Choices,
  Empty,
  type Figure,
  Figures,
  ListPanel,
  Page,
  Panel,
  Problem,
  Show,
  Table,
  TablePanel,
  Tabs,
} from '../../ui/parts.tsx';
import { url } from '../../ui/router.ts';
import { StateNote, useServerStatus } from '../../ui/server-status.tsx';
import { Ago, StateBadge, When } from '../../ui/values.tsx';
import { ServerCharts } from '../history-charts.tsx';
import { SignedIn } from '../signed-in.tsx';
import { Hosts } from './hosts.tsx';

const forOperator = (Part: () => ComponentChildren) => () => (
  <SignedIn operator>
    <Part />
  </SignedIn>
);

export const System = () => (
  <Page title="System" lead="The load, settings, data, hosts and log of this server.">
    <Tabs
      label="Parts of the system"
      tabs={[
        ['hour', 'Last hour', () => <LastHour />],
        ['alerts', 'Alerts', forOperator(Alerts)],
        ['settings', 'Settings', forOperator(Settings)],
        ['data', 'Data', forOperator(Data)],
        ['hosts', 'Hosts', forOperator(Hosts)],
        ['log', 'Log', forOperator(SystemLog)],
      ]}
    />
  </Page>
);

function LastHour() {
  const status = useServerStatus();
  return (
    <>
      <Show loaded={status} rows={2}>
        {(server) => <Figures label="The server now" figures={figuresOf(server)} />}
      </Show>
      <ServerCharts />
    </>
  );
}

function figuresOf({ disk, events, cluster, archive, mode, ...server }: ServerStatus): Figure[] {
  const figures: Figure[] = [
    ['State', server.ready ? 'Ready' : 'Not ready', server.reason ?? 'Answers are up to date.'],
    ['Uptime', duration(server.uptime_seconds), server.server_version],
    ['Memory', bytes(server.memory_bytes)],
    ['Data', bytes(disk.index_bytes + disk.journal_bytes), diskText(disk)],
  ];
  if (events !== null) figures.push(['Latency of events', ...latencyFigure(events.latency)]);
  const shares = cluster === null ? 'shares no log' : 'shares a log with other hosts';
  figures.push(['Host', cluster?.name ?? 'Single', `mode ${mode}; ${shares}`]);
  if (archive !== null) {
    figures.push(['Archive', ...archiveFigure(archive)]);
    figures.push(['Base of the archive', ...baseFigure(archive.base, now.value)]);
  }
  return figures;
}

type Alert = Answer<'/stackside/v1/alerts'>['alerts'][number];

/** Seconds between reads of the alerts. */
const ALERTS_EVERY = 30;

/** Renders the alerts for Prometheus, which the server also evaluates. */
function Alerts() {
  const { data: status } = useServerStatus();
  const loaded = useGet('/stackside/v1/alerts', {}, every(ALERTS_EVERY));
  const { evaluated_at: time = null, alerts = [] } = loaded.data ?? {};
  return (
    <>
      {status === null ? null : <StateNote status={status} />}
      <ListPanel
        title="Alerts"
        loaded={mapLoaded(loaded, () => ({ results: alerts }))}
        aside={
          time === null ? null : (
            <span class="quiet">
              {plural(alerts.filter(({ state }) => state === 'firing').length, 'alert')} firing, <Ago time={time} />
            </span>
          )
        }
        keyOf={({ name }) => name}
        empty="The rules are evaluated each minute, first a minute after the start."
        stacked
        columns={[
          ['Alert', 'first fill break', (alert) => <AlertText alert={alert} />],
          [
            'State',
            'nowrap when',
            ({ state }) => <StateBadge state={state === 'elsewhere' ? 'in Prometheus' : state} />,
          ],
          ['Fires if', 'nowrap named', (alert) => <Threshold alert={alert} />],
          ['Now', 'named', ({ values }) => (values.length === 0 ? '–' : values.map(presentText).join('; '))],
          ['Severity', 'wide', ({ severity }) => severity],
          ['Since', 'nowrap named', ({ since }) => (since === null ? '–' : <Ago time={since} />)],
        ]}
      />
    </>
  );
}

const AlertText = ({ alert: { name, summaries, meaning, description, measure } }: { alert: Alert }) => (
  <>
    <strong>{alertTitle(name)}</strong>
    {(summaries.length === 0 ? [meaning] : summaries).map((summary) => (
      <div key={summary}>{visible(summary)}</div>
    ))}
    <div class="quiet tiny">{description}</div>
    {measure === null ? null : (
      <div class="quiet tiny">
        Measure: <code>{measure}</code>
      </div>
    )}
  </>
);

const Threshold = ({ alert: { threshold, for_seconds: seconds } }: { alert: Alert }) => (
  <>
    {threshold ?? '–'}
    {threshold === null || seconds === 0 ? null : <span class="quiet"> for {duration(seconds)}</span>}
  </>
);

const presentText = ({ labels, text }: Alert['values'][number]): string =>
  visible([text, ...Object.values(labels)].join(' '));

type Setting = Answer<'/stackside/v1/system'>['settings'][number];

const SYSTEM = '/stackside/v1/system';

const isSettingMatch = ({ name, help, value, source_name: source }: Setting, text: string): boolean =>
  hasWords([name, help, value, source].join(' '), text);

const CHANGED = 'changed';

function Settings() {
  const system = useGet(SYSTEM, {});
  const [searchText, setSearchText] = useState('');
  const onlyChanged = url.value.query.has(CHANGED);
  return (
    <Show loaded={system} rows={10}>
      {({ settings, listeners }) => {
        const shownSettings = settings.filter(
          (setting) => (!onlyChanged || setting.source !== 'default') && isSettingMatch(setting, searchText),
        );
        const groups = [...new Set(shownSettings.map(({ group }) => group))];
        return (
          <>
            <TablePanel
              title="Listeners"
              source={SYSTEM}
              rows={listeners}
              keyOf={({ name }) => name}
              empty="The server has no listeners."
              columns={[
                ['For', 'nowrap', ({ name }) => name],
                ['Address', 'fill', ({ url }) => <code class="break">{url}</code>],
              ]}
            />
            <div class="form row">
              <TextField
                type="search"
                class="grow"
                label="Search settings"
                value={searchText}
                onChange={setSearchText}
                placeholder="a name, a value or words: threads"
              />
            </div>
            <Choices
              label="Settings"
              name={CHANGED}
              choices={[
                [null, 'All settings'],
                ['1', 'Changed from their defaults'],
              ]}
              chosen={onlyChanged ? '1' : null}
            />
            {groups.length === 0 ? <Empty>No setting matches.</Empty> : null}
            {groups.map((group) => (
              <TablePanel
                key={group}
                title={group}
                source={SYSTEM}
                label={`Settings: ${group}`}
                rows={shownSettings.filter((setting) => setting.group === group)}
                keyOf={({ name }) => name}
                columns={[
                  [
                    'Setting',
                    'half',
                    ({ name, help }) => (
                      <>
                        <code class="break">{name}</code>
                        <div class="quiet tiny">{help}</div>
                      </>
                    ),
                  ],
                  [
                    'Value and source',
                    'fill',
                    ({ value, source, source_name: name }) => (
                      <>
                        <span class={value === null ? 'quiet' : 'break'}>{visible(value ?? 'none')}</span>
                        <div class="quiet tiny">
                          {source === 'program' ? 'set by the program' : source}{' '}
                          {name === null ? null : <code class="break">{name}</code>}
                        </div>
                      </>
                    ),
                  ],
                ]}
              />
            ))}
          </>
        );
      }}
    </Show>
  );
}

/** Seconds between reads of the files' sizes. */
const FILES_EVERY = 30;
/** Seconds between reads of the inspections. */
const INSPECTIONS_EVERY = 2;

function Data() {
  return (
    <>
      <Show loaded={useGet(SYSTEM, {}, every(FILES_EVERY))} rows={8}>
        {({ data, threads, journal, durability }) => (
          <div class="grid">
            <Panel
              title="Files"
              source={SYSTEM}
              facts={[
                ['Directory', <code class="break">{data.directory}</code>],
                ...data.files.map(({ name, bytes: size }) => [name, bytes(size)] as const),
                ['Free on the disk', data.free_bytes === null ? 'not known' : bytes(data.free_bytes)],
                ['API threads', threads === 0 ? 'none; the main thread answers' : count(threads)],
              ]}
            />
            <Panel
              title="Journal"
              source={SYSTEM}
              facts={[
                ['Entries', count(journal.entries)],
                ['Oldest', journal.oldest_at === null ? null : <When time={journal.oldest_at} />],
                ['Newest', journal.newest_at === null ? null : <When time={journal.newest_at} />],
              ]}
              footer={<Empty>{durability}</Empty>}
            />
          </div>
        )}
      </Show>
      <Bases />
      <Inspections />
    </>
  );
}

/** Renders the newest base of the archive; nothing if this server writes no archive. */
function Bases() {
  const { data: status } = useServerStatus();
  const { run, problem, busy } = useAction();
  const base = status?.archive?.base;
  if (base == null) return null;
  const [value, note] = baseFigure(base, now.value);
  const makeBase = () => run(() => post('/stackside/v1/archive/base', {}), 'A base was requested');
  return (
    <Panel title="Base of the archive" source="/stackside/v1/status">
      <div class="panel-body stack">
        <p class="quiet">A restore begins with the newest base, and replays only the entries that came after it.</p>
        <p aria-live="polite">
          {value}; {note}.
        </p>
        <div class="row">
          <Button text="Make a base now" disabled={busy || base.making !== null} onClick={makeBase} />
        </div>
        <Problem text={problem} />
      </div>
    </Panel>
  );
}

function Inspections() {
  const inspections = useGet(INSPECTIONS, {}, every(INSPECTIONS_EVERY));
  return (
    <Show loaded={inspections} rows={4}>
      {({ check, tables }) => {
        const isBusy = check?.state === 'running' || tables?.state === 'running';
        const shared = { isBusy, onChange: inspections.retry };
        return (
          <>
            <Inspection
              kind="check"
              title="Integrity check"
              action="Check the index"
              explanation="Verifies both files and each entry of the journal. This reads everything, in a separate process with low priority."
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

type Inspections = Answer<'/stackside/v1/inspections'>;
type Check = NonNullable<Inspections['check']>;
type Tables = NonNullable<Inspections['tables']>;

function Findings({ findings }: Pick<Check, 'findings'>) {
  const failures = findings.filter(({ problems }) => problems.length > 0);
  return (
    <>
      <p class="panel-body">
        {count(findings.length)} checks ran:{' '}
        {failures.length === 0 ? 'all passed.' : `${count(failures.length)} failed.`}
      </p>
      {failures.length === 0 ? null : (
        <Table
          label="Failed checks"
          rows={failures}
          keyOf={({ name }) => name}
          columns={[
            ['Check', '', ({ name }) => name],
            ['Problem', 'fill break', ({ problems }) => problems.map((problem) => <div key={problem}>{problem}</div>)],
          ]}
        />
      )}
    </>
  );
}

/** Maximum number of tables to list. The smaller tables are summed up. */
const MAX_TABLES = 20;

function Sizes({ sizes }: Pick<Tables, 'sizes'>) {
  const sum = (entries: Tables['sizes']) => entries.reduce((all, size) => all + size.bytes, 0);
  const total = sum(sizes);
  const tables = [...Map.groupBy(sizes, ({ table }) => table)]
    .map(([name, all]) => ({ name, all: sum(all), indexes: sum(all.filter(({ kind }) => kind === 'index')) }))
    .sort((a, b) => b.all - a.all);
  const others = tables.slice(MAX_TABLES);
  return (
    <>
      <Table
        label="Sizes of tables"
        rows={tables.slice(0, MAX_TABLES)}
        keyOf={({ name }) => name}
        empty="Nothing was measured yet."
        columns={[
          ['Table', 'break', ({ name }) => <code>{name}</code>],
          ['Rows', 'number medium', ({ all, indexes }) => bytes(all - indexes)],
          ['Indexes', 'number medium', ({ indexes }) => bytes(indexes)],
          ['Total', 'number', ({ all }) => bytes(all)],
          ['Share', 'number', ({ all }) => percent(all, total)],
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

interface InspectionProps {
  kind: 'check' | 'tables';
  title: string;
  action: string;
  explanation: string;
  /** Null if none was started. */
  inspection: Check | Tables | null;
  isBusy: boolean;
  /** Called when an inspection was started or cancelled. */
  onChange: () => void;
  children: ComponentChildren;
}

const INSPECTIONS = '/stackside/v1/inspections';

function Inspection(props: InspectionProps) {
  const { kind, title, action, explanation, inspection, isBusy, onChange, children } = props;
  const { run, problem, busy } = useAction();
  const isRunning = inspection?.state === 'running';
  const start = () => run(() => post(INSPECTIONS, {}, { kind }), `${title} started`, { onSuccess: onChange });
  const cancel = () => run(() => remove(INSPECTIONS, {}), `${title} cancelled`, { onSuccess: onChange });
  return (
    <Panel title={title} source={INSPECTIONS} aside={inspection === null ? null : <Outcome inspection={inspection} />}>
      <div class="panel-body stack">
        <p class="quiet">{explanation}</p>
        {isRunning ? <Progress inspection={inspection} /> : null}
        <div class="row">
          {isRunning ? (
            <Button text="Cancel" disabled={busy} onClick={cancel} />
          ) : (
            <Button text={action} disabled={busy || isBusy} onClick={start} />
          )}
        </div>
        <Problem text={problem ?? inspection?.problem ?? null} />
      </div>
      {children}
    </Panel>
  );
}

function Progress({ inspection: { progress, started_at: start } }: { inspection: Check | Tables }) {
  const spent = duration(now.value - start);
  if (progress === null) return <p aria-live="polite">Starting. {spent}</p>;
  const { number, of: total, name, detail } = progress;
  return (
    <>
      <progress aria-label="Steps done" max={total} value={number - 1} />
      <p class="break">
        Step {count(number)} of {count(total)}: {name}
        {detail === '' ? '' : `, ${detail}`} <span class="quiet">for {spent}</span>
      </p>
    </>
  );
}

function Outcome({ inspection: { state, ended_at: end } }: { inspection: Check | Tables }) {
  return (
    <>
      <StateBadge state={state} />
      {end === null ? null : <Ago time={end} />}
    </>
  );
}

type Log = Answer<'/stackside/v1/log'>;

const LOG = '/stackside/v1/log';
/** Seconds between reads of the log. */
const LOG_EVERY = 5;

const SystemLog = () => (
  <Show loaded={useGet(LOG, {}, every(LOG_EVERY))} rows={10}>
    {({ recent }) => <LogTable recent={recent} />}
  </Show>
);

const LEVELS = [['', 'any'] as const, 'error', 'warn', 'info', 'debug'];

function LogTable({ recent }: { recent: Log['recent'] }) {
  const [level, setLevel] = useState('');
  const [searchText, setSearchText] = useState('');
  return (
    <TablePanel
      title="Last events"
      source={LOG}
      label="Last log events"
      rows={recent
        .map((event, index) => ({ ...event, key: `${event.at} ${index}` }))
        .filter((event) => isLogMatch(event, level, searchText))}
      keyOf={({ key }) => key}
      empty={recent.length === 0 ? 'Nothing was logged yet.' : 'No event matches.'}
      stacked
      columns={[
        ['When', 'when nowrap', ({ at }) => <Ago time={at} />],
        ['Level', '', ({ level }) => <StateBadge state={level} />],
        ['Event', 'first nowrap', ({ event }) => words(event)],
        ['Thread', 'wide nowrap', threadName],
        ['Fields', 'fill half', (event) => <LogFields event={event} />],
      ]}
    >
      <div class="panel-body form row">
        <ChoiceField label="Level" value={level} choices={LEVELS} onChange={setLevel} />
        <TextField
          type="search"
          class="grow"
          label="Search events"
          value={searchText}
          onChange={setSearchText}
          placeholder="Words, or height=12"
        />
      </div>
    </TablePanel>
  );
}

const LogFields = ({ event }: { event: Log['recent'][number] }) => (
  <>
    {parseLogFields(event).map(([name, value]) => (
      <code key={name} class="break">
        <span class="quiet">{visible(name)}=</span>
        {visible(value)}{' '}
      </code>
    ))}
  </>
);
