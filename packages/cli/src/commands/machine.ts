import { hostname } from 'node:os'
import { resolve } from 'node:path'

import { type Command, Option } from 'commander'
import type { MachineGrant } from '@osm-ts/core'

import { cliError } from '../errors.js'
import { type JoinFlags, networkOf, sidecarsOf, transparentOf } from '../machine/join-flags.js'
import { readProof, TOKEN_VARIABLE } from '../machine/join-proof.js'
import { unitOf } from '../machine/join-unit.js'
import {
  parseAddress,
  parseControlPlane,
  parseGateway,
  parseLabel,
  parseMetadata,
  parsePort,
  parsePorts,
  parseRange,
  parseRanges,
  parseTtl,
  parseUid,
} from '../machine/machine-values.js'
import type { MadeClusterToken } from '../machine/make-cluster-token.js'
import { usesCluster } from '../kubernetes/cluster-options.js'
import { outputOption, toJson } from '../output/format.js'
import { type CommandHost, exitCodes } from './cli-command.js'
import { type MeshSource, meshSourceOf, type StateFlags, stateOption } from './mesh-source.js'

const MACHINE_STATE = '/var/lib/osm-machine'
const AZURE_METADATA = new URL('http://169.254.169.254')

/** `osm machine` */
export function addMachine(program: Command, host: CommandHost): void {
  const parent = program.command('machine').description('let machines join a mesh')
  addToken(parent, host)
  addRoot(parent, host)
  addJoin(parent, host)
  addLeave(parent, host)
}

interface TokenFlags extends StateFlags {
  readonly namespace: string
  readonly serviceAccount: string
  readonly label?: Readonly<Record<string, string>>
  readonly ttl: number
  readonly output: string
}

function addToken(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('token'))
    .description('make a token by which one machine can join the mesh once')
    .requiredOption('-n, --namespace <namespace>', 'namespace of the machine')
    .requiredOption('-a, --service-account <name>', 'service account, the identity of the machine')
    .addOption(
      new Option('-l, --label <key=value>', 'label by which Services select the machine; may be repeated').argParser(
        parseLabel,
      ),
    )
    .addOption(
      new Option('--ttl <duration>', 'how long the token is valid').argParser(parseTtl).default(3_600_000, '1h'),
    )
    .addOption(stateOption())
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
The token is printed to standard output, and how to use it to standard error. It names the root by which the machine
verifies the control plane. The mesh stores a hash of its secret only.

With a cluster option, the command uses a mesh on Kubernetes whose chart has osm.machines.enable: true. Otherwise it uses
the mesh that runs on this machine, or the cluster of the kubeconfig if there is none. In the namespace of the control
plane, a role has to allow list, create and delete of secrets, list of deployments and pods, get of services, and get and
create of pods/portforward.

Example:
  osm machine token -n bookstore -a bookstore -l app=bookstore > token`,
    )
    .action(async (flags: TokenFlags, command: Command) => {
      const { namespace, serviceAccount, label: labels = {}, ttl, output, state } = flags
      const source = await meshSourceOf(host, state === undefined ? {} : { state }, command)
      const made = await makeToken(source, { namespace, serviceAccount, labels }, ttl)
      const expires = new Date(made.expiresAt).toISOString()
      const { text: token, id, controlPlane } = made
      if (output === 'json') context.stdout.write(toJson({ token, id, controlPlane, expires }))
      else {
        context.stdout.write(`${token}\n`)
        context.stderr.write(
          `Valid once, until ${expires}. On the machine, with the token in the file token:\n  osm machine join ${controlPlane} --token-file token --port <port>\n`,
        )
      }
      onExit(exitCodes.ok)
    })
}

function addRoot(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('root'))
    .description('print the root by which machines verify the control plane')
    .addOption(stateOption())
    .addHelpText(
      'after',
      `
The root is a certificate in PEM, and no secret. A machine that joins by a token of a service account needs it: unlike a
join token, such a token does not name the root.

Example:
  osm machine root > root.pem`,
    )
    .action(async ({ state }: StateFlags, command: Command) => {
      const source = await meshSourceOf(host, state === undefined ? {} : { state }, command)
      context.stdout.write(`${(await readRoot(source)).trimEnd()}\n`)
      onExit(exitCodes.ok)
    })
}

async function readRoot(source: MeshSource): Promise<string> {
  if (source.kind === 'cluster') {
    const { clusterRoot } = await import('../machine/make-cluster-token.js')
    return clusterRoot(source.cluster)
  }
  const { folderRoot } = await import('../machine/make-token.js')
  return folderRoot(source.mesh.stateFolder)
}

async function makeToken(source: MeshSource, grant: MachineGrant, ttlMs: number): Promise<MadeClusterToken> {
  if (source.kind === 'cluster') {
    const { makeClusterToken } = await import('../machine/make-cluster-token.js')
    return makeClusterToken(source.cluster, grant, ttlMs)
  }
  const { machinesUrl: controlPlane, stateFolder } = source.mesh
  if (controlPlane === undefined)
    throw cliError(
      'OSM_CLI_MACHINES',
      'machines cannot join this mesh',
      'start it with osm standalone run --machine-address <ip>',
    )
  const { makeFolderToken } = await import('../machine/make-token.js')
  return { ...(await makeFolderToken(stateFolder, grant, ttlMs)), controlPlane }
}

function addJoin(parent: Command, { context, onExit }: CommandHost): void {
  parent
    .command('join')
    .description('join a mesh, and run the sidecar of this machine until Ctrl-C')
    .argument('<control-plane>', 'address of the control plane, https://<host>:<port>', parseControlPlane)
    .option('--token-file <file>', `file with the token, - for standard input (default: $${TOKEN_VARIABLE})`)
    .addOption(
      new Option(
        '--service-account-token-file <file>',
        'file with a token of a Kubernetes service account, in place of a join token; needs --root-file',
      ).conflicts('tokenFile'),
    )
    .addOption(
      new Option(
        '--azure',
        'prove by the metadata service of Azure that this is a virtual machine, in place of a token; needs --namespace, --service-account and --root-file',
      ).conflicts(['tokenFile', 'serviceAccountTokenFile']),
    )
    .option('-n, --namespace <namespace>', 'with --azure: namespace of the machine')
    .option('-a, --service-account <name>', 'with --azure: service account, the identity of the machine')
    .addOption(
      new Option('--azure-metadata <url>', 'with --azure: address of the metadata service')
        .argParser(parseMetadata)
        .default(AZURE_METADATA, AZURE_METADATA.origin),
    )
    .option(
      '--azure-issuers <file>',
      'with --azure: certificates of those that have issued that of the metadata service (default: fetched from where it says)',
    )
    .option('--root-file <file>', 'file with the root of the control plane, as osm machine root prints it')
    .option('--name <name>', 'name of the machine in the mesh, a DNS label', defaultName())
    .addOption(
      new Option(
        '--address <ip>',
        'address of this machine for its callers (default: that by which it reaches the control plane)',
      ).argParser(parseAddress),
    )
    .option('--network <name>', 'network of this machine, a DNS label (default: that of the mesh)')
    .addOption(
      new Option(
        '--gateway <ip[:port]>',
        'with --network: what passes connections of other networks on to this machine, by server name and without ending TLS (default port: that of each Service)',
      ).argParser(parseGateway),
    )
    .addOption(
      new Option(
        '-p, --port <[name=]port[:local]>',
        'port of the workload, and where it listens on 127.0.0.1 if elsewhere; may be repeated',
      ).argParser(parsePort),
    )
    .addOption(
      new Option('--listeners <first-last>', 'ports of this machine for the sidecar')
        .argParser(parseRange)
        .default({ first: 15_100, last: 15_999 }, '15100-15999'),
    )
    .option(
      '--transparent',
      'redirect connections of this machine to the sidecar by iptables, and let its programs resolve names of Services; needs root',
    )
    .addOption(
      new Option(
        '--exclude-outbound-ports <list>',
        'with --transparent: ports of others, separated by commas, to which connections bypass the sidecar; may be repeated',
      ).argParser(parsePorts),
    )
    .addOption(
      new Option(
        '--exclude-outbound-ip-ranges <list>',
        'with --transparent: CIDRs, separated by commas, to which connections bypass the sidecar; may be repeated',
      ).argParser(parseRanges),
    )
    .addOption(
      new Option(
        '--include-outbound-ip-ranges <list>',
        'with --transparent: CIDRs, separated by commas, to which alone connections are redirected; may be repeated',
      ).argParser(parseRanges),
    )
    .addOption(
      new Option(
        '--sidecar-uid <id>',
        'with --transparent: user and group of the sidecar, whose connections bypass it (default: 1500, which must be unused)',
      ).argParser(parseUid),
    )
    .option('--class <name>', 'sidecar class (default: that of the mesh)')
    .option('--envoy <path>', 'Envoy executable (default: $ENVOY_BIN, else envoy on the PATH)')
    .option('--pipy <path>', 'Pipy executable (default: $PIPY_BIN, else pipy on the PATH)')
    .option(
      '--driver-packages <list>',
      'drivers in addition to envoy and pipy: a JSON list, or a file with one (default: $OSM_DRIVER_PACKAGES)',
    )
    .option('--sidecar <class=path...>', 'sidecar executable for the class of such a driver (default: $<CLASS>_BIN)')
    .option('--state <folder>', 'state folder with key and certificate of the machine', MACHINE_STATE)
    .option('--print-systemd-unit', 'print a systemd unit that runs this command, and end')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
The key is made on this machine and stays in the state folder. The token is needed for the first time only. On SIGTERM
callers turn elsewhere, the sidecar drains and ends, and the next start goes on with the same certificate; osm machine
leave removes all of it. The command prints the variables by which programs of this machine reach the mesh, such as
HTTP_PROXY.

With --transparent, programs need no variables. Connections to the ports of --port, and all TCP connections that programs
open, go through the sidecar; SSH and other ports of this machine do not. Names of Services are added to /etc/hosts. Rules
and names are removed when the command ends. MeshConfig excludes more ports and ranges, as of the time of joining.

Examples:
  osm machine join https://10.0.0.1:20003 --token-file token --port 8080
  osm machine join https://10.0.0.1:20003 --token-file token --port 8080 --transparent
  osm machine join https://10.0.0.1:9097 --azure -n bookstore -a bookstore --root-file root.pem --port 8080`,
    )
    .action(async (controlPlane: URL, flags: JoinFlags) => {
      const transparent = transparentOf(flags)
      const network = networkOf(flags)
      if (flags.printSystemdUnit === true) {
        context.stdout.write(await unitOf(context, controlPlane, flags))
        onExit(exitCodes.ok)
        return
      }
      const { joinMachine } = await import('@osm-ts/standalone')
      const { writeJoinEvent } = await import('../machine/join-events.js')
      const proof = await readProof(context, flags)
      await joinMachine({
        controlPlane,
        ...(proof !== undefined && { proof }),
        stateFolder: resolve(context.cwd, flags.state),
        name: flags.name,
        ...(flags.class !== undefined && { sidecarClass: flags.class }),
        ...(flags.address !== undefined && { address: flags.address }),
        ...(network !== undefined && { network }),
        ports: [...(flags.port ?? [])],
        listeners: flags.listeners,
        ...(transparent !== undefined && { transparent }),
        ...(await sidecarsOf(context, flags)),
        programFolder: context.programFolder,
        environment: context.variables,
        onEvent: (event) => writeJoinEvent(context, event, flags.output === 'json'),
        signal: context.signal,
      })
      onExit(exitCodes.ok)
    })
}

function addLeave(parent: Command, { context, onExit }: CommandHost): void {
  parent
    .command('leave')
    .description('leave the mesh: end the sidecar, and remove key and certificate of this machine')
    .option('--state <folder>', 'state folder of the machine', MACHINE_STATE)
    .option('--force', 'remove them even if the control plane does not answer')
    .action(async ({ state, force = false }: { readonly state: string; readonly force?: boolean }) => {
      const { leaveMachine } = await import('@osm-ts/standalone')
      await leaveMachine({ stateFolder: resolve(context.cwd, state), force, signal: context.signal })
      context.stdout.write('The machine has left the mesh\n')
      onExit(exitCodes.ok)
    })
}

/** The host name, as far as a name in the mesh may have it. */
function defaultName(): string {
  const [label = ''] = hostname().toLowerCase().split('.')
  return (
    label
      .replaceAll(/[^a-z0-9-]/g, '-')
      .replaceAll(/^-+|-+$/g, '')
      .slice(0, 63) || 'machine'
  )
}
