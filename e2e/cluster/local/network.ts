import { runCommand } from '../run-command.js'
import { linkPrefix, type AddressPlan } from './address-plan.js'

/** Processes whose network namespaces are those of the machines. */
export interface MachinePids {
  readonly controlPlane: number
  /** By name of the node. */
  readonly nodes: ReadonlyMap<string, number>
}

/** Joins the machines: this one and every node have a link to the control plane, which is the router between them. */
export async function connectMachines(
  plan: AddressPlan,
  hostLink: string,
  pids: MachinePids,
  options: { readonly env: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<void> {
  const ip = async (pid: number | undefined, lines: readonly string[]): Promise<void> => {
    const batch = { input: `${lines.join('\n')}\n`, ...options }
    if (pid === undefined) await runCommand('ip', ['-batch', '-'], batch)
    else await runCommand('nsenter', [`--net=/proc/${pid}/ns/net`, 'ip', '-batch', '-'], batch)
  }
  await ip(undefined, [
    `link add ${hostLink} type veth peer name eth0 netns ${pids.controlPlane}`,
    `address add ${plan.host}/${linkPrefix} dev ${hostLink}`,
    `link set ${hostLink} up`,
  ])
  const { controlPlane } = pids
  await ip(controlPlane, [`address add ${plan.controlPlane}/${linkPrefix} dev eth0`, 'link set eth0 up'])
  for (const node of plan.nodes) {
    const pid = pids.nodes.get(node.name)
    if (pid === undefined) throw new Error(`machine ${node.name} has not been started`)
    await ip(controlPlane, [
      `link add ${node.name} type veth peer name eth0 netns ${pid}`,
      `address add ${node.gateway}/${linkPrefix} dev ${node.name}`,
      `link set ${node.name} up`,
    ])
    await ip(pid, [
      `address add ${node.address}/${linkPrefix} dev eth0`,
      'link set eth0 up',
      `route add ${plan.range} via ${node.gateway} src ${node.address}`,
      // A pod that is no more, or not yet: its packets end here, and do not go round between the node and the router.
      `route add unreachable ${node.pods}`,
    ])
    await ip(controlPlane, [
      `route add ${node.pods} via ${node.address}`,
      // A node has translated every address of a service that means anything; what is left of them must not go round either.
      `rule add iif ${node.name} to ${plan.services} unreachable`,
    ])
  }
  const [first] = plan.nodes
  if (first === undefined) throw new Error('a cluster without a node has no way to its services')
  await ip(controlPlane, [
    // The control plane has no kube-proxy: calls of webhooks go through that of the first node.
    `route add ${plan.services} via ${first.address} src ${plan.controlPlane}`,
    `route add unreachable ${plan.range}`,
  ])
  await ip(undefined, [`route add ${plan.range} via ${plan.controlPlane} src ${plan.host}`])
}

/** What this machine has routes to. */
export async function routedDestinations(signal: AbortSignal): Promise<readonly string[]> {
  const output = await runCommand('ip', ['-j', '-4', 'route', 'show', 'table', 'all'], { signal })
  const routes = JSON.parse(output === '' ? '[]' : output) as readonly { readonly dst?: string }[]
  return routes.flatMap(({ dst }) => (dst === undefined ? [] : [dst]))
}
