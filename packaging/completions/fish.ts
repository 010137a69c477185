/** Completion for fish. */
import type { OptionEntry, Values } from '../command-tree.ts';
import { type Place, places, shellQuoted } from './words.ts';

/** Puts a text into single quotes, in which fish needs escapes for the quote and the backslash. */
const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** The flags of `complete` for a value. */
function valueFlags(values: Values | null): string {
  if (values === null) return '';
  if (values.kind === 'words') return ` -x -a ${quoted(values.words.join(' '))}`;
  if (values.kind === 'directory') return " -x -a '(__fish_complete_directories)'";
  return values.kind === 'file' ? ' -r -F' : ' -x';
}

const when = (path: string): string => `-n ${quoted(path === '' ? '__stackside_at' : `__stackside_at ${path}`)}`;

const optionLine = (path: string, { long, short, help, values }: OptionEntry): string =>
  `complete -c stackside ${when(path)}${short === null ? '' : ` -s ${short.slice(1)}`} -l ${long.slice(2)} -d ${quoted(help)}${valueFlags(values)}`;

function placeLines({ path, commands, options, values }: Place): string[] {
  const isPath = values?.kind === 'file' || values?.kind === 'directory';
  return [
    ...commands.map(({ word, help }) => `complete -c stackside ${when(path)} -a ${word} -d ${quoted(help)}`),
    ...(isPath ? [`complete -c stackside ${when(path)} -F`] : []),
    ...options.map((option) => optionLine(path, option)),
  ];
}

/** Returns the script, for a directory such as /usr/share/fish/vendor_completions.d. */
export function fishCompletion(): string {
  const all = places();
  const paths = all.filter(({ path }) => path !== '').map(({ path }) => shellQuoted(path));
  return `# fish completion for stackside

function __stackside_at --description 'Whether the command line is at a command of stackside'
    set -l place
    for word in (commandline -opc)[2..-1]
        set -l next (string join -- ' ' $place $word)
        contains -- $next ${paths.join(' ')}; and set place $place $word
    end
    test "$place" = "$argv"
end

complete -c stackside -f
${all.flatMap(placeLines).join('\n')}
`;
}
