/** A provider that does what its settings say: publish, follow its objects, fail, end, hang or exit. */
export const endpointsProvider = {
  name: 'toy',
  contractVersion: 1,
  resourceKinds: [
    {
      group: 'toy.example.com',
      version: 'v1',
      kind: 'Toy',
      plural: 'toys',
      specSchema: { type: 'object', required: ['address'], properties: { address: { type: 'string' } } },
    },
  ],
  settingsSchema: {
    type: 'object',
    additionalProperties: false,
    properties: { does: { enum: ['publish', 'follow', 'throw', 'hang', 'exit', 'nonsense', 'malformed'] } },
  },
  async start({ settings, signal, publish, report, reportStatus, countCall, log, resources }) {
    if (settings.does === 'follow') return follow({ signal, publish, reportStatus, resources })
    if (settings.does === 'throw') throw new Error('the cloud is closed')
    const service = { namespace: 'shop', name: 'store' }
    publish({ services: [{ service, instances: [{ id: 'a', addresses: ['10.0.0.1'], ready: true }] }] })
    countCall('machines/list', 'ok')
    reportStatus(
      { kind: 'Toy', namespace: 'shop', name: 'toy' },
      { observedGeneration: 1, instances: 1, conditions: [] },
    )
    log.info('published', { secretless: process.env.TOY_VARIABLE ?? 'none' })
    if (settings.does === 'hang')
      setTimeout(() => {
        for (;;);
      }, 200)
    if (settings.does === 'exit') setTimeout(() => process.exit(7), 200)
    // The channel to the host is open to the whole package.
    if (settings.does === 'malformed') for (const message of malformed) process.send(message)
    if (settings.does === 'nonsense') setTimeout(() => publish(42n), 300)
    setTimeout(() => report({ state: 'failing', message: 'throttled' }), 500).unref()
    const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve))
    const alive = setInterval(() => undefined, 1000)
    return { stopped: stopped.then(() => clearInterval(alive)) }
  },
}

/** Messages that the library of a package never sends. */
const malformed = [
  'ready',
  { type: 'logged', level: 'constructor', message: 'a' },
  { type: 'logged', level: 'shout', message: 'a' },
  { type: 'logged', level: 'info', message: 5 },
  { type: 'logged', level: 'info', message: 'a', fields: 5 },
  { type: 'health', failure: 5 },
  { type: 'status' },
  { type: 'status', ref: { kind: 5, namespace: 'a', name: {} }, status: null },
  { type: 'called', operation: {}, outcome: 'ok' },
  { type: 'called', operation: 'a', outcome: { toString: 5 } },
  { type: 'stopped', failure: { toString: 5 } },
]

/** Announces an instance of each of its objects, and reports on them. */
function follow({ signal, publish, reportStatus, resources }) {
  let known = []
  const service = { namespace: 'shop', name: 'store' }
  const tell = () => {
    const objects = resources.list()
    const instances = objects.map(({ name, spec }) => ({ id: name, addresses: [spec.address], ready: true }))
    publish({ services: instances.length === 0 ? [] : [{ service, instances }] })
    for (const ref of objects) reportStatus(ref, { observedGeneration: ref.generation, instances: 1, conditions: [] })
    for (const ref of known.filter(({ name }) => !objects.some((it) => it.name === name))) reportStatus(ref, undefined)
    known = objects
  }
  resources.subscribe(tell)
  tell()
  const alive = setInterval(() => undefined, 1000)
  const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve))
  return { stopped: stopped.then(() => clearInterval(alive)) }
}
