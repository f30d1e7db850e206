import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { issueLeaf, MemoryCaStore, TresorProvider, certificateNames, parseMeshDomains, systemClock } from '@osm-ts/core'

/** Files from which the API server knows itself and others. */
export interface ApiServerCredentials {
  readonly caPem: string
  readonly adminToken: string
  readonly certificateFile: string
  readonly keyFile: string
  readonly tokenFile: string
  /** Private key by which tokens of service accounts are signed, and its public half. */
  readonly signingKeyFile: string
  readonly verifyingKeyFile: string
  /** Configuration by which the API server shows a certificate to the webhooks of the namespace `known-system`, and its CA. */
  readonly admissionFile: string
  readonly webhookClientCaPem: string
}

const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
const oneDayMs = 86_400_000

/** Makes the credentials of an API server that listens on this address. */
export async function writeCredentials(folder: string, address: string): Promise<ApiServerCredentials> {
  const key = { algorithm: 'ECDSA' } as const
  const authority = await TresorProvider.open({ store: new MemoryCaStore(), clock: systemClock, rootKey: key })
  try {
    const names = certificateNames(
      {
        kind: 'control-plane',
        name: 'kube-apiserver',
        dnsNames: ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc'],
        ipAddresses: [address],
      },
      domains,
    )
    const request = { ...names, kind: 'control-plane', validityMs: oneDayMs, key } as const
    const certificate = await issueLeaf(authority, request, AbortSignal.timeout(10_000))
    const file = (name: string, content: string): string => {
      const path = join(folder, name)
      writeFileSync(path, content, { mode: 0o600 })
      return path
    }
    const clients = await TresorProvider.open({ store: new MemoryCaStore(), clock: systemClock, rootKey: key })
    const client = await issueLeaf(clients, request, AbortSignal.timeout(10_000))
    clients.close()
    const adminToken = randomBytes(24).toString('base64url')
    const signing = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    return {
      caPem: authority.trustBundle('control-plane').join('\n'),
      adminToken,
      certificateFile: file('server.crt', certificate.chain),
      keyFile: file('server.key', certificate.privateKey()),
      tokenFile: file('tokens.csv', `${adminToken},admin,admin,"system:masters"\n`),
      signingKeyFile: file('accounts.key', signing.privateKey),
      verifyingKeyFile: file('accounts.pub', signing.publicKey),
      admissionFile: file('admission.json', admissionConfiguration(file, client.chain, client.privateKey())),
      webhookClientCaPem: clients.rootCertificate('control-plane').chain,
    }
  } finally {
    authority.close()
  }
}

/** As the guide of injection has it. */
function admissionConfiguration(file: (name: string, content: string) => string, chain: string, key: string): string {
  const user = { 'client-certificate': file('webhooks.crt', chain), 'client-key': file('webhooks.key', key) }
  const names = ['osm-injector.known-system.svc:9090', 'osm-validator.known-system.svc:9093']
  const users = names.map((name) => ({ name, user }))
  const configuration = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'WebhookAdmissionConfiguration',
    kubeConfigFile: file('webhooks.json', JSON.stringify({ apiVersion: 'v1', kind: 'Config', users })),
  }
  return JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AdmissionConfiguration',
    plugins: ['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook'].map((name) => ({ name, configuration })),
  })
}
