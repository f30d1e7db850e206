import { X509Certificate } from 'node:crypto'

import { unknownLocality } from '@osm-ts/core'
import type { InjectorContext, MeshConfigView, ProxyCommonName, ProxyUUID } from '@osm-ts/driver-api'
import type { JsonValue } from '@osm-ts/driver-api/policy'

import type { MachineCredential } from './control-plane-client.js'
import type { SidecarReach } from './machine-place.js'
import type { Membership } from './machine-state.js'

/** What a machine tells the driver of its class. */
export interface MachineContextOptions {
  readonly contract: number
  readonly membership: Membership
  readonly credential: MachineCredential
  /** Address of the control plane. */
  readonly host: string
  readonly reach: SidecarReach
  readonly signal: AbortSignal
}

/** What the driver is told: as an injector does for a pod, by what the control plane has said of the mesh. */
export function machineContext({
  contract,
  membership,
  credential,
  host,
  reach,
  signal,
}: MachineContextOptions): InjectorContext {
  const { sidecar, uuid, commonName, namespace, serviceAccount, name, labels, ports } = membership
  const { validTo, serialNumber } = new X509Certificate(credential.chain)
  return {
    contract,
    meshName: sidecar.meshName,
    osmNamespace: sidecar.osmNamespace,
    podNamespace: namespace,
    pod: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, uid: uuid, labels },
      spec: {
        serviceAccountName: serviceAccount,
        containers: [{ name, ports: ports.map(({ port }) => ({ containerPort: port })) }],
      },
    },
    podOS: 'linux',
    proxyUUID: uuid as ProxyUUID, // the schema of the answer demands the form
    proxyCommonName: commonName as ProxyCommonName, // that of the certificate
    bootstrapCertificate: {
      chain: credential.chain,
      expiry: new Date(validTo).toISOString(),
      serialNumber: serialNumber.toLowerCase(),
    },
    // A driver checks what it depends on; the control plane of the same mesh has written them.
    configurator: sidecar.configurator as MeshConfigView,
    driverConfig: sidecar.driverConfig as JsonValue,
    sidecarImage: sidecar.sidecarImage,
    pullPolicy: 'IfNotPresent',
    resources: sidecar.resources as InjectorContext['resources'],
    logLevel: sidecar.logLevel,
    ...reach,
    locality: unknownLocality,
    nativeSidecar: false,
    originalHealthProbes: [],
    controlPlane: { address: host, ...sidecar.controlPlane },
    trustBundle: credential.trustBundle,
    dryRun: false,
    signal,
  }
}
