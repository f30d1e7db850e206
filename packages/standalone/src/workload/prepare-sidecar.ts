import { hostname } from 'node:os'
import { join } from 'node:path'

import { newProxyUUID, type ProxyCertificate } from '@osm-ts/core'
import { OsmError, type ProxyUUID, type SidecarPatch, type WorkloadApiSocket } from '@osm-ts/driver-api'
import { requireContract } from '@osm-ts/driver-api/host'

import type { StandaloneErrorCode } from '../errors.js'
import { isExecutable } from '../process/find-executable.js'
import type { DesiredInstance } from './desired-instances.js'
import { injectorContext } from './injector-context.js'
import type { InstanceServices } from './instance-services.js'
import type { ReferenceValues } from './sidecar-files.js'
import type { InstancePlacement } from './instance-placement.js'

/** A sidecar that is about to be started. */
export interface PreparedSidecar {
  readonly uuid: ProxyUUID
  readonly sidecarClass: string
  readonly binary: string
  readonly patch: SidecarPatch
  readonly certificate: ProxyCertificate
  /** Present: the sidecar takes its service certificate there. */
  readonly workloadApi: WorkloadApiSocket | undefined
  /** A certificate for the same sidecar. */
  readonly issue: () => Promise<ProxyCertificate>
}

/**
 * Does what an injector does for a pod: a new id, a certificate, and the driver's patch.
 *
 * @throws OsmError with a code of the driver contract, of certificates, or OSM_STANDALONE_BINARY, OSM_STANDALONE_PATCH
 */
export async function prepareSidecar(
  desired: DesiredInstance,
  sidecarClass: string,
  placement: InstancePlacement,
  services: InstanceServices,
  signal: AbortSignal,
): Promise<PreparedSidecar> {
  const { registry, certificates, configurator, domains, environment } = services
  const driver = registry.get(sidecarClass)
  const binary = requireBinary(sidecarClass, services.sidecarBinaries)
  const uuid = newProxyUUID()
  const serviceAccount = { namespace: desired.namespace, name: desired.workload.spec.serviceAccountName }
  const issue = (): Promise<ProxyCertificate> =>
    certificates.issueCertificate({ kind: 'proxy', uuid, serviceAccount }, { keep: false })
  const certificate = await issue()
  const { workloadApiSocket: socketPath } = services
  const takes = driver.capabilities.features.includes('workload-api-certificates')
  const workloadApi = socketPath !== undefined && takes ? { socketPath } : undefined
  const context = injectorContext({
    contract: requireContract(driver),
    desired,
    sidecarClass,
    uuid,
    certificate,
    configurator,
    domains,
    environment,
    trustBundle: certificates.trustBundle('control-plane'),
    controlPlanePort: services.controlPlanePort(sidecarClass) ?? 0,
    placement,
    workloadApi,
    signal,
  })
  const patch = await registry.patch(context, driver.name)
  checkForProcess(patch, sidecarClass)
  return { uuid, sidecarClass, binary, patch, certificate, workloadApi, issue }
}

/** What references in a patch stand for. */
export function referenceValues(
  { namespace, name, workload }: DesiredInstance,
  { uuid, address, folder }: { readonly uuid: string; readonly address: string; readonly folder: string },
): ReferenceValues {
  return {
    file: (path) => join(folder, path),
    workload: {
      address,
      instance: name,
      namespace,
      serviceAccount: workload.spec.serviceAccountName,
      uid: uuid,
      node: hostname(),
    },
  }
}

export function requireBinary(sidecarClass: string, binaries: Readonly<Record<string, string>>): string {
  const code: StandaloneErrorCode = 'OSM_STANDALONE_BINARY'
  const variable = `${sidecarClass.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_BIN`
  const binary = Object.hasOwn(binaries, sidecarClass) ? binaries[sidecarClass] : undefined
  if (binary === undefined || binary === '')
    throw new OsmError(code, `no executable is known for sidecar class ${sidecarClass}; set ${variable} to its path`)
  if (isExecutable(binary)) return binary
  throw new OsmError(
    code,
    `${binary} can't be run as the sidecar of class ${sidecarClass}; set ${variable} to the path of an executable`,
  )
}

/** Where every process may write already, as a container with a read-only root may only into a volume. */
const SCRATCH = '/tmp'

/** A process has no containers before it, and no folders of its own at fixed places. */
export function checkForProcess({ initContainers, volumes }: SidecarPatch, sidecarClass: string): void {
  const wanted = [
    ...initContainers.map(({ name }) => `init container ${name}`),
    ...volumes
      .filter(({ mountPath }) => mountPath !== SCRATCH)
      .map(({ name, mountPath }) => `volume ${name} at ${mountPath}`),
  ]
  if (wanted.length === 0) return
  const code: StandaloneErrorCode = 'OSM_STANDALONE_PATCH'
  throw new OsmError(
    code,
    `sidecar class ${sidecarClass} needs ${wanted.join(', ')}, which a process outside a container cannot have; choose another class`,
  )
}
