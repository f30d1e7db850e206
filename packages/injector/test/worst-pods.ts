import type { JsonObject } from '../src/index.js'
import { podOf } from './fixture.js'

/** A pod that is as hard to look at as can be, within what the webhook reads. */
export interface WorstPod {
  readonly what: string
  readonly pod: JsonObject
  /** Part of the reason for which it gets no sidecar; absent if it gets one. */
  readonly refusal?: string
}

const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index))

const probe = (port: number): JsonObject => ({ httpGet: { path: '/healthy', port } })

/** Worst cases of what injection looks at. */
export function worstPods(): readonly WorstPod[] {
  return [
    {
      what: 'thousands of containers',
      pod: podOf({}, { spec: { containers: many(20_000, (i) => ({ name: `c${i}`, image: 'x' })) } }),
      refusal: 'has 20000 containers; at most 256 are taken',
    },
    {
      what: 'thousands of containers that run before others',
      pod: podOf({}, { spec: { initContainers: many(9_000, (i) => ({ name: `c${i}`, image: 'x' })) } }),
      refusal: 'has 9001 containers',
    },
    {
      what: 'as many containers as it may have, with probes and ports',
      pod: podOf(
        {},
        {
          spec: {
            containers: many(256, (i) => ({
              name: `c${i}`,
              image: 'x',
              ports: many(100, (j) => ({ name: `p${j}`, containerPort: j + 1 })),
              livenessProbe: probe(8_000 + i),
              readinessProbe: probe(8_000 + i),
              startupProbe: probe(8_000 + i),
            })),
          },
        },
      ),
    },
    {
      what: 'thousands of variables',
      pod: podOf({ env: many(20_000, (i) => ({ name: `V${i}`, value: 'x' })) }),
    },
    {
      what: 'thousands of volumes',
      pod: podOf({}, { spec: { volumes: many(20_000, (i) => ({ name: `v${i}`, emptyDir: {} })) } }),
    },
    {
      what: 'megabytes of labels',
      pod: podOf({}, { metadata: { labels: Object.fromEntries(many(40_000, (i) => [`label-${i}`, 'x'.repeat(40)])) } }),
      refusal: 'labels and annotations of',
    },
    {
      what: 'an annotation of two megabytes',
      pod: podOf({}, { metadata: { annotations: { note: 'x'.repeat(2_000_000) } } }),
      refusal: 'labels and annotations of',
    },
    {
      what: 'ports without an end in an annotation',
      pod: podOf(
        {},
        {
          metadata: {
            annotations: {
              'openservicemesh.io/outbound-port-exclusion-list': many(40_000, (i) => String((i % 65_535) + 1)).join(
                ',',
              ),
            },
          },
        },
      ),
      refusal: 'openservicemesh.io/outbound-port-exclusion-list',
    },
  ]
}
