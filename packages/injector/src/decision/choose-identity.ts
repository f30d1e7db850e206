import { OsmError, type Capabilities } from '@osm-ts/driver-api'
import { ownValue } from '@osm-ts/driver-api/toolkit'

import { annotationError, annotations, shown } from '../annotations/annotation.js'
import type { InjectorErrorCode } from '../error-codes.js'
import type { WorkloadApi } from '../sidecar/workload-api.js'

const CHOICES = ['mesh', 'spire'] as const

/** What decides where the service certificate of a sidecar comes from. */
export interface IdentityQuestion {
  readonly pod: Readonly<Record<string, string>>
  readonly namespace: { readonly name: string; readonly annotations: Readonly<Record<string, string>> }
  readonly workloadApi: WorkloadApi | undefined
  readonly sidecarClass: string
  readonly capabilities: Capabilities
}

/**
 * The Workload API from which the sidecar of a pod takes its service certificate, as pod, namespace or the chart say, in this order. Undefined: the mesh gives it.
 *
 * @throws OsmError `OSM_INJECT_ANNOTATION`, or `OSM_INJECT_CLASS` for a class that cannot: a sidecar never gets a certificate of another source than that chosen
 */
export function chooseIdentity(question: IdentityQuestion): WorkloadApi | undefined {
  const { pod, namespace, workloadApi, sidecarClass, capabilities } = question
  const name = annotations.workloadIdentity
  const ofPod = ownValue(pod, name)
  const [written, owner] =
    ofPod === undefined ? [ownValue(namespace.annotations, name), `namespace ${namespace.name}`] : [ofPod, 'the pod']
  const choice = CHOICES.find((each) => each === written)
  if (written !== undefined && choice === undefined)
    throw annotationError(owner, name, `${shown(written)} is not one of ${CHOICES.join(', ')}`)
  if (choice === 'spire' && workloadApi === undefined)
    throw annotationError(owner, name, 'spire needs osm.spire.enable of the chart; use mesh, or leave it out')
  const isSpire = choice === undefined ? workloadApi?.isDefault === true : choice === 'spire'
  if (!isSpire) return undefined
  if (capabilities.features.includes('workload-api-certificates')) return workloadApi
  throw new OsmError<InjectorErrorCode>(
    'OSM_INJECT_CLASS',
    `sidecars of class ${sidecarClass} cannot take their certificate from SPIRE, as ${choice === undefined ? 'osm.workloadIdentity' : `annotation ${name} of ${owner}`} says; ` +
      `choose another class, or annotate the pod or its namespace with ${name}: mesh`,
  )
}
