/** The version of this program. `build.ts` sets the branch and commit of a compiled executable. */
import manifest from '../../../package.json' with { type: 'json' };
import { versionText } from '../../http/respond.ts';

declare const STACKSIDE_BRANCH: string | undefined;
declare const STACKSIDE_COMMIT: string | undefined;

/** The version text in the `X-API-Version` header, in `server_version` and of `--version`. */
export const serverVersion = versionText(
  manifest.version,
  typeof STACKSIDE_BRANCH === 'undefined' ? 'source' : STACKSIDE_BRANCH,
  typeof STACKSIDE_COMMIT === 'undefined' ? 'local' : STACKSIDE_COMMIT,
);
