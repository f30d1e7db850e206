import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'

import {
  type ControllerContext,
  type Driver,
  type InjectorContext,
  OsmError,
  type SidecarPatch,
  type StartedDriver,
} from '@osm-ts/driver-api'
import { interceptionNeeds, PROXY_UID, serveHealth, sidecarIdentity } from '@osm-ts/driver-api/toolkit'

import { fakeDriver, leastCapabilities } from '../src/fake-driver.js'
import { type DocumentFaults, SmallDocuments } from './small-documents.js'

/** What a driver that is tried may get wrong while it runs. */
export interface Faults extends DocumentFaults {
  readonly acceptsAnybody?: boolean
  readonly keepsFirstCertificate?: boolean
  readonly keepsFirstRoots?: boolean
  /** The server is never closed; what closes it is put here. */
  readonly leaks?: (() => void)[]
  readonly acceptsExpired?: boolean
}

/** The least that is a driver: it gives the parts of their policies to proxies that it knows. */
export function smallDriver(faults: Faults = {}): Driver {
  return fakeDriver('small', {
    capabilities: {
      ...leastCapabilities,
      pathMatches: ['exact'],
      headerMatches: ['exact'],
      modes: ['explicit', 'transparent'],
      features: ['proxy-key-certificates'],
    },
    configSchema: { type: 'object', additionalProperties: false, properties: { workers: { type: 'integer' } } },
    patch,
    start: (context) => start(context, faults),
  })
}

async function patch(context: InjectorContext): Promise<SidecarPatch> {
  if (context.podOS !== 'linux') throw new OsmError('OSM_DRIVER_PATCH', `small runs on linux, not on ${context.podOS}`)
  const { admin } = context.listen
  if (admin === undefined) throw new OsmError('OSM_DRIVER_PATCH', 'the host gave no address for administration')
  const interception = interceptionNeeds(context, false)
  return {
    sidecar: {
      image: context.sidecarImage,
      binary: 'small',
      args: ['--as', sidecarIdentity(context), '--config', [{ ref: 'file', path: 'small.json' }]],
      env: [],
      ports: [],
      security: { runAsUser: PROXY_UID, readOnlyRootFilesystem: true },
    },
    files: [{ path: 'small.json', content: { text: JSON.stringify({ region: context.locality.region }) } }],
    ready: { http: { port: admin.port, path: '/ready', status: 200 }, periodMs: 1_000 },
    quit: { kind: 'signal', signal: 'SIGTERM' },
    ...(interception === undefined ? {} : { interception }),
    annotations: {},
    initContainers: [],
    volumes: [],
  }
}

async function start(context: ControllerContext, faults: Faults): Promise<StartedDriver> {
  const { proxyServerAddress: host, proxyServerPort, proxyServiceCert, signal } = context
  const trusts = proxyServiceCert.watch(signal)[Symbol.asyncIterator]()
  const first = await trusts.next()
  if (first.done === true) throw new OsmError('OSM_DRIVER_START', 'there is no certificate')
  const settings = ({ credential, clientRoots }: typeof first.value) => ({
    cert: credential.chain,
    key: credential.privateKey,
    ca: [...clientRoots.certificates],
  })
  const documents = new SmallDocuments(context, faults)
  const server = listeningOn(() =>
    createServer(
      { ...settings(first.value), requestCert: true, rejectUnauthorized: !isLax(faults) },
      (request, response) => void documents.answer(request, response),
    ),
  )
  if (faults.acceptsExpired === true)
    server.on('secureConnection', (socket) => {
      if (socket.authorized || String(socket.authorizationError) === 'CERT_HAS_EXPIRED') return
      socket.destroy()
    })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new OsmError('OSM_DRIVER_START', `cannot listen on ${host}:${proxyServerPort}`, { cause })),
    )
    server.listen(proxyServerPort, host, resolve)
  })
  const sockets = new Set<{ destroy(): void }>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  faults.leaks?.push(close)
  void (async () => {
    for (;;) {
      const next = await trusts.next()
      if (next.done === true) return
      const before = settings(first.value)
      const now = settings(next.value)
      if (faults.keepsFirstCertificate !== true)
        server.setSecureContext({ ...now, ...(faults.keepsFirstRoots === true ? { ca: before.ca } : {}) })
    }
  })()
  const { port } = server.address() as AddressInfo
  const closed = new Promise<void>((resolve) => {
    server.once('close', () => resolve())
  })
  const stop = async () => {
    if (faults.leaks !== undefined) return
    close()
    await closed
  }
  return serveHealth('small server', host, { listening: true, port, close: stop }, signal)
}

function isLax({ acceptsAnybody, acceptsExpired }: Faults): boolean {
  return acceptsAnybody === true || acceptsExpired === true
}

function listeningOn(make: () => Server): Server {
  try {
    return make()
  } catch (cause) {
    throw new OsmError('OSM_DRIVER_START', 'the certificate cannot be used', { cause })
  }
}
