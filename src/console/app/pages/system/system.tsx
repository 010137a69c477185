/** The server itself: its last hour for everybody; settings, data and log for the operator. */
import type { ComponentChildren } from 'preact';
import { api, bodyOf } from '../../api/api.ts';
import { readSession, session } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { bytes, duration } from '../../chain/format.ts';
import { now } from '../../ui/clock.ts';
import { Figures } from '../../ui/figures.tsx';
import { Empty, Page, Show, Tabs, tabOf } from '../../ui/parts.tsx';
import { ServerCharts } from '../history-charts.tsx';
import { SignIn } from '../signed-in.tsx';
import { Data } from './system-data.tsx';
import { Hosts } from './system-hosts.tsx';
import { SystemLog } from './system-log.tsx';
import { Settings } from './system-settings.tsx';

const TABS = [
  ['hour', 'Last hour'],
  ['settings', 'Settings'],
  ['data', 'Data'],
  ['hosts', 'Hosts'],
  ['log', 'Log'],
] as const;

const OPERATORS: Readonly<Record<string, () => ComponentChildren>> = {
  settings: () => <Settings />,
  data: () => <Data />,
  hosts: () => <Hosts />,
  log: () => <SystemLog />,
};

export function System() {
  const tab = tabOf(TABS);
  return (
    <Page title="System" lead="This server: what it does, how it is set up, and whether its data is whole.">
      <Tabs label="Parts of the system" tabs={TABS} />
      {OPERATORS[tab] === undefined ? <Hour /> : <OperatorOnly>{OPERATORS[tab]()}</OperatorOnly>}
    </Page>
  );
}

/** Seconds after which the state of the server is read again. */
const STATUS_EVERY = 5;

function Hour() {
  const status = useAnswer(
    'status',
    (signal) => bodyOf(api.GET('/stackside/v1/status', { signal })),
    Math.floor(now.value / STATUS_EVERY),
  );
  return (
    <>
      <Show loaded={status} rows={2}>
        {({
          server_version: version,
          uptime_seconds: uptime,
          memory_bytes: memory,
          mode,
          ready,
          reason,
          disk,
          cluster,
        }) => (
          <Figures
            label="The server now"
            figures={[
              { name: 'State', value: ready ? 'Ready' : 'Not ready', note: reason ?? 'answers are up to date' },
              { name: 'Runs for', value: duration(uptime), note: version },
              { name: 'Memory', value: bytes(memory) },
              {
                name: 'Data',
                value: bytes(disk.index_bytes + disk.journal_bytes),
                note: disk.free_bytes === null ? 'index and journal' : `${bytes(disk.free_bytes)} free`,
              },
              cluster === null
                ? { name: 'Host', value: 'Single', note: `mode ${mode}; it keeps all data itself` }
                : { name: 'Host', value: cluster.name, note: `mode ${mode}; one of several that share a log` },
            ]}
          />
        )}
      </Show>
      <ServerCharts />
    </>
  );
}

/** What may reveal more than the API does: the operator sees it alone. */
function OperatorOnly({ children }: { children: ComponentChildren }) {
  const loaded = useAnswer('session', readSession);
  const { value: known } = session;
  if (known?.operator === true) return <>{children}</>;
  return (
    <Show loaded={loaded}>
      {({ access }) =>
        access === 'none' ? (
          <Empty>This process only reads: its operator is known where the node’s events arrive.</Empty>
        ) : (
          <SignIn purpose="as the operator" />
        )
      }
    </Show>
  );
}
