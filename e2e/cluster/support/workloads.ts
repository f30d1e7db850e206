/** Manifests of workloads of the test application. */

/** The pods of a workload. */
export interface PodOptions {
  readonly name: string
  readonly namespace: string
  /** Reference of the image `test-app`. */
  readonly image: string
  /** What it serves, by port; see `e2e/cluster/app`. */
  readonly ports?: Readonly<Record<number, string>>
  /** Name of its service account; that of the workload when left out. */
  readonly account?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  /** Seconds for which it serves after it was told to end. */
  readonly linger?: number
  /** It listens on the address of the pod, and on no other. */
  readonly listensOnPodAddress?: boolean
  /** Secret with the certificate of what it serves with TLS. */
  readonly certificate?: string
  /** More of the container, such as probes. */
  readonly container?: Readonly<Record<string, unknown>>
  /** More of the pods. */
  readonly spec?: Readonly<Record<string, unknown>>
}

/** What runs pods, and the account that they run as. */
export interface WorkloadOptions extends PodOptions {
  readonly replicas?: number
}

/** A port of a Service. */
export interface ServicePort {
  readonly port: number
  /** The same as `port` when left out. */
  readonly targetPort?: number
  /** Protocol as Services tell it. */
  readonly appProtocol?: string
}

/** A Service. */
export interface ServiceOptions {
  readonly name: string
  readonly namespace: string
  readonly ports: readonly ServicePort[]
  /** Pods of the workload of the same name when left out. */
  readonly selector?: Readonly<Record<string, string>>
  readonly headless?: boolean
}

/** A ServiceAccount of its own, and a Deployment. */
export function deployment(options: WorkloadOptions): readonly object[] {
  const { name, namespace, replicas = 1 } = options
  return [
    ...account(options),
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace },
      spec: { replicas, selector: { matchLabels: { app: name } }, template: podTemplate(options) },
    },
  ]
}

/** Such a Deployment, and a Service of the same name for all its ports, whose protocol it tells. */
export function server(options: WorkloadOptions): readonly object[] {
  return [...deployment(options), service({ ...options, ports: servicePorts(options) })]
}

/** A ServiceAccount of its own, a StatefulSet, and the headless Service that gives its pods their names. */
export function statefulSet(options: WorkloadOptions): readonly object[] {
  const { name, namespace } = options
  return [
    ...account(options),
    numberedPods(options, name),
    service({ name, namespace, ports: servicePorts(options), headless: true }),
  ]
}

/** A StatefulSet whose pods get their names from a Service, which is another's matter, as is their account. */
export function numberedPods(options: WorkloadOptions, serviceName: string): object {
  const { name, namespace, replicas = 1, labels = {} } = options
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      serviceName,
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: { app: name } },
      template: podTemplate(options),
    },
  }
}

/** A Service. */
export function service({
  name,
  namespace,
  ports,
  selector = { app: name },
  headless = false,
}: ServiceOptions): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: {
      ...(headless && { clusterIP: 'None' }),
      selector,
      ports: ports.map(({ port, targetPort = port, appProtocol }) => ({
        name: `p-${port}`,
        port,
        targetPort,
        ...(appProtocol !== undefined && { appProtocol }),
      })),
    },
  }
}

/** What a Service says of the ports of the test application. */
function servicePorts({ ports = {} }: Pick<PodOptions, 'ports'>): readonly ServicePort[] {
  return Object.entries(ports).map(([port, app]) => ({ port: Number(port), appProtocol: protocols[app] ?? app }))
}

const protocols: Readonly<Record<string, string>> = { http2: 'http', https: 'https', 'grpc-tls': 'tcp' }
const certificateFolder = '/certificate'

function account({ name, namespace, account: chosen }: PodOptions): readonly object[] {
  return chosen === undefined ? [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } }] : []
}

function podTemplate({
  name,
  image,
  ports = {},
  account: serviceAccountName = name,
  labels = {},
  annotations = {},
  linger = 0,
  listensOnPodAddress = false,
  certificate,
  container = {},
  spec = {},
}: PodOptions): object {
  const served = Object.entries(ports)
  const mounted = certificate !== undefined
  return {
    metadata: { labels: { app: name, ...labels }, annotations },
    spec: {
      serviceAccountName,
      terminationGracePeriodSeconds: linger + 5,
      containers: [
        {
          name: 'app',
          image,
          imagePullPolicy: 'IfNotPresent',
          args: [
            'serve',
            `--linger=${linger}`,
            ...(listensOnPodAddress ? ['--host=$(POD_IP)'] : []),
            ...(mounted ? [`--certificate=${certificateFolder}`] : []),
            ...served.map(([port, app]) => `${port}=${app}`),
          ],
          env: [
            { name: 'NAME', value: name },
            ...(listensOnPodAddress
              ? [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }]
              : []),
          ],
          ports: served.map(([port]) => ({ containerPort: Number(port) })),
          ...(mounted && { volumeMounts: [{ name: 'certificate', mountPath: certificateFolder }] }),
          ...readiness(served),
          ...container,
        },
      ],
      ...(mounted && { volumes: [{ name: 'certificate', secret: { secretName: certificate } }] }),
      ...spec,
    },
  }
}

/** A workload takes traffic once it answers, as real ones do: also behind a sidecar. */
function readiness(served: readonly (readonly [string, string])[]): object {
  const [port] = served.find(([, app]) => app === 'http') ?? []
  return port === undefined
    ? {}
    : { readinessProbe: { httpGet: { path: '/ready', port: Number(port) }, periodSeconds: 1, failureThreshold: 60 } }
}
