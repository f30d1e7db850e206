import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

import type { ProxyCertificate } from '@osm-ts/core'
import type { FileContent, Reference, SidecarPatch, Value } from '@osm-ts/driver-api'

import { writeFileAtomic } from '../state/write-file.js'

/** What files of a sidecar are made from. */
export interface FileMaterial {
  readonly certificate: Pick<ProxyCertificate, 'chain' | 'privateKey'>
  /** PEM of the control plane's roots. */
  readonly trustBundle: readonly string[]
  readonly values: ReferenceValues
}

/** Where files go, and who reads them if it is another user. */
export interface FileTarget {
  readonly folder: string
  readonly uid: number | undefined
}

/** Writes all files of a sidecar into its folder. */
export function writeSidecarFiles(patch: SidecarPatch, target: FileTarget, material: FileMaterial): void {
  mkdirSync(target.folder, { recursive: true, mode: 0o700 })
  if (target.uid !== undefined) {
    chownSync(target.folder, target.uid, target.uid)
    chmodSync(target.folder, 0o700)
  }
  for (const { path, content } of patch.files) writeSidecarFile(target, path, contentOf(content, material))
}

/**
 * Replaces the files that change with the certificate, each in one step: sidecars watch the folder for files that are moved into it. The key
 * comes first, so that the last of the moves leaves a pair that fits.
 */
export function replaceCertificateFiles(patch: SidecarPatch, target: FileTarget, material: FileMaterial): void {
  const order = ['trustBundle', 'trustBundle.last', 'bootstrap.key', 'bootstrap.chain'] as const
  for (const from of order)
    for (const { path, content } of patch.files)
      if ('from' in content && content.from === from) writeSidecarFile(target, path, contentOf(content, material))
}

/** Keys are among the files, so that none of them is for others. */
function writeSidecarFile({ folder, uid }: FileTarget, path: string, content: string): void {
  writeFileAtomic(join(folder, path), content, 0o600, uid)
}

function contentOf(content: FileContent, { certificate, trustBundle, values }: FileMaterial): string {
  if ('text' in content) return resolveValue(content.text, values)
  switch (content.from) {
    case 'bootstrap.key':
      return certificate.privateKey()
    case 'bootstrap.chain':
      return certificate.chain
    case 'trustBundle':
      return trustBundle.join('')
    case 'trustBundle.last':
      return trustBundle.at(-1) ?? ''
  }
}

/** What references stand for, for one sidecar. */
export interface ReferenceValues {
  /** Absolute path of one of the sidecar's files. */
  readonly file: (path: string) => string
  readonly workload: Readonly<Record<Extract<Reference, { ref: 'workload' }>['field'], string>>
}

/** The text of a value. */
export function resolveValue(value: Value, values: ReferenceValues): string {
  if (typeof value === 'string') return value
  return value.map((piece) => (typeof piece === 'string' ? piece : resolveReference(piece, values))).join('')
}

function resolveReference(reference: Reference, { file, workload }: ReferenceValues): string {
  return reference.ref === 'file' ? file(reference.path) : workload[reference.field]
}
