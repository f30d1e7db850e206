import { createPublicKey } from 'node:crypto'

import {
  azureNonce,
  type JoinAnswer,
  type JoinRequest,
  type KeyExporter,
  keyHash,
  parseJoinToken,
  rootPin,
} from '@osm-ts/core'
import { isOsmError } from '@osm-ts/driver-api'

import { AzureMetadata } from './azure-metadata.js'
import type { ControlPlaneClient } from './control-plane-client.js'

/** By what a machine proves that it may join. Roots are those of the control plane, PEM. */
export type MachineProof =
  | { readonly token: string }
  | { readonly serviceAccountToken: string; readonly roots: readonly string[] }
  | {
      /** The identity that it wants. */
      readonly azure: { readonly namespace: string; readonly serviceAccount: string }
      /** Of the metadata service. */
      readonly metadata: URL
      /** Certificates between the signer of documents and a root, PEM; fetched if absent. */
      readonly issuers?: readonly string[]
      readonly roots: readonly string[]
    }

/** Documents that are asked for, each by a connection of its own. */
const ATTEMPTS = 3

/**
 * Joins by a proof, which is shown to a verified control plane only.
 *
 * @throws OsmError with a code of `OSM_JOIN_*` or `OSM_MACHINE_*`
 */
export async function joinWithProof(
  client: ControlPlaneClient,
  {
    proof,
    request,
    key,
  }: { readonly proof: MachineProof; readonly request: Omit<JoinRequest, 'proof'>; readonly key: string },
  signal: AbortSignal,
): Promise<JoinAnswer> {
  if ('token' in proof) {
    const { id, secret, pin } = parseJoinToken(proof.token)
    return client.join([pin], request, { kind: 'token', id, secret }, signal)
  }
  const pins = proof.roots.map(rootPin)
  if ('serviceAccountToken' in proof) {
    const token = proof.serviceAccountToken.trim()
    return client.join(pins, request, { kind: 'serviceAccountToken', token }, signal)
  }
  const metadata = new AzureMetadata(proof.metadata)
  const issuers = [...(proof.issuers ?? (await metadata.issuers(signal)))]
  const hash = keyHash(createPublicKey(key).export({ type: 'spki', format: 'der' }))
  const show = async (connection: KeyExporter): Promise<JoinRequest['proof']> => {
    const document = await metadata.document(azureNonce(connection, hash), signal)
    return { kind: 'azure', document, issuers, ...proof.azure }
  }
  for (let attempt = 1; ; attempt += 1)
    try {
      return await client.join(pins, request, show, signal)
    } catch (error) {
      // The metadata service may repeat a document that it has made before.
      if (!isOsmError(error) || error.code !== 'OSM_MACHINE_AZURE_REPLAYED' || attempt === ATTEMPTS) throw error
    }
}
