import { isIdentityHeader, isOrderHeader, type RouteMatch, type StringMatch } from '@osm-ts/driver-api/policy'
import { ownValue } from '@osm-ts/driver-api/toolkit'
import { RE2JS } from 're2js'

import type { MatchableRequest } from './match-request.js'

/** True if the route of a policy takes the request, as sidecars decide it. */
export function matchesRoute({ path, methods, headers = [] }: RouteMatch, request: MatchableRequest): boolean {
  if (path !== undefined && !takes(path, request.path)) return false
  // An exact condition looks at the path as it was sent alone.
  const readings = path?.type === 'exact' ? [] : (request.readings ?? [])
  if (path !== undefined && !readings.every((reading) => takes(path, reading))) return false
  if (methods !== undefined && !methods.includes(request.method.toUpperCase())) return false
  return headers.every(({ name, match, invert = false }) => {
    // Sidecars remove these before a rule could look at them.
    const isRemoved = isOrderHeader(name) || isIdentityHeader(name)
    const value = isRemoved ? undefined : ownValue(request.headers, name)
    if (value === undefined) return invert && match.type === 'present'
    return takes(match, value) !== invert
  })
}

function takes(match: StringMatch, text: string): boolean {
  switch (match.type) {
    case 'exact':
      return text === match.value
    case 'prefix':
      return text.startsWith(match.value)
    case 'regex':
      return RE2JS.matches(match.value, text)
    case 'present':
      return true
  }
}
