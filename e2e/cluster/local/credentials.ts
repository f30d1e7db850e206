import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { issueLeaf, MemoryCaStore, TresorProvider, systemClock } from '@osm-ts/core'
import type { AddressPlan } from './address-plan.js'

/** A certificate with its private key, PEM. */
export interface KeyPairPem {
  readonly certificate: string
  readonly key: string
}

/** What the machines of a cluster know each other by. */
export interface ClusterCredentials {
  readonly ca: string
  readonly apiServer: KeyPairPem
  /** By which the API server calls kubelets; its user is {@link kubeletClientUser}. */
  readonly kubeletClient: KeyPairPem
  readonly kubelets: ReadonlyMap<string, KeyPairPem>
  /** Keys by which tokens of service accounts are signed and verified. */
  readonly accountSigningKey: string
  readonly accountVerifyingKey: string
  /** Bearer tokens by user. */
  readonly tokens: ReadonlyMap<string, string>
}

/** User as whom the API server calls kubelets. */
export const kubeletClientUser = 'kube-apiserver-kubelet-client'

/** User as whom the administrator comes. */
export const adminUser = 'admin'

/** User of a kubelet, as the node authorizer expects it. */
export function kubeletUser(node: string): string {
  return `system:node:${node}`
}

const programUsers = ['system:kube-controller-manager', 'system:kube-scheduler', 'system:kube-proxy']
const oneYearMs = 365 * 86_400_000

/** Makes the credentials of a cluster. Nothing of them outlives it. */
export async function makeCredentials(plan: AddressPlan, signal: AbortSignal): Promise<ClusterCredentials> {
  const key = { algorithm: 'ECDSA' } as const
  const authority = await TresorProvider.open({ store: new MemoryCaStore(), clock: systemClock, rootKey: key })
  const issue = async (
    commonName: string,
    dnsNames: readonly string[],
    addresses: readonly string[],
  ): Promise<KeyPairPem> => {
    const names = { commonName, dnsNames: [...dnsNames], uris: [], ipAddresses: [...addresses] }
    const request = { ...names, kind: 'control-plane', validityMs: oneYearMs, key } as const
    const certificate = await issueLeaf(authority, request, signal)
    return { certificate: certificate.chain, key: certificate.privateKey() }
  }
  try {
    const service = [
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
      'kubernetes.default.svc.cluster.local',
    ]
    const signing = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    const kubelets = new Map<string, KeyPairPem>()
    for (const node of plan.nodes) kubelets.set(node.name, await issue(node.name, [node.name], [node.address]))
    const users = [adminUser, ...programUsers, ...plan.nodes.map(({ name }) => kubeletUser(name))]
    return {
      ca: authority.trustBundle('control-plane').join('\n'),
      apiServer: await issue('kube-apiserver', service, [plan.controlPlane, plan.apiService]),
      kubeletClient: await issue(kubeletClientUser, [kubeletClientUser], []),
      kubelets,
      accountSigningKey: signing.privateKey,
      accountVerifyingKey: signing.publicKey,
      tokens: new Map(users.map((user) => [user, randomBytes(24).toString('base64url')])),
    }
  } finally {
    authority.close()
  }
}

/** The file from which the API server knows bearer tokens. */
export function tokenFile({ tokens }: ClusterCredentials): string {
  return [...tokens].map(([user, token]) => `${token},${user},${user},"${groupsOf(user)}"\n`).join('')
}

function groupsOf(user: string): string {
  if (user === adminUser) return 'system:masters'
  return user.startsWith('system:node:') ? 'system:nodes' : ''
}

/** A kubeconfig; JSON is YAML. */
export function kubeconfig(
  { ca, tokens }: ClusterCredentials,
  plan: AddressPlan,
  cluster: string,
  user: string,
): string {
  const token = tokens.get(user)
  if (token === undefined) throw new Error(`no token was made for ${user}`)
  const server = `https://${plan.controlPlane}:6443`
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': cluster,
    clusters: [
      { name: cluster, cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
    ],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: cluster, context: { cluster, user } }],
  })
}
