/** Label that enrols a namespace; its value is the name of the mesh. */
export const monitoredByLabel = 'openservicemesh.io/monitored-by'
/** Label that keeps a namespace out of every mesh, whatever its value. */
export const ignoreLabel = 'openservicemesh.io/ignore'

/** What decides which namespaces are of a mesh. */
export interface EnrolmentRule {
  readonly meshName: string
  /** Namespace of the control plane. */
  readonly osmNamespace: string
}

/** The namespaces of a mesh, as the API server is asked for them. */
export function enrolmentSelector({ meshName }: EnrolmentRule): string {
  return `${monitoredByLabel}=${meshName},!${ignoreLabel}`
}

/** True if the namespace is of the mesh. Those of the control plane and of Kubernetes itself never are. */
export function isEnrolled(
  name: string,
  labels: Readonly<Record<string, string>>,
  { meshName, osmNamespace }: EnrolmentRule,
): boolean {
  if (name === osmNamespace || name === 'kube-system') return false
  return labels[monitoredByLabel] === meshName && !Object.hasOwn(labels, ignoreLabel)
}
