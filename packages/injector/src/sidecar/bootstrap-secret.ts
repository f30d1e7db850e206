import { hash } from 'node:crypto'

import type { ProxyCertificate } from '@osm-ts/core'
import { bootstrapSecretName, type KubernetesManifest, meshObjectLabels, proxyUuidLabel } from '@osm-ts/kubernetes'
import type { FileContent, ProxyUUID, SidecarPatch } from '@osm-ts/driver-api'

import type { InjectionSettings } from '../inject/settings.js'
import { fileText, type KnownFields } from './values.js'

/** Annotation of the Secret that tells for which request it was made, see {@link admissionDigest}. */
export const admissionAnnotation = 'openservicemesh.io/admission'

/** What the Secret is made from. */
export interface SecretOptions {
  readonly patch: SidecarPatch
  readonly uuid: ProxyUUID
  readonly certificate: ProxyCertificate
  readonly folder: string
  readonly known: KnownFields & { readonly namespace: string }
  readonly admission: string
  readonly settings: Pick<InjectionSettings, 'meshName' | 'version' | 'trustBundle'>
}

/**
 * The Secret with the files of a sidecar. Holds its private key: it goes to the API server and nowhere else.
 *
 * @throws OsmError `OSM_INJECT_PATCH`
 */
export function bootstrapSecret(options: SecretOptions): KubernetesManifest {
  const { patch, uuid, known, admission, settings } = options
  const data = patch.files.map(({ path, content }) => [
    path,
    Buffer.from(contentOf(content, options), 'utf8').toString('base64'),
  ])
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: bootstrapSecretName(uuid),
      namespace: known.namespace,
      labels: { ...meshObjectLabels(settings.meshName, settings.version), [proxyUuidLabel]: uuid },
      annotations: { [admissionAnnotation]: admission },
    },
    type: 'Opaque',
    data: Object.fromEntries(data),
  }
}

/**
 * Tells requests apart. The API server may show a pod to the injector again after other webhooks have changed it, and then nothing in the pod says
 * that it is not a copy of another one: but a copy has another name, and names of one namespace are unique.
 */
export function admissionDigest(pod: {
  readonly namespace: string
  readonly name: string
  readonly generateName: string
  readonly serviceAccount: string
}): string {
  const facts = [pod.namespace, pod.name, pod.generateName, pod.serviceAccount]
  return hash('sha256', JSON.stringify(facts), 'hex').slice(0, 32)
}

function contentOf(content: FileContent, { certificate, settings, folder, known }: SecretOptions): string {
  if ('text' in content) return fileText(content.text, folder, known)
  switch (content.from) {
    case 'bootstrap.key':
      return certificate.privateKey()
    case 'bootstrap.chain':
      return certificate.chain
    case 'trustBundle':
      return settings.trustBundle.join('')
    case 'trustBundle.last':
      return settings.trustBundle.at(-1) ?? ''
  }
}
