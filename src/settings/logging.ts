/** Settings of the log. */
import { Type } from '@sinclair/typebox';
import { levels } from '../log.ts';
import { group, servers, setting } from './setting.ts';

export const logSettings = group('Log', {
  logFormat: setting({
    commands: servers,
    flag: '--log-format <format>',
    variables: ['STACKSIDE_LOG_FORMAT'],
    type: Type.Union([Type.Null(), Type.Literal('pretty'), Type.Literal('json')], { default: null }),
    absent: 'pretty on a terminal, json elsewhere',
    help: 'Form of the log: lines for people, or JSON objects; pretty on a terminal also shows the progress there',
    accepts: 'pretty or json',
  }),
  logLevel: setting({
    commands: ['serve', 'demo', 'import', 'rebuild'],
    flag: '--log-level <level>',
    variables: ['STACKSIDE_LOG_LEVEL', 'STACKS_API_LOG_LEVEL'],
    type: Type.Union(
      levels.map((level) => Type.Literal(level)),
      { default: 'info' },
    ),
    help: `Minimum log level: ${levels.join(', ')}`,
    accepts: `one of ${levels.join(', ')}`,
    // Their log would hide what they print: thousands of blocks go by.
    except: { demo: { default: 'error' }, import: { default: 'error' }, rebuild: { default: 'error' } },
  }),
});
