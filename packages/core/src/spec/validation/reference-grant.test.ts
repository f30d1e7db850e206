import { describe, expect, it } from '@jest/globals'

import {
  faultlessMesh,
  policy,
  object,
  snapshotOf,
  target,
  workload,
} from '../../../test/spec/validation/faultless-mesh.js'
import { consentNeeded } from '../reference-grant.js'
import { SpecRules } from '../validation.js'

/** Objects of namespace aaa that refer to namespace default, what is found, and the entries of a ReferenceGrant that permits the reference. */
const foreign: readonly (readonly [string, string, string, string, string])[] = [
  [
    'an Egress for accounts',
    object(
      policy,
      'Egress',
      'e',
      '{ sources: [{ kind: ServiceAccount, name: client, namespace: default }], ports: [{ number: 5432, protocol: tcp }] }',
    ),
    'error OSM_SPEC_REF_NOT_PERMITTED spec.sources[0].namespace',
    'Egress',
    '{ group: "", kind: ServiceAccount, name: client }',
  ],
  [
    'an EgressGateway for an Egress',
    object(
      policy,
      'EgressGateway',
      'g',
      '{ rules: [{ egressPolicies: [{ name: out, namespace: default }], egressGateways: [{ service: web, namespace: default }] }] }',
    ),
    'error OSM_SPEC_REF_NOT_PERMITTED spec.rules[0].egressPolicies[0].namespace',
    'EgressGateway',
    `{ group: ${policy.split('/')[0] ?? ''}, kind: Egress }`,
  ],
  [
    'a PluginConfig for a service',
    object(
      'plugin.flomesh.io/v1alpha1',
      'PluginConfig',
      'c',
      '{ plugin: p, destinationRefs: [{ kind: Service, name: web, namespace: default }], config: {} }',
    ),
    'warning OSM_SPEC_REF_NOT_PERMITTED spec.destinationRefs[0].namespace',
    'PluginConfig',
    '{ group: "", kind: Service, name: web }',
  ],
]

describe('references to other namespaces', () => {
  const apart = new SpecRules({
    clusterDomain: 'cluster.local',
    trustDomain: 'trust.example',
    osmNamespace: 'osm-system',
    crossNamespace: () => consentNeeded,
    gatewayNames: () => ['gateway.example.com'],
  })
  const plain = faultlessMesh.replaceAll('global: [', 'rules: [], global: [')
  const found = (text: string): readonly string[] =>
    apart
      .checkAll(snapshotOf(plain, text))
      .filter(({ object: of }) => of?.namespace !== 'default')
      .map(({ severity, code, field }) => `${severity} ${code} ${field ?? ''}`)
  const inAaa = (text: string): string => text.replace('metadata: { ', 'metadata: { namespace: aaa, ')
  const grant = (kind: string, to: string): string => {
    const group = kind === 'PluginConfig' ? 'plugin.flomesh.io' : 'policy.openservicemesh.io'
    return object(
      policy,
      'ReferenceGrant',
      'r',
      `{ from: [{ group: ${group}, kind: ${kind}, namespace: aaa }], to: [${to}] }`,
    )
  }

  it.each(foreign)('are reported until the namespace grants them: %s', (_title, text, expected, kind, to) => {
    expect(found(inAaa(text))).toContain(expected)
    expect(found(`${inAaa(text)}\n---\n${grant(kind, to)}`)).not.toContain(expected)
  })

  it.each(foreign)('say which grant is missing: %s', (_title, text, _expected, kind) => {
    const problem = apart
      .checkAll(snapshotOf(plain, inAaa(text)))
      .find(({ code }) => code === 'OSM_SPEC_REF_NOT_PERMITTED')
    expect(problem?.message).toContain('needs a ReferenceGrant in namespace default with from {group: ')
    expect(problem?.message).toContain(`kind: ${kind}, namespace: aaa}`)
  })

  it.each<[string, string, readonly string[]]>([
    ['a name that no one trusts', 'caller.example.com', []],
    ['a name that its own namespace trusts', 'own.example.com', []],
    ['the name of the ingress gateway', 'Gateway.Example.com', ['error OSM_SPEC_CERT_NAME spec.subjectAltNames[0]']],
    [
      'a name that another namespace trusts by an IngressBackend',
      'Bank-Client.example.com.',
      ['error OSM_SPEC_REF_NOT_PERMITTED spec.subjectAltNames[0]'],
    ],
    [
      'a name that another namespace trusts by an AccessControl',
      'reports.example.com',
      ['error OSM_SPEC_REF_NOT_PERMITTED spec.subjectAltNames[0]'],
    ],
  ])('are certificates too: %s', (_title, name, expected) => {
    const trusting = (kind: string, principal: string): string =>
      object(
        policy,
        kind,
        'trusts',
        `{ backends: [{ name: web, port: { number: 8080, protocol: https } }], sources: [{ kind: AuthenticatedPrincipal, name: ${principal} }] }`,
      )
    const objects = [
      trusting('IngressBackend', 'bank-client.example.com'),
      trusting('AccessControl', 'reports.example.com'),
      inAaa(trusting('IngressBackend', 'own.example.com')).replace('name: web,', 'name: none,'),
      inAaa(object(policy, 'AccessCert', 'c', `{ subjectAltNames: [${name}], secret: { name: s, namespace: aaa } }`)),
    ].join('\n---\n')
    const certs = (more = ''): readonly string[] =>
      apart
        .checkAll(snapshotOf(plain, objects + more))
        .filter(({ object: of }) => of?.kind === 'AccessCert')
        .map(({ severity, code, field }) => `${severity} ${code} ${field ?? ''}`)
    expect(certs()).toEqual(expected)
    const permission = `{ from: [{ group: policy.openservicemesh.io, kind: AccessCert, namespace: aaa }], to: [{ group: policy.openservicemesh.io, kind: IngressBackend }, { group: policy.openservicemesh.io, kind: AccessControl, name: trusts }] }`
    const left = expected.filter((text) => !text.includes('REF_NOT_PERMITTED'))
    expect(certs(`\n---\n${object(policy, 'ReferenceGrant', 'r', permission)}`)).toEqual(left)
  })

  const namespaceOf = (name: string, annotations = '{}'): string =>
    `{ apiVersion: v1, kind: Namespace, metadata: { name: ${name}, annotations: ${annotations} } }`
  const injection = (value: string): string => `{ openservicemesh.io/sidecar-injection: ${value} }`
  const gatewayConfig = (name: string): string =>
    `{ apiVersion: config.openservicemesh.io/v1alpha2, kind: MeshConfig, metadata: { name: c, namespace: osm-system }, spec: { certificate: { ingressGateway: { subjectAltNames: [${name}], validityDuration: 1h, secret: { name: s, namespace: osm-system } } } } }`
  const certOf = (name: string): string =>
    inAaa(object(policy, 'AccessCert', 'c', `{ subjectAltNames: [${name}], secret: { name: s, namespace: aaa } }`))
  const edge = 'edge.edge.trust.example'
  const grantedTo = (namespace: string): string =>
    target(
      `{ destination: { kind: ServiceAccount, name: web, namespace: default }, sources: [{ kind: ServiceAccount, name: edge, namespace: ${namespace} }], rules: [{ kind: HTTPRouteGroup, name: routes }] }`,
    )

  it.each<[string, string, readonly string[], string | undefined]>([
    ['outside the mesh', gatewayConfig(edge), [], undefined],
    ['in the namespace of the control plane', gatewayConfig('contour.osm-system.trust.example'), [], undefined],
    ['where injection is off', gatewayConfig(edge), [namespaceOf('edge', injection('disabled'))], undefined],
    ['where injection is on', gatewayConfig(edge), [namespaceOf('edge', injection('Enabled'))], 'gets sidecars'],
    [
      'where injection is unreadable',
      gatewayConfig(edge),
      [namespaceOf('edge', injection('perhaps'))],
      'gets sidecars',
    ],
    [
      'with a workload, where injection is off',
      gatewayConfig(edge),
      [
        namespaceOf('edge', injection('disabled')),
        workload('ports: [{ port: 80 }]')
          .replace('name: other', 'name: other, namespace: edge')
          .replace('serviceAccountName: web', 'serviceAccountName: edge'),
      ],
      'which workloads of the mesh have',
    ],
    [
      'that a rule of its namespace names',
      gatewayConfig(edge),
      [grantedTo('edge').replace('name: target', 'name: target, namespace: edge')],
      'which TrafficTarget edge/target names',
    ],
    // Another namespace must not be able to withdraw the certificate.
    ['that a rule of another namespace names', gatewayConfig(edge), [grantedTo('edge')], undefined],
    ['of another namespace', certOf(edge), [], 'which only namespace edge and that of the control plane may request'],
    ['of its own namespace', certOf('a.aaa.trust.example'), [namespaceOf('aaa')], undefined],
  ])(
    'let a caller from outside have the name of an account that no workload can have: %s',
    (_, asker, more, expected) => {
      const problems = apart
        .checkAll(snapshotOf(plain, asker, ...more))
        .filter(({ object: of }) => of?.kind === 'AccessCert' || of?.kind === 'MeshConfig')
      expect(problems.map(({ code }) => code)).toEqual(expected === undefined ? [] : ['OSM_SPEC_CERT_NAME'])
      expect(problems.map(({ message }) => message).join()).toContain(expected ?? '')
    },
  )

  it('are never a reason to refuse an object, because a grant may still come', () => {
    const [, egressOf = ''] = foreign[0] ?? []
    const snapshot = snapshotOf(plain, inAaa(egressOf))
    const object = snapshot.get('Egress', 'aaa', 'e')
    if (object === undefined) throw new Error('the Egress was not read')
    expect(
      apart.review(object, snapshot).filter(({ problem }) => problem.code === 'OSM_SPEC_REF_NOT_PERMITTED'),
    ).toMatchObject([{ pending: true }])
  })

  it('are reported for global gateways and for chains with namespace selectors outside the control plane', () => {
    const gateways = object(policy, 'EgressGateway', 'g', '{ global: [{ service: web, namespace: default }] }')
    expect(found(inAaa(gateways))).toEqual(['warning OSM_SPEC_REF_NOT_PERMITTED spec.global'])
    const chain = object(
      'plugin.flomesh.io/v1alpha1',
      'PluginChain',
      'p',
      '{ chains: [], selectors: { namespaceSelector: { matchLabels: { a: b } } } }',
    )
    expect(found(inAaa(chain))).toEqual(['warning OSM_SPEC_REF_NOT_PERMITTED spec.selectors.namespaceSelector'])
  })

  it('close no https egress of other namespaces by a server that speaks first', () => {
    const service = object('v1', 'Service', 'x', '{ ports: [{ name: x, port: 443, appProtocol: tcp-server-first }] }')
    const mine = (text: string): readonly string[] =>
      apart.checkAll(snapshotOf(plain, text)).flatMap(({ code, object: of }) => (of?.kind === 'Egress' ? [code] : []))
    expect(mine(inAaa(service))).toEqual([])
    expect(mine(service)).toEqual(['OSM_SPEC_PROTOCOL'])
  })

  it('of the Gateway API permit routes of the namespaces that they name, and are left alone where they are for others', () => {
    const grant = (from: string, to: string): string =>
      object('gateway.networking.k8s.io/v1beta1', 'ReferenceGrant', 'r', `{ from: [${from}], to: [${to}] }`)
    const found = (text: string): readonly string[] =>
      apart
        .checkAll(snapshotOf(plain, text))
        .flatMap(({ object: of, code, field = '' }) =>
          of?.kind === 'GatewayReferenceGrant' ? [`${code} ${field}`] : [],
        )
    const routes = '{ group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: aaa }'
    const gateways = '{ group: gateway.networking.k8s.io, kind: Gateway, namespace: aaa }'
    const tcp = '{ group: gateway.networking.k8s.io, kind: TCPRoute, namespace: aaa }'
    expect(
      found(grant(`${routes}, ${gateways}, ${tcp}`, '{ group: "", kind: Service }, { group: "", kind: Secret }')),
    ).toEqual([])
    expect(found(grant(gateways, '{ group: "", kind: Service, name: nowhere }'))).toEqual([])
    expect(found(grant(routes, '{ group: "", kind: Service, name: nowhere }'))).toEqual([
      'OSM_SPEC_REFERENCE spec.to[0].name',
    ])
    expect(found(grant(routes.replace('gateway.networking.k8s.io', '""'), '{ group: "", kind: Service }'))).toEqual([
      'OSM_SPEC_NO_EFFECT spec.from[0].group',
    ])
  })

  it('are told apart from grants that permit nothing the mesh asks about', () => {
    const bad = object(
      policy,
      'ReferenceGrant',
      'r',
      '{ from: [{ group: "", kind: Egress, namespace: aaa }, { group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: aaa }], to: [{ group: "", kind: Secret }, { group: "", kind: ServiceAcount }] }',
    )
    const problems = apart.checkAll(snapshotOf(plain, bad)).filter(({ object: of }) => of?.kind === 'ReferenceGrant')
    expect(problems.map(({ field }) => field)).toEqual(['spec.from[0].group', 'spec.to[1].kind'])
  })
})
