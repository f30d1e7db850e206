import type { VersionInfo } from './health-server.js'

/** Both are put in where a program is bundled, and don't exist elsewhere; see tools/lib/bundle.mjs. */
declare const OSM_GIT_COMMIT: string | undefined
declare const OSM_BUILD_DATE: string | undefined

/** A version with the commit that the running bundle was made of and that commit's time; both are empty for what runs from its sources or was made outside of git. */
export function buildVersion(version: string): VersionInfo {
  return {
    version,
    git_commit: typeof OSM_GIT_COMMIT === 'string' ? OSM_GIT_COMMIT : '',
    build_date: typeof OSM_BUILD_DATE === 'string' ? OSM_BUILD_DATE : '',
  }
}
