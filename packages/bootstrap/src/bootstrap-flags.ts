import { type FlagDefinitions, type FlagValues, parseProgramFlags, programFlags } from '@osm-ts/program'

import type { WebhookSettings } from './webhooks/webhook-configurations.js'

/** Flags of osm-bootstrap beside those of every program. */
const ownFlags = {
  'webhook-config-name': {
    kind: 'text',
    form: 'dns-subdomain',
    default: '',
    meaning: 'name of the MutatingWebhookConfiguration; osm-webhook-<mesh> if empty',
  },
  'validator-webhook-config': {
    kind: 'text',
    form: 'dns-subdomain',
    default: '',
    meaning: 'name of the ValidatingWebhookConfiguration; osm-validator-mesh-<mesh> if empty',
  },
  'webhook-timeout': {
    kind: 'number',
    min: 1,
    max: 30,
    default: 20,
    meaning: 'timeout of the API server for webhooks, in seconds',
  },
  'webhook-failure-policy': {
    kind: 'choice',
    values: ['Fail', 'Ignore'],
    default: 'Fail',
    meaning: 'failure policy of the webhooks',
  },
  'validate-traffic-target': {
    kind: 'switch',
    default: true,
    meaning: 'validate TrafficTargets at admission',
  },
  'health-port': {
    kind: 'number',
    min: 0,
    max: 65535,
    default: 9091,
    meaning: 'port of the health, version and metrics server',
  },
} as const satisfies FlagDefinitions

/** Flags of osm-bootstrap. */
export const bootstrapFlags = { ...programFlags, ...ownFlags } as const

/** Values of {@link bootstrapFlags}. */
export type BootstrapFlags = FlagValues<typeof bootstrapFlags>

/** @throws OsmError as `parseProgramFlags` does */
export function parseBootstrapFlags(argv: readonly string[]): BootstrapFlags {
  return parseProgramFlags(argv, ownFlags)
}

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
