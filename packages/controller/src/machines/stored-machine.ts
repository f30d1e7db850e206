import { isPlainObject, kindDefinitions, type KindMap, type MachineListeners } from '@osm-ts/core'
import type { KubernetesManifest, KubernetesObject, ObjectName } from '@osm-ts/kubernetes'

import { instanceSpecOf, type Machine, type StoredMachine } from './machine.js'

/** A Lease of a machine, as far as it is kept. */
export interface MachineLease {
  readonly name: ObjectName
  readonly resourceVersion: string
  /** When the machine was heard last, RFC 3339. */
  readonly renewTime: string
  readonly machine: StoredMachine
}

/** Label of Leases of machines: the uuid of the sidecar. */
export const machineLabel = 'openservicemesh.io/machine-uuid'
/** Annotation with the machine, in JSON. */
const machineAnnotation = 'openservicemesh.io/machine'
/** No one writes a machine by hand: where it stands helps no one. */
const leaseOrigin = { kind: 'api', resourceVersion: '' } as const

/** Name of the Lease of a machine: one for each name in a namespace, so that no two machines have one name. */
export function leaseName(meshName: string, { namespace, name }: Pick<Machine, 'namespace' | 'name'>): string {
  return `osm-machine-${meshName}.${namespace}.${name}`
}

/** Reads a Lease; undefined if it is not of a machine. */
export function readMachineLease({ metadata, spec }: KubernetesObject): MachineLease | undefined {
  const { name, namespace = '', resourceVersion = '', annotations, labels } = metadata
  const machine = parseMachine(annotations?.[machineAnnotation] ?? '')
  if (machine === undefined || machine.uuid !== labels?.[machineLabel]) return undefined
  const { renewTime } = (spec ?? {}) as { readonly renewTime?: string } // the API server checks Leases
  return { name: { namespace, name }, resourceVersion, renewTime: renewTime ?? '', machine }
}

/** The Lease to write. */
export function machineLease(
  {
    name,
    machine,
    renewTime,
    resourceVersion,
  }: Omit<MachineLease, 'resourceVersion'> & { readonly resourceVersion?: string },
  labels: Readonly<Record<string, string>>,
  durationMs: number,
): KubernetesManifest {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      ...name,
      ...(resourceVersion !== undefined && { resourceVersion }),
      labels: { ...labels, [machineLabel]: machine.uuid },
      annotations: { [machineAnnotation]: JSON.stringify(machine) },
    },
    spec: {
      holderIdentity: `${machine.namespace}/${machine.name}`,
      leaseDurationSeconds: durationMs / 1_000,
      renewTime,
    },
  }
}

/** What the mesh knows a machine by. */
export function instanceOfMachine(machine: StoredMachine, listeners: MachineListeners): KindMap['WorkloadInstance'] {
  const { namespace, name, labels } = machine
  return {
    apiVersion: kindDefinitions.WorkloadInstance.apiVersion,
    kind: 'WorkloadInstance',
    metadata: { namespace, name, labels, annotations: {} },
    spec: { ...instanceSpecOf(machine, listeners), hostname: name },
    origin: leaseOrigin,
  }
}

function parseMachine(text: string): StoredMachine | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isMachine =
      isPlainObject(value) &&
      typeof value.uuid === 'string' &&
      isPlainObject(value.labels) &&
      isPlainObject(value.claims) &&
      isPlainObject(value.listeners) &&
      Array.isArray(value.ports)
    // Written by a controller of this mesh.
    return isMachine ? (value as unknown as StoredMachine) : undefined
  } catch {
    return undefined
  }
}
