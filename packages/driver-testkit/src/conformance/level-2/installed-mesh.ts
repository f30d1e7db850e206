import type { Kubectl } from './kubectl.js'

/** What is installed in a cluster, as far as level 2 has to know it. */
export interface InstalledMesh {
  /** Of its control plane. */
  readonly namespace: string
  readonly name: string
  /** Class of pods that name none. */
  readonly defaultClass: string
  /** Further classes that pods may name. */
  readonly classes: readonly string[]
  readonly isPermissive: boolean
  /** Version of Kubernetes. */
  readonly kubernetes: string
  /** Image of the controller, without its registry. */
  readonly controller: string
}

interface Controller {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> }
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } }
  }
}

interface MeshConfig {
  readonly spec?: {
    readonly sidecar?: {
      readonly sidecarClass?: string
      readonly sidecarDrivers?: readonly { readonly sidecarName?: string }[]
    }
    readonly traffic?: { readonly enablePermissiveTrafficPolicyMode?: boolean }
  }
}

/** The Deployment that every installation has, by the name and the label of its pods alike. */
export const controllerName = 'osm-controller'

/** Looks at the mesh whose control plane is in a namespace. @throws with what kubectl says if there is none */
export async function installedMesh(
  kubectl: Kubectl,
  namespace: string,
  options: { readonly signal: AbortSignal },
): Promise<InstalledMesh> {
  const [version, controller, config] = await Promise.all([
    kubectl.run(['version', '-o', 'json'], options),
    kubectl.get<Controller>([`deployment/${controllerName}`, '-n', namespace], options),
    kubectl.get<MeshConfig>(['meshconfig.config.openservicemesh.io/osm-mesh-config', '-n', namespace], options),
  ])
  const { labels = {} } = controller.metadata
  const { sidecar, traffic } = config.spec ?? {}
  const { serverVersion } = JSON.parse(version) as { readonly serverVersion?: { readonly gitVersion?: string } }
  return {
    namespace,
    name: labels['meshName'] ?? labels['app.kubernetes.io/instance'] ?? '',
    defaultClass: sidecar?.sidecarClass ?? '',
    classes: (sidecar?.sidecarDrivers ?? []).flatMap(({ sidecarName = '' }) => sidecarName),
    isPermissive: traffic?.enablePermissiveTrafficPolicyMode === true,
    kubernetes: serverVersion?.gitVersion ?? '',
    controller: withoutRegistry(controller.spec.template.spec.containers[0]?.image ?? ''),
  }
}

/** The last part of the name of an image: the rest may name machines of anyone who runs it. */
export function withoutRegistry(image: string): string {
  return image.slice(image.lastIndexOf('/') + 1)
}
