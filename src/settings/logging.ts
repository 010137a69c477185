/** Settings of the log. */
import { Type } from '@sinclair/typebox';
import { levels } from '../log.ts';
import { group, setting } from './setting.ts';

export const logSettings = group('Log', {
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
