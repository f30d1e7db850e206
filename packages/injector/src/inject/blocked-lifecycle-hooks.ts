import { type JsonObject, isObject, objectOf, objectsOf, textOf } from '../json/json.js'
import { portNumber } from '../probes/probe-question.js'

const HOOKS = ['postStart', 'preStop'] as const
const HANDLERS = ['httpGet', 'tcpSocket'] as const

/**
 * Lifecycle hooks that come from the kubelet, who has no certificate, to a port that only takes connections with one.
 *
 * They stay as they are. Unlike probes they do something, so that a way past mutual TLS must not be opened for them: anyone who finds it could have a
 * workload shut down.
 */
export function blockedLifecycleHooks(pod: JsonObject, excludedPorts: readonly number[]): readonly string[] {
  const spec = objectOf(pod.spec)
  return [...objectsOf(spec.initContainers), ...objectsOf(spec.containers)].flatMap((container) =>
    HOOKS.flatMap((hook) =>
      HANDLERS.flatMap((handler) => {
        const action = objectOf(objectOf(container.lifecycle)[hook])[handler]
        if (!isObject(action) || textOf(action.host) !== '') return []
        const port = portNumber(action.port ?? null, container)
        if (port === undefined || excludedPorts.includes(port)) return []
        return [
          `container ${textOf(container.name)}: lifecycle.${hook}.${handler} on port ${port} comes without a certificate and ` +
            `will fail; use exec, or exclude the port by annotation`,
        ]
      }),
    ),
  )
}
