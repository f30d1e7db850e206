import type { PolicyPart, ProxyKey } from '@osm-ts/core'
import { decodeManifests } from '@osm-ts/core/testing'
import { Translator } from '@osm-ts/driver-envoy'

import { ComputedPolicies, octetsOf, resourcesOf } from './computed-policies.js'
import { generateHubMesh, hubAnnouncement } from './mesh.js'
import { type Summary, round, summarize } from './statistics.js'

/** What policies and their translation cost in a mesh of some size, with one proxy for each service. */
export interface Translation {
  readonly services: number
  readonly proxies: number
  /** Milliseconds for all policies from nothing. */
  readonly firstComputationMs: number
  /** Milliseconds of translation for one proxy, with nothing remembered at the start. */
  readonly translateFirst: Summary
  /** Milliseconds for one proxy whose policy has not changed but for its revision. */
  readonly translateAgain: Summary
  /** Bytes of encoded resources of one proxy, before sharing. */
  readonly octetsPerProxy: Summary
  /** Bytes of encoded resources of all proxies, each distinct resource counted once, divided by the number of proxies. */
  readonly sharedOctetsPerProxy: number
  /** One endpoint of a service moves. */
  readonly endpointChange: {
    /** Proxies that may call the service. */
    readonly reach: number
    /** Proxies whose policy was computed again. Must equal `reach`. */
    readonly recomputed: number
    /** Resources that all of them have to be sent, by delta. */
    readonly resources: number
    /** Milliseconds of computation and translation for all of them. */
    readonly cost: Summary
  }
}

/** Measures {@link Translation}. */
export async function measureTranslation({
  services,
  repetitions,
}: {
  readonly services: number
  readonly repetitions: number
}): Promise<Translation> {
  const mesh = generateHubMesh({ services, proxies: services, everyoneCallsHub: false })
  const policies = new ComputedPolicies()
  const { computation } = policies
  const firstComputationMs = policies.start(decodeManifests([...mesh.policy, mesh.movable(0), ...mesh.instances]))
  const translator = new Translator()
  const translate = (proxy: ProxyKey, revision: number) => policies.translate(translator, proxy, revision)
  const firsts = mesh.proxies.map(({ key }) => timed(() => translate(key, 1)))
  const again = mesh.proxies.map(({ key }) => timed(() => translate(key, 2)))
  const octets = mesh.proxies.map(({ key }) => octetsOf(translate(key, 3)))
  const distinct = new Map(
    mesh.proxies.flatMap(({ key }) =>
      [...resourcesOf(translate(key, 4))].map((resource) => [resource.value, resource.value.length] as const),
    ),
  )

  const sent = new Map(mesh.proxies.map(({ key }) => [key, translate(key, 5)] as const))
  const reach = mesh.proxies.filter(({ key }) => callsHub(policies, key)).length
  const costs: number[] = []
  let recomputed = 0
  let resources = 0
  for (let n = 1; n <= repetitions; n += 1) {
    const upserts = decodeManifests([mesh.movable(n)])
    computation.resetCounters()
    const start = performance.now()
    const changes = policies.change(upserts, hubAnnouncement)
    const translated = changes.map(({ proxy }) => [proxy, translate(proxy, 10 + n)] as const)
    costs.push(performance.now() - start)
    recomputed = computation.counters().get('proxy-part')?.computed ?? 0
    resources = 0
    for (const [proxy, after] of translated) {
      const before = sent.get(proxy)
      if (before !== undefined) resources += changedResources(before, after)
      sent.set(proxy, after)
    }
  }
  return {
    services,
    proxies: mesh.proxies.length,
    firstComputationMs: round(firstComputationMs),
    translateFirst: summarize(firsts),
    translateAgain: summarize(again),
    octetsPerProxy: summarize(octets),
    sharedOctetsPerProxy: Math.round([...distinct.values()].reduce((sum, each) => sum + each, 0) / mesh.proxies.length),
    endpointChange: { reach, recomputed, resources, cost: summarize(costs) },
  }
}

function timed(call: () => unknown): number {
  const start = performance.now()
  call()
  return performance.now() - start
}

type Resources = ReturnType<Translator['translate']>

function changedResources(before: Resources, after: Resources): number {
  let changed = 0
  for (const type of ['cluster', 'endpoints', 'listener', 'extension', 'route'] as const) {
    for (const { name, version } of after.types[type])
      if (before.types[type].get(name)?.version !== version) changed += 1
    for (const { name } of before.types[type]) if (after.types[type].get(name) === undefined) changed += 1
  }
  return changed
}

/** True if the policy of a proxy holds the endpoints of the hub. Asked of the document, not of what was computed. */
function callsHub(policies: ComputedPolicies, proxy: ProxyKey): boolean {
  const open: PolicyPart[] = [policies.policyOf(proxy)]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.part.kind === 'endpoints' && next.part.id.startsWith('hub/hub|')) return true
    open.push(...next.children)
  }
  return false
}
