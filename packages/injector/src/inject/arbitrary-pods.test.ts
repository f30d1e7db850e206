import { beforeAll, describe, expect, it } from '@jest/globals'
import type { JsonValue } from '@osm-ts/driver-api/policy'
import fc from 'fast-check'
import jsonPatchLibrary, { type Operation } from 'fast-json-patch'

import { namespaceOf, portsOf, requestOf, settingsOf } from '../../test/fixture.js'
import type { JsonObject } from '../json/json.js'
import { type InjectionPorts, injectPod } from './inject-pod.js'

const { applyPatch } = jsonPatchLibrary

/** Fields that no one here has heard of. */
const unknown = fc.dictionary(
  fc.constantFrom('futureField', 'x-y/z', '~', 'Ω'),
  fc.oneof(fc.constantFrom<JsonValue>(null, true, 0, '', 'text'), fc.array(fc.integer(), { maxLength: 2 })),
  { maxKeys: 2, noNullPrototype: true },
)
const texts = fc.dictionary(fc.constantFrom('app', 'example.com/a', 'b~c'), fc.string(), {
  maxKeys: 3,
  noNullPrototype: true,
})
const port = fc.oneof(fc.integer({ min: 1, max: 65_535 }), fc.constantFrom('web', 'nowhere', '8080'))
const probe = fc
  .tuple(
    fc.oneof(
      fc.record({ httpGet: fc.record({ port, path: fc.constantFrom('/', '/a?b', 'c') }) }),
      fc.record({ tcpSocket: fc.record({ port }) }),
      fc.record({ grpc: fc.record({ port: fc.constantFrom(1, 2, 3) }) }),
      fc.constant({ exec: { command: ['true'] } }),
    ),
    unknown,
  )
  .map(([handler, more]) => ({ ...more, ...handler }))
const container = fc
  .tuple(
    fc.record(
      {
        image: fc.string(),
        ports: fc.constant([{ name: 'web', containerPort: 80 }]),
        livenessProbe: probe,
        readinessProbe: probe,
        startupProbe: probe,
        lifecycle: fc.constant({ preStop: { httpGet: { port: 80 } } }),
        securityContext: fc.record({ runAsUser: fc.constantFrom(0, 1000) }),
      },
      { requiredKeys: [] },
    ),
    unknown,
  )
  .map(([known, more]) => ({ ...more, ...known }))
const named = (prefix: string, minLength: number) =>
  fc
    .array(container, { minLength, maxLength: 3 })
    .map((list) => list.map((item, index) => ({ name: `${prefix}${index}`, ...item })))
const pods: fc.Arbitrary<JsonObject> = fc
  .record({
    metadata: fc.record({ name: fc.constant('p'), labels: texts, annotations: texts }, { requiredKeys: ['name'] }),
    spec: fc.record(
      {
        containers: named('c', 1),
        initContainers: named('i', 0),
        volumes: fc.constant([{ name: 'v', emptyDir: {} }]),
        serviceAccountName: fc.constantFrom('books', 'books.v2'),
        terminationGracePeriodSeconds: fc.nat(60),
      },
      { requiredKeys: ['containers'] },
    ),
    more: unknown,
  })
  .map(({ more, ...pod }) => ({ apiVersion: 'v1', kind: 'Pod', ...more, ...pod }))

describe('injection of any pod', () => {
  let ports: InjectionPorts

  beforeAll(async () => {
    ports = await portsOf()
  })

  it.each([true, false])(
    'is a patch that changes nothing of others and nothing twice (native sidecars: %s)',
    async (nativeSidecars) => {
      const settings = settingsOf({}, { nativeSidecars })
      await fc.assert(
        fc.asyncProperty(pods, async (pod) => {
          const before = structuredClone(pod)
          const result = await injectPod(requestOf(pod, namespaceOf()), settings, ports)
          if (result.outcome !== 'injected') throw new Error(JSON.stringify(result))
          expect(pod).toEqual(before)
          const patched = applyPatch(
            structuredClone(before),
            structuredClone(result.operations) as Operation[],
          ).newDocument
          expect(patched).toEqual(result.pod)
          for (const { op, path } of result.operations) expect(`${op} ${path}`).toMatch(ALLOWED)
          const again = await injectPod(requestOf(patched), settings, {
            ...ports,
            reusableUuid: () => Promise.resolve(result.uuid),
          })
          expect(again).toMatchObject({ outcome: 'injected', uuid: result.uuid, operations: [] })
          const copy = await injectPod(requestOf(patched), settings, ports)
          if (copy.outcome !== 'injected') throw new Error(JSON.stringify(copy))
          const other = (text: string): string => text.replaceAll(copy.uuid, result.uuid)
          expect(JSON.parse(other(JSON.stringify(copy.pod)))).toEqual(result.pod)
        }),
        { numRuns: 60 },
      )
    },
  )
})

/** The only places that an injection writes to. */
const ALLOWED = new RegExp(
  [
    'add /metadata/(labels|annotations)(/(osm-proxy-uuid|openservicemesh\\.io~1(sidecar-class|probe-bindings)))?',
    'add /spec/(initContainers|containers|volumes)(/\\d+)?',
    '(add|replace|remove) /spec/(initContainers|containers)/\\d+/(liveness|readiness|startup)Probe/(httpGet|tcpSocket|grpc)(/(path|port|scheme))?',
  ]
    .map((place) => `^${place}$`)
    .join('|'),
)
