import { InvalidArgumentError, type Command } from 'commander'

import { wantsColor } from '../cli-context.js'
import { clusterDebugApi } from '../kubernetes/cluster-debug.js'
import { clusterFlagsOf, usesCluster, type ClusterFlags } from '../kubernetes/cluster-options.js'
import { theControlPlane } from '../kubernetes/control-planes.js'
import { openCluster } from '../kubernetes/open-cluster.js'
import { outputOption, toJson } from '../output/format.js'
import type { NamedThing } from '../policy-question.js'
import type { Check } from '../verify/check.js'
import type { VerifiedMesh } from '../verify/meshed-pod.js'
import { renderCheck } from '../verify/render-check.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import { parsePod } from './policy-check.js'

interface OutputFlags {
  readonly output: string
}

interface ConnectivityFlags extends OutputFlags {
  readonly fromPod: NamedThing
  readonly toPod?: NamedThing
  readonly toService?: string
  readonly toExtPort?: number
  readonly toExtHost?: string
  readonly appProtocol: string
  readonly meshName?: string
}

interface IngressFlags extends OutputFlags {
  readonly fromService: NamedThing
  readonly toPod: NamedThing
  readonly toService: string
  readonly ingressBackend: string
  readonly toPort: number
  readonly appProtocol: string
  readonly meshName?: string
}

const exitHelp = `
No traffic is sent. Policies are computed from the objects of the cluster with the code of the controller. If
spec.observability.enableDebugServer of the MeshConfig is true, the controller is queried for the applied policy of each proxy instead. This
requires permission to get and create pods/portforward in the namespace of the control plane. The exit code is 0 if all checks succeed, else 1.`

/** `osm verify` */
export function addVerify(program: Command, host: CommandHost): void {
  const parent = program.command('verify').description('check the prerequisites of traffic, step by step')
  addConnectivity(parent, host)
  addIngress(parent, host)
  addControlPlaneHealth(parent, host)
}

function addConnectivity(parent: Command, host: CommandHost): void {
  usesCluster(parent.command('connectivity'))
    .description('check why a pod cannot call another pod, or a destination outside the mesh')
    .requiredOption('--from-pod <pod>', 'caller: <namespace>/<pod>', parsePod)
    .option('--to-pod <pod>', 'destination: <namespace>/<pod>', parsePod)
    .option('--to-service <service>', 'name of the called Service; required with --to-pod')
    .option('--to-ext-port <port>', 'port of a destination outside the mesh', parsePort)
    .option('--to-ext-host <host>', 'host of a destination outside the mesh (default: any)')
    .option('--app-protocol <protocol>', 'protocol: http, grpc, tcp; also https for outside destinations', 'http')
    .option('--mesh-name <name>', 'name of the mesh (default: that of the control plane)')
    .addOption(outputOption())
    .addHelpText('after', exitHelp)
    .action(async (flags: ConnectivityFlags, command: Command) => {
      const { fromPod, toPod, toService, toExtPort: port, toExtHost, appProtocol: protocol } = flags
      if ((toPod === undefined) === (port === undefined))
        return command.error('error: use exactly one of --to-pod and --to-ext-port')
      if ((toPod === undefined) !== (toService === undefined))
        return command.error('error: --to-pod and --to-service have to be used together')
      const { verifyInside, verifyOutside } = await import('../verify/connectivity.js')
      const mesh = await meshOf(host, clusterFlagsOf(command), flags.meshName)
      const check =
        toPod !== undefined && toService !== undefined
          ? await verifyInside(mesh, fromPod, { pod: toPod, service: toService, protocol })
          : await verifyOutside(mesh, fromPod, {
              port: port ?? 0,
              protocol,
              ...(toExtHost !== undefined && { host: toExtHost }),
            })
      conclude(host, flags, check)
    })
}

function addIngress(parent: Command, host: CommandHost): void {
  usesCluster(parent.command('ingress'))
    .description('check why a gateway outside the mesh cannot call a pod')
    .requiredOption('--from-service <service>', 'Service of the gateway: <namespace>/<service>', parsePod)
    .requiredOption('--to-pod <pod>', 'destination: <namespace>/<pod>', parsePod)
    .requiredOption('--to-service <service>', 'name of the called Service')
    .requiredOption('--ingress-backend <name>', 'name of the IngressBackend, in the namespace of the pod')
    .requiredOption('--to-port <port>', 'port of the pod', parsePort)
    .option('--app-protocol <protocol>', 'protocol: http, https or grpc', 'http')
    .option('--mesh-name <name>', 'name of the mesh (default: that of the control plane)')
    .addOption(outputOption())
    .addHelpText('after', exitHelp)
    .action(async (flags: IngressFlags, command: Command) => {
      const { fromService: from, toPod: pod, toService: service, ingressBackend, toPort: port } = flags
      const { verifyIngress } = await import('../verify/ingress.js')
      const mesh = await meshOf(host, clusterFlagsOf(command), flags.meshName)
      const question = { from, pod, service, ingressBackend, port, protocol: flags.appProtocol }
      conclude(host, flags, await verifyIngress(mesh, question))
    })
}

function addControlPlaneHealth(parent: Command, host: CommandHost): void {
  usesCluster(parent.command('control-plane-health'))
    .description('check that controller, injector and bootstrap are ready and respond')
    .addOption(outputOption())
    .addHelpText('after', '\nThe exit code is 0 if all checks succeed, else 1.')
    .action(async (flags: OutputFlags, command: Command) => {
      const { verifyControlPlane } = await import('../verify/control-plane.js')
      const cluster = await openCluster(host, clusterFlagsOf(command))
      conclude(host, flags, await verifyControlPlane(cluster, cluster.osmNamespace))
    })
}

async function meshOf(host: CommandHost, flags: ClusterFlags, meshName: string | undefined): Promise<VerifiedMesh> {
  const [{ lateDebugApi, verifiedMesh }, { debugOrObjects }, { loadCluster }] = await Promise.all([
    import('../verify/meshed-pod.js'),
    import('../verify/debug-or-objects.js'),
    import('../kubernetes/load-cluster.js'),
  ])
  const cluster = await openCluster(host, flags)
  const plane = await theControlPlane(cluster)
  const named = meshName === undefined ? plane : { ...plane, meshName }
  return verifiedMesh(
    cluster,
    named,
    debugOrObjects(lateDebugApi(clusterDebugApi(cluster)), () => loadCluster(cluster, named)),
  )
}

function conclude({ context, onExit }: CommandHost, { output }: OutputFlags, check: Check): void {
  const color = wantsColor(context.stdout, context.variables)
  context.stdout.write(output === 'json' ? toJson(check) : toText(renderCheck(check, color)))
  onExit(check.status === 'Success' ? exitCodes.ok : exitCodes.problem)
}

function parsePort(text: string): number {
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535) throw new InvalidArgumentError('write a port, such as 80.')
  return port
}
