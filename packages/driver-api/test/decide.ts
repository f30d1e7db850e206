import type { Principal } from '../src/index.js'
import type { InboundPart, PartHash, PrincipalsPart, RouteMatch } from '../src/policy/index.js'

/** A request as a served port sees it. */
export interface Request {
  readonly caller: Principal
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * What a served port decides: the meaning of an inbound part, written a second time and as plainly as possible, to compare with.
 * Expressions are JavaScript's here, which agree with RE2 on the ones that tests use.
 */
export function isAllowed(
  part: InboundPart,
  request: Request,
  principals: (hash: PartHash) => PrincipalsPart,
): boolean {
  const calls = (hash: PartHash): boolean => {
    const who = principals(hash)
    return who.match === 'list'
      ? who.principals.includes(request.caller)
      : request.caller.endsWith(`.${who.trustDomain}`)
  }
  if (part.rules.kind === 'deny') return false
  if (part.rules.kind === 'tcp') return calls(part.rules.allow)
  return part.rules.allow.some(({ match, allow }) => matches(match, request) && calls(allow))
}

/** True if all conditions hold. */
function matches({ path, methods, headers }: RouteMatch, request: Request): boolean {
  if (path !== undefined && !matchesText(path, request.path)) return false
  if (methods !== undefined && !methods.includes(request.method)) return false
  return (headers ?? []).every(({ name, match, invert }) => {
    const value = request.headers[name]
    if (match.type === 'present') return (value !== undefined) !== (invert === true)
    return value !== undefined && matchesText(match, value) !== (invert === true)
  })
}

function matchesText(
  match: { readonly type: 'exact' | 'prefix' | 'regex'; readonly value: string },
  text: string,
): boolean {
  switch (match.type) {
    case 'exact':
      return text === match.value
    case 'prefix':
      return text.startsWith(match.value)
    case 'regex':
      return new RegExp(`^(?:${match.value})$`, 's').test(text)
  }
}
