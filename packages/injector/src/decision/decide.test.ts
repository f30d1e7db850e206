import { describe, expect, it } from '@jest/globals'

import { annotated, namespaceOf, podOf, readHead } from '../../test/fixture.js'
import { decide } from './decide.js'

const mesh = { meshName: 'osm', osmNamespace: 'osm-system' }
const injection = 'openservicemesh.io/sidecar-injection'
const labels = namespaceOf().labels

describe('decide', () => {
  it.each([
    [
      'namespace',
      podOf(),
      namespaceOf(),
      'enabled by annotation openservicemesh.io/sidecar-injection of namespace shop',
    ],
    ['pod', annotated({ [injection]: 'yes' }), namespaceOf({ annotations: {} }), 'of the pod'],
    [
      'pod over namespace',
      annotated({ [injection]: 'true' }),
      namespaceOf({ annotations: { [injection]: 'no' } }),
      'of the pod',
    ],
  ])('injects by %s', (_what, pod, namespace, message) => {
    expect(decide(readHead(pod), namespace, mesh)).toEqual({
      kind: 'inject',
      message: expect.stringContaining(message),
    })
  })

  const enabled = annotated({ [injection]: 'enabled' })
  const hostNetwork = podOf({}, { spec: { hostNetwork: true }, metadata: { annotations: { [injection]: 'enabled' } } })
  const mirror = annotated({ [injection]: 'enabled', 'kubernetes.io/config.mirror': 'a1b2' })
  it.each([
    [
      'system-namespace',
      'namespace-name',
      enabled,
      namespaceOf({ name: 'kube-system' }),
      'namespace kube-system belongs to Kubernetes',
    ],
    ['system-namespace', 'namespace-name', enabled, namespaceOf({ name: 'kube-public' }), 'kube-public'],
    [
      'control-plane-namespace',
      'namespace-name',
      enabled,
      namespaceOf({ name: 'osm-system' }),
      'control plane of mesh osm',
    ],
    [
      'control-plane-namespace',
      'namespace',
      enabled,
      namespaceOf({ labels: { ...labels, 'control-plane': '' } }),
      'label control-plane',
    ],
    [
      'ignored-namespace',
      'namespace',
      enabled,
      namespaceOf({ labels: { ...labels, 'openservicemesh.io/ignore': 'false' } }),
      'ignore',
    ],
    ['unmonitored-namespace', 'namespace', enabled, namespaceOf({ labels: {} }), 'osm namespace add shop'],
    [
      'unmonitored-namespace',
      'namespace',
      enabled,
      namespaceOf({ labels: { 'openservicemesh.io/monitored-by': 'mesh-2' } }),
      'monitored-by=osm',
    ],
    ['host-network', 'pod', hostNetwork, namespaceOf(), 'network of its node'],
    ['mirror-pod', 'pod', mirror, namespaceOf(), 'static pod'],
    ['disabled', 'pod', annotated({ [injection]: 'no' }), namespaceOf(), 'of the pod'],
    ['disabled', 'namespace', podOf(), namespaceOf({ annotations: { [injection]: 'disabled' } }), 'of namespace shop'],
    ['not-enabled', 'namespace', podOf(), namespaceOf({ annotations: {} }), 'neither the pod nor namespace shop'],
  ])('skips for %s and says why', (reason, by, pod, namespace, message) => {
    expect(decide(readHead(pod), namespace, mesh)).toEqual({
      kind: 'skip',
      reason,
      by,
      message: expect.stringContaining(message),
    })
  })

  it.each([
    ['pod', annotated({ [injection]: 'on' }), namespaceOf(), /of the pod: "on" is not one of enabled/],
    ['namespace', podOf(), namespaceOf({ annotations: { [injection]: '' } }), /of namespace shop: "" is not one of/],
  ])('refuses another word of a %s', (_what, pod, namespace, message) => {
    expect(() => decide(readHead(pod), namespace, mesh)).toThrow(message)
  })

  it('never looks at annotations where nothing is injected anyway', () => {
    expect(
      decide(readHead(annotated({ [injection]: 'maybe' })), namespaceOf({ name: 'kube-system' }), mesh),
    ).toMatchObject({
      kind: 'skip',
    })
  })
})
