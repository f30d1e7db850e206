import { describe, expect, it } from '@jest/globals'

import { boundaryCases } from '../../test/spec/validation/boundary-cases.js'
import { certificateCases } from '../../test/spec/validation/certificate-cases.js'
import { extensionCases } from '../../test/spec/validation/extension-cases.js'
import {
  egress,
  faultlessMesh,
  load,
  object,
  snapshotOf,
  split,
  workload,
  type ValidationCase,
} from '../../test/spec/validation/faultless-mesh.js'
import { serviceCases } from '../../test/spec/validation/service-cases.js'
import { smiCases } from '../../test/spec/validation/smi-cases.js'
import { upstreamCases } from '../../test/spec/validation/upstream-cases.js'
import { formatProblem } from '../problem.js'
import { SnapshotBuilder } from '../snapshot/index.js'
import { splitDocuments } from './folder/split-documents.js'
import { objectKey, type MeshObject } from './objects.js'
import { consentNeeded } from './reference-grant.js'
import { allKinds } from './schema/kinds.js'
import { checkedKinds, SpecRules } from './validation.js'

const rules = new SpecRules({
  clusterDomain: 'cluster.local',
  trustDomain: 'trust.example',
  // Cases are about one namespace, which must not be told of its borders.
  osmNamespace: 'default',
  crossNamespace: () => consentNeeded,
  gatewayNames: () => ['gateway.example.com'],
})

/** Rules that have checked nothing yet. */
function apart(): SpecRules {
  return new SpecRules({
    clusterDomain: 'cluster.local',
    trustDomain: 'trust.example',
    osmNamespace: 'default',
    crossNamespace: () => consentNeeded,
    gatewayNames: () => ['gateway.example.com'],
  })
}

const cases: readonly ValidationCase[] = [
  ...smiCases,
  ...serviceCases,
  ...boundaryCases,
  ...upstreamCases,
  ...certificateCases,
  ...extensionCases,
]

describe('SpecRules', () => {
  it('finds nothing wrong with a mesh without fault', () => {
    expect(rules.checkAll(snapshotOf(faultlessMesh)).map(formatProblem)).toEqual([])
  })

  it('checks a snapshot once, and again when settings or places differ', () => {
    let consent = consentNeeded
    let line = 1
    const changing = new SpecRules({
      clusterDomain: 'cluster.local',
      trustDomain: 'trust.example',
      osmNamespace: 'osm-system',
      crossNamespace: () => consent,
      gatewayNames: () => [],
      locate: () => ({ kind: 'file', file: 'mesh.yaml', line, column: 1 }),
    })
    const service = object('v1', 'Service', 'x', '{ ports: [{ name: x, port: 443, appProtocol: tcp-server-first }] }')
    const snapshot = snapshotOf(faultlessMesh, service)
    const stepsOf = (): number => [...changing.checkInSteps(snapshot)].length
    const linesOf = (): readonly unknown[] => changing.checkAll(snapshot).map(({ origin }) => origin)

    expect(stepsOf()).toBeGreaterThan(0)
    expect(stepsOf()).toBe(0)
    expect(linesOf()).not.toEqual([])
    line = 7
    expect(new Set(linesOf().map((origin) => JSON.stringify(origin)))).toEqual(
      new Set(['{"kind":"file","file":"mesh.yaml","line":7,"column":1}']),
    )
    consent = { ...consentNeeded }
    expect(stepsOf()).toBeGreaterThan(0)
  })

  it('looks at one object, or one item of its lists, in each step', () => {
    const snapshot = snapshotOf(faultlessMesh)
    const checked = checkedKinds.flatMap((kind): readonly MeshObject[] => snapshot.list(kind))
    expect([...rules.checkInSteps(snapshot)].length).toBeGreaterThanOrEqual(checked.length)
    const backends = Array.from({ length: 100 }, (_, index) => `{ service: gone-${index}, weight: 1 }`).join(', ')
    const split = object(
      'split.smi-spec.io/v1alpha4',
      'TrafficSplit',
      'long',
      `{ service: web, backends: [${backends}] }`,
    )
    const more =
      [...rules.checkInSteps(snapshotOf(faultlessMesh, split))].length - [...rules.checkInSteps(snapshot)].length
    expect(more).toBeGreaterThanOrEqual(100)
  })

  it.each(cases)('finds %s', (_title, text, expected, message) => {
    const problems = rules.checkAll(snapshotOf(faultlessMesh, text))
    expect(problems.map(({ severity, code, field }) => `${severity} ${code} ${field ?? ''}`)).toEqual([expected])
    expect(problems[0]?.message).toContain(message)
    expect(problems[0]).toMatchObject({ object: { namespace: expect.any(String) }, origin: { file: 'f.yaml' } })
  })

  it('finds after each edit what a check from scratch finds', () => {
    const builder = new SnapshotBuilder(['x'])
    const mesh = load(faultlessMesh)
    const kept = apart()
    const expectSame = (): readonly string[] => {
      const found = kept.checkAll(builder.snapshot).map(formatProblem)
      expect(found).toEqual(apart().checkAll(builder.snapshot).map(formatProblem))
      return found
    }
    builder.apply([{ source: 'x', upserts: mesh, deletes: [] }])
    expect(expectSame()).toEqual([])
    const withProblems = cases.filter(([, text]) => {
      const edited = load(text)
      builder.apply([{ source: 'x', upserts: edited, deletes: [] }])
      const { length } = expectSame()
      builder.apply([{ source: 'x', upserts: [], deletes: edited.map(objectKey) }])
      expectSame()
      builder.apply([{ source: 'x', upserts: mesh, deletes: [] }])
      expect(expectSame()).toEqual([])
      return length > 0
    })
    expect(withProblems.length).toBeGreaterThan(cases.length / 2)
    for (const one of mesh) {
      builder.apply([{ source: 'x', upserts: [], deletes: [objectKey(one)] }])
      expectSame()
      builder.apply([{ source: 'x', upserts: [one], deletes: [] }])
      expect(expectSame()).toEqual([])
    }
  })

  it('checks only the objects that have read what changed', () => {
    const builder = new SnapshotBuilder(['x'])
    const kept = apart()
    const stepsAfter = (upserts: readonly MeshObject[]): number => {
      builder.apply([{ source: 'x', upserts, deletes: [] }])
      return [...kept.checkInSteps(builder.snapshot)].length
    }
    const named = (index: number, selected: number, port = 80): readonly MeshObject[] =>
      load(
        [
          object(
            'v1',
            'Service',
            `s-${index}`,
            `{ selector: { app: a-${selected} }, ports: [{ port: 80, targetPort: x }] }`,
          ),
          workload(`command: [x], ports: [{ name: x, port: ${port} }]`)
            .replace('name: other', `name: w-${index}, labels: { app: a-${index} }`)
            .replace('serviceAccountName: web', `serviceAccountName: a-${index}`),
        ].join('\n---\n'),
      )
    const mesh = Array.from({ length: 100 }, (_, index) => named(index, index)).flat()
    const first = stepsAfter(mesh)
    // A step for each kind, and one for each object that is checked.
    const unchanged = checkedKinds.length
    expect(first).toBe(unchanged + mesh.length)
    expect(stepsAfter(load(object('v1', 'ServiceAccount', 'more', '{}')))).toBe(unchanged)
    expect(stepsAfter(named(5, 6))).toBe(unchanged + 1)
    // The workload, and both services that select it.
    expect(stepsAfter(named(6, 6, 81))).toBe(unchanged + 3)
  })

  it('finds nothing wrong with https and server-first egress of different accounts', () => {
    const others = object('v1', 'ServiceAccount', 'other', '{}')
    const mail = egress('ports: [{ number: 443, protocol: tcp-server-first }]', 'mail').replace(
      'name: client',
      'name: other',
    )
    expect(rules.checkAll(snapshotOf(faultlessMesh, `${others}\n---\n${mail}`)).map(formatProblem)).toEqual([])
  })

  it('looks at every kind that can be wrong beside others', () => {
    const never = [
      'Namespace',
      'ServiceAccount',
      'TCPRoute',
      'ServiceExport',
      'GlobalTrafficPolicy',
      'WorkloadInstance',
      // What is wrong with a route shows when policies are computed.
      'HTTPRoute',
      'GRPCRoute',
      'GatewayTCPRoute',
      'TLSRoute',
    ]
    expect([...checkedKinds, ...never].sort()).toEqual(allKinds())
  })

  it('names the line of the field', () => {
    const text =
      'apiVersion: split.smi-spec.io/v1alpha4\nkind: TrafficSplit\nmetadata:\n  name: s\nspec:\n  service: web\n  backends:\n    - service: a\n      weight: 1\n'
    const located = new SpecRules({
      osmNamespace: 'osm-system',
      crossNamespace: () => consentNeeded,
      gatewayNames: () => ['gateway.example.com'],
      clusterDomain: 'c',
      trustDomain: 't',
      locate: (key, field) => ({ kind: 'file', file: `${key}#${field}`, line: 8, column: 7 }),
    })
    expect(located.checkAll(snapshotOf(text)).map(formatProblem)).toEqual([
      'TrafficSplit/default/s#spec.backends[0].service:8:7: error: TrafficSplit default/s: spec.backends[0].service: Service default/a does not exist [OSM_SPEC_SPLIT_SERVICE]',
      'TrafficSplit/default/s#spec.service:8:7: error: TrafficSplit default/s: spec.service: Service default/web does not exist [OSM_SPEC_SPLIT_SERVICE]',
    ])
  })

  it('checks one object as if it were there, without taking its older version for a rival', () => {
    const snapshot = snapshotOf(faultlessMesh)
    const [same] = load(split('{ service: web, backends: [{ service: web-v2, weight: 1 }] }'))
    const [other] = load(split('{ service: web, backends: [{ service: web-v2, weight: 1 }] }', 'another'))
    if (same === undefined || other === undefined) throw new Error('two objects')
    expect(rules.check(same, snapshot)).toEqual([])
    expect(rules.check(other, snapshot)).toMatchObject([{ code: 'OSM_SPEC_CONFLICT' }])
  })

  it('finds the same whatever order objects came in', () => {
    const texts = [faultlessMesh, ...cases.map(([, text]) => text)]
    const documents = texts.flatMap((text) => splitDocuments(text).map((document) => document.text))
    const objects = new Map(documents.flatMap((text) => load(text)).map((it) => [objectKey(it), it]))
    const found = [[...objects.values()], [...objects.values()].reverse()].map((upserts) => {
      const builder = new SnapshotBuilder(['x'])
      for (const one of upserts) builder.apply([{ source: 'x', upserts: [one], deletes: [] }])
      return rules.checkAll(builder.snapshot).map(formatProblem)
    })
    expect(found[0]?.length).toBeGreaterThan(10)
    expect(found[0]).toEqual(found[1])
  })
})
