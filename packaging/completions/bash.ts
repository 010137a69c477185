/** Completion for bash. */
import type { OptionEntry, Values } from '../command-tree.ts';
import { type Place, places } from './words.ts';

/** Returns the command that lists the candidates for a value. */
function candidates(values: Values): string {
  if (values.kind === 'words') return `mapfile -t COMPREPLY < <(compgen -W '${values.words.join(' ')}' -- "$cur")`;
  if (values.kind === 'other') return 'COMPREPLY=()';
  // The shell adds the slash after a directory, and the necessary quotes.
  const kind = values.kind === 'directory' ? '-d' : '-f';
  return `compopt -o filenames; mapfile -t COMPREPLY < <(compgen ${kind} -- "$cur")`;
}

const namesOf = ({ long, short }: OptionEntry): string[] => [long, ...(short === null ? [] : [short])];

/** Returns the cases of options with values. */
const valueCases = ({ path, options }: Place): string[] =>
  options.flatMap(({ long, values }) =>
    values === null ? [] : [`    '${path}|${long}') ${candidates(values)}; return ;;`],
  );

function wordCase({ path, commands, options, values }: Place): string {
  const words = [...commands.map(({ word }) => word), ...options.flatMap(namesOf)].join(' ');
  const isPath = values !== null && values.kind !== 'words' && values.kind !== 'other';
  const paths = isPath ? ` [[ $cur != -* ]] && { ${candidates(values)}; return; };` : '';
  return `    '${path}')${paths} words='${words}' ;;`;
}

/** Returns the script, for a directory such as /usr/share/bash-completion/completions. */
export function bashCompletion(): string {
  const all = places();
  const commands = all.filter(({ path }) => path !== '').map(({ path }) => `'${path}'`);
  return `# bash completion for stackside

_stackside() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} place='' words='' i
  # bash splits --mode=re into three words.
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $prev == '=' ]]; then
    prev=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${place:+$place }\${COMP_WORDS[i]}" in
    ${commands.join(' | ')}) place="\${place:+$place }\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$place|$prev" in
${all.flatMap(valueCases).join('\n')}
  esac
  case "$place" in
${all.map(wordCase).join('\n')}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _stackside stackside
`;
}
