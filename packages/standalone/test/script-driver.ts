import type { Driver, InjectorContext, SidecarPatch } from '@osm-ts/driver-api'
import { fakeDriver } from '@osm-ts/driver-testkit'

/**
 * A sidecar class whose sidecar is a script of Node.js. It is named as the default class of a mesh without Kubernetes.
 *
 * @param drainMs - milliseconds for which it is drained; it is not if absent
 */
export function scriptDriver(drainMs?: number): Driver {
  return fakeDriver('envoy', { patch: async (context) => ({ ...scriptPatch(context), ...drainOf(context, drainMs) }) })
}

function drainOf({ listen }: InjectorContext, drainMs: number | undefined): Pick<SidecarPatch, 'drain'> {
  if (drainMs === undefined) return {}
  const action = { kind: 'http', method: 'POST', port: listen.admin?.port ?? 1, path: '/ready' } as const
  return { drain: { action, minMs: drainMs, maxMs: drainMs } }
}

function scriptPatch({ listen, sidecarImage }: InjectorContext): SidecarPatch {
  const port = listen.admin?.port ?? 1
  return {
    sidecar: {
      image: sidecarImage,
      binary: 'sidecar',
      args: [String(port), [{ ref: 'file', path: 'names.txt' }]],
      env: [],
      ports: [],
      security: { runAsUser: 1500, readOnlyRootFilesystem: true },
    },
    files: [
      {
        path: 'names.txt',
        content: { text: [{ ref: 'workload', field: 'namespace' }, '/', { ref: 'workload', field: 'instance' }] },
      },
      { path: 'key.pem', content: { from: 'bootstrap.key' } },
      { path: 'chain.pem', content: { from: 'bootstrap.chain' } },
      { path: 'roots.pem', content: { from: 'trustBundle' } },
    ],
    ready: { http: { port, path: '/ready', status: 200 }, periodMs: 50 },
    quit: { kind: 'http', method: 'POST', port, path: '/quit' },
    admin: { port },
    annotations: {},
    initContainers: [],
    volumes: [],
  }
}
