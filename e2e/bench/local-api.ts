import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'

/** Writes a kubeconfig for an API server of a benchmark, which asks no one who he is, into a folder. Gives its path. */
export function writeKubeconfig(folder: string, server: string): string {
  const path = join(folder, 'kubeconfig')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'bench',
    clusters: [{ name: 'bench', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'bench', user: {} }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
  }
  writeFileSync(path, JSON.stringify(config))
  return path
}

/** Whether anything accepts connections there. */
export function isListening(at: { readonly host: string; readonly port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(at)
    const settle = (isOpen: boolean): void => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => settle(true)).once('error', () => settle(false))
  })
}
