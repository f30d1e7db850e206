import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import type { Part, PartHash, ProxyPart, ProxyPolicy } from '@osm-ts/driver-api/policy'
import {
  type FilterChain,
  FilterChainSchema,
} from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_components_pb.js'
import { ListenerSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_pb.js'

import { pinPolicy, type PolicyDraft } from '../../../test/pin-policy.js'
import { resourcesAsJson } from '../../../test/resources-as-json.js'
import type { ProxyResources } from '../../resources/types.js'
import { attributeRejection } from '../attribute-rejection.js'
import { Translator } from '../translator.js'

const policy = JSON.parse(
  readFileSync(new URL('../../testdata/in/permissive.json', import.meta.url), 'utf8'),
) as ProxyPolicy

function translate({ proxy, parts }: ProxyPolicy, translator = new Translator()): ProxyResources {
  return translator.translate(proxy, (hash) => partOf(parts, hash), 1)
}

function partOf(parts: ProxyPolicy['parts'], hash: PartHash): Part {
  const part = parts[hash]
  if (part === undefined) throw new Error(`the document has no part ${hash}`)
  return part
}

/** The policy with some of its parts changed. */
function edited(edit: (part: Part) => Part): ProxyPolicy {
  const parts = Object.entries(policy.parts).map(([hash, part]) => [hash, edit(part)])
  return pinPolicy({ proxy: policy.proxy, parts: Object.fromEntries(parts) as PolicyDraft['parts'] })
}

const namesOf = ({ types }: ProxyResources): readonly string[] => [...types.extension].map(({ name }) => name)

/** Names that the chains of the outbound listener refer to. */
function namedByChains(resources: ProxyResources): readonly string[] {
  return chainsOf(resources)
    .flatMap(({ filters }) => filters)
    .flatMap(({ name, configType }) => (configType.case === 'configDiscovery' ? [name] : []))
}

function chainsOf({ types }: ProxyResources): readonly FilterChain[] {
  return fromBinary(ListenerSchema, types.listener.get('outbound-listener')?.value ?? new Uint8Array()).filterChains
}

const otherId = '0b6fbeee-0a6c-4b36-9d0c-00000000ffff' as ProxyPart['id']

describe('connection managers of shared filter chains', () => {
  it('are the resources that the chains name, each with the routes of its chain', () => {
    const resources = translate(policy)
    expect(namesOf(resources)).toEqual([...namedByChains(resources)].sort())
    expect(namesOf(resources).length).toBeGreaterThan(3)
    for (const [name, extension] of Object.entries(resourcesAsJson(resources).extension)) {
      const [, port = '', shard = ''] = /^hcm\.(\d+)\|([0-9a-f])\|[\w-]{32}$/.exec(name) ?? []
      expect(extension).toMatchObject({
        name,
        typedConfig: { statPrefix: `rds-outbound.${port}`, rds: { routeConfigName: `rds-outbound.${port}|${shard}` } },
      })
    }
  })

  it('are waited for without limit, as routes are', () => {
    const listener = resourcesAsJson(translate(policy)).listener['outbound-listener']
    expect(JSON.stringify(listener)).toContain(
      '"configDiscovery":{"configSource":{"ads":{},"initialFetchTimeout":"0s","resourceApiVersion":"V3"},"typeUrls"',
    )
  })

  it('stay the same for a service that joins or leaves a chain, while the listener changes', () => {
    const translator = new Translator()
    const before = translate(policy, translator)
    const joined = edited((part) =>
      part.kind === 'outbound' && part.id === 'bookwarehouse/bookwarehouse|80'
        ? { ...part, addresses: [...part.addresses, '10.96.9.9'] }
        : part,
    )
    const after = translate({ ...joined, proxy: { ...joined.proxy, id: otherId } }, translator)
    expect(after.types.listener.version).not.toBe(before.types.listener.version)
    expect(after.types.extension).toBe(before.types.extension)
  })

  it('have another name with other settings, and so have their chains', () => {
    const changed = edited((part) => (part.kind === 'mesh' ? { ...part, streamIdleTimeoutMs: 12_345 } : part))
    const [before, after] = [translate(policy), translate(changed)]
    expect(namesOf(after)).toHaveLength(namesOf(before).length)
    for (const name of namesOf(after)) expect(namesOf(before)).not.toContain(name)
    expect([...namedByChains(after)].sort()).toEqual(namesOf(after))
  })

  it('keep their names when trust changes, of which nothing is in them', () => {
    const changed = edited((part) => (part.kind === 'trust' ? { ...part, roots: [...part.roots].reverse() } : part))
    const roots = edited((part) => (part.kind === 'trust' ? { ...part, trustDomain: 'example.org' } : part))
    for (const other of [changed, roots]) expect(namesOf(translate(other))).toEqual(namesOf(translate(policy)))
  })

  it('are attributed to the settings of the mesh when they are refused', () => {
    const { types } = translate(policy)
    for (const manager of types.extension) {
      const rejected = attributeRejection('no good', manager, (hash) => policy.parts[hash])
      expect(rejected.map(({ part }) => part.kind)).toEqual(['mesh'])
    }
  })

  it('exist in transparent mode only', () => {
    const explicit = JSON.parse(
      readFileSync(new URL('../../testdata/in/explicit.json', import.meta.url), 'utf8'),
    ) as ProxyPolicy
    expect(translate(explicit).types.extension.size).toBe(0)
  })

  it('leave chains of less than 250 bytes', () => {
    const resources = translate(policy)
    const sizes = chainsOf(resources)
      .filter(({ filters }) => filters.some(({ configType }) => configType.case === 'configDiscovery'))
      .map((chain) => toBinary(FilterChainSchema, chain).length)
    expect(sizes).toHaveLength(resources.types.extension.size)
    expect(Math.max(...sizes)).toBeLessThan(250)
    for (const { value } of resources.types.extension) expect(value.length).toBeGreaterThan(1_500)
  })
})
