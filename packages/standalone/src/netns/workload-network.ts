import { OsmError } from '@osm-ts/driver-api'
import { interceptionRules, renderRestore, type FamilyRules, type InterceptionOptions } from '@osm-ts/interception'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createEtcFolder, rewriteHosts, type HostEntry } from './etc-folder.js'
import { runIpBatch, runTool } from './run-tool.js'

/** Folder of the namespaces that `ip netns` has made. */
const NAMESPACES = '/run/netns'

/** What a workload needs of the network. */
export interface WorkloadNetworkOptions {
  /** Unique in the mesh network: lower-case letters, digits, and inner hyphens and dots. */
  readonly name: string
  /** Which of its connections go through the sidecar; `none` for a workload that has no sidecar. */
  readonly interception: InterceptionOptions | 'none'
  /** The names that it can resolve. */
  readonly hosts: readonly HostEntry[]
}

/** How to start a program: arguments of `child_process.spawn`. */
export interface SpawnCommand {
  readonly file: string
  readonly args: readonly string[]
  readonly options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> }
}

/** Whom to start a program as, and where. */
export interface CommandOptions {
  /** Left out, the program runs as root, but without the rights to change its network. */
  readonly uid?: number
  /** Equal to `uid` when left out. */
  readonly gid?: number
  readonly cwd?: string
  /** The whole environment of the program; that of this process when left out. */
  readonly env?: Readonly<Record<string, string>>
}

/** Where a network namespace is attached: the result of naming and numbering. */
export interface Attachment {
  readonly namespace: string
  readonly switchNamespace: string
  readonly port: string
  readonly address: string
  readonly subnetPrefix: number
  readonly hostAddress: string
  readonly vipRange: string
}

/** The network namespace of one workload: an interface on the bridge of the mesh, and nothing else. */
export class WorkloadNetwork {
  readonly name: string
  readonly namespace: string
  readonly address: string
  /** What this machine could not do, and what follows from it. */
  readonly warnings: readonly string[]
  readonly #detach: () => Promise<void>

  constructor(options: {
    name: string
    attachment: Attachment
    warnings: readonly string[]
    detach: () => Promise<void>
  }) {
    this.name = options.name
    this.namespace = options.attachment.namespace
    this.address = options.attachment.address
    this.warnings = options.warnings
    this.#detach = options.detach
  }

  /** Path of the file that stands for the namespace. */
  get path(): string {
    return join(NAMESPACES, this.namespace)
  }

  /**
   * How to start a program inside. The process that is spawned becomes the program itself, so signals reach it.
   *
   * `ip netns exec` does what entering the namespace alone would not: it puts the namespace's own hosts file in place of /etc/hosts.
   * Anyone who the program runs as, it can't change the rules that send its connections to the sidecar, nor leave the namespace.
   */
  command(argv: readonly [string, ...string[]], { uid, gid, cwd, env }: CommandOptions = {}): SpawnCommand {
    const user =
      uid === undefined
        ? ['--bounding-set', '-net_admin,-net_raw,-sys_admin,-sys_module,-sys_ptrace']
        : ['--reuid', String(uid), '--regid', String(gid ?? uid), '--clear-groups', '--bounding-set', '-all']
    return {
      file: 'ip',
      args: [
        'netns',
        'exec',
        this.namespace,
        'setpriv',
        ...user,
        '--inh-caps',
        '-all',
        '--no-new-privs',
        '--',
        ...argv,
      ],
      options: { ...(cwd !== undefined && { cwd }), ...(env !== undefined && { env }) },
    }
  }

  /** Replaces the names that the workload can resolve, under its running programs as well. */
  setHosts(hosts: readonly HostEntry[]): void {
    rewriteHosts(this.namespace, hosts)
  }

  /** Ends the processes inside and removes the namespace. */
  async remove(): Promise<void> {
    await this.#detach()
  }
}

/** Builds the namespace of a workload; gives warnings about what this machine could not do. */
export async function attachWorkload(
  options: WorkloadNetworkOptions,
  at: Attachment,
  signal: AbortSignal,
): Promise<readonly string[]> {
  createEtcFolder(at.namespace, options.hosts)
  await runIpBatch(
    [
      `netns add ${at.namespace}`,
      `link add eth0 netns ${at.namespace} type veth peer name ${at.port} netns ${at.switchNamespace}`,
    ],
    undefined,
    signal,
  )
  await runIpBatch(
    [`link set ${at.port} addrgenmode none`, `link set ${at.port} master bridge up`],
    at.switchNamespace,
    signal,
  )
  // Rules first, address last: there is no moment at which the workload could be reached past its sidecar.
  const warnings = await intercept(options.interception, at, signal)
  await runIpBatch(
    [
      'link set lo up',
      // The mesh network speaks IPv4; without this the kernel would give each end an IPv6 address of its own making.
      'link set eth0 addrgenmode none',
      `address add ${at.address}/${String(at.subnetPrefix)} dev eth0`,
      'link set eth0 up',
      // Outbound redirection happens after routing: a service address needs a route to get that far. There is no default route.
      `route add ${at.vipRange} via ${at.hostAddress}`,
    ],
    at.namespace,
    signal,
  )
  return [...warnings, ...(await allowLowPorts(at.namespace, signal))]
}

async function intercept(
  options: InterceptionOptions | 'none',
  { namespace, address, hostAddress }: Attachment,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (options === 'none') return []
  const rules = interceptionRules({
    podAddresses: [address],
    // The only address outside the mesh that a workload has a way to: a nameserver of this machine answers there, or none.
    nameservers: [hostAddress],
    ...options,
  })
  await restore('iptables-restore', rules.ipv4, namespace, signal)
  if (!existsSync('/proc/net/if_inet6')) return ['this kernel has no IPv6, so there is nothing to intercept there']
  await restore('ip6tables-restore', rules.ipv6, namespace, signal)
  return []
}

async function restore(program: string, rules: FamilyRules, namespace: string, signal: AbortSignal): Promise<void> {
  // The lock of the older iptables is one for all namespaces.
  await runTool('ip', ['netns', 'exec', namespace, program, '--noflush', '--wait=10'], {
    input: renderRestore(rules),
    signal,
  })
}

/** As in a pod: programs that are not root may listen on port 80 too. */
async function allowLowPorts(namespace: string, signal: AbortSignal): Promise<readonly string[]> {
  const setting = 'net.ipv4.ip_unprivileged_port_start'
  try {
    await runTool('ip', ['netns', 'exec', namespace, 'sysctl', '-q', '-w', `${setting}=0`], { signal })
    return []
  } catch (error) {
    if (!(error instanceof OsmError)) throw error
    return [`${setting} can't be set here (${error.message}): only root can listen on ports below 1024 in this mesh`]
  }
}
