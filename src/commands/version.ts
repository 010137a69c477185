/** Which Stackside this is. `build.ts` sets the branch and commit of a compiled one. */
import manifest from '../../package.json' with { type: 'json' };
import { versionText } from '../http/respond.ts';

declare const STACKSIDE_BRANCH: string | undefined;
declare const STACKSIDE_COMMIT: string | undefined;

/** As the `X-API-Version` header, `server_version` and `--version` have it. */
export const serverVersion = versionText(
  manifest.version,
  typeof STACKSIDE_BRANCH === 'undefined' ? 'source' : STACKSIDE_BRANCH,
  typeof STACKSIDE_COMMIT === 'undefined' ? 'local' : STACKSIDE_COMMIT,
);
