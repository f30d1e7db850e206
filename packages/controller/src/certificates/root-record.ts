import { isPlainObject } from '@osm-ts/core'

/** What the leader has written into the status of a MeshRootCertificate. */
export interface RootRecord {
  /** Of the object as it is now. */
  readonly generation: number | undefined
  /** `status.state` */
  readonly state: string | undefined
  /** Status of the condition `Issuing`. */
  readonly isIssuing: boolean
  /** Generation of the object for which that was decided. */
  readonly decidedFor: number | undefined
}

/** Finds what the leader has written by the name of the object; undefined: there is no such object. */
export type RootRecords = (name: string) => RootRecord | undefined

/** The condition that a provider signs. */
export const ISSUING = 'Issuing'

/** Reads the status of a MeshRootCertificate, of whatever form. */
export function readRootRecord(generation: number | undefined, status: unknown): RootRecord {
  const { state, conditions } = isPlainObject(status) ? status : {}
  const known: readonly unknown[] = Array.isArray(conditions) ? conditions : []
  const issuing = known.filter(isPlainObject).find(({ type }) => type === ISSUING)
  const { observedGeneration } = issuing ?? {}
  return {
    generation,
    state: typeof state === 'string' ? state : undefined,
    isIssuing: issuing?.status === 'True',
    decidedFor: typeof observedGeneration === 'number' ? observedGeneration : undefined,
  }
}

/** True while the leader lets the provider sign, be it that another one is to take its place. */
export function isSigning(record: RootRecord | undefined): boolean {
  return record?.isIssuing ?? false
}

/** True once the leader lets the provider sign as the object is now. A change of its spec has to be decided again. */
export function mayIssue(record: RootRecord | undefined): boolean {
  return record !== undefined && record.isIssuing && record.decidedFor === record.generation
}
