/** Builders of the YAML that scenarios write. Each gives one document. */

/** A namespace-qualified name, `namespace/name`. */
export type Qualified = `${string}/${string}`

/** A qualified name by its parts. */
export function ref(name: Qualified): { readonly namespace: string; readonly name: string } {
  const [namespace = '', rest = ''] = name.split('/')
  return { namespace, name: rest }
}

export function document(
  apiVersion: string,
  kind: string,
  name: Qualified,
  fields: Readonly<Record<string, unknown>>,
): string {
  // JSON is YAML; a scenario's values need no other quoting rules.
  return `${JSON.stringify({ apiVersion, kind, metadata: { ...ref(name), ...(fields.metadata as object | undefined) }, ...without(fields) }, null, 1)}\n`
}

function without(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { metadata: _metadata, ...rest } = fields
  return rest
}

/** @param selects - labels of its workloads, or the one of `app` */
export function service(
  name: Qualified,
  selects: string | Readonly<Record<string, string>>,
  port: number,
  options: {
    readonly protocol?: string
    readonly targetPort?: number
    readonly headless?: boolean
    readonly trafficDistribution?: string
    readonly annotations?: Readonly<Record<string, string>>
  } = {},
): string {
  const { protocol, targetPort = port, headless = false, trafficDistribution, annotations } = options
  return document('v1', 'Service', name, {
    metadata: annotations === undefined ? {} : { annotations },
    spec: {
      ...(headless ? { clusterIP: 'None' } : {}),
      ...(trafficDistribution === undefined ? {} : { trafficDistribution }),
      selector: typeof selects === 'string' ? { app: selects } : selects,
      ports: [{ name: 'main', port, targetPort, ...(protocol === undefined ? {} : { appProtocol: protocol }) }],
    },
  })
}

/** A namespace that takes no part in the mesh. */
export function ignoredNamespace(name: string): string {
  return `${JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { 'openservicemesh.io/ignore': 'true' } } })}\n`
}

export function account(name: Qualified, annotations: Readonly<Record<string, string>> = {}): string {
  return document('v1', 'ServiceAccount', name, { metadata: { annotations } })
}

export function workload(
  name: Qualified,
  options: {
    readonly app?: string
    readonly account?: string
    readonly program: string
    readonly port?: number
    readonly env?: Readonly<Record<string, string>>
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly replicas?: number
    readonly sidecar?: boolean
  },
): string {
  const own = ref(name).name
  return document('standalone.openservicemesh.io/v1alpha1', 'Workload', name, {
    metadata: { labels: { app: options.app ?? own, ...options.labels }, annotations: options.annotations ?? {} },
    spec: {
      serviceAccountName: options.account ?? own,
      replicas: options.replicas ?? 1,
      ...(options.sidecar === undefined ? {} : { sidecar: options.sidecar }),
      ports: options.port === undefined ? [] : [{ name: 'main', port: options.port }],
      command: [process.execPath, options.program],
      env: Object.entries({ NAME: own, ...options.env }).map(([key, value]) => ({ name: key, value })),
    },
  })
}

/** A document with further fields in its spec. */
export function withSpec(text: string, fields: Readonly<Record<string, unknown>>): string {
  const object = JSON.parse(text) as { readonly spec: object }
  return `${JSON.stringify({ ...object, spec: { ...object.spec, ...fields } })}\n`
}

export function routeGroup(
  name: Qualified,
  matches: readonly {
    readonly name: string
    readonly pathRegex?: string
    readonly methods?: readonly string[]
    readonly headers?: readonly Readonly<Record<string, string>>[]
  }[],
): string {
  return document('specs.smi-spec.io/v1alpha4', 'HTTPRouteGroup', name, { spec: { matches } })
}

export function tcpRoute(name: Qualified, ports: readonly number[]): string {
  return document('specs.smi-spec.io/v1alpha4', 'TCPRoute', name, { spec: { matches: { ports } } })
}

export function trafficTarget(
  name: Qualified,
  options: {
    readonly to: Qualified
    readonly from: readonly Qualified[]
    readonly rules: readonly {
      readonly kind: 'HTTPRouteGroup' | 'TCPRoute'
      readonly name: string
      readonly matches?: readonly string[]
    }[]
  },
): string {
  return document('access.smi-spec.io/v1alpha3', 'TrafficTarget', name, {
    spec: {
      destination: { kind: 'ServiceAccount', ...ref(options.to) },
      sources: options.from.map((source) => ({ kind: 'ServiceAccount', ...ref(source) })),
      rules: options.rules,
    },
  })
}

export function trafficSplit(name: Qualified, apex: string, backends: Readonly<Record<string, number>>): string {
  return document('split.smi-spec.io/v1alpha4', 'TrafficSplit', name, {
    spec: {
      service: apex,
      backends: Object.entries(backends).map(([backend, weight]) => ({ service: backend, weight })),
    },
  })
}

export function retry(
  name: Qualified,
  options: {
    readonly from: Qualified
    readonly to: Qualified
    readonly retryOn: string
    readonly times: number
    readonly perTryTimeout?: string
  },
): string {
  return document('policy.openservicemesh.io/v1alpha1', 'Retry', name, {
    spec: {
      source: { kind: 'ServiceAccount', ...ref(options.from) },
      destinations: [{ kind: 'Service', ...ref(options.to) }],
      retryPolicy: {
        retryOn: options.retryOn,
        numRetries: options.times,
        perTryTimeout: options.perTryTimeout ?? '10s',
        retryBackoffBaseInterval: '1ms',
      },
    },
  })
}

export function telemetry(name: Qualified, spec: Readonly<Record<string, unknown>>): string {
  return document('policy.openservicemesh.io/v1alpha1', 'Telemetry', name, { spec })
}

export function extensionService(name: Qualified, spec: { readonly host: string; readonly port: number }): string {
  return document('config.openservicemesh.io/v1alpha2', 'ExtensionService', name, { spec })
}

export function upstreamTrafficSetting(name: Qualified, spec: Readonly<Record<string, unknown>>): string {
  return document('policy.openservicemesh.io/v1alpha1', 'UpstreamTrafficSetting', name, { spec })
}

/** A Secret of type kubernetes.io/tls, or of the like. */
export function secret(name: Qualified, data: Readonly<Record<string, string>>): string {
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')] as const)
  return document('v1', 'Secret', name, { type: 'kubernetes.io/tls', data: Object.fromEntries(encoded) })
}

/** An Egress for some accounts. */
export function egress(
  name: Qualified,
  options: {
    readonly from: readonly Qualified[]
    readonly hosts?: readonly string[]
    readonly ipAddresses?: readonly string[]
    /** `<number>/<protocol>`. */
    readonly ports: readonly `${number}/${string}`[]
    /** Names of HTTPRouteGroups. */
    readonly routes?: readonly string[]
    /** Name of an UpstreamTrafficSetting. */
    readonly settings?: string
    readonly mtls?: Readonly<Record<string, unknown>>
  },
): string {
  const { from, hosts, ipAddresses, ports, routes = [], settings, mtls } = options
  return document('policy.openservicemesh.io/v1alpha1', 'Egress', name, {
    spec: {
      sources: from.map((source) => ({
        kind: 'ServiceAccount',
        ...ref(source),
        ...(mtls === undefined ? {} : { mtls }),
      })),
      ...(hosts === undefined ? {} : { hosts }),
      ...(ipAddresses === undefined ? {} : { ipAddresses }),
      ports: ports.map((port) => {
        const [number, protocol] = port.split('/')
        return { number: Number(number), protocol }
      }),
      matches: [
        ...routes.map((route) => ({ apiGroup: 'specs.smi-spec.io/v1alpha4', kind: 'HTTPRouteGroup', name: route })),
        ...(settings === undefined
          ? []
          : [{ apiGroup: 'policy.openservicemesh.io/v1alpha1', kind: 'UpstreamTrafficSetting', name: settings }]),
      ],
    },
  })
}

/** Sends what an Egress opens through the gateways of a service. */
export function egressGateway(name: Qualified, policy: Qualified, gateway: Qualified): string {
  const of = ref(gateway)
  return document('policy.openservicemesh.io/v1alpha1', 'EgressGateway', name, {
    spec: {
      rules: [{ egressPolicies: [ref(policy)], egressGateways: [{ service: of.name, namespace: of.namespace }] }],
    },
  })
}

export function meshConfig(spec: Readonly<Record<string, unknown>>): string {
  return document('config.openservicemesh.io/v1alpha2', 'MeshConfig', 'osm-system/osm-mesh-config', { spec })
}
