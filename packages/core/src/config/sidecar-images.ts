import type { JsonValue } from '@osm-ts/driver-api/policy'

import type { ConfigEnvironment, DriverEntry, MeshConfig } from './mesh-config.js'

const defaultProxyServerPort = 15128

/** An operating system that sidecars run on. */
export type SidecarOS = 'linux' | 'windows'

/**
 * The image of a sidecar class, or an empty text if none is known.
 *
 * For the default class: what is at the top of `spec.sidecar`, else the driver's entry, else the environment. For
 * other classes the driver's entry alone: the others are images of another proxy. OSM's own names (`envoyImage`) stand
 * at the top for class envoy.
 */
export function sidecarImage(
  config: MeshConfig,
  sidecarClass: string,
  os: SidecarOS,
  environment: ConfigEnvironment,
): string {
  const { sidecar } = config
  const member = os === 'windows' ? 'sidecarWindowsImage' : 'sidecarImage'
  const isDefault = isDefaultClass(config, sidecarClass)
  const fromEnvironment =
    os === 'windows' ? environment.OSM_DEFAULT_SIDECAR_WINDOWS_IMAGE : environment.OSM_DEFAULT_SIDECAR_IMAGE
  return firstText([
    isDefault ? sidecar.images[member] : undefined,
    sidecarClass.toLowerCase() === 'envoy' ? sidecar.envoyImages[member] : undefined,
    driverEntry(config, sidecarClass)?.[member],
    isDefault ? fromEnvironment : undefined,
  ])
}

/** The image of the init container for a class. It is not a proxy, so that the environment counts for every class. */
export function initContainerImage(config: MeshConfig, sidecarClass: string, environment: ConfigEnvironment): string {
  return firstText([
    isDefaultClass(config, sidecarClass) ? config.sidecar.images.initContainerImage : undefined,
    driverEntry(config, sidecarClass)?.initContainerImage,
    environment.OSM_DEFAULT_INIT_CONTAINER_IMAGE,
  ])
}

/** The port on which the proxy control plane of a class listens. */
export function proxyServerPort(config: MeshConfig, sidecarClass: string): number {
  return driverEntry(config, sidecarClass)?.proxyServerPort ?? defaultProxyServerPort
}

/** Settings of the driver of a class, unchecked; an empty object where nothing is written. */
export function driverConfig(config: MeshConfig, sidecarClass: string): JsonValue {
  return driverEntry(config, sidecarClass)?.config ?? {}
}

/** Classes that workloads may choose: the default class and all that have an entry; sorted. */
export function allowedClasses(config: MeshConfig): readonly string[] {
  const names = config.sidecar.drivers.map(({ name }) => name)
  return [...new Set([config.sidecar.sidecarClass, ...names])].sort()
}

function driverEntry(config: MeshConfig, sidecarClass: string): DriverEntry | undefined {
  return config.sidecar.drivers.find(({ name }) => name === sidecarClass.toLowerCase())
}

function isDefaultClass(config: MeshConfig, sidecarClass: string): boolean {
  return sidecarClass.toLowerCase() === config.sidecar.sidecarClass
}

function firstText(texts: readonly (string | undefined)[]): string {
  return texts.find((text) => text !== undefined && text !== '') ?? ''
}
