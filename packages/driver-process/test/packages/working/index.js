// A driver whose proxies apply whatever they are told, save those of the service account that a file names: they refuse it.
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const patch = async (context) => ({
  sidecar: {
    image: context.sidecarImage,
    binary: 'working',
    args: [],
    env: [],
    ports: [],
    security: { runAsUser: 1500, readOnlyRootFilesystem: true },
  },
  files: [],
  ready: { http: { port: 15000, path: '/ready', status: 200 }, periodMs: 1000 },
  quit: { kind: 'signal', signal: 'SIGTERM' },
  annotations: {},
  initContainers: [],
  volumes: [],
})

// A peer sends the certificate that TLS would have verified, and stays connected for as long as its session is to live.
const start = async (context) => {
  const { proxies, meshCatalog, driverConfig } = context
  const serve = async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const proxy = await proxies.authenticate(Buffer.concat(chunks))
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    response.write('welcome\n')
    const signal = AbortSignal.any([context.signal, gone.signal])
    for await (const { revision, added } of meshCatalog.policies.watch(proxy, signal)) {
      const { refusing } = driverConfig
      const refuses = existsSync(refusing) && proxy.identity.startsWith(`${readFileSync(refusing, 'utf8')}.`)
      const parts = added.map(({ hash, id }, index) =>
        refuses && index === 0
          ? { hash, id, state: 'rejected', message: 'no longer accepted' }
          : { hash, id, state: 'applied' },
      )
      await proxies.report({ session: proxy.session, revision, complete: !refuses, parts })
    }
    if (!context.signal.aborted) await proxies.disconnected(proxy.session)
  }
  const server = createServer((request, response) => {
    if (request.method === 'GET') response.end('well')
    else serve(request, response).catch((error) => response.end(`${error.message}\n`))
  })
  await new Promise((resolve) => server.listen(context.proxyServerPort, context.proxyServerAddress, resolve))
  const stopped = new Promise((resolve) => server.once('close', resolve))
  context.signal.addEventListener('abort', () => {
    server.close()
    server.closeAllConnections()
  })
  const probe = { path: '/', port: context.proxyServerPort, http: true, timeoutMs: 1000, tcpSocket: false }
  return { probes: { liveness: probe, readiness: probe }, stopped }
}

export default () => ({
  name: 'working',
  contract: { min: 1, max: 1 },
  capabilities: {
    protocols: ['http', 'http2', 'grpc', 'https', 'tcp', 'tcp-server-first'],
    pathMatches: ['exact', 'prefix', 'regex'],
    headerMatches: ['exact', 'prefix', 'regex', 'present'],
    upstreamIdentity: 'principal',
    modes: ['transparent'],
    standalone: false,
    ipFamilies: ['IPv4'],
    operatingSystems: ['linux'],
    drain: false,
    features: ['per-try-timeout', 'withdrawal-of-open-connections'],
  },
  configSchema: { type: 'object', properties: { refusing: { type: 'string' } }, required: ['refusing'] },
  patch,
  start,
})
