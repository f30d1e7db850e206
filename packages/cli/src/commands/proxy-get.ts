import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

import { Argument, InvalidArgumentError, Option, type Command } from 'commander'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'
import { usesCluster } from '../kubernetes/cluster-options.js'
import { shownText } from '../output/style.js'
import { chooseProxy } from '../state/choose-proxy.js'
import { debugApi } from '../state/debug-api.js'
import type { FoundMesh } from '../state/find-mesh.js'
import { httpGet, type HttpAnswer } from '../state/http-get.js'
import { type CommandHost, exitCodes } from './cli-command.js'
import { meshSourceHelp, meshSourceOf, namespaceOption, type MeshSourceFlags, stateOption } from './mesh-source.js'

const pages = ['config_dump', 'clusters', 'listeners', 'stats', 'certs', 'ready']

interface GetFlags extends MeshSourceFlags {
  readonly file?: string
}

/** `osm proxy get <page> <instance>` */
export function addProxyGet(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('get'))
    .description('print a page of the administration interface of a sidecar')
    // Those are offered; a sidecar may have others.
    .addArgument(new Argument('<page>', 'page to print').choices(pages).argParser(parsePage))
    .argument('<instance>', 'name of the instance or pod, <namespace>/<instance>, or the uuid of its proxy')
    .addOption(stateOption())
    .addOption(namespaceOption())
    .option('-f, --file <file>', 'write the page to a file')
    .addOption(new Option('-p, --local-port <port>', 'not used; accepted for compatibility with OSM'))
    .addHelpText(
      'after',
      `${meshSourceHelp}

Other pages of the sidecar can be requested too, and a query can be added, as in 'config_dump?include_eds'. The page is read by port-forward,
which requires permission to get and create pods/portforward. The default of --namespace is
the namespace default.`,
    )
    .action(async (page: string, instance: string, flags: GetFlags, command: Command) => {
      const source = await meshSourceOf(host, flags, command)
      const { status, body } =
        source.kind === 'local'
          ? await getLocal(source.mesh, page, instance, context.signal)
          : await getOfPod(source, page, instance)
      write(context, flags.file, body.endsWith('\n') ? body : `${body}\n`)
      onExit(status === 200 ? exitCodes.ok : exitCodes.problem)
    })
}

async function getOfPod(
  { cluster, namespace = 'default' }: Extract<Awaited<ReturnType<typeof meshSourceOf>>, { readonly kind: 'cluster' }>,
  page: string,
  instance: string,
): Promise<HttpAnswer> {
  const { getAdminPage } = await import('../kubernetes/pod-admin.js')
  const [first = '', ...rest] = instance.split('/')
  const pod = rest.length === 0 ? { namespace, name: first } : { namespace: first, name: rest.join('/') }
  return getAdminPage(cluster, pod, page)
}

async function getLocal(mesh: FoundMesh, page: string, instance: string, signal: AbortSignal): Promise<HttpAnswer> {
  const api = debugApi(mesh.controllerUrl, signal)
  const proxy = chooseProxy(await api.statuses(), instance)
  const { name } = proxy
  const { listen } = (await api.policy(proxy)).proxy
  if (listen.admin === undefined)
    throw cliError(
      'OSM_CLI_UNREACHABLE',
      `the sidecar of ${name} has no administration interface`,
      'see osm proxy config',
    )
  const url = `http://${listen.admin.address}:${listen.admin.port}/${page}`
  // The interface listens on loopback only, and in transparent mode that is the loopback of the workload's network namespace.
  if (mesh.mode === 'transparent')
    throw cliError(
      'OSM_CLI_UNREACHABLE',
      `in transparent mode the administration interface of ${name} is inside the network namespace of the workload`,
      `as root, run ip netns exec <namespace> curl -s ${url} with the one of ip netns list that ends in .${name.replace('/', '.')}`,
    )
  return httpGet(url, { signal }).catch((error: unknown) => {
    throw cliError(
      'OSM_CLI_UNREACHABLE',
      `the sidecar of ${name} does not answer at ${url}`,
      'see osm proxy status',
      error,
    )
  })
}

function write({ stdout, cwd }: CliContext, file: string | undefined, text: string): void {
  if (file === undefined) {
    // The sidecar is in a pod of a tenant, and says what it likes.
    stdout.write(shownText(text, stdout))
    return
  }
  try {
    writeFileSync(resolve(cwd, file), text)
  } catch (error) {
    const reason = errorMessage(error)
    throw cliError('OSM_CLI_OUTPUT', `${file} cannot be written: ${reason}`, 'use another file with --file', error)
  }
}

function parsePage(text: string): string {
  const page = text.replace(/^\//, '')
  if (!/^[a-z0-9_]+(\/[a-z0-9_]+)*(\?[!-~]*)?$/.test(page))
    throw new InvalidArgumentError('write the path of a page, such as config_dump or stats/prometheus.')
  return page
}
