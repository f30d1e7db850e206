import v8 from 'node:v8'

import { MemoryCaStore, Metrics, systemClock, TresorProvider } from '@osm-ts/core'
import { boundHeapGrowth } from '@osm-ts/program'

import { reportFigures } from '../../../../tools/testing/attack/process-watch.mjs'
import { startController } from '../../src/start-controller.js'
import { validatingWebhook } from '../../src/webhook/validating-webhook.js'
import { base, silent, TextSource } from '../controller-fixture.js'
import { startedDriver } from '../started-driver.js'
import { fullNamespace } from '../worst-objects.js'

// A controller with its validating webhook, in its own process. Tells its parent where it listens, and its figures when it is asked.

boundHeapGrowth(v8, 50)
const source = new TextSource()
source.put(fullNamespace())
let webhook = 0
const controller = await startController({
  ...base,
  sources: [source],
  certificateProvider: await TresorProvider.open({
    store: new MemoryCaStore(),
    clock: systemClock,
    rootKey: { algorithm: 'ECDSA' },
  }),
  drivers: [startedDriver('fake').driver],
  metrics: new Metrics(),
  logger: silent(),
  signal: new AbortController().signal,
  attachments: [
    validatingWebhook({
      address: { host: '127.0.0.1', port: 0 },
      serviceName: 'osm-validator',
      configName: 'osm-mesh-config',
      environment: base.environment,
      validateTrafficTarget: true,
      onListening: (port) => (webhook = port),
    }),
  ],
})
reportFigures()
process.send?.({ webhook, health: controller.healthPort })
