import { pemCertificates } from '../../packages/core/src/certificates/certificate.js'
import { PeerVerifier, type VerifiedPeer } from '../../packages/core/src/certificates/verify.js'
import { parseMeshDomains, spiffeIdOf } from '../../packages/core/src/identity/index.js'
import { readClientCredential } from '../../packages/core/src/secrets/client-credential.js'
import { parseRoots } from '../../packages/bootstrap/src/webhooks/parse-roots.js'
import { type FuzzTarget, hasCode, invariant, isRecord, jsonOf, outcomeOf, textOf } from '../fuzz-target.js'
import { CarelessAuthority, type CertificateContent, NOW } from '../harness/test-certificate.js'

const domains = parseMeshDomains({ trustDomain: 'mesh.example', clusterDomain: 'cluster.local' })
const isPeerError = hasCode('OSM_CERT_PEER_')
/** Begins the keys of the corpus. */
const SECRET = 'MIGHAgEAMBMGByqGSM49'

/** Certificates of peers and in Secrets. */
export function certificateTargets(): readonly FuzzTarget[] {
  const authority = new CarelessAuthority()
  const verifier = (kind: 'workload' | 'control-plane') =>
    new PeerVerifier({ authority: kind, trustBundle: [authority.root], domains, peer: 'client' })
  return [
    {
      name: 'peer-names',
      about:
        'Certificates with a valid signature and any names and bytes: who is accepted is named by the alternative names alone, and by all of them.',
      form: 'json',
      words: [
        'dns',
        'uri',
        'address',
        '.sidecar.',
        'spiffe://mesh.example/books/shop',
        'books.shop.mesh.example',
        'books.shop.svc.cluster.local',
        '\u0000',
        ', DNS:',
        '0a000001',
      ],
      run: (input) => {
        const content = contentOf(jsonOf(input))
        if (content === undefined) return undefined
        const der = authority.issue(content)
        return (['control-plane', 'workload'] as const).map((kind) =>
          outcomeOf(() => {
            const peer = verifier(kind).verify(der, NOW)
            if (content.edits.length === 0) checkNames(peer, content)
            return peer
          }, isPeerError),
        )
      },
    },
    {
      name: 'peer-certificate',
      about: 'Bytes where the certificate of a peer is expected: refused with a code.',
      form: 'bytes',
      run: (input) =>
        (['control-plane', 'workload'] as const).map((kind) =>
          outcomeOf(() => verifier(kind).verify(input, NOW), isPeerError),
        ),
    },
    {
      name: 'pem',
      about:
        'PEM in Secrets and files: roots, and client certificates with their keys, of which no message repeats anything.',
      form: 'json',
      words: [
        '-----BEGIN CERTIFICATE-----\n',
        '\n-----END CERTIFICATE-----',
        '-----BEGIN EC PRIVATE KEY-----',
        '-----BEGIN ENCRYPTED PRIVATE KEY-----',
      ],
      secret: SECRET,
      budgetMs: 200,
      run: (input) => {
        const text = textOf(input)
        const document = jsonOf(input)
        const data = Object.entries(isRecord(document) ? document : {}).filter(
          (entry): entry is [string, string] => typeof entry[1] === 'string',
        )
        const reading = readClientCredential(Object.fromEntries(data))
        return {
          certificates: pemCertificates(text).length,
          roots: outcomeOf(() => parseRoots(text, 'Secret osm-system/ca').length, hasCode('OSM_BOOTSTRAP_ROOT')),
          credential: reading.usable ? 'usable' : reading.fault,
        }
      },
    },
  ]
}

function checkNames(peer: VerifiedPeer, { names, commonNames }: CertificateContent): void {
  const written = names.map(({ value }) => value)
  switch (peer.kind) {
    case 'proxy':
      invariant(written.join() === peer.commonName, 'a proxy with other names than its own')
      invariant(
        peer.commonName.startsWith(`${peer.uuid}.sidecar.${peer.serviceAccount.name}.`),
        'a proxy of another account',
      )
      break
    case 'service':
      invariant(
        written.includes(peer.spiffeId) && written.includes(peer.principal),
        'a service that its certificate does not name',
      )
      invariant(spiffeIdOf(peer.serviceAccount, domains.trustDomain) === peer.spiffeId, 'a service of another account')
      break
    case 'control-plane':
      invariant(
        peer.dnsNames.every((name) => written.includes(name)),
        'a name that the certificate does not hold',
      )
  }
  for (const name of commonNames) invariant(written.includes(name), 'a common name beside the alternative names')
}

function contentOf(value: unknown): CertificateContent | undefined {
  if (!isRecord(value)) return undefined
  const { commonNames = [], names = [], edits = [] } = value
  const isNames =
    Array.isArray(names) &&
    names.every(
      (name: unknown) =>
        isRecord(name) &&
        typeof name['value'] === 'string' &&
        ['dns', 'uri', 'address'].some((type) => type === name['type']),
    )
  const isEdits =
    Array.isArray(edits) &&
    edits.every(
      (edit: unknown) =>
        Array.isArray(edit) &&
        edit.length === 2 &&
        edit.every((each) => Number.isSafeInteger(each) && Number(each) >= 0),
    )
  const isTexts = Array.isArray(commonNames) && commonNames.every((name) => typeof name === 'string')
  return isNames && isEdits && isTexts ? { commonNames, names, edits } : undefined
}
