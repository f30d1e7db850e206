import type { MeshIdentity } from '../mesh-identity.js'

/** What decides how the API server calls the webhooks. */
export interface WebhookSettings {
  readonly mesh: MeshIdentity
  /** Name of the MutatingWebhookConfiguration. */
  readonly mutatingName: string
  /** Name of the ValidatingWebhookConfiguration. */
  readonly validatingName: string
  readonly timeoutSeconds: number
  /** What happens to a request while the webhook does not answer. */
  readonly failurePolicy: 'Fail' | 'Ignore'
  readonly validateTrafficTarget: boolean
}
