import type { ConfigEnvironment } from '@osm-ts/core'
import { listen, servingCertificate, webhookLimits } from '@osm-ts/program'
import { untilAborted } from '@osm-ts/driver-api/toolkit'

import type { Attachment } from '../options.js'
import { ObjectReviewer } from './object-reviewer.js'
import { objectWebhook } from './object-webhook.js'

/** Where and how the webhook serves. */
export interface ValidatingWebhookOptions {
  readonly address: { readonly host: string; readonly port: number }
  /** Name of the Service that the API server calls. */
  readonly serviceName: string
  readonly configName: string
  /** PEM. Present: the API server has to show a certificate of this CA. */
  readonly clientCa?: string | undefined
  readonly environment: ConfigEnvironment
  /** False: a TrafficTarget may be in another namespace than its destination, where it has no effect. */
  readonly validateTrafficTarget: boolean
  /** Told where it listens. */
  readonly onListening?: (port: number) => void
}

/** Serves the validating webhook beside a controller. */
export function validatingWebhook(options: ValidatingWebhookOptions): Attachment {
  return async (parts) => {
    const { feed, configurator, rules, registry, domains, osmNamespace, certificates, metrics, signal } = parts
    const logger = parts.logger.child('validator')
    const reviewer = new ObjectReviewer({
      rules,
      registry,
      domains,
      osmNamespace,
      environment: options.environment,
      configName: options.configName,
      validateTrafficTarget: options.validateTrafficTarget,
      config: () => configurator.current(),
      started: () => configurator.started,
      snapshot: feed.reader().current,
    })
    const certificate = await servingCertificate({ certificates, domains, osmNamespace, name: options.serviceName })
    const server = objectWebhook({ reviewer, key: certificate.current(), clientCa: options.clientCa, metrics, logger })
    const port = await listen(server.app, options.address, {
      name: 'validating webhook',
      limits: webhookLimits,
      metrics,
      logger,
    })
    options.onListening?.(port)
    logger.info({ port }, 'validating webhook started')
    const serving = untilAborted(signal).then(() => server.app.close())
    const following = certificate.follow((next) => {
      server.replaceKey(next)
      logger.info({}, 'validating webhook has a new certificate')
    }, signal)
    return { ready: async () => true, stopped: Promise.all([serving, following]).then(() => undefined) }
  }
}
