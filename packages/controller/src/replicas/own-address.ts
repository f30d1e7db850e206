import { isIP } from 'node:net'

/**
 * `host:port` under which the other replicas reach this one; undefined where nothing says.
 *
 * @param bindAddress - what the servers of the program listen on
 * @param podIP - what Kubernetes says the address of the pod is
 */
export function ownAddress(bindAddress: string, podIP: string | undefined, port: number): string | undefined {
  const isAny = bindAddress === '' || bindAddress === '0.0.0.0' || bindAddress === '::'
  const host = isAny ? podIP : bindAddress
  if (host === undefined || host === '') return undefined
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
}
