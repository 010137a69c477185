/** Settings of `stackside compare`. */
import { group, setting, textOrNone } from './setting.ts';

export const compareSettings = group('Comparison with another API', {
  compareKey: setting({
    commands: ['compare'],
    flag: null,
    secret: true,
    variables: ['STACKSIDE_COMPARE_KEY'],
    type: textOrNone(),
    help: 'Key that is sent to the other API as x-api-key',
    accepts: 'an API key',
  }),
});
