import { describe, expect, it } from '@jest/globals'
import { readObjects } from '@osm-ts/core'
import { nodePath } from '../../tools/images/definitions.mjs'
import { cases, valuesFile } from './chart/cases.js'
import { codeOfStart } from './chart/check-flags.js'
import { golden, goldenText } from './chart/golden.js'
import { containerOf, find, title, type Manifest } from './chart/manifest.js'
import { chartFolder, helm, render } from './chart/render.js'

const programs = {
  'osm-controller': 'Deployment',
  'osm-injector': 'Deployment',
  'osm-bootstrap': 'Deployment',
  'osm-preinstall': 'Job',
  'osm-cleanup': 'Job',
}

const rendered: ReadonlyMap<string, readonly Manifest[]> = new Map(
  cases.map((name) => [name, render(valuesFile(name))]),
)
const manifestsOf = (name: string): readonly Manifest[] => rendered.get(name) ?? []

describe('the chart', () => {
  it('covers the defaults and each sidecar class', () => {
    expect(cases).toEqual(expect.arrayContaining(['default', 'class-envoy', 'class-pipy']))
  })

  it.each(cases)('passes helm lint with values %s', (name) => {
    const { code, stdout, stderr } = helm(['lint', '--strict', chartFolder], valuesFile(name))
    expect([code, stdout, stderr]).toEqual([0, expect.stringContaining('0 chart(s) failed'), ''])
  })

  it.each(cases)('renders what it rendered before from values %s', (name) => {
    const text = goldenText(manifestsOf(name), name === 'default' ? undefined : manifestsOf('default'))
    expect(text).toBe(golden(name, text))
  })

  it.each(cases)('renders every object once from values %s', (name) => {
    const titles = manifestsOf(name).map(title)
    expect(titles).toEqual([...new Set(titles)])
  })

  it.each(Object.entries(programs))(
    'gives %s flags that it takes, whatever the values',
    (program, kind) => {
      const commandLines = cases.map((name) => containerOf(find(manifestsOf(name), kind, program)).args ?? [])
      const different = new Map(commandLines.map((args) => [args.join(' '), args]))
      const codes = [...different].map(([text, args]) => [text, codeOfStart(program, args)])
      expect(codes).toEqual([...different.keys()].map((text) => [text, 'OSM_KUBERNETES_CONFIG']))
    },
    120_000,
  )

  it.each(cases)('makes a MeshConfig that the mesh reads without a problem from values %s', (name) => {
    const { data } = find(manifestsOf(name), 'ConfigMap', 'preset-mesh-config')
    const spec: unknown = JSON.parse(data?.['preset-mesh-config.json'] ?? '')
    const object = {
      apiVersion: 'config.openservicemesh.io/v1alpha2',
      kind: 'MeshConfig',
      metadata: { name: 'osm-mesh-config' },
      spec,
    }
    const { objects, problems } = readObjects(JSON.stringify(object))
    expect(problems).toEqual([])
    expect(objects).toEqual([expect.objectContaining({ spec })])
  })

  it.each(cases)('makes a MeshRootCertificate that the mesh reads without a problem from values %s', (name) => {
    const { data } = find(manifestsOf(name), 'ConfigMap', 'preset-mesh-root-certificate')
    const spec: unknown = JSON.parse(data?.['preset-mesh-root-certificate.json'] ?? '')
    const object = {
      apiVersion: 'config.openservicemesh.io/v1alpha2',
      kind: 'MeshRootCertificate',
      metadata: { name: 'osm-mesh-root-certificate' },
      spec,
    }
    expect(readObjects(JSON.stringify(object))).toMatchObject({ objects: [{ spec }], problems: [] })
  })

  it('keeps names, ports and labels that users of OSM rely on', () => {
    const manifests = manifestsOf('default')
    const ports = (name: string) =>
      (find(manifests, 'Service', name).spec?.ports as { name: string; port: number }[]).map(({ port }) => port)
    expect(ports('osm-controller')).toEqual([15128, 9092, 9091])
    expect(ports('osm-validator')).toEqual([9093])
    expect(ports('osm-injector')).toEqual([9090, 9091])
    expect(ports('osm-bootstrap')).toEqual([9091])
    for (const name of ['osm-controller', 'osm-injector', 'osm-bootstrap']) {
      const { spec, metadata } = find(manifests, 'Deployment', name)
      // It can't be changed by an upgrade.
      expect(spec?.selector).toEqual({ matchLabels: { app: name } })
      expect(metadata.labels).toMatchObject({
        app: name,
        meshName: 'osm',
        'app.kubernetes.io/name': 'openservicemesh.io',
        'app.kubernetes.io/instance': 'osm',
      })
    }
    expect(find(manifests, 'Deployment', 'osm-controller').metadata.labels).toMatchObject({ enforceSingleMesh: 'true' })
  })

  it('sets no number of replicas where a HorizontalPodAutoscaler does', () => {
    const manifests = manifestsOf('high-availability')
    expect(find(manifests, 'Deployment', 'osm-controller').spec).not.toHaveProperty('replicas')
    expect(find(manifests, 'Deployment', 'osm-injector').spec).toMatchObject({ replicas: 3 })
  })

  it('refuses a cluster that is too old', () => {
    const { code, stderr } = helm(['template', 'osm', chartFolder, '--kube-version', '1.22.0'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('requires kubeVersion: >=1.23.0-0')])
  })

  it('renders for the oldest cluster only what that knows', () => {
    const manifests = render(valuesFile('high-availability'), '--kube-version', '1.23.0')
    const budget = find(manifests, 'PodDisruptionBudget', 'osm-controller-pdb')
    expect(budget.spec).not.toHaveProperty('unhealthyPodEvictionPolicy')
    const { lifecycle } = containerOf(find(manifests, 'Deployment', 'osm-injector'))
    expect(lifecycle).toMatchObject({ preStop: { exec: { command: expect.arrayContaining([nodePath]) } } })
  })
})
