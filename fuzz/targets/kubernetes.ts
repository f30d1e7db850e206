import { asListPage, asObject, asWatchEvent, parseJson } from '../../packages/kubernetes/src/client/decode.js'
import { resourceTypes } from '../../packages/kubernetes/src/resource-types.js'
import { readSlice } from '../../packages/kubernetes/src/source/endpoint-slice.js'
import { Deduplicator } from '../../packages/kubernetes/src/source/deduplicator.js'
import { PodReader, samePod } from '../../packages/kubernetes/src/source/pod.js'
import { formatProbeBindings, ProbeBindingsReader } from '../../packages/kubernetes/src/source/probe-annotation.js'
import type { KubernetesObject } from '../../packages/kubernetes/src/api.js'
import { type FuzzTarget, hasCode, invariant, isRecord, jsonOf, outcomeOf, textOf } from '../fuzz-target.js'

const isResponseError = hasCode('OSM_KUBERNETES_')
/** Text in objects of the corpus that no error may repeat: an answer may be a Secret. */
const SECRET = 'c2VjcmV0LXdvcmQ'

/** The labels and annotations of a pod, which its owner writes. All else the API server has checked by its own types. */
function textsOf(value: unknown): Readonly<Record<string, string>> {
  const entries = isRecord(value) ? Object.entries(value) : []
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

function podOf({ labels, annotations, name, owner, phase }: Readonly<Record<string, unknown>>): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: typeof name === 'string' ? name : 'books',
      namespace: 'shop',
      resourceVersion: '1',
      labels: textsOf(labels),
      annotations: textsOf(annotations),
      ...(typeof owner === 'string' && {
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid: 'u', controller: true }],
      }),
    },
    spec: { serviceAccountName: 'books', containers: [{ name: 'app', ports: [{ containerPort: 80 }] }] },
    status: { phase: typeof phase === 'string' ? phase : 'Running', podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] },
  }
}

/** What is read from the API server. */
export function kubernetesTargets(): readonly FuzzTarget[] {
  const probes = new ProbeBindingsReader()
  return [
    {
      name: 'pod',
      about:
        'Labels and annotations of pods: read the same way whatever was read before, and a wrong one is a problem that names its field.',
      form: 'json',
      words: [
        'osm-proxy-uuid',
        'openservicemesh.io/probe-bindings',
        'openservicemesh.io/sidecar-class',
        'pod-template-hash',
        'Failed',
      ],
      run: (input) => {
        const document = jsonOf(input)
        if (!isRecord(document)) return undefined
        const reader = new PodReader(new Deduplicator(), probes)
        const pod = reader.read(podOf(document))
        if (pod === undefined) return undefined
        for (const { field } of pod.problems)
          invariant(field?.startsWith('metadata.') === true, 'a problem without a field')
        const again = reader.read(podOf(document), pod)
        invariant(again !== undefined && samePod(pod, again), 'a pod is read in another way the second time')
        return pod
      },
    },
    {
      name: 'probe-bindings',
      about:
        'The annotation of rewritten probes, which users can write as well: what is accepted is on ports of probes, once each.',
      form: 'json',
      words: ['15901', '15999', 'http', 'https', 'tcp', 'grpc', '/healthz'],
      run: (input) => {
        const { bindings, fault } = probes.read(textOf(input))
        if (fault !== undefined) invariant(bindings.length === 0, 'bindings beside a fault')
        for (const { port } of bindings)
          invariant(port >= 15_901 && port <= 15_999, 'a binding on a port that is not for probes')
        if (fault === undefined)
          invariant(
            probes.read(formatProbeBindings(bindings)).fault === undefined,
            'bindings are refused when they are read again',
          )
        return { bindings, fault }
      },
    },
    {
      name: 'endpoint-slice',
      about:
        'EndpointSlices, which anybody with the right to write them may make: only TCP ports with a number remain.',
      form: 'json',
      words: ['kubernetes.io/service-name', 'TCP', 'UDP', 'Pod', 'IPv4'],
      run: (input) => {
        const document = jsonOf(input)
        if (!isSlice(document)) return undefined
        const slice = readSlice(document, new Deduplicator())
        for (const { port } of slice?.ports ?? []) invariant(Number.isInteger(port), 'a port without a number')
        return slice
      },
    },
    {
      name: 'api-answer',
      about:
        'Answers of the API server, and of what stands between: unexpected ones are errors with a code that repeat nothing of the answer.',
      form: 'json',
      words: ['ADDED', 'BOOKMARK', 'ERROR', 'resourceVersion', 'items', 'Status', 'Forbidden', 'Expired'],
      secret: SECRET,
      run: (input) => {
        const read = (what: (body: unknown) => unknown): unknown =>
          outcomeOf(() => what(parseJson(textOf(input), 'a Secret')), isResponseError)
        const event = read((body) => asWatchEvent(body, 'watch of Secrets').type)
        return [
          read((body) => asListPage(body, resourceTypes.Secret, 'list of Secrets').items.length),
          read((body) => typeof asObject(body, 'a Secret').metadata),
          // The words of a Status are the API server's own, and are passed on.
          isRecord(event) && 'error' in event ? 'error' : event,
        ]
      },
    },
  ]
}

/** As the API server has checked it by its own types. */
function isSlice(value: unknown): value is KubernetesObject {
  if (!isRecord(value) || !isRecord(value['metadata'])) return false
  const { ports = [], endpoints = [] } = value
  const isTextMember = (member: unknown): boolean =>
    member === undefined || member === null || typeof member === 'string'
  return (
    Array.isArray(ports) &&
    ports.every(
      (port: unknown) =>
        isRecord(port) &&
        (port['port'] === undefined || Number.isInteger(port['port'])) &&
        (port['name'] === undefined || typeof port['name'] === 'string') &&
        (port['protocol'] === undefined || typeof port['protocol'] === 'string'),
    ) &&
    Array.isArray(endpoints) &&
    endpoints.every(
      (each: unknown) =>
        isRecord(each) &&
        (each['addresses'] === undefined ||
          (Array.isArray(each['addresses']) && each['addresses'].every(isTextMember))) &&
        (each['conditions'] === undefined || isRecord(each['conditions'])) &&
        (each['targetRef'] === undefined || isRecord(each['targetRef'])) &&
        isTextMember(each['hostname']) &&
        isTextMember(each['zone']),
    ) &&
    Object.entries(textsOf(value['metadata']['labels'])).length ===
      Object.entries(isRecord(value['metadata']['labels']) ? value['metadata']['labels'] : {}).length &&
    (value['metadata']['labels'] === undefined || isRecord(value['metadata']['labels']))
  )
}
