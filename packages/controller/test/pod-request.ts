import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

import { podSignerName, sidecarFileAnnotation } from '@osm-ts/kubernetes'

/** What a request is made of; each member has a fitting value where a test says nothing. */
export interface RequestParts {
  readonly key?: { readonly publicKey: KeyObject; readonly privateKey: KeyObject }
  /** What is signed as proof. */
  readonly proven?: string
  readonly form?: 'signature' | 'request' | 'both'
  /** DER of the subject of a request, content of the sequence. */
  readonly subject?: Buffer
  /** Replaced or added members of `spec`. */
  readonly spec?: Readonly<Record<string, unknown>>
}

/** A pod of the injector whose key its kubelet makes. */
export function podWith(name: string, uuid: string, changes: Readonly<Record<string, unknown>> = {}) {
  const fieldPath = `metadata.annotations['${sidecarFileAnnotation(uuid, 'bootstrap.yaml')}']`
  const sources = [
    { podCertificate: { signerName: podSignerName('osm'), keyType: 'ECDSAP256' } },
    { downwardAPI: { items: [{ path: 'bootstrap.yaml', fieldRef: { fieldPath } }] } },
  ]
  return {
    metadata: {
      namespace: 'shop',
      name,
      uid: `pod-${name}`,
      creationTimestamp: '2026-01-02T00:00:00Z',
      labels: { 'osm-proxy-uuid': uuid },
    },
    spec: {
      serviceAccountName: 'books',
      nodeName: 'node-1',
      containers: [{ name: 'app' }, { name: 'sidecar', volumeMounts: [{ name: 'files' }] }],
      volumes: [{ name: 'files', projected: { sources } }],
    },
    status: { phase: 'Pending' },
    ...changes,
  }
}

/** The request of a kubelet for that pod. */
export function podRequest(pod: string, parts: RequestParts = {}) {
  const { key = generateKeyPairSync('ec', { namedCurve: 'P-256' }), form = 'signature' } = parts
  const podUID = `pod-${pod}`
  const publicKey = key.publicKey.export({ type: 'spki', format: 'der' })
  const hash = key.privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  const signature = sign(hash, Buffer.from(parts.proven ?? podUID), key.privateKey)
  return {
    metadata: { namespace: 'shop', name: `request-${pod}` },
    spec: {
      signerName: podSignerName('osm'),
      podName: pod,
      podUID,
      serviceAccountName: 'books',
      serviceAccountUID: 'account-books',
      nodeName: 'node-1',
      maxExpirationSeconds: 86_400,
      ...(form === 'request'
        ? {}
        : { pkixPublicKey: publicKey.toString('base64'), proofOfPossession: signature.toString('base64') }),
      ...(form === 'signature'
        ? {}
        : { stubPKCS10Request: pkcs10(publicKey, key.privateKey, parts.subject).toString('base64') }),
      ...parts.spec,
    },
  }
}

/** An empty request for a certificate, as kubelets write it. */
function pkcs10(publicKey: Buffer, key: KeyObject, subject: Buffer = Buffer.alloc(0)): Buffer {
  const info = tlv(0x30, Buffer.from('020100', 'hex'), tlv(0x30, subject), publicKey, tlv(0xa0))
  const algorithm = Buffer.from('300a06082a8648ce3d040302', 'hex')
  return tlv(0x30, info, algorithm, tlv(0x03, Buffer.from([0]), sign('sha256', info, key)))
}

function tlv(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content)
  const length = body.length < 0x80 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
