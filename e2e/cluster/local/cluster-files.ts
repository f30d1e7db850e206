import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AddressPlan } from './address-plan.js'
import { kubeconfig, kubeletUser, tokenFile, type ClusterCredentials } from './credentials.js'

/** Files by their names. */
export type Files = Readonly<Record<string, string>>

/** What the programs of the control plane know each other by. */
export function controlPlaneFiles(credentials: ClusterCredentials, plan: AddressPlan, cluster: string): Files {
  const programs = ['kube-controller-manager', 'kube-scheduler']
  return {
    'ca.crt': credentials.ca,
    'api-server.crt': credentials.apiServer.certificate,
    'api-server.key': credentials.apiServer.key,
    'kubelet-client.crt': credentials.kubeletClient.certificate,
    'kubelet-client.key': credentials.kubeletClient.key,
    'accounts.key': credentials.accountSigningKey,
    'accounts.pub': credentials.accountVerifyingKey,
    'tokens.csv': tokenFile(credentials),
    ...Object.fromEntries(
      programs.map((name) => [`${name}.kubeconfig`, kubeconfig(credentials, plan, cluster, `system:${name}`)]),
    ),
  }
}

/** What the programs of a node are known by. */
export function nodeSecrets(credentials: ClusterCredentials, plan: AddressPlan, cluster: string, node: string): Files {
  const serving = credentials.kubelets.get(node)
  if (serving === undefined) throw new Error(`no certificate was made for ${node}`)
  return {
    'ca.crt': credentials.ca,
    'kubelet.crt': serving.certificate,
    'kubelet.key': serving.key,
    'kubelet.kubeconfig': kubeconfig(credentials, plan, cluster, kubeletUser(node)),
    'kube-proxy.kubeconfig': kubeconfig(credentials, plan, cluster, 'system:kube-proxy'),
  }
}

/** Writes files that only their owner may read. */
export function writeFiles(folder: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content, { mode: 0o600 })
  }
}
