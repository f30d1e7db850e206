import { describe, expect, it } from '@jest/globals'
import { compareText, PLUGIN_TYPE, type ClientGateway, type Part, type PluginValue } from '@osm-ts/driver-api/policy'

import { MeshFixture, objectsOf } from '../../../test/catalog/mesh-fixture.js'
import { makeObjectKey } from '../../spec/index.js'

const policy = 'policy.openservicemesh.io/v1alpha1'
const plugin = 'plugin.flomesh.io/v1alpha1'

const object = (apiVersion: string, kind: string, name: string, spec: string, annotations = ''): string => {
  const [namespace = '', own = ''] = name.split('/')
  return `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: ${own}, namespace: ${namespace}${annotations} }\nspec: ${spec}\n---\n`
}
const workload = (name: string, sidecarClass = 'envoy'): string => {
  const app = name.split('/')[1] ?? ''
  return object(
    'standalone.openservicemesh.io/v1alpha1',
    'Workload',
    name,
    `{ serviceAccountName: ${app}, ports: [{ name: p, port: 8080 }], command: [x], sidecarClass: ${sidecarClass} }`,
    `, labels: { app: ${app} }`,
  )
}
const service = (name: string, port: string): string =>
  object('v1', 'Service', name, `{ selector: { app: ${name.split('/')[1] ?? ''} }, ports: [{ ${port} }] }`)
const grant = (namespace: string, from: string, to: string): string =>
  object(policy, 'ReferenceGrant', `${namespace}/grant`, `{ from: [{ ${from}, namespace: aaa }], to: [{ ${to} }] }`)
const teller = '{ kind: ServiceAccount, name: teller, namespace: victim }'

/** A mesh of two namespaces: victim, whose teller leaves the mesh by objects of its own, and aaa, which sorts before it. */
const mesh = (settings = ''): string =>
  [
    object(
      'config.openservicemesh.io/v1alpha2',
      'MeshConfig',
      'osm-system/osm-mesh-config',
      `{ traffic: { ${settings} }, featureFlags: { enablePluginPolicy: true, enableEgressPolicy: true } }`,
    ),
    workload('victim/teller'),
    workload('victim/bank', 'pipy'),
    workload('aaa/mal'),
    service('victim/bank', 'name: http, port: 80, targetPort: 8080'),
    service('aaa/mal', 'name: tcp-tunnels, port: 1080, targetPort: 8080'),
    object(
      policy,
      'Egress',
      'victim/partner',
      `{ sources: [${teller}], hosts: [partner.example.com], ports: [{ number: 80, protocol: http }, { number: 443, protocol: https }] }`,
    ),
    'apiVersion: plugin.flomesh.io/v1alpha1\nkind: Plugin\nmetadata: { name: rules }\nspec: { pipyscript: "x" }\n---\n',
    object(
      plugin,
      'PluginChain',
      'victim/rules',
      '{ chains: [{ name: inbound-http, plugins: [rules] }], selectors: {} }',
    ),
    object(
      plugin,
      'PluginConfig',
      'victim/rules',
      '{ plugin: rules, destinationRefs: [{ kind: Service, name: bank, namespace: victim }], config: { token: of-victim } }',
    ),
  ].join('')

const gatewayRules = (name: string): string =>
  object(
    policy,
    'EgressGateway',
    name,
    '{ rules: [{ egressPolicies: [{ name: partner, namespace: victim }], egressGateways: [{ service: mal, namespace: aaa }] }] }',
  )
const globalGateways = (name: string): string =>
  object(policy, 'EgressGateway', name, '{ global: [{ service: mal, namespace: aaa }] }')
const forgery = (namespace: string): string =>
  object(
    policy,
    'Egress',
    `${namespace}/spoil`,
    `{ sources: [{ kind: ServiceAccount, name: teller, namespace: victim, mtls: { issuer: osm } }], hosts: [partner.example.com], ports: [{ number: 80, protocol: http }], matches: [{ apiGroup: ${policy}, kind: UpstreamTrafficSetting, name: forge }] }`,
  ) +
  object(
    policy,
    'UpstreamTrafficSetting',
    `${namespace}/forge`,
    '{ host: partner.example.com, connectionSettings: { tcp: { maxConnections: 1 } } }',
  )
const opening = (namespace: string): string =>
  object(
    policy,
    'Egress',
    `${namespace}/open`,
    `{ sources: [${teller}], hosts: [elsewhere.example.com], ports: [{ number: 80, protocol: http }] }`,
  )
const otherChain = (namespace: string): string =>
  object(
    plugin,
    'PluginChain',
    `${namespace}/everywhere`,
    '{ chains: [{ name: outbound-http, plugins: [rules] }], selectors: {} }',
  )
const otherConfig = (namespace: string): string =>
  object(
    plugin,
    'PluginConfig',
    `${namespace}/off`,
    '{ plugin: rules, destinationRefs: [{ kind: Service, name: bank, namespace: victim }], config: { token: of-aaa } }',
  )
const serverFirst = object(
  'v1',
  'Service',
  'aaa/x',
  '{ selector: { app: mal }, ports: [{ name: x, port: 443, targetPort: 9, appProtocol: tcp-server-first }] }',
)

/** What someone who owns namespace aaa may write. */
const attacks: readonly (readonly [string, string])[] = [
  ['an EgressGateway with rules', gatewayRules('aaa/steal')],
  ['an EgressGateway with global gateways', globalGateways('aaa/steal')],
  ['an Egress that breaks a destination', forgery('aaa')],
  ['an Egress that opens a destination', opening('aaa')],
  ['a Service whose server speaks first', serverFirst],
  [
    'an Egress whose server speaks first',
    opening('aaa')
      .replace('number: 80, protocol: http', 'number: 443, protocol: tcp-server-first')
      .replace('hosts: [elsewhere.example.com], ', ''),
  ],
  ['a PluginConfig', otherConfig('aaa')],
  ['a PluginChain', otherChain('aaa')],
  [
    'a PluginChain with a namespace selector',
    otherChain('aaa').replace('selectors: {}', 'selectors: { namespaceSelector: {} }'),
  ],
  [
    'grants of its own',
    grant('aaa', 'group: policy.openservicemesh.io, kind: Egress', 'group: "", kind: ServiceAccount') +
      opening('aaa') +
      gatewayRules('aaa/steal'),
  ],
  [
    'a gateway account of another namespace',
    object(policy, 'EgressGateway', 'aaa/exempt', '{ global: [{ service: bank, namespace: victim }] }'),
  ],
]

function start(text = mesh()): MeshFixture {
  const fixture = new MeshFixture()
  fixture.apply(objectsOf(text))
  return fixture
}

const victims = ['victim/teller-0', 'victim/bank-0']

/** Everything that namespace victim gets, and all that it is told. */
function seen(fixture: MeshFixture): unknown {
  return {
    documents: victims.map((name) => fixture.document(name)),
    problems: fixture.catalog.problems().filter(({ object: of }) => of?.namespace === 'victim'),
  }
}

/** As a fresh control plane would compute it. */
function afresh(...texts: readonly string[]): unknown {
  return seen(start(texts.join('')))
}

const partsOf = (fixture: MeshFixture, name: string): readonly Part[] => Object.values(fixture.document(name).parts)

function gateways(fixture: MeshFixture): readonly ClientGateway[] {
  return partsOf(fixture, 'victim/teller-0').flatMap((part) => (part.kind === 'clientRules' ? part.gateways : []))
}

/** Destinations of the teller that have gateways. */
function ruled(fixture: MeshFixture): readonly string[] {
  return gateways(fixture)
    .map(({ egress }) => egress)
    .sort(compareText)
}

function opened(fixture: MeshFixture): readonly string[] {
  return partsOf(fixture, 'victim/teller-0')
    .flatMap((part) => (part.kind === 'egress' ? [part.id] : []))
    .sort(compareText)
}

function pluginsOf(fixture: MeshFixture, name: string): readonly PluginValue[] {
  return partsOf(fixture, name).flatMap((part) =>
    part.kind === 'extension' && part.type === PLUGIN_TYPE ? [part.value as unknown as PluginValue] : [],
  )
}

const own = ['http|partner.example.com:80', 'https|partner.example.com:443'].sort(compareText)
const opensMore = ['http|elsewhere.example.com:80', ...own].sort(compareText)

describe('objects of another namespace', () => {
  it.each(attacks)('change nothing and tell nothing: %s', (_title, text) => {
    const fixture = start()
    const before = seen(fixture)
    fixture.apply(objectsOf(text))
    expect(seen(fixture)).toEqual(before)
    expect(afresh(mesh(), text)).toEqual(before)
  })

  it.each(attacks.filter(([, text]) => /victim/.test(text) && !/PluginC|exempt/.test(text)))(
    'are told that they have no effect: %s',
    (_title, text) => {
      const codes = start(mesh() + text)
        .catalog.problems()
        .flatMap(({ code, object: of }) => (of?.namespace === 'aaa' ? [code] : []))
      expect(codes).toContain('OSM_SPEC_REF_NOT_PERMITTED')
    },
  )
})

/** Grants of namespace victim, and what they let namespace aaa change. */
const grants: readonly (readonly [string, string, string, (fixture: MeshFixture) => unknown, unknown])[] = [
  [
    'gateways of an Egress',
    gatewayRules('aaa/net'),
    grant(
      'victim',
      'group: policy.openservicemesh.io, kind: EgressGateway',
      'group: policy.openservicemesh.io, kind: Egress, name: partner',
    ),
    ruled,
    own,
  ],
  [
    'destinations of an account',
    opening('aaa'),
    grant('victim', 'group: policy.openservicemesh.io, kind: Egress', 'group: "", kind: ServiceAccount, name: teller'),
    opened,
    opensMore,
  ],
]

describe('a ReferenceGrant', () => {
  it.each(grants)(
    'lets another namespace say %s, for as long as it stands',
    (_title, text, permission, look, expected) => {
      const fixture = start(mesh() + text)
      const refused = seen(fixture)
      fixture.apply(objectsOf(permission))
      expect(look(fixture)).toEqual(expected)
      expect(afresh(mesh(), text, permission)).toEqual(seen(fixture))
      fixture.apply([], [makeObjectKey('ReferenceGrant', 'victim', 'grant')])
      expect(seen(fixture)).toEqual(refused)
    },
  )

  it.each(grants)('of another name, kind or namespace permits nothing: %s', (_title, text, permission, look) => {
    const nothing = look(start(mesh() + text))
    const others = [
      permission.replace('namespace: aaa', 'namespace: bbb'),
      permission.replace(/from: \[\{ group: [^,]*,/, 'from: [{ group: "apps",'),
      permission.replace(/name: (teller|partner) /, 'name: other '),
      permission.replace('namespace: victim', 'namespace: aaa'),
    ]
    for (const other of others) {
      expect(other).not.toBe(permission)
      expect(look(start(mesh() + text + other))).toEqual(nothing)
    }
  })

  it('lets another namespace configure a plugin, but objects of the own namespace hold first', () => {
    const permission = grant('victim', 'group: plugin.flomesh.io, kind: PluginConfig', 'group: "", kind: Service')
    const fixture = start(mesh() + otherConfig('aaa') + permission)
    const configs = () => pluginsOf(fixture, 'victim/bank-0').flatMap((each) => each.configs)
    expect(configs()).toEqual([{ service: 'victim/bank', config: { token: 'of-victim' } }])
    fixture.apply([], [makeObjectKey('PluginConfig', 'victim', 'rules')])
    expect(configs()).toEqual([{ service: 'victim/bank', config: { token: 'of-aaa' } }])
    fixture.apply([], [makeObjectKey('ReferenceGrant', 'victim', 'grant')])
    expect(configs()).toEqual([])
  })

  it('lets an object of another namespace come after those of the own one, and the loser is told', () => {
    const permission = grant(
      'victim',
      'group: policy.openservicemesh.io, kind: Egress',
      'group: "", kind: ServiceAccount',
    )
    const fixture = start(mesh() + forgery('aaa') + permission)
    expect(opened(fixture)).toEqual(own)
    const problems = fixture.catalog.problems()
    expect(problems).toContainEqual(
      expect.objectContaining({
        code: 'OSM_POLICY_EGRESS_CONFLICT',
        object: { kind: 'Egress', namespace: 'aaa', name: 'spoil' },
      }),
    )
    expect(problems.filter(({ object: of }) => of?.namespace === 'victim')).toEqual([])
  })
})

describe('objects of the control plane', () => {
  it('send what no rule is about through gateways, except where a namespace has its own', () => {
    const fixture = start(mesh() + globalGateways('osm-system/all'))
    expect(ruled(fixture)).toEqual(['*'])
    fixture.apply(
      objectsOf(object(policy, 'EgressGateway', 'victim/own', '{ global: [{ service: bank, namespace: victim }] }')),
    )
    // Its own gateway can't be used, so nothing leaves; the one of the mesh does not step in.
    expect(gateways(fixture)).toMatchObject([{ egress: '*', targets: [] }])
  })

  it('open destinations to every account, and choose plugins for every workload', () => {
    const fixture = start(mesh() + opening('osm-system') + otherChain('osm-system'))
    expect(opened(fixture)).toEqual(opensMore)
    expect(pluginsOf(fixture, 'victim/teller-0').map(({ chains }) => chains)).toEqual([
      ['inbound-http', 'outbound-http'],
    ])
    expect(pluginsOf(fixture, 'aaa/mal-0').map(({ chains }) => chains)).toEqual([['outbound-http']])
  })

  it('count although their namespace takes no part in the mesh', () => {
    const fixture = new MeshFixture({ enrolment: { mode: 'labelled', meshName: 'osm' } })
    const namespaces = ['victim', 'aaa'].map(
      (name) =>
        `apiVersion: v1\nkind: Namespace\nmetadata: { name: ${name}, labels: { openservicemesh.io/monitored-by: osm } }\n---\n`,
    )
    fixture.apply(objectsOf(namespaces.join('') + mesh() + opening('osm-system') + opening('other')))
    expect(opened(fixture)).toEqual(opensMore)
  })
})

describe('configurations of plugins', () => {
  it('reach sidecars of the namespace of their service only', () => {
    const fixture = start(mesh() + otherChain('osm-system'))
    expect(JSON.stringify(fixture.document('victim/bank-0'))).toContain('of-victim')
    expect(JSON.stringify(fixture.document('aaa/mal-0'))).not.toContain('of-victim')
  })
})

/** Switches of the MeshConfig, and what they restore. */
const switches: readonly (readonly [string, string, (fixture: MeshFixture) => unknown, unknown])[] = [
  ['egress', opening('aaa'), opened, opensMore],
  ['egressGateway', gatewayRules('aaa/net'), ruled, own],
  ['egressGateway', globalGateways('aaa/net'), ruled, ['*']],
  [
    'pluginChain',
    otherChain('aaa'),
    (fixture) => pluginsOf(fixture, 'victim/teller-0').map(({ chains }) => chains),
    [['inbound-http', 'outbound-http']],
  ],
  [
    'pluginConfig',
    otherConfig('aaa').replace('kind: Service, name: bank', 'kind: Service, name: desk'),
    (fixture) => pluginsOf(fixture, 'victim/bank-0').flatMap(({ configs }) => configs.map((config) => config.service)),
    ['victim/bank', 'victim/desk'],
  ],
]

describe('traffic.crossNamespace', () => {
  it.each(switches)('%s restores what needed no consent', (name, text, look, expected) => {
    expect(look(start(mesh(`crossNamespace: { ${name}: true }`) + text))).toEqual(expected)
    expect(look(start(mesh(`crossNamespace: { ${name}: false }`) + text))).not.toEqual(expected)
  })
})

describe('names that only callers of a namespace know', () => {
  it('close no destination of an Egress to callers of other namespaces', () => {
    const open = object(
      policy,
      'Egress',
      'osm-system/intranet',
      `{ sources: [${teller}, { kind: ServiceAccount, name: mal, namespace: aaa }], hosts: [intranet], ports: [{ number: 80, protocol: http }] }`,
    )
    const fixture = start(mesh() + open)
    const before = seen(fixture)
    fixture.apply(objectsOf(service('aaa/intranet', 'name: http, port: 80')))
    expect(seen(fixture)).toEqual(before)
    expect(opened(fixture)).toContain('http|intranet:80')
    expect(partsOf(fixture, 'aaa/mal-0').filter(({ kind }) => kind === 'egress')).toEqual([])
  })
})

describe('an address outside that a namespace writes down', () => {
  it('takes no traffic of others who are let out to it, not where the mesh speaks plaintext either', () => {
    const fixture = new MeshFixture()
    const settings = "enablePermissiveTrafficPolicyMode: true, plaintextNamespaces: ['*']"
    const port = 'name: tcp-db, port: 5432, targetPort: 5432'
    fixture.apply(
      objectsOf(
        mesh(settings) +
          object(
            policy,
            'Egress',
            'victim/database',
            `{ sources: [${teller}], ipAddresses: [198.51.100.0/24], ports: [{ number: 5432, protocol: tcp }] }`,
          ) +
          object('v1', 'Service', 'aaa/trap', `{ clusterIP: None, selector: { app: none }, ports: [{ ${port} }] }`) +
          object(
            'flomesh.io/v1alpha1',
            'ServiceImport',
            'aaa/trap',
            "{ serviceAccountName: mal, ports: [{ port: 5432, endpoints: [{ clusterKey: a/b/c/d, target: { host: x, ip: 198.51.100.9, port: 5432, path: '' } }] }] }",
          ) +
          object('flomesh.io/v1alpha1', 'GlobalTrafficPolicy', 'aaa/trap', '{ lbType: ActiveActive }'),
      ),
    )
    const parts = Object.values(fixture.document('victim/teller-0').parts)
    const trap = parts.filter((part) => part.kind === 'outbound' && part.id === 'aaa/trap|5432')
    expect(trap).toMatchObject([{ addresses: [] }])
    expect(parts).toContainEqual(expect.objectContaining({ kind: 'egress', port: 5432, cidrs: ['198.51.100.0/24'] }))
  })
})
