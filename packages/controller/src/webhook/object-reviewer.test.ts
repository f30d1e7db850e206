import { describe, expect, it } from '@jest/globals'
import {
  type ConfigEnvironment,
  consentNeeded,
  DriverRegistry,
  parseMeshDomains,
  readObjects,
  resolveMeshConfig,
  SnapshotBuilder,
  SpecRules,
} from '@osm-ts/core'
import type { AdmissionObject } from '@osm-ts/program'
import { optionalFeatures } from '@osm-ts/driver-api'
import { parse } from 'yaml'

import {
  account,
  allFlags,
  backend,
  type AdmissionCase,
  type AdmissionSetUp,
  meshConfig,
  policy,
  refused,
  retryPolicy,
  service,
  split,
  warned,
} from '../../test/admission-cases.js'
import { startedDriver } from '../../test/started-driver.js'
import type { AdmissionVerdict } from './object-findings.js'
import { ObjectReviewer } from './object-reviewer.js'

const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
const environment: ConfigEnvironment = { OSM_DEFAULT_SIDECAR_CLASS: 'fake' }
const configOf = (text: string) =>
  resolveMeshConfig(
    parse(text) as object,
    { osmNamespace: 'osm-system', clusterDomain: 'cluster.local', environment },
    { object: undefined, locate: () => undefined },
  ).config

function reviewer({
  mesh = '',
  config = allFlags,
  validateTrafficTarget = true,
  features = optionalFeatures,
}: AdmissionSetUp = {}): ObjectReviewer {
  const builder = new SnapshotBuilder(['api'])
  const read = readObjects(mesh)
  expect(read.problems).toEqual([])
  builder.apply([{ source: 'api', upserts: read.objects, deletes: [] }])
  const { driver } = startedDriver('fake')
  const registry = new DriverRegistry()
  registry.register({
    ...driver,
    configSchema: { type: 'object', additionalProperties: false },
    capabilities: { ...driver.capabilities, features },
    oldestProxyVersion: '1.37',
  })
  return new ObjectReviewer({
    rules: new SpecRules({
      ...domains,
      osmNamespace: 'osm-system',
      crossNamespace: () => consentNeeded,
      gatewayNames: () => [],
    }),
    registry,
    domains,
    osmNamespace: 'osm-system',
    configName: 'osm-mesh-config',
    environment,
    validateTrafficTarget,
    snapshot: () => builder.snapshot,
    config: () => configOf(config),
    started: () => configOf(config),
  })
}

function review(yaml: string, setUp?: AdmissionSetUp, old?: string): AdmissionVerdict {
  const object = parse(yaml) as AdmissionObject & { readonly metadata: { readonly name?: string } }
  return reviewer(setUp).review({
    operation: old === undefined ? 'CREATE' : 'UPDATE',
    namespace: 'shop',
    name: object.metadata.name ?? '',
    object,
    oldObject: old === undefined ? undefined : (parse(old) as AdmissionObject),
  })
}

describe('ObjectReviewer', () => {
  it.each(refused)('refuses %s', (...[, yaml, expected, setUp]: AdmissionCase) => {
    const { denials } = review(yaml, setUp)
    expect(denials.join('\n')).toContain(expected)
    expect(denials.every((text) => / \[OSM_[A-Z_]+\]$/.test(text))).toBe(true)
  })

  it.each(warned)('warns of %s', (...[, yaml, expected, setUp]: AdmissionCase) => {
    const { denials, warnings } = review(yaml, setUp)
    expect(denials).toEqual([])
    expect(warnings.join('\n')).toContain(expected)
  })

  it.each([
    ['IngressBackend', policy('IngressBackend', backend('http'))],
    [
      'Retry',
      policy(
        'Retry',
        `{ source: ${account}, destinations: [{ kind: Service, name: web, namespace: shop }], ${retryPolicy} }`,
      ),
    ],
    ['setting', policy('UpstreamTrafficSetting', '{ host: web.shop.svc.cluster.local }')],
    ['AccessCert', policy('AccessCert', '{ subjectAltNames: [a.example.com], secret: { name: s, namespace: shop } }')],
    ['TrafficSplit', split('{ service: web, backends: [{ service: web, weight: 1 }] }')],
    ['MeshConfig', meshConfig('{ sidecar: { sidecarClass: fake } }')],
  ])('has nothing to say of a good %s', (_kind, yaml) => {
    expect(review(yaml, { mesh: service('web') })).toEqual({ denials: [], warnings: [] })
  })

  it('lets anyone who has a bad object change everything but its spec, and repair it', () => {
    const bad = policy('IngressBackend', backend('tcp'))
    expect(review(bad.replace('metadata: {', 'metadata: { labels: { a: b },'), {}, bad)).toEqual({
      denials: [],
      warnings: [],
    })
    expect(review(policy('IngressBackend', backend('udp')), {}, bad).denials).not.toEqual([])
    expect(review(policy('IngressBackend', backend('http')), { mesh: service('web') }, bad).denials).toEqual([])
  })

  it('takes an object under the name that it has when it is updated for none of its rivals', () => {
    const own = policy('UpstreamTrafficSetting', '{ host: web.shop.svc.cluster.local }')
    const changed = policy(
      'UpstreamTrafficSetting',
      '{ host: web.shop.svc.cluster.local, connectionSettings: { tcp: { maxConnections: 3 } } }',
    )
    expect(review(changed, { mesh: `${service('web')}---\n${own}` }, own).denials).toEqual([])
  })

  it('reviews objects that have no name yet', () => {
    const yaml = policy('IngressBackend', backend('tcp')).replace('name: one', 'generateName: one-')
    expect(review(yaml).denials.join()).toContain('spec.backends[0].port.protocol')
  })

  it('has no opinion on deletions, and names kinds that it does not know', () => {
    const request = { uid: 'u', namespace: 'shop', name: 'x', oldObject: undefined }
    expect(reviewer().review({ ...request, operation: 'DELETE', object: undefined })).toEqual({
      denials: [],
      warnings: [],
    })
    const unknown = { apiVersion: 'policy.openservicemesh.io/v1alpha1', kind: 'Egres', metadata: { name: 'x' } }
    expect(
      reviewer()
        .review({ ...request, operation: 'CREATE', object: unknown })
        .denials.join(),
    ).toContain('did you mean')
  })
})
