import type { KubernetesObject } from '../api.js'
import type { KeyProof } from './prove-key.js'

/** Versions in which requests are read, the best first: 1.37 has v1, 1.35 and 1.36 have v1beta1, 1.34 has v1alpha1. */
export const podCertificateVersions = ['v1', 'v1beta1', 'v1alpha1'] as const

/** Default of Kubernetes. */
const DEFAULT_EXPIRATION_SECONDS = 86_400

/**
 * A request of a kubelet for the certificate of a pod. The API server vouches for what it says of pod, service account and node, if a kubelet made it: the
 * NodeRestriction admission plug-in compares them with what runs on that node.
 */
export interface PodCertificateRequest {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly signerName: string
  readonly pod: { readonly name: string; readonly uid: string }
  readonly serviceAccount: { readonly name: string; readonly uid: string }
  readonly nodeName: string
  /** Lifetime of the certificate at most. */
  readonly maxExpirationSeconds: number
  /** Undefined if neither form of it is there, or both are. */
  readonly proof: KeyProof | undefined
  /** Names of what the author of the pod wants to say to the signer. No one has verified it. */
  readonly userAnnotations: readonly string[]
  /** True if it was issued, denied or has failed. Nothing changes that. */
  readonly isAnswered: boolean
}

/** Reads a request, in any of {@link podCertificateVersions}. */
export function readPodCertificateRequest({ metadata, spec, status }: KubernetesObject): PodCertificateRequest {
  const fields = objectOf(spec)
  const text = (name: string): string => (typeof fields[name] === 'string' ? fields[name] : '')
  const { maxExpirationSeconds: seconds } = fields
  const { conditions } = objectOf(status)
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid ?? '',
    signerName: text('signerName'),
    pod: { name: text('podName'), uid: text('podUID') },
    serviceAccount: { name: text('serviceAccountName'), uid: text('serviceAccountUID') },
    nodeName: text('nodeName'),
    maxExpirationSeconds: typeof seconds === 'number' ? seconds : DEFAULT_EXPIRATION_SECONDS,
    proof: proofOf({
      request: text('stubPKCS10Request'),
      publicKey: text('pkixPublicKey'),
      signature: text('proofOfPossession'),
    }),
    userAnnotations: Object.keys(objectOf(fields.unverifiedUserAnnotations)),
    isAnswered: Array.isArray(conditions) && conditions.length > 0,
  }
}

function proofOf(fields: Readonly<Record<'request' | 'publicKey' | 'signature', string>>): KeyProof | undefined {
  const request = Buffer.from(fields.request, 'base64')
  const publicKey = Buffer.from(fields.publicKey, 'base64')
  if (request.length > 0) return publicKey.length > 0 ? undefined : { form: 'request', request }
  if (publicKey.length === 0) return undefined
  return { form: 'signature', publicKey, signature: Buffer.from(fields.signature, 'base64') }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
