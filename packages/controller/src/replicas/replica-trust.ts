import { authorityOf, type CertificateManager, isPlainObject } from '@osm-ts/core'

import type { RotationFault, RotationView } from '../certificates/rotation-view.js'

/** How far a replica is in a change of the certificate provider. Roots are named by their SHA-256 fingerprints. */
export interface ReplicaTrust {
  /** The root that signs there. */
  readonly signs: string
  /** The root that is to sign next. */
  readonly next?: string
  /** Roots that all of its sidecars have confirmed. */
  readonly confirmed: readonly string[]
  /** Its sidecars, and those that have not confirmed all that they were given; absent where nothing is to be confirmed. */
  readonly sidecars?: { readonly connected: number; readonly missing: number; readonly first: readonly string[] }
  /** Certificates of workloads in force that another root than {@link signs} has signed. */
  readonly former: number
  /** Why it has not taken up the providers that are chosen. */
  readonly fault?: RotationFault
}

/** Sidecars that are told by name. */
const MAX_NAMED = 3
/** Characters of a message that another replica tells. */
const MAX_MESSAGE = 512

/** How far this replica is. */
export function replicaTrust(
  rotation: RotationView,
  certificates: Pick<CertificateManager, 'listCertificates' | 'getRootCertificate'>,
): ReplicaTrust {
  const { signs, next, confirmed, sidecars } = rotation.trustState()
  const root = certificates.getRootCertificate('workload').chain
  const { fault } = rotation
  return {
    signs,
    ...(next === undefined ? {} : { next }),
    confirmed,
    ...(sidecars && {
      sidecars: {
        connected: sidecars.count,
        missing: sidecars.unconfirmed.length,
        first: sidecars.unconfirmed.slice(0, MAX_NAMED),
      },
    }),
    former: certificates
      .listCertificates()
      .filter(({ kind, issuingCA }) => kind !== 'root' && authorityOf(kind) === 'workload' && issuingCA.chain !== root)
      .length,
    ...(fault && { fault: { code: fault.code, message: fault.message.slice(0, MAX_MESSAGE) } }),
  }
}

/** Reads what another replica has told; undefined where it is something else. */
export function parseReplicaTrust(value: unknown): ReplicaTrust | undefined {
  return isReplicaTrust(value) ? value : undefined
}

function isReplicaTrust(value: unknown): value is ReplicaTrust {
  if (!isPlainObject(value)) return false
  const { signs, next, confirmed, sidecars, former, fault } = value
  return (
    typeof signs === 'string' &&
    (next === undefined || typeof next === 'string') &&
    areStrings(confirmed) &&
    (sidecars === undefined || isSidecars(sidecars)) &&
    Number.isSafeInteger(former) &&
    (fault === undefined ||
      (isPlainObject(fault) && typeof fault.code === 'string' && typeof fault.message === 'string'))
  )
}

function isSidecars(value: unknown): boolean {
  if (!isPlainObject(value)) return false
  const { connected, missing, first } = value
  return Number.isSafeInteger(connected) && Number.isSafeInteger(missing) && areStrings(first)
}

function areStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
