import { describe, expect, it } from '@jest/globals'

import { webhookConfiguration, type WebhookKind, type WebhookSettings } from './webhook-configurations.js'

const settings: WebhookSettings = {
  mesh: { meshName: 'shop', osmNamespace: 'mesh', osmVersion: 'v1.2.3' },
  mutatingName: 'osm-webhook-shop',
  validatingName: 'osm-validator-mesh-shop',
  timeoutSeconds: 7,
  failurePolicy: 'Ignore',
  validateTrafficTarget: true,
}
const trust = { pem: 'PEM', since: Date.parse('2026-01-02T03:04:05Z') }
const kinds: readonly WebhookKind[] = ['mutating', 'validating']

const webhookOf = (kind: WebhookKind, change: Partial<WebhookSettings> = {}) => {
  const [webhook] = webhookConfiguration(kind, { ...settings, ...change }, trust, false).webhooks
  if (webhook === undefined) throw new Error('a configuration without webhook')
  return webhook
}

describe('webhook configurations', () => {
  it('have the names, Services, paths and timeouts of the contract', () => {
    expect(webhookConfiguration('mutating', settings, trust, true)).toMatchObject({
      kind: 'MutatingWebhookConfiguration',
      metadata: {
        name: 'osm-webhook-shop',
        labels: {
          app: 'osm-injector',
          'app.kubernetes.io/name': 'openservicemesh.io',
          'app.kubernetes.io/instance': 'shop',
          'app.kubernetes.io/version': 'v1.2.3',
          'openservicemesh.io/reconcile': 'true',
        },
      },
      webhooks: [
        {
          name: 'osm-inject.k8s.io',
          clientConfig: {
            service: { namespace: 'mesh', name: 'osm-injector', port: 9090, path: '/mutate-pod-creation' },
            caBundle: Buffer.from('PEM').toString('base64'),
          },
          rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
          failurePolicy: 'Ignore',
          matchPolicy: 'Exact',
          sideEffects: 'NoneOnDryRun',
          timeoutSeconds: 7,
        },
      ],
    })
    expect(webhookConfiguration('validating', settings, trust, false)).toMatchObject({
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'osm-validator-mesh-shop', labels: { app: 'osm-controller' } },
      webhooks: [
        {
          name: 'osm-validator.k8s.io',
          clientConfig: { service: { namespace: 'mesh', name: 'osm-validator', port: 9093, path: '/validate' } },
          sideEffects: 'None',
        },
        { name: 'osm-cluster-validator.k8s.io' },
        { name: 'osm-mesh-config.k8s.io' },
      ],
    })
  })

  it.each(kinds)('leave namespaces of the cluster and of the mesh alone, twice (%s)', (kind) => {
    const webhook = webhookOf(kind)
    expect(webhook.namespaceSelector).toEqual({
      matchLabels: { 'openservicemesh.io/monitored-by': 'shop' },
      matchExpressions: [
        { key: 'openservicemesh.io/ignore', operator: 'DoesNotExist' },
        { key: 'control-plane', operator: 'DoesNotExist' },
        {
          key: 'kubernetes.io/metadata.name',
          operator: 'NotIn',
          values: ['kube-node-lease', 'kube-public', 'kube-system', 'mesh'],
        },
      ],
    })
    for (const name of ['kube-system', 'kube-public', 'kube-node-lease', 'mesh']) {
      expect(JSON.stringify(webhook.matchConditions)).toContain(`'${name}'`)
    }
  })

  it('validate every kind that the mesh checks, TrafficTarget where it is asked for', () => {
    const resources = (webhook: ReturnType<typeof webhookOf>): readonly string[] =>
      (webhook.rules as readonly { readonly resources: readonly string[] }[]).flatMap((rule) => rule.resources).sort()
    const policies = [
      'accesscerts',
      'accesscontrols',
      'egresses',
      'egressgateways',
      'httproutegroups',
      'ingressbackends',
      'pluginchains',
      'pluginconfigs',
      'referencegrants',
      'retries',
      'trafficsplits',
      'upstreamtrafficsettings',
    ]
    expect(resources(webhookOf('validating', { validateTrafficTarget: false }))).toEqual(policies)
    expect(resources(webhookOf('validating'))).toEqual([...policies, 'traffictargets'].sort())
  })

  it('have what all meshes share reviewed, and never held up', () => {
    const [, webhook] = webhookConfiguration('validating', settings, trust, false).webhooks
    expect(webhook).toMatchObject({
      name: 'osm-cluster-validator.k8s.io',
      clientConfig: { service: { name: 'osm-validator' }, caBundle: Buffer.from('PEM').toString('base64') },
      rules: [{ apiGroups: ['plugin.flomesh.io'], resources: ['plugins'], scope: 'Cluster' }],
      failurePolicy: 'Ignore',
      timeoutSeconds: 5,
    })
  })

  it('have the settings of the mesh reviewed, and never held up', () => {
    const [, , webhook] = webhookConfiguration('validating', settings, trust, false).webhooks
    expect(webhook).toMatchObject({
      name: 'osm-mesh-config.k8s.io',
      clientConfig: { service: { name: 'osm-validator' }, caBundle: Buffer.from('PEM').toString('base64') },
      rules: [{ apiGroups: ['config.openservicemesh.io'], resources: ['meshconfigs', 'meshrootcertificates'] }],
      failurePolicy: 'Ignore',
      timeoutSeconds: 5,
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'mesh' } },
      matchConditions: [
        {
          name: 'not-by-osm-bootstrap',
          expression: "request.userInfo.username != 'system:serviceaccount:mesh:osm-bootstrap'",
        },
      ],
    })
  })

  it('are recognised by everything but their trust', () => {
    const annotations = (change: Partial<WebhookSettings>, pem: string): unknown =>
      webhookConfiguration('mutating', { ...settings, ...change }, { pem, since: 0 }, false).metadata.annotations
    expect(annotations({}, 'a')).toEqual(annotations({}, 'b'))
    expect(annotations({ timeoutSeconds: 8 }, 'a')).not.toEqual(annotations({}, 'a'))
  })
})
