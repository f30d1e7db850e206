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
  const parent = program.command('machine').description('add machines to a mesh')
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
    .description('create a token that lets one machine join the mesh once')
    .requiredOption('-n, --namespace <namespace>', 'namespace of the machine')
    .requiredOption('-a, --service-account <name>', 'service account, the identity of the machine')
    .addOption(
      new Option('-l, --label <key=value>', 'label by which Services select the machine; may be repeated').argParser(
        parseLabel,
      ),
    )
    .addOption(new Option('--ttl <duration>', 'validity of the token').argParser(parseTtl).default(3_600_000, '1h'))
    .addOption(stateOption())
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
The token is printed to standard output, instructions to standard error. The token identifies the root that the machine
uses to verify the control plane. The mesh stores only a hash of its secret.

With a cluster option, the command uses a mesh on Kubernetes. Otherwise it uses the mesh that runs on this machine, or the
cluster of the kubeconfig if there is none. On Kubernetes, the chart value osm.machines.enable must be true. Required
permissions in the namespace of the control plane: list, create and delete secrets; list deployments and pods; get
services; get and create pods/portforward.

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
    .description('print the root certificate that machines use to verify the control plane')
    .addOption(stateOption())
    .addHelpText(
      'after',
      `
The root is a PEM certificate and not secret. A machine that joins with a service account token needs it. Unlike a join
token, a service account token does not identify the root.

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
    .description('join a mesh and run the sidecar of this machine until Ctrl-C')
    .argument('<control-plane>', 'address of the control plane, https://<host>:<port>', parseControlPlane)
    .option('--token-file <file>', `file with the token, - for standard input (default: $${TOKEN_VARIABLE})`)
    .addOption(
      new Option(
        '--service-account-token-file <file>',
        'file with a Kubernetes service account token, instead of a join token; requires --root-file',
      ).conflicts('tokenFile'),
    )
    .addOption(
      new Option(
        '--azure',
        'authenticate as an Azure virtual machine with its metadata service, instead of a token; requires --namespace, --service-account and --root-file',
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
      "with --azure: issuer certificates of the metadata service's certificate (default: fetched from the URL in that certificate)",
    )
    .option('--root-file <file>', 'file with the root of the control plane, from osm machine root')
    .option('--name <name>', 'name of the machine in the mesh, a DNS label', defaultName())
    .addOption(
      new Option(
        '--address <ip>',
        'address that callers use for this machine (default: the address from which it connects to the control plane)',
      ).argParser(parseAddress),
    )
    .option('--network <name>', 'network of this machine, a DNS label (default: that of the mesh)')
    .addOption(
      new Option(
        '--gateway <ip[:port]>',
        'with --network: gateway for callers in other networks; it routes TLS connections by server name without terminating them (default port: that of each Service)',
      ).argParser(parseGateway),
    )
    .addOption(
      new Option(
        '-p, --port <[name=]port[:local]>',
        'port of the workload; local is its port on 127.0.0.1 if different; may be repeated',
      ).argParser(parsePort),
    )
    .addOption(
      new Option('--listeners <first-last>', 'port range for listeners of the sidecar')
        .argParser(parseRange)
        .default({ first: 15_100, last: 15_999 }, '15100-15999'),
    )
    .option(
      '--transparent',
      'redirect connections of this machine to the sidecar with iptables and resolve names of Services; needs root',
    )
    .addOption(
      new Option(
        '--exclude-outbound-ports <list>',
        'with --transparent: comma-separated destination ports that bypass the sidecar; may be repeated',
      ).argParser(parsePorts),
    )
    .addOption(
      new Option(
        '--exclude-outbound-ip-ranges <list>',
        'with --transparent: comma-separated destination CIDRs that bypass the sidecar; may be repeated',
      ).argParser(parseRanges),
    )
    .addOption(
      new Option(
        '--include-outbound-ip-ranges <list>',
        'with --transparent: comma-separated destination CIDRs; only these are redirected to the sidecar; may be repeated',
      ).argParser(parseRanges),
    )
    .addOption(
      new Option(
        '--sidecar-uid <id>',
        'with --transparent: user and group id of the sidecar; connections of this user bypass it (default: 1500, which must be unused)',
      ).argParser(parseUid),
    )
    .option('--class <name>', 'sidecar class (default: that of the mesh)')
    .option('--envoy <path>', 'Envoy executable (default: $ENVOY_BIN, else envoy on the PATH)')
    .option('--pipy <path>', 'Pipy executable (default: $PIPY_BIN, else pipy on the PATH)')
    .option(
      '--driver-packages <list>',
      'drivers in addition to envoy and pipy: a JSON list, or a file with one (default: $OSM_DRIVER_PACKAGES)',
    )
    .option('--sidecar <class=path...>', 'sidecar executable of a class from --driver-packages (default: $<CLASS>_BIN)')
    .option('--state <folder>', 'state folder with the key and certificate of the machine', MACHINE_STATE)
    .option('--print-systemd-unit', 'print a systemd unit that runs this command, and exit')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
The key is generated on this machine and stays in the state folder. The token is needed for the first start only. On
SIGTERM, callers stop using this machine, and the sidecar drains and exits. The next start uses the same certificate;
osm machine leave deletes the key and certificate. The command prints environment variables, such as HTTP_PROXY, that
let programs of this machine use the mesh.

With --transparent, programs need no variables. Inbound connections to the ports of --port and all outbound TCP
connections go through the sidecar; SSH and other inbound ports bypass it. Names of Services are added to /etc/hosts.
Rules and names are removed when the command ends. Exclusions of MeshConfig apply too, as set at the time of joining.

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
    .description('leave the mesh: stop the sidecar and delete the key and certificate of this machine')
    .option('--state <folder>', 'state folder of the machine', MACHINE_STATE)
    .option('--force', 'delete them even if the control plane does not respond')
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
