/** The tab of hosts: this host, the other hosts of its cluster, their shared log and leases, and PostgreSQL's replication. */

import type { Answer } from '../../api/api.ts';
import { useGet } from '../../api/use-answer.ts';
import { ago, bytes, count, duration, plural } from '../../chain/format.ts';
import { every } from '../../ui/clock.ts';
import { Empty, type Fact, Figures, Panel, Show, TablePanel } from '../../ui/parts.tsx';
import { Badge, Hash } from '../../ui/values.tsx';

const HOSTS = '/stackside/v1/hosts';
/** Seconds between reads of the state of hosts. Each host reports at the same interval. */
const HOSTS_EVERY = 5;
/** Seconds without a report after which a host counts as gone. */
const GONE_AFTER = 30;

type State = Answer<'/stackside/v1/hosts'>;
type ThisHost = NonNullable<State['host']>;
type Log = NonNullable<State['log']>;
type Host = Log['hosts'][number];

export const Hosts = () => (
  <Show loaded={useGet(HOSTS, {}, every(HOSTS_EVERY))} rows={6}>
    {({ host, log, problem }) =>
      host === null ? (
        <Empty>
          This server isn’t part of a cluster. To run several hosts, create their shared log with{' '}
          <code>stackside cluster init</code>, and start each host with <code class="nowrap">--cluster</code>.
        </Empty>
      ) : (
        <>
          <HostFigures host={host} />
          <Warnings title="The shared log can’t be reached" texts={problem === null ? [] : [problem]} />
          {log === null ? null : <Cluster log={log} self={host.name} />}
        </>
      )
    }
  </Show>
);

function logState({ entry, head, lag_seconds: lag, reachable }: ThisHost): [word: string, note: string] {
  if (!reachable) return ['Disconnected', 'the shared log accepts nothing'];
  return head === null || lag > 0 ? ['Behind', `for ${duration(lag)}`] : ['Up to date', `entry ${count(entry)}`];
}

function missingNote({ head, reachable }: ThisHost): string {
  if (head === null) return 'the shared log has not answered yet';
  return reachable ? `of ${count(head)}` : `of ${count(head)}, when the shared log last answered`;
}

const HostFigures = ({ host }: { host: ThisHost }) => (
  <Figures
    label="This host"
    figures={[
      ['This host', <span class="break">{host.name}</span>],
      ['State', ...logState(host)],
      ['Missing', host.head === null ? '–' : plural(Math.max(0, host.head - host.entry), 'entry'), missingNote(host)],
      ['Conflicts', count(host.conflicts), 'events that collided with an entry of another host'],
      ['Restored', count(host.healed), 'entries that the shared log had lost and this host appended again'],
    ]}
  />
);

const Warnings = ({ title, texts }: { title: string; texts: readonly string[] }) =>
  texts.length === 0 ? null : (
    <section class="note stack wait" aria-label={title}>
      <h2>{title}</h2>
      {texts.map((text) => (
        <p key={text} class="break">
          {text}
        </p>
      ))}
    </section>
  );

const Cluster = ({ log, self }: { log: Log; self: string }) => (
  <>
    <Warnings title="Warnings" texts={log.warnings} />
    <TablePanel
      title="Hosts"
      source={HOSTS}
      rows={log.hosts}
      keyOf={({ name }) => name}
      empty="No host has reported yet."
      columns={[
        ['Host', 'break', ({ name }) => [name, name === self ? <span class="quiet"> (this one)</span> : null]],
        ['State', 'nowrap', (host) => <HostBadge host={host} />],
        ['Entry', 'number medium', ({ entry }) => count(entry)],
        [
          'Lag',
          'number medium',
          ({ behind, lag_seconds: lag }) => (lag === 0 ? '–' : `${plural(behind, 'entry')}, ${duration(lag)}`),
        ],
        ['Version', 'wide break', ({ version }) => version],
        ['Seen', 'nowrap', ({ seen_seconds_ago: seconds }) => ago(seconds)],
      ]}
    />
    <div class="grid">
      <Panel title="Shared log" source={HOSTS} facts={logFacts(log)} />
      <Panel title="PostgreSQL" source={HOSTS} facts={engineFacts(log.engine)} />
    </div>
  </>
);

function HostBadge({ host: { lag_seconds: lag, seen_seconds_ago: seconds } }: { host: Host }) {
  if (seconds > GONE_AFTER) return <Badge tone="bad">not seen</Badge>;
  return lag === 0 ? <Badge tone="ok">up to date</Badge> : <Badge tone="wait">behind</Badge>;
}

const logFacts = ({ head, log_bytes: size, leases }: Log): Fact[] => [
  ['Newest entry', count(head.entry)],
  ['Chain value', <Hash value={head.chain} whole copy="chain value" />],
  ['Size', bytes(size)],
  ...leases.map(({ name, holder, epoch, seconds_left: left }): Fact => {
    const term = `epoch ${count(epoch)}`;
    return [
      `Lease ${name}`,
      left > 0 ? `${term}, held by ${holder}, expires in ${duration(left)} unless renewed` : `${term}, free`,
    ];
  }),
];

const engineFacts = ({ server, version, synchronous_standby_names: synchronous, standbys }: Log['engine']): Fact[] => [
  ['Server', <code>{server}</code>],
  ['Version', version],
  ['Synchronous standbys', synchronous === null ? 'not known' : synchronous || 'none'],
  ...standbys.map(({ name, state, sync }): Fact => {
    const words = [state ?? 'not visible to this role', sync];
    return [`Standby ${name}`, words.filter((word) => word !== null).join(', ')];
  }),
];
