import type { MeshConfig } from '@osm-ts/core'
import { OsmError, type InjectorContext, type SidecarPatch } from '@osm-ts/driver-api'
import {
  interceptionDefaults,
  InterceptionError,
  type InterceptionOptions,
  interceptionRules,
  type InterceptionRules,
  renderInitScript,
} from '@osm-ts/interception'

import type { InjectorErrorCode } from '../error-codes.js'
import type { JsonObject } from '../json/json.js'
import { INIT_CONTAINER } from './sidecar-container.js'
import { ContainerValues, fieldRef, literal } from './values.js'

/** Texts of init containers. Pods without annotations of their own have the same, so that the last one is kept. */
export class InitScripts {
  #last: { readonly key: string; readonly script: string } | undefined

  /** @throws OsmError `OSM_INJECT_INTERCEPTION`, with every problem of the options */
  script(options: InterceptionOptions): string {
    const key = JSON.stringify(options)
    if (this.#last?.key !== key) this.#last = { key, script: literal(renderInitScript(rulesOf(options))) }
    return this.#last.script
  }
}

function rulesOf(options: InterceptionOptions): InterceptionRules {
  try {
    return interceptionRules(options)
  } catch (error) {
    if (!(error instanceof InterceptionError)) throw error
    throw new OsmError<InjectorErrorCode>(
      'OSM_INJECT_INTERCEPTION',
      `MeshConfig and the annotations of the pod together are not rules of interception: ${error.message}`,
      { cause: error },
    )
  }
}

/** What init containers are made from. */
export interface InitOptions {
  readonly scripts: InitScripts
  readonly patch: SidecarPatch
  readonly context: InjectorContext
  readonly config: MeshConfig
  readonly image: string
}

/** The container that has connections redirected, by the rules of `packages/interception`. Nothing where nothing is to be redirected. */
export function interceptionContainer({ scripts, patch, context, config, image }: InitOptions): JsonObject | undefined {
  const { interception } = patch
  if (interception === undefined || context.interceptionMode !== 'iptables' || context.podOS === 'windows')
    return undefined
  const { localProxyMode, enablePrivilegedInitContainer: privileged } = config.sidecar
  const { nameserver } = interceptionDefaults.dnsCapture
  const script = scripts.script({
    proxyUid: interception.proxyUid,
    inboundListenerPort: interception.inboundPort,
    outboundListenerPort: interception.outboundPort,
    ...(patch.admin === undefined ? {} : { adminPort: patch.admin.port }),
    proxyServicePorts: interception.excludedInboundPorts,
    inboundPortExclusions: context.inboundPortExclusionList,
    outboundPortExclusions: context.outboundPortExclusionList,
    outboundIpRangeExclusions: context.outboundIPRangeExclusionList,
    outboundIpRangeInclusions: context.outboundIPRangeInclusionList,
    interfaceExclusions: context.networkInterfaceExclusionList,
    localProxyMode,
    ...(interception.dnsPort === undefined || !config.sidecar.localDNSProxy.enable
      ? {}
      : { dnsCapture: { nameserver, port: interception.dnsPort } }),
    ipv6: interception.ipv6 ? 'intercept' : 'refuse',
  })
  return {
    name: INIT_CONTAINER,
    image,
    imagePullPolicy: context.pullPolicy,
    command: ['/bin/sh'],
    args: ['-c', script],
    env: [
      { name: 'POD_IP', valueFrom: fieldRef('address') },
      { name: 'POD_IPS', valueFrom: { fieldRef: { fieldPath: 'status.podIPs' } } },
    ],
    securityContext: {
      runAsUser: 0,
      runAsGroup: 0,
      runAsNonRoot: false,
      privileged,
      // A privileged container is always allowed to; the API server refuses to hear otherwise.
      allowPrivilegeEscalation: privileged,
      // iptables needs NET_RAW besides, to read the tables of its older variant.
      capabilities: { add: ['NET_ADMIN', 'NET_RAW'], drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  }
}

/** The driver's own init containers. They get no privileges and none of the sidecar's files. */
export function driverInitContainers({
  patch,
  context,
}: Pick<InitOptions, 'patch' | 'context'>): readonly JsonObject[] {
  const { runAsUser } = patch.sidecar.security
  return patch.initContainers.map(({ name, image, command, env }) => {
    const values = new ContainerValues('')
    const words = command.map((word) => values.text(word))
    return {
      name,
      image,
      imagePullPolicy: context.pullPolicy,
      command: words,
      env: values.environment(env),
      securityContext: {
        runAsUser,
        runAsNonRoot: true,
        privileged: false,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      },
    }
  })
}
