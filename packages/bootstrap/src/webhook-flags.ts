import type { BootstrapFlags } from './bootstrap-flags.js'
import type { WebhookSettings } from './webhooks/webhook-settings.js'

/** How the flags have webhooks called. */
export function webhookSettings(flags: BootstrapFlags): WebhookSettings {
  const { meshName, osmNamespace, osmVersion } = flags
  return {
    mesh: { meshName, osmNamespace, osmVersion },
    mutatingName: flags.webhookConfigName === '' ? `osm-webhook-${meshName}` : flags.webhookConfigName,
    validatingName:
      flags.validatorWebhookConfig === '' ? `osm-validator-mesh-${meshName}` : flags.validatorWebhookConfig,
    timeoutSeconds: flags.webhookTimeout,
    failurePolicy: flags.webhookFailurePolicy,
    validateTrafficTarget: flags.validateTrafficTarget,
  }
}
