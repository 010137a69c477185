/** Completion for zsh. */
import type { OptionEntry, Values } from '../command-tree.ts';
import { type Place, places, shellQuoted } from './words.ts';

/** Escapes a text for `_arguments`, in which brackets and colons have a meaning. */
const shown = (text: string): string => text.replace(/[[\]:\\]/g, '\\$&');

/** The action of `_arguments` that completes a value. */
function action(values: Values): string {
  if (values.kind === 'words') return `(${values.words.join(' ')})`;
  if (values.kind === 'directory') return '_directories';
  return values.kind === 'file' ? '_files' : ' ';
}

/** The specification of an option, once for each of its names. */
function optionSpecs({ long, short, help, values }: OptionEntry): string[] {
  const value = values === null ? '' : `:value:${action(values)}`;
  // After an equals sign, the value is in the same word.
  const longSpec = `${long}${values === null ? '' : '='}[${shown(help)}]${value}`;
  return [longSpec, ...(short === null ? [] : [`${short}[${shown(help)}]${value}`])].map(shellQuoted);
}

const functionName = (path: string): string => `_stackside${path === '' ? '' : `_${path.replace(/[ -]/g, '_')}`}`;

/** Returns the function of a position with commands below it. */
function dispatcher({ path, commands, options }: Place): string {
  const below = commands.map(({ word, help }) => shellQuoted(`${word}:${help.replaceAll(':', '\\:')}`));
  const cases = commands.map(({ word }) => `        ${word}) ${functionName(`${path} ${word}`.trim())} ;;`);
  return `${functionName(path)}() {
  local context line state state_desc
  typeset -A opt_args
  _arguments -C \\
    ${options.flatMap(optionSpecs).join(' \\\n    ')} \\
    '1: :->command' '*::argument:->rest'
  case $state in
    command)
      local -a commands=(
        ${below.join('\n        ')}
      )
      _describe command commands ;;
    rest)
      case $line[1] in
${cases.join('\n')}
      esac ;;
  esac
}`;
}

function leaf({ path, options, values }: Place): string {
  const rest = values === null ? [] : [shellQuoted(`*:argument:${action(values)}`)];
  return `${functionName(path)}() {
  _arguments \\
    ${[...options.flatMap(optionSpecs), ...rest].join(' \\\n    ')}
}`;
}

const placeFunction = (place: Place): string => (place.commands.length > 0 ? dispatcher(place) : leaf(place));

/** Returns the script, for a directory of $fpath such as /usr/share/zsh/site-functions. */
export const zshCompletion = (): string => `#compdef stackside

${places().map(placeFunction).join('\n\n')}

if [ "$funcstack[1]" = _stackside ]; then
  _stackside "$@"
else
  compdef _stackside stackside
fi
`;
