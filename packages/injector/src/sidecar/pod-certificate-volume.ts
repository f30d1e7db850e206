import { podSignerName, sidecarFileAnnotation } from '@osm-ts/kubernetes'
import { type FileContent, OsmError, type ProxyUUID, type SidecarPatch } from '@osm-ts/driver-api'

import type { InjectorErrorCode } from '../error-codes.js'
import type { JsonObject } from '../json/json.js'
import type { InjectionSettings } from '../inject/settings.js'
import { fileText, type KnownFields } from './values.js'

/** Longest lifetime that a certificate may have. */
const MAX_EXPIRATION_SECONDS = 86_400
/** What every class can use. */
const KEY_TYPE = 'ECDSAP256'
/** Last part of the name of an annotation. */
const ANNOTATION_NAME = /^[a-z0-9](?:[-a-z0-9._]{0,61}[a-z0-9])?$/

/** What the volume is made from. */
export interface PodCertificateVolumeOptions {
  readonly patch: SidecarPatch
  readonly uuid: ProxyUUID
  readonly folder: string
  readonly known: KnownFields
  readonly settings: Pick<InjectionSettings, 'meshName' | 'trustBundle'>
}

/** A volume without a Secret, and the annotations that it reads. */
export interface PodCertificateVolume {
  readonly files: JsonObject
  readonly annotations: Readonly<Record<string, string>>
}

/**
 * The files of a sidecar whose key its kubelet makes. Everything else of them is no secret and stands in annotations of the pod: so nothing has to be written beside the
 * pod, and nothing is left of it.
 *
 * @throws OsmError `OSM_INJECT_PATCH`
 */
export function podCertificateVolume(options: PodCertificateVolumeOptions): PodCertificateVolume {
  const { patch, uuid, settings } = options
  const texts = patch.files.flatMap(({ path, content }) => {
    const text = textOf(content, options)
    return text === undefined ? [] : [{ path, name: annotationOf(uuid, path), text }]
  })
  const podCertificate = {
    signerName: podSignerName(settings.meshName),
    keyType: KEY_TYPE,
    maxExpirationSeconds: MAX_EXPIRATION_SECONDS,
    keyPath: pathOf(patch, 'bootstrap.key'),
    certificateChainPath: pathOf(patch, 'bootstrap.chain'),
  }
  const items = texts.map(({ path, name }) => ({ path, fieldRef: { fieldPath: `metadata.annotations['${name}']` } }))
  return {
    files: { projected: { sources: [{ podCertificate }, { downwardAPI: { items } }] } },
    annotations: Object.fromEntries(texts.map(({ name, text }) => [name, text])),
  }
}

/** A kubelet writes each of the two once. */
function pathOf({ files }: SidecarPatch, from: 'bootstrap.key' | 'bootstrap.chain'): string {
  const [path, ...others] = files.flatMap((file) =>
    'from' in file.content && file.content.from === from ? [file.path] : [],
  )
  if (path !== undefined && others.length === 0) return path
  throw new OsmError<InjectorErrorCode>(
    'OSM_INJECT_PATCH',
    `the driver names ${path === undefined ? 'no file' : `${others.length + 1} files`} for ${from}; where osm.proxyIdentity is podCertificate it must be one`,
  )
}

function annotationOf(uuid: ProxyUUID, path: string): string {
  if (ANNOTATION_NAME.test(path)) return sidecarFileAnnotation(uuid, path)
  throw new OsmError<InjectorErrorCode>(
    'OSM_INJECT_PATCH',
    `file ${path} of the driver cannot be named by an annotation, as osm.proxyIdentity podCertificate needs: at most 63 characters, the last a letter or digit`,
  )
}

/** Undefined for what the kubelet writes. */
function textOf(content: FileContent, { settings, folder, known }: PodCertificateVolumeOptions): string | undefined {
  if ('text' in content) return fileText(content.text, folder, known)
  switch (content.from) {
    case 'bootstrap.key':
    case 'bootstrap.chain':
      return undefined
    case 'trustBundle':
      return settings.trustBundle.join('')
    case 'trustBundle.last':
      return settings.trustBundle.at(-1) ?? ''
  }
}
