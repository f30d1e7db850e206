import { existsSync } from 'node:fs'
import { tryCommand } from '../run-command.js'

/** Where the kernel lists IPv6 addresses; there is no such file without IPv6. */
const addresses = '/proc/net/if_inet6'

/** What keeps a cluster from having IPv6 here; undefined when nothing does. kube-proxy and sidecars both translate addresses of that family. */
export async function ipv6Obstacle(signal: AbortSignal): Promise<string | undefined> {
  if (!existsSync(addresses)) return `the kernel has no IPv6: there is no ${addresses}`
  const probe = 'ip6tables -t nat -A OUTPUT -p tcp -j REDIRECT --to-ports 1'
  // In a network namespace that goes with the probe.
  const { code, stderr } = await tryCommand('unshare', ['--net', 'sh', '-c', probe], { signal })
  return code === 0 ? undefined : `the kernel does not translate addresses of IPv6; "${probe}" said: ${stderr.trim()}`
}
