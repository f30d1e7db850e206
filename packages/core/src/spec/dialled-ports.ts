import type { KindMap } from './objects.js'
import type { ServicePort } from './schema/core-v1.js'

/** A port at which clients dial a Service, with the place of its declaration among the ports of the Service. */
export type DialledPort = ServicePort & { readonly index: number }

/**
 * The TCP ports at which clients dial a Service, in the order in which they are declared. No one translates the ports of a headless Service: clients
 * dial workloads, at ports of workloads. A port whose `targetPort` is another number stands for that number too, unless that is declared as well.
 */
export function dialledPorts({ spec }: KindMap['Service']): readonly DialledPort[] {
  const declared = spec.ports.map((port, index) => ({ ...port, index })).filter(({ protocol }) => protocol === 'TCP')
  if (spec.clusterIP !== 'None') return declared
  const numbers = new Set(declared.map(({ port }) => port))
  return declared.flatMap((own) => {
    const { targetPort } = own
    if (typeof targetPort !== 'number' || numbers.has(targetPort)) return [own]
    numbers.add(targetPort)
    return [own, { ...own, port: targetPort }]
  })
}
