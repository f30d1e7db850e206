import { describe, expect, it } from '@jest/globals'
import { type MeshObject, ObjectDecoder, type Problem } from '@osm-ts/core'

import { nextRouteStatus, saysParents, wantedParents } from './route-status.js'

const origin = { kind: 'api', resourceVersion: '1' } as const
const programmed = { type: 'Programmed', status: 'True', reason: 'Programmed', message: 'taken' } as const
const first = { group: '', kind: 'Service', name: 'first' }
const second = { group: '', kind: 'Service', name: 'second', port: 80 }
const object = { kind: 'HTTPRoute', namespace: 'shop', name: 'web' }

function route(rules: readonly object[] = [{}, {}]): MeshObject<'HTTPRoute'> {
  const written = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { parentRefs: [first, second, { name: 'public' }], rules },
  }
  const context = { origin, defaultNamespace: '', locate: () => origin, sourceText: () => undefined }
  // The document above is a valid HTTPRoute.
  return new ObjectDecoder().decode(written, context).object as MeshObject<'HTTPRoute'>
}

function problem(code: string, field: string): Problem {
  return { code, severity: 'error', message: 'is wrong', object, field }
}

const conditions = (problems: readonly Problem[]) =>
  wantedParents(route(), problems, programmed).map(({ findings }) =>
    findings.map(({ type, status, reason }) => `${type}=${status} ${reason}`),
  )

describe('the status of a route', () => {
  it('speaks of each Service that the route is attached to, and leaves Gateways to others', () => {
    expect(wantedParents(route(), [], programmed).map(({ parentRef }) => parentRef)).toEqual([first, second])
    expect(conditions([])[0]).toEqual([
      'Accepted=True Accepted',
      'ResolvedRefs=True ResolvedRefs',
      'Programmed=True Programmed',
    ])
  })

  it('says which parent does not exist', () => {
    const [one, two] = conditions([problem('OSM_POLICY_ROUTE_PARENT', 'spec.parentRefs[1]')])
    expect([one?.[0], two?.[0]]).toEqual(['Accepted=True Accepted', 'Accepted=False NoMatchingParent'])
  })

  it('says where routes of another kind hold', () => {
    const [one, two] = conditions([problem('OSM_POLICY_ROUTE_CONFLICT', 'spec.parentRefs[0]')])
    expect([one?.[0], two?.[0]]).toEqual(['Accepted=False Conflicted', 'Accepted=True Accepted'])
  })

  it.each([
    ['OSM_POLICY_ROUTE_BACKEND', 'BackendNotFound'],
    ['OSM_SPEC_ROUTE_KIND', 'InvalidKind'],
    ['OSM_SPEC_REF_NOT_PERMITTED', 'RefNotPermitted'],
    ['OSM_POLICY_ROUTE_PROTOCOL', 'UnsupportedProtocol'],
  ])('says by a reason of the Gateway API what %s means', (code, reason) => {
    const [one] = conditions([problem(code, 'spec.rules[0].backendRefs[0]')])
    expect(one?.slice(0, 2)).toEqual(['Accepted=True Accepted', `ResolvedRefs=False ${reason}`])
  })

  it('is partially invalid while a rule is left, and not accepted when none is', () => {
    const faulty = [problem('OSM_SPEC_ROUTE_VALUE', 'spec.rules[0].filters[0].type')]
    expect(conditions(faulty)[0]?.slice(0, 2)).toEqual([
      'Accepted=True Accepted',
      'PartiallyInvalid=True UnsupportedValue',
    ])
    const all = [...faulty, problem('OSM_SPEC_ROUTE_FILTERS', 'spec.rules[1].filters')]
    expect(conditions(all)[0]?.[0]).toBe('Accepted=False IncompatibleFilters')
  })

  it('is not accepted where all of it is left out, because others take as much as a port has', () => {
    const beyond = [problem('OSM_SPEC_OBJECT_BOUND', 'spec.rules')]
    expect(conditions(beyond)[0]?.[0]).toBe('Accepted=False UnsupportedValue')
  })

  it('keeps what other controllers say, and the time of a condition that stays', () => {
    const others = { parentRef: { name: 'public' }, controllerName: 'example.com/gateway', conditions: [] }
    const wanted = wantedParents(route(), [], programmed)
    const before = nextRouteStatus(wanted, 1, { parents: [others] }, 0)
    expect(before.parents).toHaveLength(3)
    expect(before.parents[0]).toEqual(others)
    expect(saysParents(before, wanted, 1)).toBe(true)
    expect(saysParents(before, wanted, 2)).toBe(false)
    expect(saysParents(before, wanted.slice(1), 1)).toBe(false)
    const after = nextRouteStatus(wanted, 2, before, 60_000)
    expect(JSON.stringify(after)).toContain('"observedGeneration":2,"lastTransitionTime":"1970-01-01T00:00:00Z"')
    expect(nextRouteStatus([], 2, after, 60_000)).toEqual({ parents: [others] })
  })
})
