import { type InjectorContext, OsmError, type SidecarPatch } from '@osm-ts/driver-api'
import { PROXY_UID, sidecarIdentity, workloadEnvironment } from '@osm-ts/driver-api/toolkit'

/** The sidecar of a workload: pure data, the same for the same context. Keys are references that the mesh fills in. */
export async function patch(context: InjectorContext): Promise<SidecarPatch> {
  const { podOS, interceptionMode, controlPlane } = context
  const { admin } = context.listen
  if (podOS !== 'linux') throw new OsmError('OSM_DRIVER_PATCH', `mysidecar runs on linux, not on ${podOS}`)
  if (interceptionMode !== 'none')
    throw new OsmError('OSM_DRIVER_PATCH', 'mysidecar does not accept redirected connections')
  if (admin === undefined) throw new OsmError('OSM_DRIVER_PATCH', 'the host has no address for the admin port')
  const config = {
    // JSON keeps these values what they are. Do not put user input into args.
    identity: sidecarIdentity(context),
    controlPlane: { address: controlPlane.address, port: controlPlane.port, serverName: controlPlane.serverName },
    admin: { address: admin.address, port: admin.port },
  }
  return {
    sidecar: {
      image: context.sidecarImage,
      binary: 'mysidecar',
      args: ['--config', [{ ref: 'file', path: 'config.json' }], '--key', [{ ref: 'file', path: 'proxy.key' }]],
      env: workloadEnvironment(),
      ports: [],
      resources: context.resources,
      security: { runAsUser: PROXY_UID, readOnlyRootFilesystem: true },
    },
    files: [
      { path: 'config.json', content: { text: JSON.stringify(config) } },
      { path: 'proxy.crt', content: { from: 'bootstrap.chain' } },
      { path: 'proxy.key', content: { from: 'bootstrap.key' } },
      { path: 'roots.crt', content: { from: 'trustBundle' } },
    ],
    // The proxy has to answer 200 once its first policy is applied, not when it runs.
    ready: { http: { port: admin.port, path: '/ready', status: 200 }, periodMs: 1_000 },
    quit: { kind: 'signal', signal: 'SIGTERM' },
    admin: { port: admin.port },
    annotations: {},
    initContainers: [],
    volumes: [],
  }
}
