/** Name of an object and its namespace. */
export interface Place {
  readonly namespace: string
  readonly name: string
}

/** An object as a user or a supervisor writes it. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Place & { readonly labels?: Readonly<Record<string, string>> }
  readonly spec?: object
  readonly [member: string]: unknown
}

/** Creates any object of a namespace. */
export function manifest(apiVersion: string, kind: string, { namespace, name }: Place, spec?: object): Manifest {
  return { apiVersion, kind, metadata: { namespace, name }, ...(spec !== undefined && { spec }) }
}

/** Creates a ServiceAccount. */
export function account(place: Place): Manifest {
  return manifest('v1', 'ServiceAccount', place)
}

/**
 * Creates a Service of the workload of the same name.
 *
 * @param port - members of its port, in addition to those of port 80 that leads to port 8080
 * @param spec - members in addition to the selector and the port
 */
export function service(place: Place, port: object = {}, spec: object = {}): Manifest {
  const ports = [{ name: 'http', port: 80, targetPort: 8080, ...port }]
  return manifest('v1', 'Service', place, { selector: { app: place.name }, ports, ...spec })
}

/** Creates an HTTPRouteGroup. */
export function routeGroup(place: Place, matches: readonly object[]): Manifest {
  return manifest('specs.smi-spec.io/v1alpha4', 'HTTPRouteGroup', place, { matches })
}

/**
 * Creates a TrafficTarget that lets accounts call another one.
 *
 * @param options - the called account, that of the same name if absent; and members of the rule in addition to the HTTPRouteGroup `routes`
 */
export function trafficTarget(
  place: Place,
  callers: readonly Place[],
  options: { readonly destination?: Place; readonly name?: string; readonly matches?: readonly string[] } = {},
): Manifest {
  const { destination = place, ...rule } = options
  return manifest('access.smi-spec.io/v1alpha3', 'TrafficTarget', place, {
    destination: accountRef(destination),
    rules: [{ kind: 'HTTPRouteGroup', name: 'routes', ...rule }],
    sources: callers.map(accountRef),
  })
}

/** Refers to a ServiceAccount. */
export function accountRef({ namespace, name }: Place): object {
  return { kind: 'ServiceAccount', name, namespace }
}

/**
 * Creates a Workload with an account of the same name.
 *
 * @param spec - members in addition to the account and port 8080
 */
export function workload(place: Place, spec: object = {}): Manifest {
  const created = manifest('standalone.openservicemesh.io/v1alpha1', 'Workload', place, {
    serviceAccountName: place.name,
    ports: [{ port: 8080 }],
    ...spec,
  })
  return labelled(created, place)
}

/**
 * Creates an instance of a workload with an account of the same name. Its name, UUID and address follow from its number.
 *
 * @param spec - members that replace the usual ones
 */
export function instance(place: Place, index: number, spec: object = {}): Manifest {
  const name = `${place.name}-${index}`
  const created = manifest(
    'standalone.openservicemesh.io/v1alpha1',
    'WorkloadInstance',
    { ...place, name },
    {
      uuid: uuidOfIndex(index),
      workload: place.name,
      serviceAccountName: place.name,
      sidecarClass: 'envoy',
      mode: 'transparent',
      addresses: [`10.${128 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`],
      ports: [{ name: 'http', port: 8080 }],
      ready: true,
      createdAt: '2026-01-01T00:00:00Z',
      ...spec,
    },
  )
  return labelled(created, place)
}

/** UUID of the proxy of that number. */
export function uuidOfIndex(index: number): string {
  return `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
}

/** Creates the MeshConfig. */
export function meshConfig(spec: object): Manifest {
  const place = { namespace: 'osm-system', name: 'osm-mesh-config' }
  return manifest('config.openservicemesh.io/v1alpha2', 'MeshConfig', place, spec)
}

function labelled(object: Manifest, { name }: Place): Manifest {
  return { ...object, metadata: { ...object.metadata, labels: { app: name } } }
}
