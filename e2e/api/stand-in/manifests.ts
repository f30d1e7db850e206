import { type Manifest, manifests } from '@osm-ts/core/testing'

import type { Labels } from './objects.js'

/** What a pod of the tests varies in. */
export interface PodOptions {
  readonly namespace: string
  readonly name: string
  readonly serviceAccountName?: string
  readonly labels?: Labels
  readonly annotations?: Labels
}

/** A pod that answers HTTP requests on port 8080. */
export function serverPod(options: PodOptions) {
  return pod(options, {
    image: 'localhost/http-server:v1',
    env: [
      { name: 'NAME', value: options.name },
      { name: 'HOST', value: '0.0.0.0' },
      { name: 'PORT', value: '8080' },
    ],
    ports: [{ name: 'http', containerPort: 8080 }],
  })
}

/** A pod that does nothing by itself; see `requestFrom`. */
export function clientPod(options: PodOptions) {
  return pod(options, { image: 'localhost/idle:v1' })
}

function pod(
  { namespace, name, labels = {}, annotations = {}, serviceAccountName = 'default' }: PodOptions,
  app: object,
) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels: { app: name, ...labels }, annotations },
    spec: { serviceAccountName, containers: [{ name: 'app', ...app }] },
  }
}

/** A Service that leads port 80 to the pods called as it is. */
export function service(namespace: string, name: string): Manifest {
  return manifests.service({ namespace, name }, { appProtocol: 'http' })
}

/** Any request with a path that begins so. */
export function httpRouteGroup(namespace: string, name: string, pathRegex: string): Manifest {
  return manifests.routeGroup({ namespace, name }, [{ name: 'all', pathRegex, methods: ['GET'] }])
}

/** Lets one service account call another by the routes of a group of the same namespace. */
export function trafficTarget(
  namespace: string,
  { name, source, destination, routes }: Readonly<Record<'name' | 'source' | 'destination' | 'routes', string>>,
): Manifest {
  const callers = [{ namespace, name: source }]
  const rule = { name: routes, matches: ['all'] }
  return manifests.trafficTarget({ namespace, name }, callers, {
    destination: { namespace, name: destination },
    ...rule,
  })
}
