const labels = { 'k8s-app': 'kube-dns' }
const metadata = { name: 'coredns', namespace: 'kube-system', labels }

/** The DNS of a cluster, as objects of one list. It knows the cluster and nothing else: there is no one to forward to. */
export function dnsManifests(options: {
  readonly image: string
  readonly address: string
  readonly replicas: number
}): object {
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'osm-cluster:coredns' },
        rules: [
          { apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
          { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
        ],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'osm-cluster:coredns' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'osm-cluster:coredns' },
        subjects: [{ kind: 'ServiceAccount', name: 'coredns', namespace: 'kube-system' }],
      },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { Corefile: corefile } },
      deployment(options),
      service(options.address),
    ],
  }
}

/** Allows the API server to ask kubelets for logs and to run commands in pods. */
export function kubeletAccess(user: string): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'osm-cluster:kubelet-api-admin' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:kubelet-api-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  }
}

/** Without a cache: a test that makes a Service finds it at once. Names outside the cluster do not exist. */
const corefile = `cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {
    errors
    health {
        lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        ttl 5
    }
    loadbalance
    reload
}
.:53 {
    errors
    template ANY ANY {
        rcode NXDOMAIN
    }
}
`

function deployment({ image, replicas }: { readonly image: string; readonly replicas: number }): object {
  const probe = (path: string, port: number): object => ({
    httpGet: { path, port },
    periodSeconds: 1,
    failureThreshold: 10,
    timeoutSeconds: 5,
  })
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: 'coredns',
          priorityClassName: 'system-cluster-critical',
          dnsPolicy: 'Default',
          tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: labels },
            },
          ],
          containers: [
            {
              name: 'coredns',
              image,
              imagePullPolicy: 'IfNotPresent',
              args: ['-conf', '/etc/coredns/Corefile'],
              ports: [
                { name: 'dns', containerPort: 53, protocol: 'UDP' },
                { name: 'dns-tcp', containerPort: 53, protocol: 'TCP' },
              ],
              readinessProbe: probe('/ready', 8181),
              livenessProbe: probe('/health', 8080),
              resources: { requests: { cpu: '10m', memory: '32Mi' } },
              securityContext: {
                allowPrivilegeEscalation: false,
                capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
                readOnlyRootFilesystem: true,
              },
              volumeMounts: [{ name: 'configuration', mountPath: '/etc/coredns', readOnly: true }],
            },
          ],
          volumes: [{ name: 'configuration', configMap: { name: 'coredns' } }],
        },
      },
    },
  }
}

function service(address: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...metadata, name: 'kube-dns' },
    spec: {
      clusterIP: address,
      selector: labels,
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns-tcp', port: 53, protocol: 'TCP' },
      ],
    },
  }
}
