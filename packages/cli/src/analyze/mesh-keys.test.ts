import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from '@jest/globals'

import { findKeyProblems, findNamespaceProblems, type KeyedObject, meshKeys } from './mesh-keys.js'

const domain = 'openservicemesh.io'
const object = (kind: string, labels: KeyedObject['labels'], annotations: KeyedObject['annotations'] = {}) => ({
  kind,
  namespace: kind === 'Namespace' ? '' : 'shop',
  name: 'shop',
  labels,
  annotations,
})
const find = (...objects: readonly KeyedObject[]) =>
  findKeyProblems(objects, () => undefined).map(({ code, field, message }) => [code, field, message])

describe('labels and annotations of the mesh', () => {
  it('are right where the mesh reads them, and those of others are not looked at', () => {
    const annotations = {
      [`${domain}/sidecar-injection`]: 'Enabled',
      [`${domain}/metrics`]: 'no',
      [`${domain}/sidecar-resource-limits-cpu`]: '1',
      'kubernetes.io/monitored-by': 'osm',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
      app: 'shop',
    }
    expect(find(object('Namespace', { [`${domain}/monitored-by`]: 'osm' }, annotations))).toEqual([])
    const exclusion = { [`${domain}/outbound-port-exclusion-list`]: '6379' }
    expect(find(object('Pod', {}, exclusion), object('Workload', {}, exclusion))).toEqual([])
  })

  it('that are misspelt are found, with what was meant', () => {
    const labels = { [`${domain}/monitored_by`]: 'osm' }
    expect(find(object('Namespace', labels, { [`${domain}/sidecar-inject`]: 'enabled' }))).toEqual([
      [
        'OSM_ANALYZE_KEY_UNKNOWN',
        'metadata.labels["openservicemesh.io/monitored_by"]',
        'the mesh reads no label of this name; did you mean "openservicemesh.io/monitored-by"?',
      ],
      [
        'OSM_ANALYZE_KEY_UNKNOWN',
        'metadata.annotations["openservicemesh.io/sidecar-inject"]',
        expect.stringMatching(/^the mesh reads no annotation of this name/),
      ],
    ])
    expect(find(object('Namespace', { 'openservicemesh.com/monitored-by': 'osm' }))).toEqual([
      [
        'OSM_ANALYZE_KEY_UNKNOWN',
        'metadata.labels["openservicemesh.com/monitored-by"]',
        'openservicemesh.com is not the domain of the mesh; did you mean "openservicemesh.io"?',
      ],
    ])
  })

  it('that are where nothing reads them are found, with where they would be read', () => {
    expect(
      find(
        object('Namespace', { [`${domain}/sidecar-injection`]: 'enabled' }),
        object('Service', {}, { [`${domain}/metrics`]: 'enabled' }),
      ),
    ).toEqual([
      [
        'OSM_ANALYZE_KEY_MISPLACED',
        'metadata.labels["openservicemesh.io/sidecar-injection"]',
        'has no effect as a label: the mesh reads it as an annotation',
      ],
      [
        'OSM_ANALYZE_KEY_MISPLACED',
        'metadata.annotations["openservicemesh.io/metrics"]',
        'has no effect on a Service: the mesh reads it of a Namespace',
      ],
    ])
  })

  it('that switch something are on or off', () => {
    expect(find(object('Namespace', {}, { [`${domain}/sidecar-injection`]: 'on' }))).toEqual([
      [
        'OSM_ANALYZE_KEY_VALUE',
        'metadata.annotations["openservicemesh.io/sidecar-injection"]',
        expect.stringContaining('must be one of enabled, yes, true, disabled, no, false, not "on"'),
      ],
    ])
  })

  it('are all that the programs know', () => {
    const packages = fileURLToPath(new URL('../../../', import.meta.url))
    const folders = readdirSync(packages).map((name) => join(packages, name, 'src'))
    const files = folders
      .filter((folder) => existsSync(folder))
      .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)))
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    const used = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/'openservicemesh\.io\/([a-z-]+)'/g)].map(([, name = '']) => name),
    )
    // The name of a controller of routes, and the beginning of several annotations.
    const others = new Set(['osm-controller', 'sidecar-resource-'])
    const known = new Set([...meshKeys.label.keys(), ...meshKeys.annotation.keys(), ...others])
    expect(used.length).toBeGreaterThan(20)
    expect(used.filter((name) => !known.has(name))).toEqual([])
  })
})

describe('namespaces of a cluster', () => {
  const check = (labels: KeyedObject['labels'], annotations: KeyedObject['annotations'] = {}, meshNames?: string[]) =>
    findNamespaceProblems(
      [object('Namespace', labels, annotations)],
      { meshName: 'osm', meshNames },
      () => undefined,
    ).map(({ code, message }) => `${code} ${message}`)
  const monitored = { [`${domain}/monitored-by`]: 'osm' }

  it('say whether their pods get sidecars', () => {
    expect(check(monitored)).toEqual([expect.stringContaining('OSM_ANALYZE_NAMESPACE_INJECTION')])
    expect(check(monitored, { [`${domain}/sidecar-injection`]: 'disabled' })).toEqual([])
    expect(check({ ...monitored, [`${domain}/ignore`]: '' })).toEqual([])
    expect(check({})).toEqual([])
  })

  it('are of a mesh that is there', () => {
    const label = { [`${domain}/monitored-by`]: 'omsk' }
    expect(check(label, {}, ['osm', 'omsk'])).toEqual([])
    expect(check(label, {}, ['osm', 'omsk2'])).toEqual([
      'OSM_ANALYZE_NAMESPACE_MESH the cluster has no mesh "omsk"; did you mean "omsk2"?',
    ])
    expect(check(label)).toEqual([])
  })
})
