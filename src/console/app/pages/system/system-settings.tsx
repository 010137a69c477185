/** Settings in force, with where each comes from; and the addresses that the server listens on. */
import type { Answer } from '../../api/answer.ts';
import { api, bodyOf } from '../../api/api.ts';
import { type Loaded, useAnswer } from '../../api/use-answer.ts';
import { visible } from '../../chain/format.ts';
import { Panel, Show, Table } from '../../ui/parts.tsx';
import { place, withQuery } from '../../ui/router.ts';

export type SystemState = Answer<'/stackside/v1/system'>;
type Setting = SystemState['settings'][number];

export const SYSTEM = '/stackside/v1/system';

/** The state of the system, for the operator. */
export const useSystem = (version: number | string = 0): Loaded<SystemState> =>
  useAnswer('system', (signal) => bodyOf(api.GET('/stackside/v1/system', { signal })), version);

const SOURCES: Readonly<Record<Setting['source'], string>> = {
  default: 'default',
  flag: 'flag',
  variable: 'variable',
  program: 'set by the program',
};

const SourceOf = ({ setting: { source, source_name: name } }: { setting: Setting }) =>
  name === null ? (
    <div class="note-line">{SOURCES[source]}</div>
  ) : (
    <div class="note-line">
      {SOURCES[source]} <code class="break">{name}</code>
    </div>
  );

/** The query parameter that shows the settings with another source than the default alone. */
const CHANGED = 'changed';

export function Settings() {
  const system = useSystem();
  const onlyChanged = place.value.query.has(CHANGED);
  return (
    <Show loaded={system} rows={10}>
      {({ settings, listeners }) => {
        const shown = settings.filter(({ source }) => !onlyChanged || source !== 'default');
        const groups = [...new Set(shown.map(({ group }) => group))];
        return (
          <>
            <Panel title="Listeners" source={SYSTEM}>
              <Table
                label="Listeners"
                rows={listeners}
                keyOf={({ name }) => name}
                empty="The server listens nowhere."
                columns={[
                  { name: 'For', class: 'nowrap', cell: ({ name }) => name },
                  { name: 'Address', class: 'fill', cell: ({ url }) => <code class="break">{url}</code> },
                ]}
              />
            </Panel>
            <nav class="filter" aria-label="Settings">
              <a href={withQuery({ [CHANGED]: null })} aria-current={onlyChanged ? undefined : 'true'}>
                All settings
              </a>
              <a href={withQuery({ [CHANGED]: '1' })} aria-current={onlyChanged ? 'true' : undefined}>
                Changed from their defaults
              </a>
            </nav>
            {groups.map((group) => (
              <Panel key={group} title={group} source={SYSTEM}>
                <Table
                  label={`Settings: ${group}`}
                  rows={shown.filter((one) => one.group === group)}
                  keyOf={({ name }) => name}
                  empty=""
                  columns={[
                    {
                      name: 'Setting',
                      class: 'top setting-name',
                      cell: ({ name, help }) => (
                        <>
                          <code class="break">{name}</code>
                          <div class="note-line">{help}</div>
                        </>
                      ),
                    },
                    {
                      name: 'Value and source',
                      class: 'top fill',
                      cell: (setting) => (
                        <>
                          {setting.value === null ? (
                            <span class="quiet">none</span>
                          ) : (
                            <span class="break">{visible(setting.value)}</span>
                          )}
                          <SourceOf setting={setting} />
                        </>
                      ),
                    },
                  ]}
                />
              </Panel>
            ))}
          </>
        );
      }}
    </Show>
  );
}
