import {
  type AddressRules,
  allowedClasses,
  azureNonce,
  type CertificateAnswer,
  type CertificateManager,
  driverConfig,
  type DriverRegistry,
  isDnsLabel,
  isSidecarPort,
  type JoinAnswer,
  type JoinRequest,
  type KeyExporter,
  keyHash,
  type MachineErrorCode,
  type MeshConfig,
  type MeshConfigurator,
  type MeshDomains,
  OWN_LISTENERS,
  type ProxyCertificate,
  proxyCommonName,
  type Redeemed,
  redeemToken,
  sidecarImage,
  type TokenStore,
} from '@osm-ts/core'
import { OsmError, type ProxyUUID, type ServiceAccountRef } from '@osm-ts/driver-api'

import { provenKey } from '../proven-key.js'
import type { AccountTokens } from './account-tokens.js'
import type { AzureMachines } from './azure-machines.js'
import type { Machine, Machines } from './machine.js'

/** What {@link MachineAdmission} goes by. */
export interface MachineAdmissionOptions {
  readonly meshName: string
  readonly osmNamespace: string
  readonly domains: MeshDomains
  readonly certificates: Pick<CertificateManager, 'issueCertificate' | 'trustBundle'>
  readonly configurator: Pick<MeshConfigurator, 'current' | 'view'>
  readonly drivers: Pick<DriverRegistry, 'names'>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly tokens: TokenStore
  /** Checks tokens of service accounts; absent where there are none. */
  readonly accounts?: Pick<AccountTokens, 'redeem'>
  /** Checks documents of Azure. */
  readonly azure: Pick<AzureMachines, 'redeem'>
  readonly machines: Machines
  readonly addresses: AddressRules
  /** Port and name of the proxy control plane of a class. */
  readonly controlPlane: (
    sidecarClass: string,
    config: MeshConfig,
  ) => { readonly port: number; readonly serverName: string }
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** Milliseconds for which a certificate of a machine is valid at most. It renews between half and three quarters of that. */
const LIFETIME_MS = 24 * 3_600_000

/** The connection that a request to join comes by. */
export interface JoinConnection extends KeyExporter {
  readonly remoteAddress?: string | undefined
}

/** Decides who joins the mesh, and what certificate a machine gets. Names come from the token and from here, never from the machine's request. */
export class MachineAdmission {
  readonly #options: MachineAdmissionOptions

  constructor(options: MachineAdmissionOptions) {
    this.#options = options
  }

  /**
   * Admits a machine.
   *
   * @throws OsmError with a code of `OSM_MACHINE_*`, or of certificates
   */
  async join(request: JoinRequest, connection: JoinConnection): Promise<JoinAnswer> {
    const { machines, configurator, drivers, meshName, osmNamespace, environment } = this.#options
    // Nothing of a token is used up by a request that can never be granted.
    const publicKey = provenKey(request.csr)
    const address = this.#addressOf(request, connection.remoteAddress ?? '')
    checkRequest(request)
    this.#checkGateway(request)
    const config = configurator.current()
    const sidecarClass = (request.sidecarClass ?? config.sidecar.sidecarClass).toLowerCase()
    if (!drivers.names().includes(sidecarClass) || !allowedClasses(config).includes(sidecarClass))
      throw refuse('OSM_MACHINE_CLASS', `sidecarClass: the mesh has no sidecar class ${JSON.stringify(sidecarClass)}`)
    const { replaces, ...granted } = await this.#redeem(request.proof, keyHash(publicKey), connection)
    const machine: Machine = {
      ...granted,
      name: request.name,
      sidecarClass,
      address,
      ports: request.ports,
      listeners: request.listeners,
      ...(request.mode !== undefined && { mode: request.mode }),
      ...(request.network !== undefined && { network: request.network }),
    }
    await machines.admit(machine, replaces)
    const certificate = await this.#issue(granted, publicKey)
    const { namespace, serviceAccount, labels, uuid } = granted
    const { traffic } = config
    return {
      ...this.#answer(certificate),
      uuid,
      commonName: certificate.commonName,
      namespace,
      serviceAccount,
      labels,
      address,
      sidecar: {
        meshName,
        osmNamespace,
        sidecarClass,
        configurator: configurator.view(),
        driverConfig: driverConfig(config, sidecarClass),
        sidecarImage: sidecarImage(config, sidecarClass, 'linux', environment) || `localhost/${sidecarClass}`,
        resources: config.sidecar.resources,
        logLevel: config.sidecar.logLevel,
        exclusions: {
          outboundPorts: [...traffic.outboundPortExclusionList],
          outboundIpRanges: [...traffic.outboundIPRangeExclusionList],
          onlyOutboundIpRanges: [...traffic.outboundIPRangeInclusionList],
          inboundPorts: [...traffic.inboundPortExclusionList],
          interfaces: [...traffic.networkInterfaceExclusionList],
        },
        controlPlane: this.#options.controlPlane(sidecarClass, config),
      },
    }
  }

  /**
   * The machine of a verified proxy certificate.
   *
   * @throws OsmError with code `OSM_MACHINE_UNKNOWN`
   */
  async known({
    uuid,
    serviceAccount,
  }: {
    readonly uuid: ProxyUUID
    readonly serviceAccount: ServiceAccountRef
  }): Promise<Machine> {
    const machine = await this.#options.machines.find(uuid)
    if (machine?.namespace === serviceAccount.namespace && machine.serviceAccount === serviceAccount.name)
      return machine
    throw refuse('OSM_MACHINE_UNKNOWN', `no machine takes part with the sidecar ${uuid}; join again`)
  }

  /** Another certificate for a machine that takes part, for a key that should be fresh. */
  async renew(machine: Machine, csr: string): Promise<CertificateAnswer> {
    return this.#answer(await this.#issue(machine, provenKey(csr)))
  }

  /** What the proof of a machine admits. It is used up. */
  #redeem(proof: JoinRequest['proof'], key: string, connection: KeyExporter): Promise<Redeemed> {
    const { tokens, accounts, azure, now } = this.#options
    if (proof.kind === 'azure') return azure.redeem(proof, key, azureNonce(connection, key))
    if (proof.kind === 'token') return redeemToken(tokens, proof, { key, now: now() })
    if (accounts !== undefined) return accounts.redeem(proof.token, key)
    throw refuse(
      'OSM_MACHINE_TOKEN',
      'the mesh does not run on Kubernetes and has no service accounts with tokens; make a join token by osm machine token',
    )
  }

  #answer({ chain }: ProxyCertificate): CertificateAnswer {
    return { chain, trustBundle: [...this.#options.certificates.trustBundle('control-plane')] }
  }

  #issue({ uuid, namespace, serviceAccount }: Redeemed, publicKey: Buffer): Promise<ProxyCertificate> {
    const { certificates, domains } = this.#options
    const account = { namespace, name: serviceAccount }
    const commonName = proxyCommonName({ uuid, serviceAccount: account }, domains.trustDomain)
    const holder = { id: uuid, commonName, place: 'machine', publicKey } as const
    return certificates.issueCertificate(
      { kind: 'proxy', uuid, serviceAccount: account, holder },
      { keep: false, validityMs: LIFETIME_MS },
    )
  }

  #addressOf({ address }: JoinRequest, source: string): string {
    const own = address ?? unmapped(source)
    const refusal = this.#options.addresses.refusal(own)
    if (refusal === undefined) return own
    throw refuse(
      'OSM_MACHINE_REQUEST',
      `address: ${own} ${refusal}; give an address at which callers reach the machine`,
    )
  }

  /** The mesh connects to a gateway as to a machine, so that it may not be aimed elsewhere by it either. */
  #checkGateway({ network }: JoinRequest): void {
    const address = network?.gateway?.address
    const refusal = address === undefined ? undefined : this.#options.addresses.refusal(address)
    if (refusal === undefined) return
    throw refuse(
      'OSM_MACHINE_REQUEST',
      `gateway: ${address} ${refusal}; give an address at which callers reach the gateway`,
    )
  }
}

function checkRequest({ name, network, ports, mode, listeners: { first, last } }: JoinRequest): void {
  if (!isDnsLabel(name)) throw refuse('OSM_MACHINE_REQUEST', `name: expected a DNS label, got ${JSON.stringify(name)}`)
  if (network !== undefined && !isDnsLabel(network.name))
    throw refuse('OSM_MACHINE_REQUEST', `network: expected a DNS label, got ${JSON.stringify(network.name)}`)
  if (new Set(ports.map(({ port }) => port)).size < ports.length)
    throw refuse('OSM_MACHINE_REQUEST', 'ports: each port may be given once')
  if (mode === 'transparent') {
    const own = ports.flatMap(({ port, localPort = port }) => [port, localPort]).find(isSidecarPort)
    if (own === undefined) return
    throw refuse('OSM_MACHINE_REQUEST', `ports: ${own} is a port of the sidecar; the workload has to use another one`)
  }
  if (last - first < OWN_LISTENERS)
    throw refuse(
      'OSM_MACHINE_REQUEST',
      `listeners: expected a range of more than ${OWN_LISTENERS} ports, got ${first}-${last}`,
    )
  const taken = ports.map(({ port, localPort = port }) => localPort).find((port) => port >= first && port <= last)
  if (taken !== undefined)
    throw refuse(
      'OSM_MACHINE_REQUEST',
      `listeners: port ${taken} of the workload is in the range of the sidecar, ${first}-${last}`,
    )
}

/** A server that listens for IPv6 too sees IPv4 clients by mapped addresses. */
export function unmapped(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address
}

function refuse(code: MachineErrorCode, message: string): OsmError<MachineErrorCode> {
  return new OsmError(code, message)
}
