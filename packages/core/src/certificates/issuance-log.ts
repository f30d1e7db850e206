import { isOsmError, type Logger } from '@osm-ts/driver-api'

import type { CertificateNames } from './certificate-subject.js'
import type { Certificate } from './certificate.js'
import type { KeyHolder } from './key-holder.js'
import { authorityOf, type LeafKind } from './kinds.js'

/** Who requests certificates of a kind, and what proves that they may have them. */
const PROOFS: Readonly<Record<LeafKind, { readonly askedBy: string; readonly proof: string }>> = {
  proxy: { askedBy: 'admission of a pod', proof: 'the pod as the API server or the supervisor describes it' },
  service: {
    askedBy: 'sidecar',
    proof: 'proxy certificate of a sidecar with this identity, verified in its handshake',
  },
  'control-plane': { askedBy: 'control plane', proof: 'own server of this process' },
  outside: { askedBy: 'MeshConfig or AccessCert', proof: 'object accepted by the API server and by validation' },
}

/** A proxy certificate for a key that a kubelet has made. */
const POD_PROOF = { askedBy: 'kubelet', proof: 'the pod as the API server vouches for it, and a signature by the key' }

/** A proxy certificate for a key that a machine has made. */
const MACHINE_PROOF = {
  askedBy: 'machine',
  proof: 'join token or current certificate of the machine, and a signature by the key',
}

/** A certificate of the control plane for a key that the program of the page has made. */
const DASHBOARD_PROOF = {
  askedBy: 'dashboard',
  proof: 'token of its service account as the API server reviews it, and a signature by the key',
}

/** Told of every certificate that was issued or refused. */
export interface IssuanceLog {
  /** @param holder - who holds the key, if it was not made with the certificate */
  issued(names: CertificateNames, provider: string, certificate: Certificate, holder?: KeyHolder): void
  refused(names: CertificateNames, provider: string, error: unknown, holder?: KeyHolder): void
}

/** Writes one audit line for each certificate that is issued or refused. No line holds a key, a token or a whole request. */
export function issuanceLog(logger: Logger): IssuanceLog {
  const about = (
    { kind, commonName, dnsNames, uris }: CertificateNames,
    provider: string,
    holder: KeyHolder | undefined,
  ) => ({
    audit: 'certificate',
    kind,
    commonName,
    uri: uris[0],
    names: dnsNames.length,
    authority: authorityOf(kind),
    provider,
    ...(kind !== 'service' && holder !== undefined ? proofOf(holder) : PROOFS[kind]),
    keyHolder: keyHolderOf(holder),
    ...(holder && holder.place !== 'dashboard' && { proxy: holder.commonName }),
  })
  return {
    issued: (names, provider, { serialNumber, expiration }, holder) => {
      logger.info(
        { ...about(names, provider, holder), serialNumber, notAfter: new Date(expiration).toISOString() },
        'certificate issued',
      )
    },
    refused: (names, provider, error, holder) => {
      const code = isOsmError(error) ? error.code : 'OSM_CERT_ISSUE'
      logger.warn({ ...about(names, provider, holder), code }, 'certificate refused')
    },
  }
}

function proofOf({ place }: KeyHolder): { readonly askedBy: string; readonly proof: string } {
  if (place === 'dashboard') return DASHBOARD_PROOF
  return place === 'machine' ? MACHINE_PROOF : POD_PROOF
}

function keyHolderOf(holder: KeyHolder | undefined): string {
  if (holder === undefined) return 'control plane'
  return holder.place === 'dashboard' ? 'dashboard' : 'proxy'
}
