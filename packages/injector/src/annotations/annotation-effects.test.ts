import { beforeAll, describe, expect, it } from '@jest/globals'
import { newProxyUUID } from '@osm-ts/core'

import { annotated, namespaceOf, podOf, portsOf, requestOf, settingsOf } from '../../test/fixture.js'
import { injectPod, type Injection, type InjectionPorts } from '../inject/inject-pod.js'
import { annotations } from './annotation.js'

type ReadAnnotation = Exclude<keyof typeof annotations, 'scrape' | 'scrapePort' | 'scrapePath'>

/** Of each annotation that injection reads: where it is written, and a value that changes something. */
const values: Readonly<
  Record<ReadAnnotation, { readonly on: 'pod' | 'namespace'; readonly suffix?: string; readonly value: string }>
> = {
  injection: { on: 'pod', value: 'disabled' },
  workloadIdentity: { on: 'pod', value: 'mesh' },
  metrics: { on: 'namespace', value: 'enabled' },
  inboundPortExclusions: { on: 'pod', value: '9100' },
  outboundPortExclusions: { on: 'pod', value: '6379' },
  outboundIpRangeExclusions: { on: 'pod', value: '10.9.0.0/16' },
  outboundIpRangeInclusions: { on: 'pod', value: '10.9.0.0/16' },
  interfaceExclusions: { on: 'pod', value: 'eth1' },
  resources: { on: 'pod', suffix: 'limits-cpu', value: '123m' },
}

const settings = settingsOf(
  {},
  {
    workloadApi: {
      source: { kind: 'csi', driver: 'csi.spiffe.io' },
      socketName: 'spire-agent.sock',
      isDefault: true,
    },
  },
)

/** What becomes of a pod, without the annotation that it came with. */
function outcomeOf(injection: Injection, name: string): string {
  const text = JSON.stringify(injection.outcome === 'injected' ? injection.pod : injection)
  return text.replace(new RegExp(`"${name}":"[^"]*",?`), '').replaceAll(',}', '}')
}

describe('annotations of pods and namespaces', () => {
  let ports: InjectionPorts

  beforeAll(async () => {
    const uuid = newProxyUUID()
    ports = await portsOf({ newUuid: () => uuid })
  })

  it.each(Object.entries(values))('%s changes what becomes of a pod', async (key, { on, suffix = '', value }) => {
    const name = `${annotations[key as ReadAnnotation]}${suffix}`
    const plain = namespaceOf()
    const marked = namespaceOf({ annotations: { ...plain.annotations, [name]: value } })
    const before = await injectPod(requestOf(podOf({}, { metadata: { annotations: {} } })), settings, ports)
    const after = await injectPod(
      on === 'pod'
        ? requestOf(annotated({ [name]: value }))
        : requestOf(podOf({}, { metadata: { annotations: {} } }), marked),
      settings,
      ports,
    )
    expect(after.outcome).toMatch(/injected|skipped/)
    expect(outcomeOf(after, name)).not.toBe(outcomeOf(before, name))
  })

  it('that are not read change nothing', async () => {
    const name = 'openservicemesh.io/unread'
    const before = await injectPod(requestOf(podOf({}, { metadata: { annotations: {} } })), settings, ports)
    const after = await injectPod(requestOf(annotated({ [name]: 'x' })), settings, ports)
    expect(outcomeOf(after, name)).toBe(outcomeOf(before, name))
  })
})
