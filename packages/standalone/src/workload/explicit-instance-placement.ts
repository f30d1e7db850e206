import { request as httpRequest } from 'node:http'

import {
  allocationKey,
  inboundKeys,
  objectRef,
  openedKeys,
  type Problem,
  servedPorts,
  type Snapshot,
  tcpServicePorts,
  type WorkloadPort,
} from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'
import type { ListenAddresses, SocketAddress } from '@osm-ts/driver-api/policy'

import type { StandaloneErrorCode } from '../errors.js'
import type { PortAllocator } from '../ports/port-allocator.js'
import type { DesiredInstance } from './desired-instances.js'
import {
  type ProgramCommand,
  type InstancePlacement,
  type SiteView,
  type LoopbackRequest,
  workloadPorts,
} from './instance-placement.js'
import { withoutClashes } from './variables.js'

const TIMEOUT_MS = 2000

/** Asks on the loopback address of this machine. */
export const requestLocally: LoopbackRequest = ({ method, port, path }, signal) =>
  new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, path, method, agent: false, timeout: TIMEOUT_MS, signal },
      (response) => {
        // Only the status counts; the rest must be read for the connection to end.
        response.resume()
        resolve(response.statusCode ?? 0)
      },
    )
    request.once('timeout', () => request.destroy(new Error(`no answer on port ${port} within ${TIMEOUT_MS} ms`)))
    request.once('error', reject)
    request.end()
  })

const LOOPBACK = '127.0.0.1'
/** Purposes of the ports that every sidecar has. */
const OWN = { outboundHttp: 'outbound-http', metrics: 'metrics', admin: 'admin' } as const

/** What an explicit placement is made from. */
export interface ExplicitInstancePlacementOptions {
  readonly desired: DesiredInstance
  readonly allocator: PortAllocator
  readonly folder: string
  /** Where callers reach the sidecar. */
  readonly address: string
}

/** An instance on the network of this machine: it shares one loopback address with all others, so that each listener has its own port. */
export class ExplicitInstancePlacement implements InstancePlacement {
  readonly mode = 'explicit'
  readonly interceptionMode = 'none'
  readonly controllerAddress: string
  readonly host = LOOPBACK
  readonly networkNamespace = undefined
  readonly request = requestLocally
  readonly listen: ListenAddresses
  readonly ports: readonly WorkloadPort[]
  readonly home: InstancePlacement['home']
  readonly #options: ExplicitInstancePlacementOptions

  private constructor(
    options: ExplicitInstancePlacementOptions,
    listen: ListenAddresses,
    ports: readonly WorkloadPort[],
  ) {
    this.#options = options
    this.controllerAddress = options.address
    this.listen = listen
    this.ports = ports
    this.home = { folder: options.folder, uid: undefined }
  }

  /** @throws OsmError OSM_STANDALONE_PORTS, OSM_STANDALONE_PORT_TAKEN */
  static async open(options: ExplicitInstancePlacementOptions, snapshot: Snapshot): Promise<ExplicitInstancePlacement> {
    const { desired, allocator } = options
    try {
      const listen = desired.sidecarClass === undefined ? {} : await claimOwnListeners(desired.key, allocator)
      return new ExplicitInstancePlacement(options, listen, await claimWorkloadPorts(options, snapshot))
    } catch (error) {
      allocator.release(desired.key)
      throw error
    }
  }

  async enter(): Promise<string> {
    return this.#options.address
  }

  async refresh(snapshot: Snapshot): Promise<SiteView> {
    const { desired, allocator, address } = this.#options
    const { outboundHttp, metrics, admin } = this.listen
    if (outboundHttp === undefined || metrics === undefined || admin === undefined)
      return { allocations: undefined, variables: {}, problems: unreachable(desired, snapshot) }
    const current = snapshot.get('Workload', desired.namespace, desired.workload.metadata.name) ?? desired.workload
    const ports = servedPorts(snapshot, current, this.ports)
    const served = inboundKeys(ports)
    const opened = openedKeys(snapshot, ports)
    const own = new Set(served.keys())
    const called = withoutClashes(tcpServicePorts(snapshot.list('Service')), desired.namespace)
      .ports.map(({ service, port, variable }) => ({ key: allocationKey(service, port), variable }))
      .filter(({ key }) => !own.has(key))
    const claims = await allocator.claim(desired.key, [
      ...[...served.values()].map(inboundPurpose),
      ...opened.map(ingressPurpose),
      ...called.map(({ key }) => tcpPurpose(key)),
    ])
    allocator.retain(desired.key, new Set([...claims.values(), ...this.#fixedPorts()]))
    const at = (purpose: string): SocketAddress => loopback(claimed(claims, purpose))
    const open = (purpose: string): SocketAddress => ({ address, port: claimed(claims, purpose) })
    return {
      allocations: {
        inbound: Object.fromEntries([...served].map(([key, first]) => [key, open(inboundPurpose(first))])),
        ...(opened.length > 0 && {
          ingress: Object.fromEntries(opened.map((key) => [key, open(ingressPurpose(key))])),
        }),
        outboundHttp,
        outboundTcp: Object.fromEntries(called.map(({ key }) => [key, at(tcpPurpose(key))])),
        metrics,
        admin,
      },
      variables: {
        HTTP_PROXY: `http://${LOOPBACK}:${outboundHttp.port}`,
        http_proxy: `http://${LOOPBACK}:${outboundHttp.port}`,
        ...Object.fromEntries(
          called.map(({ key, variable }) => [variable, `${LOOPBACK}:${claimed(claims, tcpPurpose(key))}`]),
        ),
      },
      problems: [],
    }
  }

  program([file, ...args]: readonly [string, ...string[]]): ProgramCommand {
    return { file, args }
  }

  sidecar(argv: readonly [string, ...string[]]): ProgramCommand {
    return this.program(argv)
  }

  async leave(): Promise<void> {
    this.#options.allocator.release(this.#options.desired.key)
  }

  #fixedPorts(): readonly number[] {
    const own = Object.values(this.listen).map((address: SocketAddress) => address.port)
    return [...own, ...this.ports.map(({ port, localPort }) => localPort ?? port)]
  }
}

async function claimOwnListeners(owner: string, allocator: PortAllocator): Promise<ListenAddresses> {
  const ports = await allocator.claim(owner, Object.values(OWN))
  return {
    outboundHttp: loopback(claimed(ports, OWN.outboundHttp)),
    metrics: loopback(claimed(ports, OWN.metrics)),
    admin: loopback(claimed(ports, OWN.admin)),
  }
}

/** Where the process listens: where the workload says that it does, else on a port that it is told. */
async function claimWorkloadPorts(
  { desired, allocator }: ExplicitInstancePlacementOptions,
  snapshot: Snapshot,
): Promise<readonly WorkloadPort[]> {
  // No one finds a workload without a sidecar but at the port that it declares.
  const ports = workloadPorts(snapshot, desired.workload).map((port) =>
    desired.sidecarClass === undefined ? { localPort: port.port, ...port } : port,
  )
  const taken = await allocator.claimFixed(
    desired.key,
    ports.flatMap(({ localPort }) => localPort ?? []),
  )
  if (taken !== undefined) {
    throw new OsmError<StandaloneErrorCode>(
      'OSM_STANDALONE_PORT_TAKEN',
      `local port ${taken} is in use; end the program that listens there, or leave localPort out: the workload is then told a free port by PORT`,
    )
  }
  const purpose = (port: number): string => `workload ${port}`
  const free = await allocator.claim(
    desired.key,
    ports.filter(({ localPort }) => localPort === undefined).map(({ port }) => purpose(port)),
  )
  return ports.map((port) => ({ ...port, localPort: port.localPort ?? claimed(free, purpose(port.port)) }))
}

/** Services lead to sidecars; there is none. */
function unreachable({ workload }: DesiredInstance, snapshot: Snapshot): readonly Problem[] {
  const code: StandaloneErrorCode = 'OSM_STANDALONE_UNREACHABLE'
  return snapshot.servicesSelecting(workload.metadata.namespace, workload.metadata.labels).map((service) => ({
    code,
    severity: 'warning',
    message: `does not lead to Workload ${workload.metadata.name}, which has no sidecar and is started here; give it one, or start it yourself and write down its address`,
    object: objectRef(service),
    origin: service.origin,
    field: 'spec.selector',
  }))
}

function inboundPurpose(key: string): string {
  return `inbound ${key}`
}

function ingressPurpose(key: string): string {
  return `ingress ${key}`
}

function tcpPurpose(key: string): string {
  return `tcp ${key}`
}

function loopback(port: number): SocketAddress {
  return { address: LOOPBACK, port }
}

function claimed(ports: ReadonlyMap<string, number>, purpose: string): number {
  const port = ports.get(purpose)
  if (port === undefined) throw new RangeError(`no port was claimed for ${purpose}`)
  return port
}
