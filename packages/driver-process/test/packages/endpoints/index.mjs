/** A provider that does what its settings say: publish, fail, end, hang or exit. */
export const endpointsProvider = {
  name: 'toy',
  contractVersion: 1,
  resourceKinds: [],
  settingsSchema: {
    type: 'object',
    additionalProperties: false,
    properties: { does: { enum: ['publish', 'throw', 'hang', 'exit', 'nonsense'] } },
  },
  async start({ settings, signal, publish, report, reportStatus, countCall, log }) {
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
    if (settings.does === 'nonsense') setTimeout(() => publish(42n), 300)
    setTimeout(() => report({ state: 'failing', message: 'throttled' }), 500).unref()
    const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve))
    const alive = setInterval(() => undefined, 1000)
    return { stopped: stopped.then(() => clearInterval(alive)) }
  },
}
