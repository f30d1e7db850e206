import type { KubernetesManifest } from '@osm-ts/kubernetes'

/** Namespace of the pods that are checked. */
export const BENCH_NAMESPACE = 'shop'

/** The namespace itself, whose pods get sidecars. */
export const injectedNamespace: KubernetesManifest = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name: BENCH_NAMESPACE,
    labels: { 'openservicemesh.io/monitored-by': 'osm' },
    annotations: { 'openservicemesh.io/sidecar-injection': 'enabled' },
  },
}

/** MeshConfig of the mesh under test. */
export const meshConfigSpec = {
  sidecar: {
    sidecarClass: 'envoy',
    sidecarImage: 'envoyproxy/envoy:distroless-v1.40.0',
    initContainerImage: 'example/osm-sidecar-init:1',
  },
}

/** A pod as a Deployment makes it: with probes, ports, resources, and what the API server adds before webhooks are asked. */
export function benchPod(number: number): object {
  const resources = { limits: { cpu: '500m', memory: '256Mi' }, requests: { cpu: '100m', memory: '128Mi' } }
  const env = Array.from({ length: 12 }, (_, index) => ({
    name: `SETTING_${index}`,
    value: `value of setting ${index}`,
  }))
  const probe = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }
  const token = {
    name: 'kube-api-access-x7k2p',
    mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
    readOnly: true,
  }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: 'books-6d4cf56db6-',
      namespace: BENCH_NAMESPACE,
      labels: { app: 'books', version: 'v1', 'pod-template-hash': '6d4cf56db6' },
      annotations: { 'example.com/revision': String(number) },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: 'books-6d4cf56db6',
          uid: '0b6fbeee-0a6c-4b36-9d0c-000000000001',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      serviceAccountName: 'books',
      serviceAccount: 'books',
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      schedulerName: 'default-scheduler',
      enableServiceLinks: true,
      containers: [
        {
          name: 'app',
          image: 'example/books:1',
          ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
          env,
          resources,
          volumeMounts: [token],
          livenessProbe: { httpGet: { path: '/alive', port: 'http', scheme: 'HTTP' }, ...probe },
          readinessProbe: { httpGet: { path: '/ready', port: 'http', scheme: 'HTTP' }, ...probe },
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
          imagePullPolicy: 'IfNotPresent',
        },
      ],
      volumes: [
        {
          name: token.name,
          projected: {
            defaultMode: 420,
            sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 3607 } }],
          },
        },
      ],
    },
  }
}
