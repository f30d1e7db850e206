import { decodeManifests } from '@osm-ts/core/testing'
import type { PartLookup, ProxyPart } from '@osm-ts/driver-api/policy'
import { Translator } from '@osm-ts/driver-envoy'

import { translate as translateForHaproxy } from '../../examples/driver-haproxy/src/translate/translate.js'
import { documentMaker } from '@osm-ts/driver-pipy/testing'
import { ComputedPolicies, octetsOf } from './computed-policies.js'
import { generateHubMesh, hubAnnouncement } from './mesh.js'
import { type Summary, summarize } from './statistics.js'

/** What the policy of a proxy costs a driver before it is sent. */
export interface DriverTranslation {
  readonly driver: string
  readonly services: number
  /** Milliseconds for one proxy, with nothing remembered of it; what proxies share may be. */
  readonly first: Summary
  /** The same after an endpoint has changed that it may reach. */
  readonly afterChange: Summary
  /** Bytes for one proxy. */
  readonly octets: Summary
}

/** Translates a policy. Gives the bytes that come of it. */
type Translate = (proxy: ProxyPart, parts: PartLookup, revision: number) => number

/** Each driver translates the policies of the same mesh, in which everybody may call five services and one whose endpoint moves. */
export function measureDrivers(options: {
  readonly services: number
  readonly changes: number
}): readonly DriverTranslation[] {
  const makers: readonly (readonly [string, () => Translate])[] = [
    ['envoy', envoy],
    ['pipy', pipy],
    ['haproxy', () => (proxy, parts) => haproxyOctets(translateForHaproxy(proxy, parts))],
  ]
  return makers.map(([driver, make]) => measureDriver(driver, make(), options))
}

function measureDriver(
  driver: string,
  translate: Translate,
  { services, changes }: { readonly services: number; readonly changes: number },
): DriverTranslation {
  const mesh = generateHubMesh({ services, proxies: services, everyoneCallsHub: true, sidecarClass: driver })
  const policies = new ComputedPolicies()
  policies.start(decodeManifests([...mesh.policy, mesh.movable(0), ...mesh.instances]))
  const octets: number[] = []
  const timed = (revision: number): readonly number[] =>
    mesh.proxies.map(({ key }) => {
      const { part } = policies.policyOf(key)
      const start = performance.now()
      octets.push(translate(part, (hash) => policies.partOf(hash), revision))
      return performance.now() - start
    })
  const first = timed(1)
  const after: number[] = []
  for (let n = 1; n <= changes; n += 1) {
    policies.change(decodeManifests([mesh.movable(n)]), hubAnnouncement)
    after.push(...timed(1 + n))
  }
  return {
    driver,
    services,
    first: summarize(first),
    afterChange: summarize(after),
    octets: summarize(octets.slice(0, mesh.proxies.length)),
  }
}

function envoy(): Translate {
  const translator = new Translator()
  return (proxy, parts, revision) => octetsOf(translator.translate(proxy, parts, revision))
}

function pipy(): Translate {
  const make = documentMaker()
  return (proxy, parts) => Buffer.byteLength(make(proxy, parts).plain().body)
}

function haproxyOctets({ document: { config, files } }: ReturnType<typeof translateForHaproxy>): number {
  return [config, ...files.map(({ content }) => content)].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}
