import { isAbsolute, join, resolve } from 'node:path'

import type { CliContext } from '../cli-context.js'
import { type JoinFlags, sidecarsOf } from './join-flags.js'
import { gatewayText, type MachinePort } from './machine-values.js'
import { systemdUnit } from './systemd-unit.js'

/** The systemd unit for the same options. */
export async function unitOf(context: CliContext, controlPlane: URL, flags: JoinFlags): Promise<string> {
  const absolute = (path: string): string => (isAbsolute(path) ? path : resolve(context.cwd, path))
  const {
    tokenFile,
    serviceAccountTokenFile,
    azure = false,
    azureMetadata,
    azureIssuers,
    namespace,
    serviceAccount,
    rootFile,
    name,
    address,
    network,
    gateway,
    port = [],
    listeners,
    excludeOutboundPorts = [],
    excludeOutboundIpRanges = [],
    includeOutboundIpRanges = [],
    sidecarUid,
    driverPackages,
    class: sidecarClass,
    state,
  } = flags
  const option = (option: string, value: string | undefined): readonly string[] =>
    value === undefined ? [] : [option, value]
  const list = (name: string, values: readonly (string | number)[]): readonly string[] =>
    values.length === 0 ? [] : [name, values.join(',')]
  /** JSON, or a file with it. */
  const listOf = (given: string | undefined): string | undefined =>
    given === undefined || given.trimStart().startsWith('{') ? given : absolute(given)
  const file = (name: string, path: string | undefined): readonly string[] =>
    option(name, path === undefined ? undefined : absolute(path))
  const { sidecarBinaries } = await sidecarsOf(context, flags)
  return systemdUnit({
    program: [context.nodeProgram, join(context.programFolder, 'osm.mjs')],
    environment: Object.fromEntries(
      Object.entries(sidecarBinaries).map(([found, path]) => [
        `${found.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_BIN`,
        path,
      ]),
    ),
    args: [
      'machine',
      'join',
      controlPlane.origin,
      ...file('--token-file', tokenFile),
      ...file('--service-account-token-file', serviceAccountTokenFile),
      ...(azure ? ['--azure', ...option('--azure-metadata', azureMetadata.origin)] : []),
      ...file('--azure-issuers', azureIssuers),
      ...option('--namespace', namespace),
      ...option('--service-account', serviceAccount),
      ...file('--root-file', rootFile),
      '--name',
      name,
      ...option('--address', address),
      ...option('--network', network),
      ...option('--gateway', gateway && gatewayText(gateway)),
      ...port.flatMap((each) => ['--port', portText(each)]),
      '--listeners',
      `${listeners.first}-${listeners.last}`,
      ...(flags.transparent === true ? ['--transparent'] : []),
      ...list('--exclude-outbound-ports', excludeOutboundPorts),
      ...list('--exclude-outbound-ip-ranges', excludeOutboundIpRanges),
      ...list('--include-outbound-ip-ranges', includeOutboundIpRanges),
      ...option('--sidecar-uid', sidecarUid?.toString()),
      ...option('--class', sidecarClass),
      ...option('--driver-packages', listOf(driverPackages)),
      '--state',
      absolute(state),
    ],
  })
}

function portText({ name, port, localPort }: MachinePort): string {
  return `${name === undefined ? '' : `${name}=`}${port}${localPort === undefined ? '' : `:${localPort}`}`
}
