import {
  allowedClasses,
  driverConfigCheck,
  type ConfigErrorCode,
  type ConfigEnvironment,
  type DriverRegistry,
  driverConfig,
  type MeshConfig,
  type MeshDomains,
  type MeshObject,
  type Problem,
  resolveMeshConfig,
  restartOnlyChanges,
} from '@osm-ts/core'
import { isOsmError } from '@osm-ts/driver-api'
import type { JsonValue } from '@osm-ts/driver-api/policy'

import { oldImage } from '../driver-problems.js'
import type { ControllerErrorCode } from '../errors.js'
import type { ObjectFindings } from './object-findings.js'

/** What a MeshConfig is reviewed with. */
export interface MeshConfigReviewOptions {
  readonly registry: DriverRegistry
  readonly osmNamespace: string
  readonly domains: MeshDomains
  readonly environment: ConfigEnvironment
  /** The configuration that this process started with. */
  readonly started: () => MeshConfig | undefined
}

/** Looks at the MeshConfig of this mesh as if it were in force: its settings, its classes, its drivers, and what waits for a restart. */
export function reviewMeshConfig(object: MeshObject<'MeshConfig'>, options: MeshConfigReviewOptions): ObjectFindings {
  const { registry, osmNamespace, domains, environment } = options
  if (Object.keys(object.spec).length === 0)
    return {
      denials: [
        found('OSM_ADMISSION_EMPTY', 'spec', 'is empty: write at least sidecar.sidecarClass; all else has defaults'),
      ],
      warnings: [],
    }
  const { config, problems } = resolveMeshConfig(
    object.spec,
    { osmNamespace, clusterDomain: domains.clusterDomain, environment },
    { object: undefined, locate: () => undefined },
  )
  const started = options.started()
  const waiting = started === undefined ? [] : restartOnlyChanges(started, config)
  const { denials, warnings } = reviewClasses(config, registry, object.spec)
  return {
    // The class must be readable: the default would be another proxy.
    denials: [...problems.filter(({ code }) => code === 'OSM_CONFIG_CLASS'), ...denials],
    warnings: [
      ...problems.filter(({ code }) => code !== 'OSM_CONFIG_CLASS'),
      ...warnings,
      ...waiting.map(({ field, holds }) =>
        found(
          'OSM_CONFIG_RESTART',
          field,
          `takes effect when the control plane is restarted; until then ${holds} applies`,
        ),
      ),
    ],
  }
}

function reviewClasses(
  config: MeshConfig,
  registry: DriverRegistry,
  spec: MeshObject<'MeshConfig'>['spec'],
): ObjectFindings {
  const known = registry.names()
  const { sidecarClass } = config.sidecar
  const denials: Problem[] = []
  const warnings: Problem[] = []
  if (!known.includes(sidecarClass)) {
    const why = whyMissing(registry, sidecarClass)
    const message = `${JSON.stringify(sidecarClass)} names no driver of this control plane${why}; registered: ${known.join(', ') || 'none'}`
    denials.push(found('OSM_ADMISSION_CLASS', 'spec.sidecar.sidecarClass', message))
  }
  for (const name of allowedClasses(config)) {
    const index = (spec.sidecar?.sidecarDrivers ?? []).findIndex((it) => it.sidecarName.toLowerCase() === name)
    const field = `spec.sidecar.sidecarDrivers[${index}]`
    if (known.includes(name)) {
      warnings.push(...oldImage(name, config, registry.get(name).oldestProxyVersion))
      const reason = configFault(registry, name, driverConfig(config, name))
      if (reason !== undefined) denials.push(found('OSM_ADMISSION_DRIVER_CONFIG', `${field}.config`, reason))
    } else if (name !== sidecarClass) {
      const message = `${JSON.stringify(name)} names no driver of this control plane${whyMissing(registry, name)}: pods that choose this class are refused`
      warnings.push(found('OSM_ADMISSION_CLASS', `${field}.sidecarName`, message))
    }
  }
  return { denials, warnings }
}

/** What is known of a driver that was requested and is not there. */
function whyMissing(registry: DriverRegistry, name: string): string {
  const refusal = registry.refusal(name)
  if (refusal === undefined) return ''
  const { code, message, final } = refusal
  return ` (its driver is ${final ? 'refused' : 'not there yet'}: ${message} [${code}])`
}

function configFault(registry: DriverRegistry, name: string, config: JsonValue): string | undefined {
  try {
    driverConfigCheck(registry.get(name))(config)
    return undefined
  } catch (error) {
    if (isOsmError(error)) return error.message
    throw error
  }
}

function found(code: ControllerErrorCode | ConfigErrorCode, field: string, message: string): Problem {
  return { code, severity: 'error', field, message }
}
