import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import type { TSchema } from '@sinclair/typebox'
import fc from 'fast-check'

import { examplesByKind } from '../../test/spec/examples.js'
import { formatProblem } from '../problem.js'
import { PatternChecker } from './pattern.js'
import { ObjectDecoder } from './object-decoder.js'
import type { KindMap, MeshObject } from './objects.js'
import { readObjects } from './read-objects.js'
import { allKinds, kindDefinitions, type Kind } from './schema/kinds.js'

const decoder = new ObjectDecoder()
const testdata = (name: string): string => readFileSync(new URL(`./testdata/${name}`, import.meta.url), 'utf8')
const instanceExample = testdata('instance.json')
const examples = examplesByKind()

function example(kind: Kind): string {
  const text = examples.get(kind)?.text
  if (text === undefined) throw new Error(`no example of ${kind}`)
  return text
}

function read(text: string): { objects: readonly MeshObject[]; problems: readonly string[] } {
  const { objects, problems } = readObjects(text, { file: 'a.yaml', decoder })
  return { objects, problems: problems.map(formatProblem) }
}

/** The one object of a text that must be without fault. */
function only<K extends Kind>(kind: K, text: string): KindMap[K] {
  const { objects, problems } = read(text)
  expect(problems).toEqual([])
  const [object] = objects
  if (objects.length !== 1 || object?.kind !== kind)
    throw new Error(`expected one ${kind}, got ${JSON.stringify(objects)}`)
  return object as unknown as KindMap[K]
}

/** Fields of a schema that a value does not have; for lists, that none of its items has. */
function missingFields(schema: TSchema, value: unknown, path: string): readonly string[] {
  if (value === undefined) return [path]
  if (schema.type === 'array') {
    const items = value as readonly unknown[]
    const [first = []] = items.map((item) => missingFields(schema.items as TSchema, item, `${path}[]`))
    return items
      .map((item) => missingFields(schema.items as TSchema, item, `${path}[]`))
      .reduce((common, missing) => common.filter((field) => missing.includes(field)), first)
  }
  const properties = Object.entries((schema.properties ?? {}) as Record<string, TSchema>)
  return properties.flatMap(([name, member]) =>
    missingFields(member, (value as Record<string, unknown>)[name], `${path}.${name}`),
  )
}

function doc(apiVersion: string, kind: string, rest: string): string {
  return `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: x }\n${rest}`
}

const split = (rest: string): string => doc('split.smi-spec.io/v1alpha4', 'TrafficSplit', rest)
const routes = (rest: string, version = 'v1alpha4'): string =>
  doc(`specs.smi-spec.io/${version}`, 'HTTPRouteGroup', rest)
const config = (rest: string): string => doc('config.openservicemesh.io/v1alpha2', 'MeshConfig', rest)

describe('decoding', () => {
  it.each(allKinds().filter((kind) => kind !== 'WorkloadInstance'))('reads every field of %s', (kind) => {
    const object = only(kind, example(kind))
    expect(object.apiVersion).toBe(kindDefinitions[kind].apiVersion)
    expect(object.metadata.namespace === '').toBe(kindDefinitions[kind].scope === 'Cluster')
    // Written with every field, it must come out with every field that the schema has.
    expect(missingFields(kindDefinitions[kind].spec, object.spec, 'spec')).toEqual([])
  })

  it('reads instances of workloads, in the state folder only', () => {
    const { objects, problems } = readObjects(instanceExample, { writtenBy: 'runtime' })
    expect(problems).toEqual([])
    expect(objects).toMatchObject([
      { kind: 'WorkloadInstance', spec: { allocations: { inbound: { 'shop/web|80': { port: 21000 } } } } },
    ])
    expect(readObjects(instanceExample).problems).toMatchObject([{ code: 'OSM_SPEC_KIND_INTERNAL', field: 'kind' }])
  })

  it('freezes objects all the way down', () => {
    const object = only('PluginConfig', example('PluginConfig'))
    const visit = (value: unknown): void => {
      if (value === null || typeof value !== 'object') return
      expect(Object.isFrozen(value)).toBe(true)
      Object.values(value).forEach(visit)
    }
    visit(object)
  })

  it('names the place, the object, the field and what would be right', () => {
    const text = split(
      'spec:\n  service: web\n  backends:\n    - service: a\n      weight: 1\n    - service: b\n      weight: heavy\n',
    )
    expect(read(text).problems).toEqual([
      'a.yaml:10:7: error: TrafficSplit default/x: spec.backends[1].weight: must be an integer, not "heavy" [OSM_SPEC_SCHEMA]',
    ])
  })

  it.each<[string, string, string]>([
    [
      'a missing field',
      split('spec: { backends: [] }'),
      'spec.service: is missing: Apex service whose traffic is split',
    ],
    ['a value out of a list', config('spec: { sidecar: { logLevel: dbug } }'), 'must be one of trace, debug, info'],
    ['a near miss of a list', config('spec: { sidecar: { logLevel: debgu } }'), 'did you mean "debug"?'],
    [
      'a number out of range',
      config('spec: { traffic: { inboundPortExclusionList: [0] } }'),
      'must be from 1 to 65535, not 0',
    ],
    [
      'a number below its least',
      config('spec: { sidecar: { maxDataPlaneConnections: -1 } }'),
      'must be at least 0, not -1',
    ],
    ['an empty text', split('spec: { service: "" }'), 'spec.service: must not be empty'],
    ['a list for an object', split('spec: []'), 'spec: must be an object, not a list'],
    [
      'an object for a list',
      split('spec: { service: a, backends: {} }'),
      'spec.backends: must be an array, not an object',
    ],
    [
      'too many items',
      doc(
        'policy.openservicemesh.io/v1alpha1',
        'AccessCert',
        'spec: { subjectAltNames: [a, b], secret: { name: s, namespace: n } }',
      ),
      'must have at most 1 item',
    ],
    [
      'a bad port name',
      doc('v1', 'Service', 'spec: { ports: [{ port: 80, targetPort: 70000 }] }'),
      'must be a port number from 1 to 65535 or the name of a port, not 70000',
    ],
  ])('explains %s', (_case, text, expected) => {
    const { objects, problems } = read(text)
    expect(objects).toEqual([])
    expect(problems).toEqual([expect.stringContaining(expected)])
  })

  it('never repeats what may be a password', () => {
    const text = doc(
      'standalone.openservicemesh.io/v1alpha1',
      'Workload',
      'spec: { command: [x], env: [{ name: "PASSWORD=hunter2" }] }',
    )
    const { problems } = read(text)
    expect(problems).toHaveLength(1)
    expect(problems.join()).not.toContain('hunter2')
  })
})

describe('unknown things', () => {
  it('warns of unknown fields, guesses what was meant, and reads the rest', () => {
    const { objects, problems } = read(split('spec: { service: web, bakends: [], colour: red }\nstauts: {}'))
    expect(problems).toEqual([
      'a.yaml:5:1: warning: TrafficSplit default/x: stauts: is not known and not read; did you mean "status"? [OSM_SPEC_FIELD_UNKNOWN]',
      'a.yaml:4:23: warning: TrafficSplit default/x: spec.bakends: is not known and not read; did you mean "backends"? [OSM_SPEC_FIELD_UNKNOWN]',
      'a.yaml:4:36: warning: TrafficSplit default/x: spec.colour: is not known and not read [OSM_SPEC_FIELD_UNKNOWN]',
    ])
    expect(objects).toMatchObject([{ spec: { service: 'web', backends: [] } }])
    expect(Object.keys(objects[0]?.spec ?? {})).toEqual(['service', 'backends'])
  })

  it('names known kinds and versions', () => {
    expect(read(doc('split.smi-spec.io/v1alpha4', 'TraficSplit', '')).problems[0]).toMatch(
      /a\.yaml:2:1: error: kind: "TraficSplit" is not known; did you mean "TrafficSplit"\? Known kinds are AccessCert, .*Workload \[OSM_SPEC_KIND\]/,
    )
    expect(read(doc('split.smi-spec.io/v1', 'TrafficSplit', '')).problems[0]).toContain(
      '"split.smi-spec.io/v1" is not known for TrafficSplit; split.smi-spec.io/v1alpha4, split.smi-spec.io/v1alpha3, ' +
        'split.smi-spec.io/v1alpha2, split.smi-spec.io/v1alpha1 are [OSM_SPEC_VERSION]',
    )
  })

  it('only warns of objects for somebody else', () => {
    const { problems } = readObjects(doc('apps/v1', 'Deployment', 'spec: {}'))
    expect(problems).toMatchObject([{ code: 'OSM_SPEC_KIND', severity: 'warning' }])
  })

  it.each([
    ['text', 'OSM_SPEC_OBJECT'],
    ['[1, 2]', 'OSM_SPEC_OBJECT'],
    ['{ a: 1 }', 'OSM_SPEC_OBJECT'],
    ['{ kind: Service, metadata: { name: x } }', 'OSM_SPEC_OBJECT'],
    ['{ apiVersion: v1, kind: Service }', 'OSM_SPEC_OBJECT'],
    ['{ apiVersion: { toString: 1, valueOf: 2 }, kind: TCPRoute, metadata: { name: a } }', 'OSM_SPEC_OBJECT'],
    ['{ apiVersion: { toString: 1, valueOf: 2 }, kind: Servicee, metadata: { name: a } }', 'OSM_SPEC_KIND'],
    ['{ apiVersion: v1, kind: Service, metadata: { name: "a/b" } }', 'OSM_SPEC_NAME'],
    ['{ apiVersion: v1, kind: Service, metadata: { name: Web } }', 'OSM_SPEC_NAME'],
    ['{ apiVersion: v1, kind: Service, metadata: { name: a, namespace: "a.b" } }', 'OSM_SPEC_NAME'],
    [`{ apiVersion: v1, kind: Service, metadata: { name: ${'a'.repeat(64)} } }`, 'OSM_SPEC_NAME'],
    ['{ apiVersion: v1, kind: ServiceAccount, metadata: { name: a..b } }', 'OSM_SPEC_NAME'],
    ['{ apiVersion: v1, kind: Service, metadata: { name: a, labels: [x] } }', 'OSM_SPEC_SCHEMA'],
    ['{ apiVersion: v1, kind: Service, metadata: { name: a, labels: { x: {} } } }', 'OSM_SPEC_SCHEMA'],
  ])('refuses %s', (text, code) => {
    const { objects, problems } = readObjects(text, { decoder })
    expect(objects).toEqual([])
    expect(problems).toMatchObject([{ code, severity: 'error' }])
  })

  it('accepts service accounts with dots and cluster-scoped objects with a namespace', () => {
    expect(only('ServiceAccount', 'apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: a.b }').metadata.name).toBe(
      'a.b',
    )
    const plugin = example('Plugin').replace('metadata: {', 'metadata: { namespace: somewhere,')
    expect(only('Plugin', plugin).metadata.namespace).toBe('')
  })
})

describe('traps of YAML', () => {
  it('reads off as the log level, however it was typed', () => {
    for (const text of ['off', '"off"', 'false', 'Off', 'NO'])
      expect(only('MeshConfig', config(`spec: { sidecar: { logLevel: ${text} } }`)).spec.sidecar?.logLevel).toBe('off')
  })

  it('reads the words of YAML 1.1 for truth', () => {
    const flags = only(
      'MeshConfig',
      config('spec: { traffic: { enableEgress: yes, enablePermissiveTrafficPolicyMode: Off } }'),
    )
    expect(flags.spec.traffic).toEqual({ enableEgress: true, enablePermissiveTrafficPolicyMode: false })
  })

  it('keeps the text of unquoted numbers where a text is wanted', () => {
    const service = only(
      'Service',
      'apiVersion: v1\nkind: Service\nmetadata: { name: x, labels: { version: 1.10, hex: 0x1F, flag: true, empty: } }\nspec: { selector: { version: 1.10 } }',
    )
    expect(service.metadata.labels).toEqual({ version: '1.10', hex: '0x1F', flag: 'true' })
    expect(service.spec.selector).toEqual({ version: '1.10' })
    const fraction = only(
      'MeshConfig',
      config('spec: { observability: { tracing: { enable: on, sampledFraction: 1.0 } } }'),
    )
    expect(fraction.spec.observability?.tracing?.sampledFraction).toBe('1.0')
  })

  it('reads numbers that were written as texts', () => {
    const object = only('TrafficSplit', split('spec: { service: a, backends: [{ service: b, weight: "50" }] }'))
    expect(object.spec.backends[0]?.weight).toBe(50)
    const service = only(
      'Service',
      doc('v1', 'Service', 'spec: { ports: [{ port: "80", targetPort: "8080" }, { port: 81, targetPort: http }] }'),
    )
    expect(service.spec.ports).toMatchObject([
      { port: 80, targetPort: 8080 },
      { port: 81, targetPort: 'http' },
    ])
  })

  it('takes nothing for absent', () => {
    const object = only(
      'TrafficTarget',
      doc(
        'access.smi-spec.io/v1alpha3',
        'TrafficTarget',
        'spec:\n  destination: { kind: ServiceAccount, name: a, namespace: }\n  rules:\n  sources: ~\n',
      ),
    )
    expect(object.spec).toEqual({ destination: { kind: 'ServiceAccount', name: 'a' }, rules: [], sources: [] })
  })

  it('reads anchors, merge keys and lists as kubectl prints them', () => {
    const { objects, problems } = read(
      [
        'apiVersion: v1',
        'kind: List',
        'items:',
        '  - apiVersion: v1',
        '    kind: ServiceAccount',
        '    metadata: &meta { name: a, namespace: n }',
        '  - apiVersion: v1',
        '    kind: ServiceAccount',
        '    metadata: { <<: *meta, name: b }',
        '  - apiVersion: v1',
        '    kind: Service',
        '    metadata: { name: c }',
        '    spec: { ports: [{ port: none }] }',
      ].join('\n'),
    )
    expect(objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual(['n/a', 'n/b'])
    expect(problems).toEqual([
      expect.stringMatching(/^a\.yaml:13:23: error: Service default\/c: spec\.ports\[0\]\.port: must be an integer/),
    ])
  })
})

describe('older versions', () => {
  it('reads TrafficTargets of v1alpha1 and places their faults', () => {
    const text = doc(
      'access.smi-spec.io/v1alpha1',
      'TrafficTarget',
      'destination: { kind: ServiceAccount, name: a, namespace: default, port: 8080 }\nspecs:\n  - { kind: TCPRoute, name: r }\nsources:\n  - { kind: ServiceAccount, name: b, namespace: default }\n',
    )
    expect(only('TrafficTarget', text)).toMatchObject({
      apiVersion: 'access.smi-spec.io/v1alpha3',
      spec: { destination: { name: 'a', port: 8080 }, rules: [{ kind: 'TCPRoute' }], sources: [{ name: 'b' }] },
    })
    expect(read(text.replace('name: r', 'nme: r')).problems).toEqual([
      expect.stringContaining('a.yaml:6:23: warning: TrafficTarget default/x: spec.rules[0].nme'),
      expect.stringContaining('a.yaml:6:5: error: TrafficTarget default/x: spec.rules[0].name: is missing'),
    ])
  })

  it.each(['v1alpha1', 'v1alpha2'])('reads HTTPRouteGroups of %s', (version) => {
    const object = only(
      'HTTPRouteGroup',
      routes('matches: [{ name: a, pathRegex: /a, headers: { x: "1", y: "2" } }]', version),
    )
    expect(object.spec.matches).toEqual([{ name: 'a', pathRegex: '/a', headers: [{ x: '1' }, { y: '2' }] }])
  })

  it('reads headers as one map, as maps of one entry, and as larger maps; the last of equal names holds', () => {
    for (const headers of [
      '{ a: "1", b: "2" }',
      '[{ a: "1" }, { b: "2" }]',
      '[{ a: "1", b: "2" }]',
      '[{ a: "0" }, { b: "2" }, { a: "1" }]',
    ]) {
      const object = only('HTTPRouteGroup', routes(`spec: { matches: [{ name: m, headers: ${headers} }] }`))
      expect(object.spec.matches[0]?.headers).toEqual([{ a: '1' }, { b: '2' }])
    }
  })

  it('reads TCPRoutes without a spec as any connection', () => {
    expect(only('TCPRoute', doc('specs.smi-spec.io/v1alpha1', 'TCPRoute', '')).spec).toEqual({})
  })

  it('tells the TCPRoutes of SMI and of the Gateway API apart by their groups', () => {
    const spec = '{ rules: [{ backendRefs: [{ name: a, port: 1 }] }] }'
    const of = (apiVersion: string, text: string): string =>
      `apiVersion: ${apiVersion}\nkind: TCPRoute\nmetadata: { name: t, namespace: n }\nspec: ${text}\n`
    const versions = [
      'gateway.networking.k8s.io/v1',
      'gateway.networking.k8s.io/v1alpha2',
      'specs.smi-spec.io/v1alpha2',
    ]
    const { objects, problems } = read(
      [of(versions[0] ?? '', spec), of(versions[1] ?? '', spec), of(versions[2] ?? '', '{}')].join('---\n'),
    )
    expect(objects.map((object) => [object.kind, object.apiVersion])).toEqual([
      ['GatewayTCPRoute', 'gateway.networking.k8s.io/v1'],
      ['GatewayTCPRoute', 'gateway.networking.k8s.io/v1'],
      ['TCPRoute', 'specs.smi-spec.io/v1alpha4'],
    ])
    expect(problems).toEqual([])
    expect(read(of('gateway.networking.k8s.io/v1', '{ rules: [] }')).problems).toEqual([
      expect.stringContaining('spec.rules'),
    ])
  })

  it('reads weights as quantities', () => {
    const weights = (text: string): unknown =>
      only('TrafficSplit', doc('split.smi-spec.io/v1alpha1', 'TrafficSplit', `spec: { service: s, backends: ${text} }`))
        .spec.backends
    expect(weights('[{ service: a, weight: 500m }, { service: b, weight: 1 }]')).toMatchObject([
      { weight: 500 },
      { weight: 1000 },
    ])
    expect(weights('[{ service: a, weight: 1 }, { service: b, weight: "3" }]')).toMatchObject([
      { weight: 1 },
      { weight: 3 },
    ])
  })

  it.each(['SidecarImageWindowsImage', 'sideWindowsImage', 'sidecarImageWindowsImage'])(
    'reads the Windows image as %s',
    (name) => {
      const object = only(
        'MeshConfig',
        config(`spec: { sidecar: { ${name}: w, sidecarDrivers: [{ sidecarName: d, ${name}: v }] } }`),
      )
      expect(object.spec.sidecar).toMatchObject({
        sidecarWindowsImage: 'w',
        sidecarDrivers: [{ sidecarWindowsImage: 'v' }],
      })
    },
  )

  it('reads MeshConfigs of v1alpha1', () => {
    const text = doc(
      'config.openservicemesh.io/v1alpha1',
      'MeshConfig',
      'spec: { observability: { tracing: { sampledFraction: 0.5 } } }',
    )
    expect(only('MeshConfig', text).spec.observability?.tracing?.sampledFraction).toBe('0.5')
  })
})

describe('hostile input', () => {
  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x]',
    ...'bcdefgh'
      .split('')
      .map(
        (name, index) =>
          `${name}: &${name} [${Array.from({ length: 9 }, () => `*${'abcdefgh'[index] ?? ''}`).join(',')}]`,
      ),
  ].join('\n')

  it('refuses bombs of aliases', () => {
    const { objects, problems } = readObjects(bomb, { decoder })
    expect(objects).toEqual([])
    expect(problems).toMatchObject([{ code: 'OSM_SPEC_SYNTAX' }])
  })

  it('refuses nesting without end, in YAML and in JSON', () => {
    for (const depth of [1000, 20_000]) {
      const nested = doc(
        'plugin.flomesh.io/v1alpha1',
        'PluginConfig',
        `spec: { config: ${'{a: '.repeat(depth)}1${'}'.repeat(depth)} }`,
      )
      const json = `{"apiVersion":"plugin.flomesh.io/v1alpha1","kind":"PluginConfig","metadata":{"name":"x"},"spec":{"config":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}}`
      for (const text of [nested, json]) {
        const { objects, problems } = readObjects(text, { decoder })
        expect(objects).toEqual([])
        expect(problems.length).toBeGreaterThan(0)
        expect(problems.every(({ severity }) => severity === 'error')).toBe(true)
      }
    }
  })

  it('keeps members named like those of prototypes and sets no prototype', () => {
    const json =
      '{"apiVersion":"plugin.flomesh.io/v1alpha1","kind":"PluginConfig","metadata":{"name":"x","labels":{"__proto__":"a","constructor":"b"}},"spec":{"__proto__":{"polluted":true},"plugin":"p","destinationRefs":[],"config":{"__proto__":{"polluted":true},"toString":"x"}},"__proto__":{"kind":"Other"}}'
    const yaml = json.replaceAll('"', "'")
    for (const text of [json, yaml]) {
      const { objects, problems } = readObjects(text, { decoder })
      expect(problems.every(({ code }) => code === 'OSM_SPEC_FIELD_UNKNOWN')).toBe(true)
      expect(objects).toHaveLength(1)
      const [object] = objects
      expect(JSON.stringify(object?.metadata.labels)).toBe('{"__proto__":"a","constructor":"b"}')
      expect(JSON.stringify(object?.spec)).toBe(
        '{"plugin":"p","destinationRefs":[],"config":{"__proto__":{"polluted":true},"toString":"x"}}',
      )
      expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    }
  })

  it('never throws', () => {
    const fragments = fc.constantFrom(
      ...[...examples.values()].flatMap(({ text }) => text.split('\n')),
      '---',
      '...',
      '&a',
      '*a',
      '"',
      '{',
      '[',
      '%YAML 1.2',
      '\t',
      '- - -',
      '? :',
      '!!binary x',
      'a: b: c',
      '<<: *a',
      '\uFEFF',
      '\u0000',
    )
    fc.assert(
      fc.property(fc.array(fragments, { maxLength: 25 }), (lines) => {
        const { objects, problems } = readObjects(lines.join('\n'), { decoder })
        for (const object of objects) expect(object.metadata.name).not.toBe('')
        for (const problem of problems) expect(problem.message).not.toBe('')
      }),
      { numRuns: 500 },
    )
  })
})

describe('ObjectDecoder with patterns', () => {
  const group = (match: string): string =>
    `apiVersion: specs.smi-spec.io/v1alpha4\nkind: HTTPRouteGroup\nmetadata: { name: g }\nspec: { matches: [{ name: m, ${match} }] }\n`
  const strict = new ObjectDecoder('user', new PatternChecker())

  it.each([
    ['a path', 'pathRegex: "/a("', 'spec.matches[0].pathRegex'],
    ['a header', 'headers: [{ host: "a" }, { user-agent: "[" }]', 'spec.matches[0].headers[1].user-agent'],
    ['too large a program', 'pathRegex: "(((a{100}){100}){100}){10}"', 'spec.matches[0].pathRegex'],
  ])('refuses an object with %s that is not an RE2 expression, and names the field', (_what, match, field) => {
    const { objects, problems } = readObjects(group(match), { decoder: strict })
    expect(objects).toEqual([])
    expect(problems).toMatchObject([{ code: 'OSM_SPEC_REGEX', severity: 'error', field, object: { name: 'g' } }])
  })

  it('takes good expressions, and bad ones where nothing remembers an earlier version', () => {
    expect(readObjects(group('pathRegex: "/a.*"'), { decoder: strict })).toMatchObject({ objects: [{}], problems: [] })
    expect(readObjects(group('pathRegex: "/a("')).objects).toHaveLength(1)
  })
})
