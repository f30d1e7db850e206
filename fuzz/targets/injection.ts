import fastJsonPatch, { type Operation } from 'fast-json-patch'

import { readAdmissionReview } from '../../packages/program/src/admission/admission-review.js'
import { parseProxyUUID } from '../../packages/core/src/identity/index.js'
import { readInterfaces, readIpRanges, readPorts, readSwitch } from '../../packages/injector/src/annotations/values.js'
import { readResources } from '../../packages/injector/src/annotations/resources.js'
import { injectPod, type InjectionPorts, type JsonObject } from '../../packages/injector/src/index.js'
import { namespaceOf, portsOf, settingsOf } from '../../packages/injector/test/fixture.js'
import { asyncOutcomeOf, type FuzzTarget, hasCode, invariant, isRecord, outcomeOf, textOf } from '../fuzz-target.js'

const isInjectorError = hasCode('OSM_INJECT_', 'OSM_DRIVER_', 'OSM_CONFIG_', 'OSM_IDENTITY_')
const uuid = parseProxyUUID('7f8e4d3c-2b1a-4c5d-8e9f-0a1b2c3d4e5f')
const ANNOTATION = 'openservicemesh.io/example'

/** One certificate for all pods: what is fuzzed is the pod. */
function fixedPorts(): () => Promise<InjectionPorts> {
  let made: Promise<InjectionPorts> | undefined
  return () => (made ??= openPorts())
}

async function openPorts(): Promise<InjectionPorts> {
  const ports = await portsOf()
  const signal = new AbortController().signal
  const certificate = await ports.issue({ uuid, serviceAccount: { namespace: 'shop', name: 'books' } }, signal)
  return { ...ports, newUuid: () => uuid, issue: () => Promise.resolve(certificate) }
}

/** What the injector reads of pods. */
export function injectionTargets(): readonly FuzzTarget[] {
  const ports = fixedPorts()
  const settings = settingsOf()
  return [
    {
      name: 'pod-review',
      about:
        'Reviews of pods by the injector: refused with a code, left alone, or patched, and the patch makes of the pod exactly what was decided, with the user’s own members untouched.',
      form: 'json',
      words: [
        'openservicemesh.io/sidecar-injection',
        'openservicemesh.io/outbound-port-exclusion-list',
        'openservicemesh.io/probe-bindings',
        'osm-proxy-uuid',
        'sidecar',
        'osm-init',
        'containers',
        'initContainers',
        'httpGet',
        'tcpSocket',
        'grpc',
        'port',
        'host',
        'scheme',
        'HTTPS',
        'hostNetwork',
        'securityContext',
        'volumes',
      ],
      budgetMs: 300,
      maxBytes: 8192,
      run: (input) => {
        const request = outcomeOf(() => readAdmissionReview(input), hasCode('OSM_ADMISSION_REVIEW'))
        if (!isRecord(request) || !isRecord(request['value']) || !isRecord(request['value']['object'])) return request
        const pod = request['value']['object'] as JsonObject
        const before = JSON.stringify(pod)
        return asyncOutcomeOf(async () => {
          const signal = new AbortController().signal
          const injection = await injectPod(
            { pod, namespace: namespaceOf(), dryRun: false, signal },
            settings,
            await ports(),
          )
          invariant(JSON.stringify(pod) === before, 'the pod of the request is changed')
          if (injection.outcome !== 'injected')
            return injection.outcome === 'refused'
              ? { refused: injection.error.code, message: injection.error.message }
              : { skipped: injection.reason }
          const { operations, pod: injected } = injection
          const patched = fastJsonPatch.applyPatch(
            JSON.parse(before) as object,
            JSON.parse(JSON.stringify(operations)) as Operation[],
            true,
            true,
            false,
          ).newDocument
          invariant(sameJson(patched, injected), 'the patch makes another pod than the one that was decided on')
          return { operations: operations.length, notes: injection.notes, warnings: injection.warnings }
        }, isInjectorError)
      },
    },
    {
      name: 'pod-annotations',
      about:
        'Values of annotations: an accepted list holds ports, ranges and interface names only, and an error names the annotation.',
      form: 'text',
      words: [
        '80',
        '65535',
        ',',
        '10.0.0.0/8',
        'fd00::/8',
        'eth0',
        'enabled',
        '100m',
        '1Gi',
        '--flag',
        '$(id)',
        '1e99',
      ],
      run: (input) => {
        const text = textOf(input)
        const read = (parse: (text: string, name: string, owner: string) => unknown): unknown => {
          const outcome = outcomeOf(() => parse(text, ANNOTATION, 'the pod'), hasCode('OSM_INJECT_ANNOTATION'))
          if (isRecord(outcome) && typeof outcome['error'] === 'string') {
            invariant(outcome['error'].includes(ANNOTATION), 'an error that does not name the annotation')
            invariant(outcome['error'].length < 1024, 'a long error')
          }
          return outcome
        }
        return [
          read((...given) => readPorts(...given).every((port) => Number.isInteger(port) && port > 0 && port < 65_536)),
          read((...given) => {
            const ranges = readIpRanges(...given)
            invariant(
              ranges.every((range) => /^[0-9a-f.:]+\/\d+$/.test(range)),
              'a range with other characters',
            )
            return ranges
          }),
          read((...given) => {
            const names = readInterfaces(...given)
            invariant(
              names.every((name) => /^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/.test(name)),
              'an interface with other characters',
            )
            return names
          }),
          read(readSwitch),
          outcomeOf(
            () =>
              readResources(
                {
                  [`openservicemesh.io/sidecar-resource-${text}`]: text,
                  'openservicemesh.io/sidecar-resource-limits-cpu': text,
                },
                'the pod',
              ),
            hasCode('OSM_INJECT_ANNOTATION'),
          ),
        ]
      },
    },
  ]
}

/** Equal as JSON, whatever the order of members. */
function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isRecord(value)) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => [key, sorted(member)])
}
