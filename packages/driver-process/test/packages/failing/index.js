// A driver that does what the test says: in `driverConfig.do` of the context.
import { createServer } from 'node:http'

const hang = () => new Promise(() => {})
const spin = () => {
  for (;;);
}
const kept = []

const moods = {
  throw: () => {
    throw new Error('out of sorts')
  },
  refuse: () => {
    throw Object.assign(new Error('this workload cannot be served'), { code: 'OSM_DRIVER_PATCH' })
  },
  hang,
  spin,
  exit: () => process.exit(7),
  'throw-later': () => {
    setTimeout(() => {
      throw new Error('not awaited')
    }, 10)
    return hang()
  },
  'leak-heap': () => {
    for (;;) kept.push(new Array(10_000).fill(kept.length))
  },
  'leak-buffers': async () => {
    for (;;) {
      kept.push(Buffer.alloc(8 << 20, 1))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  },
}

const mood = async (context) => moods[context.driverConfig?.do]?.()

const patch = async (context) => {
  await mood(context)
  if (context.driverConfig?.do === 'garbage') return { sidecar: 'yes' }
  return {
    sidecar: {
      image: context.sidecarImage,
      binary: 'failing',
      args: [String(process.pid), process.env.KUBERNETES_SERVICE_HOST ?? 'no environment'],
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
  }
}

const start = async (context) => {
  await mood(context)
  let endBySelf
  const requests = context.metrics.counter('failing_requests', 'Requests.', ['path'])
  const server = createServer(async (request, response) => {
    requests.inc({ path: request.url })
    context.logger.info({ path: request.url }, 'asked')
    if (request.url === '/session') {
      const chunks = []
      for await (const chunk of request) chunks.push(chunk)
      const proxy = await context.proxies.authenticate(Buffer.concat(chunks))
      response.end(JSON.stringify(proxy))
    } else if (request.url === '/cancel') {
      context.cancel(new Error('no longer in the mood'))
      response.end()
    } else if (request.url === '/end') {
      response.end()
      endBySelf(new Error('out of breath'))
    } else if (moods[request.url.slice(1)] !== undefined) {
      response.end()
      await moods[request.url.slice(1)]()
    } else response.end('well')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stopped = new Promise((resolve, reject) => {
    server.once('close', resolve)
    context.signal.addEventListener('abort', () => server.close())
    endBySelf = reject
  })
  context.debugHandlers.register('/debug/failing', async ({ query }) => ({
    status: 200,
    contentType: 'text/plain',
    body: `${process.pid} ${query.word ?? ''}`,
  }))
  const probe = { path: '/healthy', port: server.address().port, http: true, timeoutMs: 1000, tcpSocket: false }
  // Where the test finds it.
  context.logger.info({ port: probe.port }, 'failing driver listens')
  return { probes: { liveness: probe, readiness: probe }, stopped }
}

export default () => ({
  name: 'failing',
  contract: { min: 1, max: 1 },
  capabilities: {
    protocols: ['http'],
    pathMatches: [],
    headerMatches: [],
    upstreamIdentity: 'principal',
    modes: ['explicit'],
    standalone: true,
    ipFamilies: ['IPv4'],
    operatingSystems: ['linux'],
    drain: false,
    features: [],
  },
  configSchema: { type: 'object' },
  oldestProxyVersion: '2.3',
  patch,
  start,
})
