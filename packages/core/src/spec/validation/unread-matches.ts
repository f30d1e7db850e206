import { doubt, findings, type Finding } from './check.js'

/** `matches` of kinds that have it for compatibility only. */
export function checkUnreadMatches(matches: readonly unknown[] | undefined): readonly Finding[] {
  return findings(
    (matches ?? []).length > 0 &&
      doubt('OSM_SPEC_NO_EFFECT', 'spec.matches', 'is not read: the object means the same without'),
  )
}
