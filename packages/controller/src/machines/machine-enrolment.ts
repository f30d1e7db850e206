import {
  AddressRules,
  AZURE_ROOTS_VARIABLE,
  azureRoots,
  type ControlPlaneSubject,
  type MeshConfig,
  ServiceNamesIndex,
  type TokenStore,
} from '@osm-ts/core'
import { isLoopback, listen, type ListenAddress, machineLimits } from '@osm-ts/program'
import { untilAborted } from '@osm-ts/driver-api/toolkit'

import type { Attachment, ControllerParts } from '../options.js'
import type { AccountTokens } from './account-tokens.js'
import { AzureMachines } from './azure-machines.js'
import type { Machines } from './machine.js'
import { MachineAdmission } from './machine-admission.js'
import { machineServer } from './machine-server.js'

/** How machines join a mesh. */
export interface MachineEnrolmentOptions {
  readonly address: ListenAddress
  readonly tokens: TokenStore
  /** Checks tokens of service accounts; absent where there are none. */
  readonly accounts?: (parts: ControllerParts) => AccountTokens
  readonly machines: (parts: ControllerParts) => Machines
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly serverNames: Pick<ControlPlaneSubject, 'dnsNames' | 'ipAddresses'>
  /** Port of the proxy control plane of a class. */
  readonly proxyPort: (sidecarClass: string, config: MeshConfig) => number
  readonly now: () => number
  /** CIDRs that no machine may have an address of, such as the service range of a cluster. */
  readonly refusedAddresses: readonly string[]
}

/** The server by which machines join, as a part of a controller. */
export function machineEnrolment(options: MachineEnrolmentOptions): Attachment {
  return async (parts) => {
    const { meshName, osmNamespace, domains, certificates, configurator, registry, metrics, signal } = parts
    const logger = parts.logger.child('machines')
    const { address, tokens, accounts, environment, serverNames, proxyPort, now } = options
    const machines = options.machines(parts)
    const [serverName = ''] = serverNames.dnsNames
    const names = new ServiceNamesIndex(domains.clusterDomain)
    const admission = new MachineAdmission({
      meshName,
      osmNamespace,
      domains,
      certificates,
      configurator,
      drivers: registry,
      environment,
      tokens,
      ...(accounts !== undefined && { accounts: accounts(parts) }),
      azure: new AzureMachines({
        current: () => parts.feed.current(),
        machines,
        roots: azureRoots(environment[AZURE_ROOTS_VARIABLE] ?? ''),
        now,
      }),
      machines,
      // Behind a loopback address only processes of this machine join.
      addresses: new AddressRules({ allowLoopback: isLoopback(address.host), refused: options.refusedAddresses }),
      controlPlane: (sidecarClass, config) => ({ port: proxyPort(sidecarClass, config), serverName }),
      now,
    })
    const { app, follow } = await machineServer({
      admission,
      machines,
      names: () => {
        const snapshot = parts.feed.current()
        return snapshot && names.of(snapshot)
      },
      certificates,
      domains,
      serverNames,
      onRefused: (peer) => parts.host.noteRefusal(peer),
      logger,
      now,
    })
    await listen(app, address, { name: 'machines', limits: machineLimits, metrics, logger })
    const closed = untilAborted(signal).then(() => app.close())
    const stopped = Promise.all([follow(signal), machines.run(signal), closed]).then(() => undefined)
    return { ready: async () => true, stopped }
  }
}
