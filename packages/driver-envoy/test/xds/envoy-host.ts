import { type ExtensionPart, hashPart, type Part, type ProxyPart } from '@osm-ts/driver-api/policy'
import { FakeHost } from '@osm-ts/driver-testkit'

import type { ResourceTranslator } from '../../src/server/policies/translator-port.js'
import { resourcesOf, type State } from './resources.js'

/** A host whose policies say literally what a proxy is to have. */
export class EnvoyHost extends FakeHost {
  constructor() {
    super('envoy')
  }

  /** Gives a proxy another policy. */
  publish(uuid: string, state: State, changes: Partial<ProxyPart> = {}, parts: readonly Part[] = []): number {
    const extension: ExtensionPart = {
      kind: 'extension',
      id: 'state',
      class: 'envoy',
      type: 'state',
      value: state,
    }
    return this.publishPolicy(uuid, { extensions: [hashPart(extension)], ...changes }, [extension, ...parts])
  }
}

/** Reads from the policy literally what the proxy is to have. */
export const literalTranslator: ResourceTranslator = {
  translate(proxy, parts, revision) {
    const [hash] = proxy.extensions
    const part = hash === undefined ? undefined : parts(hash)
    if (part?.kind !== 'extension') throw new Error('the policy of a test has one extension')
    // Written by `publish` above.
    return resourcesOf(part.value as State, revision)
  },
  renew: () => [],
  release() {
    // Nothing is remembered.
  },
}
