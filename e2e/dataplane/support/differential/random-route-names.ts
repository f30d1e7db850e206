import fc from 'fast-check'

export const GATEWAY_API = 'gateway.networking.k8s.io'

/** Of routes. */
export const namespace = fc.constantFrom('a', 'b')

/** Services by namespace and name: mostly those of the mesh. */
export const anyService = (...names: readonly string[]) =>
  fc.constantFrom(...names).map((text) => {
    const [home = '', name = ''] = text.split('/')
    return { namespace: home, name }
  })
