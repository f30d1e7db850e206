import { MemoryCaStore, TresorProvider, systemClock } from '@osm-ts/core'

/** The MeshConfig of a user of Open Service Mesh 1.2 who has changed some of it. */
export function previousMeshConfig(namespace: string) {
  return {
    apiVersion: 'config.openservicemesh.io/v1alpha2',
    kind: 'MeshConfig',
    metadata: { name: 'osm-mesh-config', namespace },
    spec: {
      sidecar: {
        enablePrivilegedInitContainer: false,
        logLevel: 'warning',
        maxDataPlaneConnections: 500,
        envoyImage: 'envoyproxy/envoy-distroless:v1.22.2',
        configResyncInterval: '0s',
        resources: { limits: { cpu: '250m' } },
      },
      traffic: {
        enableEgress: false,
        enablePermissiveTrafficPolicyMode: false,
        outboundPortExclusionList: [6379],
      },
      observability: { osmLogLevel: 'info', enableDebugServer: true, tracing: { enable: false } },
      certificate: { serviceCertValidityDuration: '12h', certKeyBitSize: 2048 },
      featureFlags: { enableWASMStats: true, enableEgressPolicy: true, enableIngressBackendPolicy: true },
    },
  }
}

/** A split that only that version has stored. */
export function previousTrafficSplit(namespace: string) {
  return {
    apiVersion: 'split.smi-spec.io/v1alpha2',
    kind: 'TrafficSplit',
    metadata: { name: 'books', namespace },
    spec: {
      service: 'server',
      backends: [
        { service: 'server-v1', weight: 100 },
        { service: 'server-v2', weight: 0 },
      ],
    },
  }
}

/** The Secret of the mesh's root, an RSA key as that version makes it. */
export async function previousCaSecret(namespace: string) {
  const store = new MemoryCaStore()
  const authority = await TresorProvider.open({ store, clock: systemClock, rootKey: { algorithm: 'RSA', bits: 2048 } })
  authority.close()
  const root = await store.load('workload')
  if (root === undefined) throw new Error('no root was made')
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'osm-ca-bundle', namespace },
    type: 'Opaque',
    data: { 'ca.crt': base64(root.certificate), 'private.key': base64(root.privateKey()) },
  }
}

/** The mutating webhook of that version, which trusts the one root there is. */
export function previousWebhook(meshName: string, namespace: string, caBundle: string) {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: {
      name: `osm-webhook-${meshName}`,
      labels: {
        'app.kubernetes.io/name': 'openservicemesh.io',
        'app.kubernetes.io/instance': meshName,
        'app.kubernetes.io/version': 'v1.2.4',
        app: 'osm-injector',
      },
    },
    webhooks: [
      {
        name: 'osm-inject.k8s.io',
        clientConfig: {
          service: { name: 'osm-injector', namespace, path: '/mutate-pod-creation', port: 9090 },
          caBundle,
        },
        failurePolicy: 'Fail',
        matchPolicy: 'Exact',
        namespaceSelector: {
          matchLabels: { 'openservicemesh.io/monitored-by': meshName },
          matchExpressions: [{ key: 'openservicemesh.io/ignore', operator: 'DoesNotExist' }],
        },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
        sideEffects: 'NoneOnDryRun',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: 20,
      },
    ],
  }
}
