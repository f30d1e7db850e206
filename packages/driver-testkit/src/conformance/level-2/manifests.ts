import type { Manifest } from './kubectl.js'

/** Seconds for which a program serves after it was told to end: callers learn of it later than it does. */
const LINGER_SECONDS = 5
const APP_FOLDER = '/conformance'
const appConfigMap = 'conformance-app'

/** What plays the workloads. */
export interface PodApp {
  /** Any image that has Node.js 20 or newer. */
  readonly image: string
  /** How it is called there. */
  readonly node: string
  /** Files of the program by their paths, the first of which is run. */
  readonly files: ReadonlyMap<string, string>
}

/** What runs in pods. */
export interface Workload {
  readonly namespace: string
  readonly name: string
  /** How its ports answer. */
  readonly ports?: Readonly<Record<number, 'http' | 'tcp'>>
  /** Its own if absent. */
  readonly account?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly replicas?: number
  /** Path that a kubelet requests to learn whether it is ready. */
  readonly readyPath?: string
}

/** The command that runs the application. */
export function appCommand({ node, files }: PodApp): readonly string[] {
  const [main = ''] = files.keys()
  return [node, `${APP_FOLDER}/${main}`]
}

/** The program of the pods of a namespace. */
export function appObject(namespace: string, { files }: PodApp): Manifest {
  const data = Object.fromEntries([...files].map(([path, content]) => [keyOf(path), content]))
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: appConfigMap, namespace }, data }
}

/** A workload: its account, its pods and, if it serves something, a Service of its name. */
export function workloadObjects(workload: Workload, app: PodApp): readonly Manifest[] {
  const { namespace, name, account = name, ports = {} } = workload
  const served = Object.entries(ports)
  return [
    ...(account === name ? [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } }] : []),
    deployment(workload, app),
    ...(served.length === 0 ? [] : [service(namespace, name, { app: name }, ports)]),
  ]
}

/** A Service for pods of those labels. */
export function service(
  namespace: string,
  name: string,
  selector: Readonly<Record<string, string>>,
  ports: Readonly<Record<number, string>>,
): Manifest {
  const spec = {
    selector,
    ports: Object.entries(ports).map(([port, app]) => ({ name: `p-${port}`, port: Number(port), appProtocol: app })),
  }
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec }
}

function deployment(workload: Workload, app: PodApp): Manifest {
  const { namespace, name, account = name, labels = {}, ports = {}, replicas = 1, readyPath } = workload
  const [command = '', ...first] = appCommand(app)
  const [port] = Object.keys(ports)
  const probe = { httpGet: { path: readyPath, port: Number(port) }, periodSeconds: 1, failureThreshold: 3 }
  const container = {
    name: 'app',
    image: app.image,
    imagePullPolicy: 'IfNotPresent',
    command: [command],
    args: [...first, 'serve', ...Object.entries(ports).map(([number, kind]) => `${number}=${kind}`)],
    env: [
      { name: 'NAME', value: name },
      { name: 'LINGER_MS', value: String(LINGER_SECONDS * 1000) },
    ],
    ports: Object.keys(ports).map((number) => ({ containerPort: Number(number) })),
    volumeMounts: [{ name: 'app', mountPath: APP_FOLDER, readOnly: true }],
    securityContext: { runAsUser: 1000, allowPrivilegeEscalation: false },
    ...(readyPath !== undefined && { readinessProbe: probe }),
  }
  const items = [...app.files.keys()].map((path) => ({ key: keyOf(path), path }))
  const spec = {
    serviceAccountName: account,
    terminationGracePeriodSeconds: LINGER_SECONDS + 10,
    containers: [container],
    volumes: [{ name: 'app', configMap: { name: appConfigMap, items } }],
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name, ...labels } }, spec },
    },
  }
}

/** Keys of ConfigMaps have no slashes. */
function keyOf(path: string): string {
  return path.replaceAll('/', '_')
}

/** Requests with GET for paths below /open, of anyone who a TrafficTarget names. */
export function openRoutes(namespace: string): Manifest {
  const matches = [{ name: 'open', pathRegex: '/open.*', methods: ['GET'] }]
  return {
    apiVersion: 'specs.smi-spec.io/v1alpha4',
    kind: 'HTTPRouteGroup',
    metadata: { name: 'open', namespace },
    spec: { matches },
  }
}

/** Connections to a port, of anyone who a TrafficTarget names. */
export function portRoute(namespace: string, port: number): Manifest {
  return {
    apiVersion: 'specs.smi-spec.io/v1alpha4',
    kind: 'TCPRoute',
    metadata: { name: 'port', namespace },
    spec: { matches: { ports: [port] } },
  }
}

/** Lets an account call another one: over HTTP as {@link openRoutes} says, or over TCP as {@link portRoute} does. */
export function allow(namespace: string, source: string, destination: string, by: 'http' | 'tcp'): Manifest {
  const account = (name: string): object => ({ kind: 'ServiceAccount', name, namespace })
  const rule =
    by === 'http' ? { kind: 'HTTPRouteGroup', name: 'open', matches: ['open'] } : { kind: 'TCPRoute', name: 'port' }
  return {
    apiVersion: 'access.smi-spec.io/v1alpha3',
    kind: 'TrafficTarget',
    metadata: { name: `${source}-to-${destination}`, namespace },
    spec: { destination: account(destination), sources: [account(source)], rules: [rule] },
  }
}

/** Shares what is sent to a Service out among others. */
export function split(namespace: string, apex: string, weights: Readonly<Record<string, number>>): Manifest {
  const backends = Object.entries(weights).map(([name, weight]) => ({ service: name, weight }))
  return {
    apiVersion: 'split.smi-spec.io/v1alpha4',
    kind: 'TrafficSplit',
    metadata: { name: apex, namespace },
    spec: { service: apex, backends },
  }
}
