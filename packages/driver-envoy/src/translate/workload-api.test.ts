import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import type { Part, PartHash, ProxyPart, ProxyPolicy } from '@osm-ts/driver-api/policy'

import { pinPolicy } from '../../test/pin-policy.js'
import { resourcesAsJson } from '../../test/resources-as-json.js'
import type { ProxyResources } from '../resources/types.js'
import { Translator } from './translator.js'

const usual = JSON.parse(
  readFileSync(new URL('../testdata/in/smi-http-split.json', import.meta.url), 'utf8'),
) as ProxyPolicy

/** The same policy for a proxy that takes its certificate from a Workload API. */
const spire = pinPolicy({
  proxy: usual.proxy,
  parts: Object.fromEntries(
    Object.entries(usual.parts).map(([hash, part]) => [
      hash,
      part.kind === 'trust' ? { ...part, serviceCredential: { kind: 'workload-api' } } : part,
    ]),
  ),
})

function translate(policy: ProxyPolicy, translator: Translator, proxy: Partial<ProxyPart> = {}): ProxyResources {
  const find = (hash: PartHash): Part => {
    const part = policy.parts[hash]
    if (part === undefined) throw new Error(`the document has no part ${hash}`)
    return part
  }
  return translator.translate({ ...policy.proxy, ...proxy }, find, 1)
}

const other = {
  id: '5f0f5b43-6a92-4f4b-9d0e-0a4d5a1c9e77' as ProxyPart['id'],
  identity: 'other.shop' as ProxyPart['identity'],
  spiffeId: 'spiffe://cluster.local/other/shop' as ProxyPart['spiffeId'],
}

/** Every SDS reference to a certificate of a proxy, by its name. */
function references(resources: ProxyResources): ReadonlySet<string> {
  const text = JSON.stringify(resourcesAsJson(resources))
  const found = text.matchAll(/"tlsCertificateSdsSecretConfigs":\[(\{"name":"[^"]*","sdsConfig":\{"[a-zA-Z]*")/g)
  return new Set([...found].map(([, reference = '']) => reference))
}

describe('a proxy that takes its certificate from a Workload API', () => {
  it('asks it for the identity of its policy in every context, and the control plane for nothing of that', () => {
    const made = translate(spire, new Translator())
    expect([...references(made)]).toEqual([`{"name":"${spire.proxy.spiffeId}","sdsConfig":{"apiConfigSource"`])
    expect(made.workloadApi).toBe(true)
    expect(JSON.stringify(resourcesAsJson(made))).toContain('"envoyGrpc":{"clusterName":"workload-api"')
  })

  it('is verified, and verifies, as any other', () => {
    const text = JSON.stringify(resourcesAsJson(translate(spire, new Translator())))
    const plain = JSON.stringify(resourcesAsJson(translate(usual, new Translator())))
    const verification = /"combinedValidationContext":\{.*?"resourceApiVersion":"V3"\}\}\}/g
    expect(text.match(verification)).toEqual(plain.match(verification))
  })

  it('never shares with a proxy of another identity what names the certificate', () => {
    const translator = new Translator()
    const [own, others] = [translate(spire, translator), translate(spire, translator, other)]
    expect([...references(own)].join()).toContain(spire.proxy.spiffeId)
    expect([...references(others)]).toEqual([`{"name":"${other.spiffeId}","sdsConfig":{"apiConfigSource"`])
  })

  it('shares everything with a proxy of its identity, and a proxy of the mesh with all', () => {
    const translator = new Translator()
    const twin = { id: other.id }
    expect(translate(spire, translator, twin).types.cluster).toBe(translate(spire, translator).types.cluster)
    const mesh = translate(usual, translator)
    expect([...references(mesh)]).toEqual(['{"name":"service-cert","sdsConfig":{"ads"'])
    expect(mesh.workloadApi).toBeUndefined()
    expect(translate(usual, translator, other).types.cluster).toBe(mesh.types.cluster)
  })
})
