import { describe, expect, it } from '@jest/globals'

import { podSignerName, sidecarFileAnnotation, uuidOfVolume } from './sidecar-volume.js'

const uuid = '5f0f5b43-6a92-4f4b-9d0e-0a4d5a1c9e01'
const other = '5f0f5b43-6a92-4f4b-9d0e-0a4d5a1c9e02'
const certificate = { podCertificate: { signerName: podSignerName('osm') } }
const filesOf = (...annotations: readonly string[]) => ({
  downwardAPI: {
    items: annotations.map((name) => ({ path: 'f', fieldRef: { fieldPath: `metadata.annotations['${name}']` } })),
  },
})
const projected = (...sources: readonly object[]) => ({ projected: { sources } })

describe('uuidOfVolume', () => {
  it.each([
    ['a Secret of a sidecar', { secret: { secretName: `sidecar-bootstrap-config-${uuid}` } }],
    [
      'a certificate for the pod beside files of one sidecar',
      projected(certificate, filesOf(sidecarFileAnnotation(uuid, 'a.yaml'), sidecarFileAnnotation(uuid, 'b'))),
    ],
  ])('is that of %s', (_what, volume) => {
    expect(uuidOfVolume(volume)).toBe(uuid)
  })

  it.each([
    ['another Secret', { secret: { secretName: 'mine' } }],
    ['an empty directory', {}],
    ['files without a certificate', projected(filesOf(sidecarFileAnnotation(uuid, 'a')))],
    ['a certificate without files', projected(certificate)],
    [
      'a certificate of another signer',
      projected({ podCertificate: { signerName: 'example.com/osm' } }, filesOf(sidecarFileAnnotation(uuid, 'a'))),
    ],
    [
      'files of two sidecars',
      projected(certificate, filesOf(sidecarFileAnnotation(uuid, 'a'), sidecarFileAnnotation(other, 'a'))),
    ],
    ['an annotation that only begins so', projected(certificate, filesOf(`${uuid}.files.openservicemesh.io.evil/a`))],
  ])('is undefined for %s', (_what, volume) => {
    expect(uuidOfVolume(volume)).toBeUndefined()
  })
})
