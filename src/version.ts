/** Which Stackside this is. `build.ts` sets the branch and commit of a compiled one. */
import manifest from '../package.json' with { type: 'json' };

declare const STACKSIDE_BUILD: string | undefined;

const build = typeof STACKSIDE_BUILD === 'undefined' ? 'source' : STACKSIDE_BUILD;

export const version = `v${manifest.version}`;

/** As the `X-API-Version` header and `server_version` have it: `stackside v<version> (<branch>:<commit>)`. */
export const serverVersion = `stackside ${version} (${build})`;
