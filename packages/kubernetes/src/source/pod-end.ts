import type { ContainerFields, PodFields, RestartRule } from './pod-fields.js'

/**
 * True if nothing of a pod runs any more but its classic sidecar, and nothing will be started again: the pod, and the Job that it belongs to, wait for that
 * alone. Native sidecars are ended by the kubelet.
 *
 * @param sidecar - the container of the sidecar; undefined if the pod has none
 */
export function awaitsSidecar(
  { containers = [], restartPolicy = 'Always' }: NonNullable<PodFields['spec']>,
  { containerStatuses = [] }: NonNullable<PodFields['status']>,
  sidecar: ContainerFields | undefined,
): boolean {
  const others = containers.filter((container) => container !== sidecar)
  if (others.length === containers.length) return false
  return others.every((container) => {
    const code = containerStatuses.find(({ name }) => name === container.name)?.state?.terminated?.exitCode
    return code !== undefined && !restarts(container, restartPolicy, code)
  })
}

/** True if a kubelet starts a container again that has ended with that code. What is not known counts as such. */
function restarts(
  { restartPolicy: own, restartPolicyRules: rules = [] }: ContainerFields,
  ofPod: string,
  code: number,
): boolean {
  if (rules.some((rule) => applies(rule, code))) return true
  switch (own ?? ofPod) {
    case 'Never':
      return false
    case 'OnFailure':
      return code !== 0
    default:
      return true
  }
}

function applies({ exitCodes: { operator, values = [] } = {} }: RestartRule, code: number): boolean {
  switch (operator) {
    case 'In':
      return values.includes(code)
    case 'NotIn':
      return !values.includes(code)
    default:
      return true
  }
}
