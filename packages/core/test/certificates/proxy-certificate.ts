import { generateKeyPairSync, type KeyObject } from 'node:crypto'

import { writeRoot } from '../../src/certificates/x509.js'

const now = Date.now()
const signer = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

/** DER of a certificate of a CA with that key, under a name that is no one's: what counts of it is the key. */
export async function certificateWithKey(publicKey: KeyObject): Promise<Uint8Array> {
  const { der } = await writeRoot({
    commonName: 'admin.kube-system.cluster.local',
    unit: 'control-plane',
    notBefore: now,
    notAfter: now + 3_600_000,
    publicKey: publicKey.export({ type: 'spki', format: 'der' }),
    key: signer,
  })
  return der
}
