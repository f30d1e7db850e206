import type { Capabilities } from './capabilities.js'
import type { Part } from './policy/parts.js'
import { requirementsOf, type RequiredFeature, type Requirement } from './requirements.js'

/** True if a driver with these capabilities declares the feature. */
export function declares(capabilities: Capabilities, feature: RequiredFeature): boolean {
  const [list = '', value = ''] = feature.split(':')
  const declared: Readonly<Record<string, readonly string[]>> = {
    protocol: capabilities.protocols,
    'path-match': capabilities.pathMatches,
    'header-match': capabilities.headerMatches,
    mode: capabilities.modes,
    'ip-family': capabilities.ipFamilies,
  }
  return declared[list]?.includes(value) ?? (capabilities.features as readonly string[]).includes(feature)
}

/**
 * Requirements of a part that a driver does not declare; empty if the driver supports the part.
 *
 * For a requirement with `security`, the host refuses new workloads of the class and replaces the part of running ones by its deny form. It reports all others.
 */
export function unsupportedByClass(part: Part, capabilities: Capabilities): readonly Requirement[] {
  return requirementsOf(part).filter(({ feature }) => !declares(capabilities, feature))
}
