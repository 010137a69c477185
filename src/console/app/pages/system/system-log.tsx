/** The last log events, and every kind of them with its number. */
import type { Answer } from '../../api/answer.ts';
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, visible, words } from '../../chain/format.ts';
import { now } from '../../ui/clock.ts';
import { Panel, Show, Table } from '../../ui/parts.tsx';
import { Ago, Badge } from '../../ui/values.tsx';

type Log = Answer<'/stackside/v1/log'>;

const SOURCE = '/stackside/v1/log';
/** Seconds after which the log is read again. */
const EVERY = 5;

const TONES: Readonly<Record<string, 'bad' | 'wait' | 'plain'>> = { error: 'bad', warn: 'wait' };

/** @param quiet for a level that nothing was logged at */
const Level = ({ level, quiet = false }: { level: string; quiet?: boolean }) => (
  <Badge tone={quiet ? 'plain' : (TONES[level] ?? 'plain')}>{level}</Badge>
);

export function SystemLog() {
  const log = useAnswer(
    'log',
    (signal) => bodyOf(api.GET('/stackside/v1/log', { signal })),
    Math.floor(now.value / EVERY),
  );
  return (
    <Show loaded={log} rows={10}>
      {({ recent, kinds }) => (
        <>
          <Recent recent={recent} />
          <Kinds kinds={kinds} />
        </>
      )}
    </Show>
  );
}

const Recent = ({ recent }: { recent: Log['recent'] }) => (
  <Panel title="Last events" source={SOURCE}>
    <Table
      label="Last log events"
      rows={recent.map((event, index) => ({ ...event, key: `${event.at} ${index}` }))}
      keyOf={({ key }) => key}
      empty="Nothing happened yet."
      columns={[
        { name: 'When', class: 'nowrap top', cell: ({ at }) => <Ago at={at} /> },
        { name: 'Level', class: 'top medium', cell: ({ level }) => <Level level={level} /> },
        { name: 'Event', class: 'log-event top', cell: ({ event }) => words(event) },
        { name: 'Thread', class: 'wide nowrap top', cell: ({ thread }) => (thread === 0 ? 'main' : `API ${thread}`) },
        { name: 'Fields', class: 'fill', cell: ({ fields }) => <code class="break">{visible(fields)}</code> },
      ]}
    />
  </Panel>
);

const Kinds = ({ kinds }: { kinds: Log['kinds'] }) => (
  <Panel title="All events since the start" source={SOURCE}>
    <Table
      label="Kinds of log events"
      rows={kinds.toSorted((a, b) => b.count - a.count)}
      keyOf={({ event }) => event}
      empty=""
      columns={[
        { name: 'Event', class: 'fill break', cell: ({ event }) => <code>{event}</code> },
        { name: 'Level', cell: ({ level, count: number }) => <Level level={level} quiet={number === 0} /> },
        { name: 'Number', class: 'number', cell: ({ count: number }) => count(number) },
        {
          name: 'Last',
          class: 'nowrap medium',
          cell: ({ last_at: at }) => (at === null ? <span class="quiet">never</span> : <Ago at={at} />),
        },
      ]}
    />
  </Panel>
);
