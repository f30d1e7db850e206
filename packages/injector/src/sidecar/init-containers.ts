import type { MeshConfig } from '@osm-ts/core'
import type { InjectorContext, SidecarPatch } from '@osm-ts/driver-api'
import { interceptionDefaults, interceptionRules, renderInitScript } from '@osm-ts/interception'

import type { JsonObject } from '../json/json.js'
import { INIT_CONTAINER } from './names.js'
import { ContainerValues, fieldRef, literal } from './values.js'

/** What init containers are made from. */
export interface InitOptions {
  readonly patch: SidecarPatch
  readonly context: InjectorContext
  readonly config: MeshConfig
  readonly image: string
}

/** The container that has connections redirected, by the rules of `packages/interception`. Nothing where nothing is to be redirected. */
export function interceptionContainer({ patch, context, config, image }: InitOptions): JsonObject | undefined {
  const { interception } = patch
  if (interception === undefined || context.interceptionMode !== 'iptables' || context.podOS === 'windows')
    return undefined
  const { localProxyMode, enablePrivilegedInitContainer: privileged } = config.sidecar
  const { nameserver } = interceptionDefaults.dnsCapture
  const rules = interceptionRules({
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
    args: ['-c', literal(renderInitScript(rules))],
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
