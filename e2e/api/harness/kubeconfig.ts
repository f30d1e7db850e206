import { writeFileSync } from 'node:fs'

/** How to reach an API server, and as whom. */
export interface KubeconfigFields {
  readonly url: string
  readonly caPem: string
  readonly token: string
  readonly namespace?: string
}

/** Writes a kubeconfig; JSON is YAML. */
export function writeKubeconfig(path: string, { url, caPem, token, namespace }: KubeconfigFields): string {
  const cluster = { server: url, 'certificate-authority-data': Buffer.from(caPem).toString('base64') }
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', ...(namespace && { namespace }) } }],
  }
  writeFileSync(path, JSON.stringify(config, undefined, 2), { mode: 0o600 })
  return path
}
