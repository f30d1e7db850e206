import { posix } from 'node:path'

import type { WorkloadApiSocket } from '@osm-ts/driver-api'
import { workloadApiVolume } from '@osm-ts/kubernetes'

import type { JsonObject } from '../json/json.js'

/** The SPIFFE Workload API of the nodes, and how pods get its socket. */
export interface WorkloadApi {
  /** Exactly one of the two: a CSI driver, or a folder of the node. */
  readonly source:
    { readonly kind: 'csi'; readonly driver: string } | { readonly kind: 'hostPath'; readonly path: string }
  /** File name of the socket in that folder. */
  readonly socketName: string
  /** True: sidecars that nothing else is said about take their certificates there. */
  readonly isDefault: boolean
}

/** Folder in which a sidecar sees the socket. */
const FOLDER = '/run/osm/workload-api'

/** The volume with the socket. */
export function socketVolume({ source }: WorkloadApi): JsonObject {
  return source.kind === 'csi'
    ? { name: workloadApiVolume, csi: { driver: source.driver, readOnly: true } }
    : { name: workloadApiVolume, hostPath: { path: source.path, type: 'Directory' } }
}

/** Where the sidecar, and no other container, has that volume. */
export function socketMount(): JsonObject {
  return { name: workloadApiVolume, mountPath: FOLDER, readOnly: true }
}

/** Where the sidecar finds the socket. */
export function socketOf({ socketName }: WorkloadApi): WorkloadApiSocket {
  return { socketPath: posix.join(FOLDER, socketName) }
}
