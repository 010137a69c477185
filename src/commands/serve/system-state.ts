/** Reads what `/stackside/v1/system` answers. */
import type { SystemState } from '../../api/stackside/system.ts';
import { type Settings, settingsTakenBy } from '../../settings/config.ts';
import { absentText, helpOf, printedName, printedValue } from '../../settings/describe.ts';
import { defaultOf, type Source } from '../../settings/resolve.ts';
import { openJournalReader } from '../../store/files/journal.ts';
import { fileSizes, freeBytes } from '../../store/files/status.ts';
import { isWhole, lowestWholeHeight, type ValueIndex } from '../../store/model/value-index.ts';

/** Where the values of settings come from, by name; a setting that is missing has its default, or the program set it. */
export type Sources = Readonly<Record<string, Source>>;

export interface SystemStateOptions {
  settings: Settings;
  sources: Sources;
  listeners: SystemState['listeners'];
  valueIndexes: readonly ValueIndex[];
}

function settingsOf({ settings, sources }: SystemStateOptions): SystemState['settings'] {
  return settingsTakenBy('serve').map(([name, declared]) => {
    const value = (settings as Record<string, unknown>)[name];
    const source = sources[name] ?? null;
    return {
      group: declared.group,
      name: printedName(name),
      value: printedValue(declared, value) ?? absentText(declared, 'serve'),
      help: helpOf(declared, 'serve'),
      source: source?.kind ?? (value === defaultOf(declared, 'serve') ? 'default' : 'program'),
      source_name: source?.name ?? null,
    };
  });
}

const MICROSECONDS = 1_000_000;

/** The journal of a data directory, by look-ups alone: counting its entries would read all of it. */
function journalOf(directory: string): SystemState['journal'] {
  const journal = openJournalReader(directory);
  try {
    const missing = journal.trimmedTo();
    const span = journal.span();
    return {
      entries: journal.lastId() - missing,
      missing,
      oldest_at: span === null ? null : Math.floor(span.first / MICROSECONDS),
      newest_at: span === null ? null : Math.floor(span.last / MICROSECONDS),
    };
  } finally {
    journal.close();
  }
}

const valueIndexState = (index: ValueIndex): SystemState['value_indexes'][number] => ({
  of: index.subject,
  contract_id: index.contract,
  field: index.scope === '' ? null : index.scope,
  state: !index.wanted ? 'removing' : isWhole(index) ? 'complete' : 'making',
  from_height: lowestWholeHeight(index),
});

const DURABILITY =
  'Each event is synced to the journal before the node gets its answer. The index follows when no event came for 20 ms, or after 100 ms, and after a crash it is brought up from the journal.';

/** @throws OperatorError where the journal can't be read */
export function systemState(options: SystemStateOptions): SystemState {
  const { settings, listeners } = options;
  const { data: directory, threads } = settings;
  return {
    settings: settingsOf(options),
    listeners,
    threads,
    data: {
      directory,
      files: [...fileSizes(directory)].map(([name, bytes]) => ({ name, bytes })),
      free_bytes: freeBytes(directory),
    },
    journal: journalOf(directory),
    durability: DURABILITY,
    value_indexes: options.valueIndexes.map(valueIndexState),
  };
}
