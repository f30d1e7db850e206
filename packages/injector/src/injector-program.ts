import { getServers } from 'node:dns'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

import {
  countErrorCodes,
  DriverRegistry,
  driverStates,
  type IpFamilies,
  Metrics,
  parseMeshDomains,
  systemClock,
} from '@osm-ts/core'
import {
  buildVersion,
  connectProgram,
  healthLimits,
  healthServer,
  listen,
  type Program,
  type ProgramContext,
  readClientCa,
} from '@osm-ts/program'
import { hostDrivers, listedDrivers } from '@osm-ts/driver-process'

import { builtInDrivers } from './builtins.js'
import { injectorFlags, type InjectorFlags, parseInjectorFlags, workloadApiOf } from './injector-flags.js'
import { runInjector } from './run-injector.js'

const NAME = 'osm-injector'

/** osm-injector. */
export const injectorProgram: Program<InjectorFlags> = {
  name: NAME,
  podNameVariable: 'INJECTOR_POD_NAME',
  definitions: injectorFlags,
  parse: parseInjectorFlags,
  main,
}

async function main({ flags, logger, signal, environment }: ProgramContext<InjectorFlags>): Promise<undefined> {
  const api = await connectProgram(NAME, { flags, environment })
  const metrics = new Metrics()
  countErrorCodes(logger, metrics)
  metrics.collectProcessMetrics()
  let ready = (): boolean => false
  const registry = new DriverRegistry()
  const health = healthServer({
    alive: async () => true,
    ready: async () => ready(),
    metrics: () => metrics.render(),
    version: buildVersion(flags.osmVersion),
    // Here drivers have no proxy control plane: what is loaded is ready.
    drivers: () => driverStates({ registry, runner: { stateOf: () => ({ state: 'started' }) } }),
  })
  for (const driver of builtInDrivers()) registry.register(driver)
  try {
    const healthPort = await listen(
      health,
      { host: flags.bindAddress, port: flags.healthPort },
      { name: 'health', limits: healthLimits, metrics, logger },
    )
    logger.info({ healthPort }, 'serving health')
    const workloadApi = workloadApiOf(flags)
    const hosted = await hostDrivers({
      entries: await listedDrivers(flags.driverPackages, environment),
      sink: registry,
      programFolder: import.meta.dirname,
      environment,
      logger: logger.child('drivers'),
      signal,
    })
    await runInjector({
      api,
      registry,
      domains: parseMeshDomains(flags),
      meshName: flags.meshName,
      osmNamespace: flags.osmNamespace,
      version: flags.osmVersion,
      configName: flags.osmConfigName,
      caBundleSecretName: flags.caBundleSecretName,
      environment,
      pullPolicy: flags.osmContainerPullPolicy === '' ? 'IfNotPresent' : flags.osmContainerPullPolicy,
      proxyIdentity: flags.proxyIdentity,
      ...(workloadApi === undefined ? {} : { workloadApi }),
      nativeSidecar: flags.nativeSidecar,
      ipFamilies: ownFamilies(),
      nameservers: getServers().flatMap(plainAddress),
      listen: { host: flags.bindAddress, port: flags.webhookPort },
      timeoutMs: flags.webhookTimeout * 1000,
      clientCa: await readClientCa(flags.webhookClientCa),
      secretRates: { rate: flags.secretRate, namespaceRate: flags.namespaceSecretRate },
      clock: systemClock,
      random: Math.random,
      logger,
      metrics,
      onReady: (isReady) => {
        ready = isReady
      },
      signal,
    })
    await hosted.stopped
  } finally {
    await health.close()
  }
  return undefined
}

/** Address families of this pod, which those of all others of the cluster are. */
/** An address without a port; none where a nameserver has its own port, which pods cannot be told. */
function plainAddress(server: string): readonly string[] {
  return isIP(server) === 0 ? [] : [server]
}

function ownFamilies(): IpFamilies {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  const families = new Set(
    addresses.filter(({ internal, address }) => !internal && !address.startsWith('fe80:')).map(({ family }) => family),
  )
  return families.has('IPv6') ? (families.has('IPv4') ? ['IPv4', 'IPv6'] : ['IPv6']) : ['IPv4']
}
