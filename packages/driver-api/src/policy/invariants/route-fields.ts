import { MAX_COUNT } from '../../schema/common.js'
import type { IssueList } from '../issues.js'
import type { HeaderChanges, OutboundRoute, PathChange } from '../parts.js'

/** Checks constraints between fields of routes. */
export function checkRoutes(routes: readonly OutboundRoute[], issues: IssueList): void {
  routes.forEach((route, index) => {
    checkRoute(route, issues.below(index))
  })
}

function checkRoute(route: OutboundRoute, issues: IssueList): void {
  const { targets, errorWeight = 0, errorStatus, redirect, rewrite } = route
  weights([...targets, { weight: errorWeight }], issues.below('targets'))
  issues.expect(
    errorStatus === undefined || errorWeight > 0,
    '/errorStatus',
    'is of the share that is answered with an error',
  )
  checkHeaders(route, issues)
  targets.forEach((target, index) => {
    checkHeaders(target, issues.below('targets', index))
  })
  checkPath(route, redirect?.path, issues.below('redirect', 'path'))
  checkPath(route, rewrite?.path, issues.below('rewrite', 'path'))
  if (redirect === undefined) return
  const sendsOn =
    targets.length > 0 ||
    errorWeight > 0 ||
    [rewrite, route.mirrors, route.retries].some((member) => member !== undefined)
  issues.expect(
    !sendsOn && route.requestHeaders === undefined,
    '/redirect',
    'answers every request: nothing is sent on',
  )
}

function checkPath({ match }: OutboundRoute, path: PathChange | undefined, issues: IssueList): void {
  const replacesSegments = match.path === undefined || match.path.type === 'segments'
  issues.expect(path?.type !== 'prefix' || replacesSegments, '', 'is for routes that match segments, or any path')
}

function checkHeaders(changes: Pick<OutboundRoute, 'requestHeaders' | 'responseHeaders'>, issues: IssueList): void {
  for (const message of ['requestHeaders', 'responseHeaders'] as const) {
    const names = namesOf(changes[message])
    issues.expect(new Set(names).size === names.length, `/${message}`, 'must not name a header in two lists')
  }
}

function namesOf({ set = [], add = [], remove = [] }: HeaderChanges = {}): readonly string[] {
  return [...set, ...add].map(({ name }) => name).concat(remove)
}

/** Proxies hold the sum of all weights of a list in 32 bits. */
export function weights(items: readonly { readonly weight: number }[], issues: IssueList): void {
  const total = items.reduce((subtotal, { weight }) => subtotal + weight, 0)
  issues.expect(total <= MAX_COUNT, '', `weights must not sum to more than ${MAX_COUNT}`)
}
